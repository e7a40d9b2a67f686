//! Follows one table of a series.

use super::answer::InBrief;
use super::row::{self, Step};
use crate::columns::Columns;
use crate::ranked::parts::{self, Grown};
use crate::ranked::row::Row;
use crate::ranked::table::{Layout, Ranked, ordered};
use crate::ranked::write::{self, OutputRow, Subject};
use crate::rows::labels::Labels;
use crate::rows::{self, Rules};
use crate::sides::Sides;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::diff::DiffTable;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Maximum slopes that a thread holds.
const MOST_SLOPES: u64 = 1 << 20;

/// A followed table.
pub(super) type Followed = Ranked<Step, Rank>;

/// By class fingerprint: text of the reference chain that grows fastest, and its growth per step.
pub(super) type Paths = FxHashMap<u64, (String, f64)>;

/// Follows a table; `None` if no run has it.
pub(super) fn follow(
    sides: &Sides,
    table: &'static DiffTable,
    rules: &Rules<'_>,
    context: &Context<'_>,
) -> Result<Option<Followed>, StageError> {
    let gathered = rows::gather(sides, table, rules, false, context)?;
    if gathered.runs.is_empty() {
        return Ok(None);
    }
    let runs = gathered.runs.len() as u64;
    let slopes = context.threads as u64 * (runs * runs / 2).min(MOST_SLOPES) * 8;
    let _slopes = context.budget.reserve("trend: slopes", slopes)?;
    let measures = table.measures.len();
    let steps = sides.sides.len();
    let layout = Layout { grant: "trend: ranks of rows", values: measures * steps, bytes: 48 };
    let mut ranks = Vec::new();
    let row = |group: &rows::Group<'_>| row::row(group, measures);
    let mut followed = Ranked::of(table, gathered, &layout, context, row, |row| ranks.push(Rank::of(row, steps)))?;
    followed.rank(ranks);
    Ok(Some(followed))
}

/// Rank of a subject: growing ones first, then by slope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    grows: Reverse<bool>,
    /// Growth per step, summed over the runs of the last step that has any.
    slope: Reverse<i64>,
    fingerprint: u64,
}

impl Rank {
    fn of(row: &Row<Step>, steps: usize) -> Self {
        let series = &row.values[0].series;
        let runs = row.values[..steps].iter().rev().map(|step| step.amounts.reported).find(|&runs| runs > 0);
        let slope = series.slope().map_or(f64::NEG_INFINITY, |of| of.slope * runs.unwrap_or(0).max(1) as f64);
        let grows = Reverse(series.shape().grows());
        Self { grows, slope: Reverse(ordered(slope)), fingerprint: row.head.fingerprint }
    }
}

/// For the table of chains: the reference chain with the fastest growth of each class.
pub(super) fn paths(chains: &Followed) -> Result<Paths, StageError> {
    let mut paths = Paths::default();
    for &number in chains.order.iter().take(10 * parts::MOST) {
        let row = chains.row(number)?;
        let Some(slope) = row.values[0].series.slope().filter(|slope| slope.slope > 0.0) else { continue };
        let labels = chains.labels(number)?;
        let is_faster = paths.get(&row.head.class).is_none_or(|(_, most)| *most < slope.slope);
        if labels.key(0) == Some("reference") && is_faster {
            paths.insert(row.head.class, (labels.key(2).unwrap_or_default().to_owned(), slope.slope));
        }
    }
    Ok(paths)
}

/// A table followed for the runs of one format.
pub(super) struct OfFormat<'a> {
    /// Table.
    pub followed: Followed,
    /// Chains that locate the growth of classes.
    pub paths: &'a Paths,
    /// Its summary.
    pub brief: InBrief,
}

impl OfFormat<'_> {
    fn is(&self, table: &str) -> bool {
        self.followed.table.compared.name == table
    }
}

impl write::OfFormat for OfFormat<'_> {
    type Value = Step;
    type Rank = Rank;
    type Decision = ();

    fn ranked(&self) -> &Followed {
        &self.followed
    }

    fn decide(&self, _: u32, _: &Row<Step>, _: &Labels) {}

    fn growth(&self, Subject { row, labels, .. }: &Subject<Step, ()>) -> Option<Grown> {
        if !row.values[0].series.shape().grows() {
            return None;
        }
        let slope = |measure: usize| {
            let step = &row.values[measure * self.followed.sides.len()];
            step.series.slope().map_or(0.0, |slope| slope.slope)
        };
        let count = self.followed.table.measures.iter().position(|measure| *measure == "count");
        let (path, class) = match self.is("classes") {
            true => (self.paths.get(&row.head.fingerprint).map(|(path, _)| path.as_str()), row.head.fingerprint),
            false => (labels.key(2).filter(|_| self.is("chains")), row.head.class),
        };
        let kind = labels.key(0).filter(|_| self.is("chains"));
        Some(Grown {
            fingerprint: row.head.fingerprint,
            class,
            path: path.unwrap_or_default().to_owned(),
            by_reference: kind.is_none_or(|kind| kind == "reference"),
            delta: slope(0),
            instances: count.map_or(0.0, slope),
        })
    }

    fn take(&mut self, subject: &Subject<Step, ()>) {
        self.brief.take(subject, self.followed.table, self.followed.sides.len());
    }

    fn columns(columns: &mut Columns<'_, OutputRow<'_, Self>>) {
        let steps = |row: &OutputRow<'_, Self>| row.format.followed.sides.len();
        let grows = |row: &OutputRow<'_, Self>| row.subject.row.values[0].series.shape().grows();
        columns.text(|row| row.format.followed.table.measures.get(row.at / steps(row)));
        columns.text(|row| Some(&row.format.brief.format));
        columns.number(|row| Some((row.at % steps(row)) as i64));
        columns.amounts(|row| row.format.followed.sides[row.at % steps(row)], |row| &row.value.amounts);
        columns.text(|row| Some(row.value.series.shape().name()));
        columns.statistic(|row| Some(row.value.series.slope()?.slope));
        columns.statistic(|row| Some(row.value.series.slope()?.low));
        columns.statistic(|row| Some(row.value.series.slope()?.high));
        columns.number(|row| Some(row.value.series.first_growth()? as i64));
        columns.number(|row| grows(row).then_some(row.subject.row.head.changed_on.into()));
        columns.text(|row| row.subject.changed_on.as_ref().filter(|_| grows(row)));
        columns.fingerprint(|row| Some(row.subject.row.head.class).filter(|_| row.format.is("chains")));
        columns.fingerprint(|row| row.subject.part_of);
    }
}
