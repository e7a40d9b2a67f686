//! Compares random expressions on random rows with a naive evaluator.

use super::comparison::{check, gates};
use super::diff_tables::{Cell, Row, comparison, write};
use crate::gates::Outcome;
use heaplake_schemas::diff::CLASSES;
use proptest::prelude::*;

/// An expression and its naive evaluation; `None` is null.
#[derive(Clone, Debug)]
enum Plain {
    More(&'static str, i64),
    AtMost(&'static str, f64),
    Begins(&'static str),
    Different(&'static str),
    New,
    IsNull(&'static str),
    Sum(&'static str, &'static str, i64),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

impl Plain {
    fn written(&self) -> String {
        let column = |name: &str| {
            let field =
                ["percent_sum_", "delta_mean_", "base_mean_"].into_iter().find(|prefix| name.starts_with(prefix));
            field.map_or_else(
                || name.to_owned(),
                |field| format!("{}.{}", &name[field.len()..], field.trim_end_matches('_')),
            )
        };
        match self {
            Self::More(name, bound) => format!("{} > {bound}", column(name)),
            Self::AtMost(name, bound) => format!("{} <= {bound}", column(name)),
            Self::Begins(text) => format!("class ~ \"^{text}\""),
            Self::Different(text) => format!("class != '{text}'"),
            Self::New => "grew_through_new".to_owned(),
            Self::IsNull(name) => format!("{} is null", column(name)),
            Self::Sum(a, b, bound) => format!("{} + 2 * {} - 1 < {bound}", column(a), column(b)),
            Self::Not(a) => format!("not {}", a.inner()),
            Self::And(a, b) => format!("{} and {}", a.inner(), b.inner()),
            Self::Or(a, b) => format!("{} or {}", a.inner(), b.inner()),
        }
    }

    fn inner(&self) -> String {
        match self {
            Self::Not(_) | Self::And(..) | Self::Or(..) => format!("({})", self.written()),
            _ => self.written(),
        }
    }

    fn value(&self, row: &Row) -> Option<bool> {
        let whole = |name: &str| match row.get(name) {
            Some(Cell::Whole(whole)) => Some(*whole),
            _ => None,
        };
        let Some(Cell::Text(class)) = row.get("class") else { unreachable!() };
        match self {
            Self::More(name, bound) => whole(name).map(|value| value > *bound),
            Self::AtMost(name, bound) => match row.get(*name) {
                Some(Cell::Real(value)) => Some(value <= bound),
                _ => None,
            },
            Self::Begins(text) => Some(class.starts_with(text)),
            Self::Different(text) => Some(class != text),
            Self::New => match row.get("grew_through_new") {
                Some(Cell::Truth(truth)) => Some(*truth),
                _ => None,
            },
            Self::IsNull(name) => Some(!row.contains_key(*name)),
            Self::Sum(a, b, bound) => Some(whole(a)? + 2 * whole(b)? - 1 < *bound),
            Self::Not(a) => a.value(row).map(|value| !value),
            Self::And(a, b) => match (a.value(row), b.value(row)) {
                (Some(true), Some(true)) => Some(true),
                (Some(false), _) | (_, Some(false)) => Some(false),
                _ => None,
            },
            Self::Or(a, b) => match (a.value(row), b.value(row)) {
                (Some(false), Some(false)) => Some(false),
                (Some(true), _) | (_, Some(true)) => Some(true),
                _ => None,
            },
        }
    }
}

const WHOLE: [&str; 3] = ["delta_mean_retained_bytes", "base_mean_count", "delta_mean_count"];
const REAL: [&str; 2] = ["q", "percent_sum_retained_bytes"];
const CLASS: [&str; 4] = ["app.A", "app.B", "lib.A", "a"];

fn plain() -> impl Strategy<Value = Plain> {
    let whole = || prop::sample::select(&WHOLE[..]);
    let leaf = prop_oneof![
        (whole(), -3i64..4).prop_map(|(name, bound)| Plain::More(name, bound)),
        (prop::sample::select(&REAL[..]), -1i32..3)
            .prop_map(|(name, bound)| Plain::AtMost(name, f64::from(bound) / 2.0)),
        prop::sample::select(&["app", "a", "lib", "x"][..]).prop_map(Plain::Begins),
        prop::sample::select(&CLASS[..]).prop_map(Plain::Different),
        Just(Plain::New),
        whole().prop_map(Plain::IsNull),
        (whole(), whole(), -5i64..6).prop_map(|(a, b, bound)| Plain::Sum(a, b, bound)),
    ];
    leaf.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| Plain::Not(Box::new(a))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Plain::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner).prop_map(|(a, b)| Plain::Or(Box::new(a), Box::new(b))),
        ]
    })
}

fn cell(values: impl Strategy<Value = Cell> + 'static) -> BoxedStrategy<Option<Cell>> {
    prop::option::weighted(0.8, values).boxed()
}

fn random_row() -> impl Strategy<Value = Row> {
    let whole = WHOLE.map(|name| cell((-3i64..4).prop_map(Cell::Whole)).prop_map(move |cell| (name, cell)));
    let real = REAL.map(|name| {
        cell((-2i32..4).prop_map(|real| Cell::Real(f64::from(real) / 2.0))).prop_map(move |cell| (name, cell))
    });
    let class = prop::sample::select(&CLASS[..]).prop_map(|class| ("class", Some(Cell::Text(class))));
    let new = cell(any::<bool>().prop_map(Cell::Truth)).prop_map(|cell| ("grew_through_new", cell));
    (whole, real, class, new).prop_map(|(whole, real, class, new)| {
        let cells = whole.into_iter().chain(real).chain([class, new]);
        cells.filter_map(|(name, cell)| Some((name.to_owned(), cell?))).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rows_are_found_as_a_naive_evaluator_finds_them(
        rows in prop::collection::vec(random_row(), 0..60),
        expressions in prop::collection::vec(plain(), 1..6),
    ) {
        let folder = comparison(3);
        write(folder.path(), &CLASSES, &rows);
        let written: Vec<String> = expressions.iter().map(Plain::written).collect();
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        let verdicts = check(&gates(&written), folder.path());
        for ((expression, verdict), written) in expressions.iter().zip(&verdicts.gates).zip(&written) {
            let values: Vec<Option<bool>> = rows.iter().map(|row| expression.value(row)).collect();
            let failing = values.iter().filter(|value| **value == Some(true)).count();
            prop_assert_eq!(verdict.failing, failing as u64, "{}", written);
            prop_assert_eq!(verdict.rows, rows.len() as u64);
            prop_assert_eq!(verdict.outcome == Outcome::Failed, failing > 0);
            prop_assert!(verdict.outcome != Outcome::Undecided || written.contains('q'));
            let found = rows.iter().zip(&values).filter(|(_, value)| **value == Some(true)).take(20);
            let found = found.map(|(row, _)| match &row["class"] { Cell::Text(class) => *class, _ => unreachable!() });
            let subjects = verdict.found.iter().map(|found| found.subject.as_str());
            prop_assert!(found.eq(subjects), "{}", written);
        }
    }
}
