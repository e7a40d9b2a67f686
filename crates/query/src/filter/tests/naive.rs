//! Random filters on random tables against a naive evaluator, with the three-valued logic of SQL.

use super::random::query;
use super::table::Table;
use crate::filter::answer::{Scan, default_columns, grouped, listed};
use crate::filter::ast::{Aggregate, Check, Compare, Filter, Literal, Query, Shown, Test};
use crate::filter::check::{Checker, FALSE, TRUE, UNKNOWN, Verdict};
use crate::filter::columns::Cell;
use crate::filter::plan::{Compiled, Plan};
use crate::filter::terms::Term;
use heaplake_oracle::SplitMix64;
use regex::Regex;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Verdict on a check; `None` is unknown.
fn passes(check: &Check, cell: &Cell) -> Option<bool> {
    if *check == Check::IsNull {
        return Some(*cell == Cell::Null);
    }
    let order = |literal: &Literal| match (cell, literal) {
        (Cell::Number(a), Literal::Number(b)) => Some(a.cmp(b)),
        (Cell::Text(a), Literal::Text(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Cell::Flag(a), Literal::Flag(b)) => Some(a.cmp(b)),
        (Cell::Null, _) => None,
        other => panic!("{other:?}"),
    };
    let text = |of: &dyn Fn(&str) -> bool| match cell {
        Cell::Text(text) => Some(of(text)),
        Cell::Null => None,
        other => panic!("{other:?}"),
    };
    match check {
        Check::Compare(compare, literal) => order(literal).map(|order| match compare {
            Compare::Equal => order == Ordering::Equal,
            Compare::Unequal => order != Ordering::Equal,
            Compare::Less => order == Ordering::Less,
            Compare::AtMost => order != Ordering::Greater,
            Compare::More => order == Ordering::Greater,
            Compare::AtLeast => order != Ordering::Less,
        }),
        Check::In(literals) => {
            let equal: Option<Vec<bool>> = literals.iter().map(|literal| order(literal).map(Ordering::is_eq)).collect();
            equal.map(|equal| equal.contains(&true))
        }
        Check::Matches(pattern) => text(&|text| Regex::new(pattern).unwrap().is_match(text)),
        Check::MatchesNot(pattern) => text(&|text| !Regex::new(pattern).unwrap().is_match(text)),
        Check::Contains(part) => text(&|text| text.contains(part.as_str())),
        Check::StartsWith(part) => text(&|text| text.starts_with(part.as_str())),
        Check::EndsWith(part) => text(&|text| text.ends_with(part.as_str())),
        Check::IsTrue => match cell {
            Cell::Flag(flag) => Some(*flag),
            _ => None,
        },
        Check::IsNull => unreachable!(),
    }
}

/// Verdict on a filter of a row; `related` has the verdicts of the tests about other objects, in the order in which the
/// filter has tests, and `at` the number of tests before this one.
fn evaluated(filter: &Filter, table: &Table, row: usize, related: &[Vec<Verdict>], at: &mut usize) -> Option<bool> {
    match filter {
        Filter::And(all) => {
            let all: Vec<Option<bool>> = all.iter().map(|one| evaluated(one, table, row, related, at)).collect();
            if all.contains(&Some(false)) {
                Some(false)
            } else if all.contains(&None) {
                None
            } else {
                Some(true)
            }
        }
        Filter::Or(all) => {
            let all: Vec<Option<bool>> = all.iter().map(|one| evaluated(one, table, row, related, at)).collect();
            if all.contains(&Some(true)) {
                Some(true)
            } else if all.contains(&None) {
                None
            } else {
                Some(false)
            }
        }
        Filter::Not(inner) => evaluated(inner, table, row, related, at).map(|is| !is),
        Filter::Test(test) => {
            *at += 1;
            let verdict = || match related[*at - 1][row] {
                TRUE => Some(true),
                FALSE => Some(false),
                _ => None,
            };
            match test {
                Test::Column(term, check) => passes(check, &table.value(*term, row)),
                Test::Path(Check::MatchesNot(_) | Check::Compare(Compare::Unequal, _)) => verdict().map(|is| !is),
                _ => verdict(),
            }
        }
    }
}

/// Order of two rows by keys, nulls last.
fn ordered(keys: &[(Cell, Cell, bool)]) -> Ordering {
    for (a, b, descending) in keys {
        let order = match (a, b) {
            (Cell::Null, Cell::Null) => Ordering::Equal,
            (Cell::Null, _) => return Ordering::Greater,
            (_, Cell::Null) => return Ordering::Less,
            (Cell::Number(a), Cell::Number(b)) => a.cmp(b),
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            (Cell::Flag(a), Cell::Flag(b)) => a.cmp(b),
            other => panic!("{other:?}"),
        };
        if order.is_ne() {
            return if *descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

/// The rows in order: the largest retained size first if the query states no order.
fn in_order(query: &Query, table: &Table, mut rows: Vec<usize>) -> Vec<u32> {
    let mut keys: Vec<(Term, bool)> = Vec::new();
    for key in &query.order_by {
        let Shown::Term(term) = key.by else { panic!("{key:?}") };
        keys.push((term, key.descending));
    }
    if keys.is_empty() {
        keys.push((Term::named("retained").unwrap(), true));
    }
    let of = |a: usize, b: usize| {
        keys.iter()
            .map(|&(term, descending)| (table.value(term, a), table.value(term, b), descending))
            .collect::<Vec<_>>()
    };
    rows.sort_by(|&a, &b| ordered(&of(a, b)).then(a.cmp(&b)));
    rows.into_iter().map(|row| row as u32).collect()
}

/// A column of the answer in a group.
fn cell(shown: &Shown, query: &Query, keys: &[Cell], rows: &[usize], table: &Table) -> Cell {
    match shown {
        Shown::Count => Cell::Number(rows.len() as i128),
        Shown::Term(term) => keys[query.group_by.iter().position(|other| other == term).unwrap()].clone(),
        Shown::Aggregate(aggregate, term) => {
            let numbers = rows.iter().filter_map(|&row| match table.value(*term, row) {
                Cell::Number(number) => Some(number),
                _ => None,
            });
            let numbers: Vec<i128> = numbers.collect();
            let found = match aggregate {
                Aggregate::Sum if numbers.is_empty() => None,
                Aggregate::Sum => Some(numbers.iter().sum()),
                Aggregate::Min => numbers.iter().min().copied(),
                Aggregate::Max => numbers.iter().max().copied(),
            };
            found.map_or(Cell::Null, Cell::Number)
        }
        other => panic!("{other:?}"),
    }
}

/// The groups in order: the largest sum of shallow sizes first if the query states no order.
fn groups(query: &Query, table: &Table, rows: &[usize]) -> Vec<Vec<Cell>> {
    let mut groups: BTreeMap<String, (Vec<Cell>, Vec<usize>)> = BTreeMap::new();
    for &row in rows {
        let keys: Vec<Cell> = query.group_by.iter().map(|&term| table.value(term, row)).collect();
        groups.entry(format!("{keys:?}")).or_insert_with(|| (keys, Vec::new())).1.push(row);
    }
    let shallow = Shown::Aggregate(Aggregate::Sum, Term::named("shallow").unwrap());
    let mut order: Vec<(Shown, bool)> = query.order_by.iter().map(|key| (key.by.clone(), key.descending)).collect();
    if order.is_empty() {
        order.push((shallow, true));
    }
    let mut groups: Vec<(Vec<Cell>, Vec<usize>)> = groups.into_values().collect();
    let key = |group: &(Vec<Cell>, Vec<usize>), shown: &Shown| cell(shown, query, &group.0, &group.1, table);
    groups.sort_by(|a, b| {
        let own = order.iter().map(|(shown, descending)| (key(a, shown), key(b, shown), *descending));
        let names = a.0.iter().zip(&b.0).map(|(a, b)| (a.clone(), b.clone(), false));
        ordered(&own.chain(names).collect::<Vec<_>>())
    });
    groups.iter().map(|group| query.select.iter().map(|shown| key(group, shown)).collect()).collect()
}

#[test]
fn filters_find_what_a_naive_evaluation_finds() {
    let (mut some, mut all, mut none, mut in_groups) = (0, 0, 0, 0);
    for seed in 0..250 {
        let rng = &mut SplitMix64::new(seed);
        let table = Table::random(rng);
        let nodes = table.open();
        for _ in 0..8 {
            let mut query = query(rng);
            let filter = query.filter.clone();
            let plan = Plan::of(&filter).unwrap();
            let related: Vec<Vec<Verdict>> =
                plan.tests.iter().map(|_| (0..table.rows).map(|_| rng.below(3) as Verdict).collect()).collect();
            let of = |(test, verdicts): (&Compiled<'_>, &Vec<Verdict>)| {
                matches!(test, Compiled::Related(_)).then(|| verdicts.clone())
            };
            let per_node = plan.tests.iter().zip(&related).map(of).collect();
            let scan = Scan { nodes: &nodes, plan: &plan, per_node, counts: Mutex::default() };
            let matching: Vec<usize> = (0..table.rows)
                .filter(|&row| evaluated(&query.filter, &table, row, &related, &mut 0) == Some(true))
                .collect();
            let limit = query.limit.unwrap_or(1000) as usize;
            if query.select.is_empty() {
                query.select = default_columns(&query);
            }
            let stated = query.clone();
            if query.group_by.is_empty() {
                let mut expected = in_order(&query, &table, matching.clone());
                expected.truncate(limit);
                assert_eq!(listed(&scan, &mut query, limit).unwrap(), expected, "seed {seed}: {stated}");
            } else {
                let mut expected = groups(&query, &table, &matching);
                let count = expected.len() as u64;
                expected.truncate(limit);
                assert_eq!(
                    grouped(&scan, &mut query, 0, limit).unwrap(),
                    (expected, Some(count)),
                    "seed {seed}: {stated}"
                );
                in_groups += u32::from(count > 1);
            }
            assert_eq!(scan.counts.lock().unwrap().0, matching.len() as u64, "seed {seed}: {stated}");
            match matching.len() {
                0 => none += 1,
                found if found == table.rows => all += 1,
                _ => some += 1,
            }
        }
    }
    assert!(some > 300 && all > 60 && none > 300 && in_groups > 140, "{some} {all} {none} {in_groups}");
}

#[test]
fn checks_of_null_are_unknown() {
    for (check, expected) in [
        ("class is null", TRUE),
        ("class contains \"a\"", UNKNOWN),
        ("class !~ \"a\"", UNKNOWN),
        ("class != \"a\"", UNKNOWN),
        ("class in (\"a\", \"b\")", UNKNOWN),
        ("class starts with \"\"", UNKNOWN),
    ] {
        let Filter::Test(Test::Column(_, check)) = Query::parse(check).unwrap().filter else { panic!("{check}") };
        assert_eq!(Checker::of(&check).unwrap().of_text(None), expected, "{check}");
    }
}

#[test]
fn values_of_fields_are_read_as_the_literal_is() {
    for (check, kind, value, expected) in [
        ("> 3", "int", Some("4"), TRUE),
        ("> 3", "double", Some("3.5"), TRUE),
        ("> 3", "double", Some("NaN"), UNKNOWN),
        ("> 3", "text", Some("many"), UNKNOWN),
        ("= \"4\"", "int", Some("4"), TRUE),
        ("= true", "boolean", Some("true"), TRUE),
        ("= false", "boolean", Some("true"), FALSE),
        ("in (1, \"a\")", "text", Some("a"), TRUE),
        ("is null", "null", None, TRUE),
        ("is null", "reference", None, FALSE),
        ("= \"a\"", "reference", None, UNKNOWN),
        ("!= 1", "null", None, UNKNOWN),
    ] {
        let query = Query::parse(&format!(".x {check}")).unwrap();
        let Filter::Test(Test::Field(_, check)) = query.filter else { panic!("{check}") };
        assert_eq!(Checker::of(&check).unwrap().of_value(kind, value), expected, "{check}, {value:?}");
    }
}
