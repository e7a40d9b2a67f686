//! Answers a query.

use super::ast::{Aggregate, Filter, Key, Query, Shown, Test};
use super::check::Verdict;
use super::columns::{Cell, Column};
use super::groups::{Groups, Totals, UnitGroups, Wanted};
use super::neighbours::{Neighbours, workers};
use super::order::{Entry, First};
use super::plan::{Compiled, Plan};
use super::scan::{Nodes, Rows};
use super::shown;
use super::terms::{Kind, Term};
use crate::asked::Asked;
use crate::error::QueryError;
use heaplake_kit::threads::{self, locked};
use heaplake_kit::{StageError, text};
use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Answer to a query.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QueryAnswer")]
pub struct Answer {
    /// The query, as it was understood.
    pub query: String,
    /// Objects of the run.
    pub of: u64,
    /// Objects that match.
    pub matching: u64,
    /// Their shallow sizes.
    pub matching_shallow_bytes: u64,
    /// Groups of them, if there are groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
    /// The columns of the rows.
    #[serde(serialize_with = "heads")]
    #[schemars(with = "Vec<Head>")]
    pub columns: Arc<[Head]>,
    /// The first of them: a member per column.
    #[schemars(with = "Vec<BTreeMap<String, Cell>>")]
    pub rows: Vec<Row>,
    /// Remarks, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Head {
    /// Name.
    pub name: String,
    /// Type of its values.
    #[serde(rename = "type")]
    pub kind: Kind,
}

fn heads<S: Serializer>(heads: &Arc<[Head]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(heads.iter())
}

/// A row of the answer.
#[derive(Debug)]
pub struct Row {
    columns: Arc<[Head]>,
    /// Values, one for each column.
    pub cells: Vec<Cell>,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (head, cell) in self.columns.iter().zip(&self.cells) {
            map.serialize_entry(&head.name, cell)?;
        }
        map.end()
    }
}

/// The order of a query that states none.
fn by_default(of: Shown) -> Vec<Key> {
    vec![Key { by: of, descending: true }]
}

/// A term that the tables have by this name.
fn term(name: &str) -> Option<Shown> {
    Term::named(name).map(Shown::Term)
}

/// Answers a query: its first `most` rows, or as many as its limit says, from the row `first` on.
///
/// # Errors
/// [`QueryError`] also if the run lacks a table or a column that the query needs, or if there are too many groups.
pub fn ask(asked: &Asked, query: &Query, first: usize, most: usize) -> Result<Answer, QueryError> {
    query.check()?;
    let mut query = query.clone();
    if query.select.is_empty() {
        query.select = default_columns(&query);
    }
    let most = query.limit.map_or(most, |limit| most.min((limit as usize).saturating_sub(first)));
    let filter = query.filter.clone();
    let plan = Plan::of(&filter)?;
    let nodes = Nodes::open(&asked.nodes(), plan.terms().chain(terms_of(&query)))?;
    let neighbours = Neighbours::new(asked, &nodes);
    check(asked, &query, &nodes, &neighbours)?;
    let per_node = if is_decided(&plan, &nodes)? { Vec::new() } else { neighbours.of_plan(&plan)? };
    let scan = Scan { nodes: &nodes, plan: &plan, per_node, counts: Mutex::default() };
    let end = first.saturating_add(most);
    let (rows, groups) = match query.group_by.is_empty() {
        true => {
            let found: Vec<u32> = listed(&scan, &mut query, end)?.into_iter().skip(first).collect();
            (shown::cells(asked, &nodes, &neighbours, &query.select, &found)?, None)
        }
        false => grouped(&scan, &mut query, first, end)?,
    };
    let columns: Arc<[Head]> = query.select.iter().map(head).collect();
    let (matching, matching_shallow_bytes) = *locked(&scan.counts);
    let rows = rows.into_iter().map(|cells| Row { columns: Arc::clone(&columns), cells }).collect();
    let notes = notes(&query);
    let query = query.to_string();
    Ok(Answer { query, of: nodes.rows, matching, matching_shallow_bytes, groups, rows, columns, notes })
}

fn notes(query: &Query) -> Vec<String> {
    let is_sum = |shown: &Shown| matches!(shown, Shown::Aggregate(Aggregate::Sum, term) if term.described().name.starts_with("retained"));
    let sums = query.select.iter().chain(query.order_by.iter().map(|key| &key.by)).any(is_sum);
    let note = "Sums of retained sizes overlap: an object that another one of its group dominates counts again.";
    if sums { vec![note.to_owned()] } else { Vec::new() }
}

pub(super) fn default_columns(query: &Query) -> Vec<Shown> {
    if query.group_by.is_empty() {
        return ["retained", "shallow", "node", "class", "name"].into_iter().filter_map(term).collect();
    }
    let sum = |name| Term::named(name).map(|term| Shown::Aggregate(Aggregate::Sum, term));
    let counts = [Some(Shown::Count), sum("shallow"), sum("retained")].into_iter().flatten();
    counts.chain(query.group_by.iter().map(|&term| Shown::Term(term))).collect()
}

fn head(shown: &Shown) -> Head {
    let kind = match shown {
        Shown::Term(term) | Shown::Aggregate(_, term) => term.described().kind,
        Shown::Count => Kind::Number,
        Shown::Path | Shown::Field(_) => Kind::Text,
    };
    let name = match shown {
        Shown::Field(name) => format!(".{name}"),
        shown => shown.to_string(),
    };
    Head { name, kind }
}

fn terms_of(query: &Query) -> impl Iterator<Item = Term> {
    let shown = query.select.iter().chain(query.order_by.iter().map(|key| &key.by));
    let shown = shown.filter_map(|shown| match shown {
        Shown::Term(term) | Shown::Aggregate(_, term) => Some(*term),
        _ => None,
    });
    shown.chain(query.group_by.iter().copied())
}

/// Terms of a filter, with those of other objects.
fn terms_in(filter: &Filter, terms: &mut Vec<Term>) {
    match filter {
        Filter::And(all) | Filter::Or(all) => all.iter().for_each(|one| terms_in(one, terms)),
        Filter::Not(inner) => terms_in(inner, terms),
        Filter::Test(Test::Column(term, _)) => terms.push(*term),
        Filter::Test(Test::Related(_, inner) | Test::FieldOf(_, inner) | Test::InField(_, inner)) => {
            terms_in(inner, terms);
        }
        Filter::Test(_) => {}
    }
}

/// Fails if the run lacks a column or a table.
fn check(asked: &Asked, query: &Query, nodes: &Nodes, neighbours: &Neighbours<'_>) -> Result<(), QueryError> {
    let mut terms: Vec<Term> = terms_of(query).collect();
    terms_in(&query.filter, &mut terms);
    if let Some(term) = terms.into_iter().find(|term| !nodes.has(term.described().column)) {
        let cause = format!("{}: this run has no {term}: an older heaplake made it", asked.folder.display());
        return Err(QueryError::usage(cause, "analyse the snapshot again with --force"));
    }
    if query.select.contains(&Shown::Path) {
        neighbours.edges(&Shown::Path)?;
    }
    neighbours.check(&query.filter)
}

/// Whether the cheap tests of a plan reject every row, or there are no others: the others are not needed then.
fn is_decided(plan: &Plan<'_>, nodes: &Nodes) -> Result<bool, StageError> {
    let is_related = |test: &Compiled<'_>| matches!(test, Compiled::Related(_));
    if !plan.tests.iter().any(is_related) {
        return Ok(true);
    }
    if plan.tests.iter().all(is_related) {
        return Ok(false);
    }
    let mut units = nodes.units();
    for rows in threads::map(workers(), &mut units, |unit| nodes.matches(unit, plan, &[])) {
        if rows?.len() > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A scan of the matching rows.
pub(super) struct Scan<'a> {
    pub nodes: &'a Nodes,
    pub plan: &'a Plan<'a>,
    pub per_node: Vec<Option<Vec<Verdict>>>,
    /// Matching objects, and their shallow sizes.
    pub counts: Mutex<(u64, u64)>,
}

impl Scan<'_> {
    /// Calls `work` with the matching rows of each unit, in several threads, and counts them.
    fn each(&self, work: impl Fn(&Rows) -> Result<u64, QueryError> + Sync) -> Result<(), QueryError> {
        let mut units = self.nodes.units();
        let done = threads::map(workers(), &mut units, |unit| -> Result<(), QueryError> {
            let rows = self.nodes.matches(unit, self.plan, &self.per_node)?;
            if rows.len() == 0 {
                return Ok(());
            }
            let bytes = work(&rows)?;
            let mut counts = locked(&self.counts);
            *counts = (counts.0 + rows.len() as u64, counts.1.saturating_add(bytes));
            Ok(())
        });
        done.into_iter().collect()
    }
}

/// Columns of terms, and that of shallow sizes.
fn columns(terms: impl Iterator<Item = Term>) -> Vec<&'static str> {
    let columns: BTreeSet<&str> = terms.map(|term| term.described().column).chain(["shallow_bytes"]).collect();
    columns.into_iter().collect()
}

/// The first `end` objects in the order of the query.
pub(super) fn listed(scan: &Scan<'_>, query: &mut Query, end: usize) -> Result<Vec<u32>, QueryError> {
    if query.order_by.is_empty() {
        query.order_by = term("retained").map(by_default).unwrap_or_default();
    }
    let keys = query.order_by.iter().filter_map(|key| if let Shown::Term(term) = key.by { Some(term) } else { None });
    let keys: Vec<Term> = keys.collect();
    let descending: Vec<bool> = query.order_by.iter().map(|key| key.descending).collect();
    let columns = columns(keys.iter().copied());
    let first = Mutex::new(First::new(end, descending.clone()));
    scan.each(|rows| {
        let mut own = First::new(end, descending.clone());
        let mut bytes = 0u64;
        scan.nodes.read(&columns, rows, |batch, picked| {
            let sizes = batch.sizes("shallow_bytes")?;
            let keys = keys.iter().map(|&term| Column::of(batch, term)).collect::<Result<Vec<_>, _>>()?;
            picked.each(|row, node| {
                bytes = bytes.saturating_add(sizes.value(row));
                let first = keys.first().map_or(Cell::Null, |key| key.cell(row, node));
                if own.may_stay(&first) {
                    let rest = keys.iter().skip(1).map(|key| key.cell(row, node));
                    own.add(Entry { keys: std::iter::once(first).chain(rest).collect(), row: node });
                }
            });
            Ok(())
        })?;
        locked(&first).add_all(own);
        Ok(bytes)
    })?;
    let first = first.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(first.into_rows().into_iter().map(|entry| entry.row).collect())
}

/// Rows of an answer, and the number of groups.
pub(super) type Grouped = (Vec<Vec<Cell>>, Option<u64>);

/// The groups from `first` to `end` in the order of the query.
pub(super) fn grouped(scan: &Scan<'_>, query: &mut Query, first: usize, end: usize) -> Result<Grouped, QueryError> {
    if query.order_by.is_empty() {
        let sum = Term::named("shallow").map(|term| Shown::Aggregate(Aggregate::Sum, term));
        query.order_by = sum.map(by_default).unwrap_or_default();
    }
    let shown = || query.select.iter().chain(query.order_by.iter().map(|key| &key.by));
    let aggregates: BTreeSet<(u8, Term)> = shown()
        .filter_map(|shown| if let Shown::Aggregate(of, term) = shown { Some((*of as u8, *term)) } else { None })
        .collect();
    let named = |of: u8| [Aggregate::Sum, Aggregate::Min, Aggregate::Max][usize::from(of)];
    let aggregates = aggregates.into_iter().map(|(of, term)| (named(of), term)).collect();
    let wanted = Wanted { terms: query.group_by.clone(), aggregates };
    let columns = columns(wanted.terms.iter().copied().chain(wanted.aggregates.iter().map(|&(_, term)| term)));
    let groups = Mutex::new(Groups::default());
    scan.each(|rows| {
        let mut own = UnitGroups::new(&wanted);
        let mut bytes = 0u64;
        scan.nodes.read(&columns, rows, |batch, picked| {
            let sizes = batch.sizes("shallow_bytes")?;
            picked.each(|row, _| bytes = bytes.saturating_add(sizes.value(row)));
            own.add(&wanted, batch, picked)
        })?;
        locked(&groups).add(&wanted, own)?;
        Ok(bytes)
    })?;
    let groups = groups.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).totals;
    let count = groups.len() as u64;
    let mut order = First::new(end, query.order_by.iter().map(|key| key.descending).collect());
    for (keys, totals) in groups {
        order.add(entry(&wanted, query, keys, &totals));
    }
    let rows = order.into_rows().into_iter().skip(first).map(|entry| entry.row.0);
    Ok((rows.collect(), Some(count)))
}

/// A row of groups: its cells, ordered by their text where the keys are equal.
#[derive(PartialEq, Eq)]
struct GroupRow(Vec<Cell>, Vec<Cell>);

impl PartialOrd for GroupRow {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GroupRow {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let cells = self.1.iter().zip(&other.1).map(|(a, b)| a.order(b, false));
        cells.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    }
}

fn entry(wanted: &Wanted, query: &Query, keys: Vec<Cell>, totals: &Totals) -> Entry<GroupRow> {
    let cells = query.select.iter().map(|shown| wanted.cell(shown, &keys, totals)).collect();
    let order = query.order_by.iter().map(|key| wanted.cell(&key.by, &keys, totals)).collect();
    Entry { keys: order, row: GroupRow(cells, keys) }
}

impl Answer {
    /// What the rows are of, in one line: `12 of 3,401 objects that match, of 729,394`.
    pub fn population(&self) -> String {
        let rows = text::count(self.rows.len() as u64);
        let (matching, of) = (text::count(self.matching), text::count(self.of));
        let bytes = text::size(self.matching_shallow_bytes);
        match self.groups {
            None => format!("{rows} of {matching} objects that match, {bytes}, of {of}"),
            Some(groups) => {
                format!("{rows} of {} groups, of {matching} objects that match, {bytes}, of {of}", text::count(groups))
            }
        }
    }
}
