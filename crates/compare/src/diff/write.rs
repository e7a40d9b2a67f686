//! Decides about the subjects of a compared table, and writes them.

use super::answer::InBrief;
use super::class::OfClass;
use super::holders::Holders;
use super::row::Measure;
use super::sides::{BASE, TARGET};
use super::status::{self, Decision};
use super::table::{Compared, Rank};
use crate::columns::Columns;
use crate::ranked::parts::Grown;
use crate::ranked::row::{Head, Row};
use crate::ranked::table::Ranked;
use crate::ranked::write::{self, OutputRow, Subject};
use crate::rows::labels::Labels;
use heaplake_kit::StageError;
use rustc_hash::FxHashMap;

/// Context for rows of classes and chains.
#[derive(Default)]
pub(super) struct Around {
    /// Growth of chains, by class.
    pub holders: Holders,
    /// Classes in the base, by fingerprint.
    pub classes: FxHashMap<u64, OfClass>,
}

/// A table compared for the runs of one format.
pub(super) struct OfFormat<'a> {
    /// Table.
    pub compared: Compared,
    /// Classes and chains of the format.
    pub around: &'a Around,
    /// Its summary.
    pub brief: InBrief,
}

impl write::OfFormat for OfFormat<'_> {
    type Value = Measure;
    type Rank = Rank;
    type Decision = Decision;

    fn ranked(&self) -> &Ranked<Measure, Rank> {
        &self.compared.ranked
    }

    fn decide(&self, number: u32, row: &Row<Measure>, labels: &Labels) -> Decision {
        let (compared, Around { holders, classes }) = (&self.compared, self.around);
        let Head { fingerprint, class, .. } = row.head;
        let delta = row.values[0].delta_mean();
        let (mut through, mut share) = (None, None);
        let verdict = match compared.ranked.table.compared.name {
            "classes" => {
                let most = holders.through(fingerprint);
                through = most.filter(|_| delta.is_some_and(|delta| delta > 0)).cloned();
                status::of_class(compared, number, row, most)
            }
            "chains" => {
                share = holders.share(class, labels.key(0).unwrap_or_default(), delta);
                status::of_chain(compared, number, row, classes.get(&class))
            }
            _ => status::of(compared, number, row),
        };
        let q = (0..row.values.len()).map(|measure| compared.q(number, measure, row)).collect();
        Decision { verdict, q, through, share }
    }

    fn growth(&self, Subject { row, labels, decision, .. }: &Subject<Measure, Decision>) -> Option<Grown> {
        if !decision.verdict.status.is_growth() {
            return None;
        }
        let table = self.compared.ranked.table;
        let Head { fingerprint, class, changed_on, .. } = row.head;
        let (path, class, by_reference) = match table.compared.name {
            "chains" => (labels.key(2), class, labels.key(0).is_none_or(|kind| kind == "reference")),
            "classes" => (self.around.holders.path(fingerprint), fingerprint, true),
            _ => (None, 0, true),
        };
        let count = table.measures.iter().position(|measure| *measure == "count");
        let more = count.and_then(|count| row.values[count].delta_sum()).unwrap_or(0);
        Some(Grown {
            fingerprint,
            class,
            path: path.unwrap_or_default().to_owned(),
            by_reference,
            delta: row.values[0].delta_sum().unwrap_or(0) as f64,
            instances: more as f64 / f64::from(changed_on.max(1)),
        })
    }

    fn take(&mut self, subject: &Subject<Measure, Decision>) {
        self.brief.take(subject, &self.compared);
    }

    fn columns(columns: &mut Columns<'_, OutputRow<'_, Self>>) {
        columns.text(|row| row.format.compared.ranked.table.measures.get(row.at));
        columns.text(|row| Some(&row.format.brief.format));
        columns.text(|row| Some(row.subject.decision.verdict.status.name()));
        columns.text(|row| Some(row.subject.decision.verdict.evidence.name()));
        columns.fingerprint(|row| row.subject.part_of);
        for side in [BASE, TARGET] {
            columns.amounts(|row| row.format.compared.ranked.sides[side], |row| &row.value.sides[side]);
        }
        statistics(columns);
        let changed = |number: u32| Some(i64::from(number));
        columns.number(|row| changed(row.subject.row.head.changed_on).filter(|_| row.subject.decision.is_change()));
        columns.text(|row| row.subject.changed_on.as_ref().filter(|_| row.subject.decision.is_change()));
        let is_chains = |row: &OutputRow<'_, Self>| row.format.compared.ranked.table.compared.name == "chains";
        columns.fingerprint(|row| is_chains(row).then_some(row.subject.row.head.class));
        columns.statistic(|row| row.subject.decision.share);
        columns.text(|row| row.subject.decision.through.as_ref().map(|through| &through.signature));
        columns.text(|row| row.subject.decision.through.as_ref().map(|through| &through.text));
        columns.number(|row| row.subject.decision.through.as_ref().map(|through| through.bytes));
        columns.flag(|row| row.subject.decision.through.as_ref().map(|through| through.new));
    }
}

/// Appends differences, intervals and tests.
fn statistics(columns: &mut Columns<'_, OutputRow<'_, OfFormat<'_>>>) {
    columns.number(|row| row.value.delta_sum());
    columns.statistic(|row| Some(row.value.tests.sum_interval[0]));
    columns.statistic(|row| Some(row.value.tests.sum_interval[1]));
    columns.percent(|row| row.value.percent_sum());
    columns.number(|row| row.value.delta_mean());
    columns.number(|row| row.value.delta_median());
    columns.percent(|row| row.value.percent_median());
    columns.statistic(|row| Some(row.value.tests.shift));
    columns.statistic(|row| Some(row.value.tests.shift_interval[0]));
    columns.statistic(|row| Some(row.value.tests.shift_interval[1]));
    columns.statistic(|row| Some(row.value.tests.p_shift));
    columns.statistic(|row| Some(row.value.tests.p_presence));
    columns.statistic(|row| Some(row.value.tests.p_tail));
    columns.statistic(|row| Some(row.value.tests.p_paired));
    columns.statistic(|row| Some(row.value.tests.p));
    columns.statistic(|row| row.subject.decision.q[row.at]);
    columns.number(|row| Some(row.value.tests.pairs as i64).filter(|&pairs| pairs > 0));
    columns.statistic(|row| Some(row.value.tests.smallest_effect));
    columns.statistic(|row| Some(row.value.tests.smallest_on_tenth));
}

/// Returns the classes of the base, by fingerprint.
pub(super) fn classes_of_base(classes: &Compared) -> Result<FxHashMap<u64, OfClass>, StageError> {
    let mut of_base: FxHashMap<u64, OfClass> = FxHashMap::default();
    for &number in &classes.ranked.order {
        let row = classes.ranked.row(number)?;
        let base = &row.values[0].sides[BASE];
        let class = of_base.entry(row.head.fingerprint).or_default();
        class.retained += base.mean;
        class.in_base |= base.with[0] > 0;
    }
    Ok(of_base)
}
