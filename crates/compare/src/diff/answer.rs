//! Summary of a comparison, for people.

use super::row::Measure;
use super::sides::{BASE, TARGET};
use super::status::Decision;
use super::table::{Compared, SIGNIFICANT};
use crate::ranked::write::Subject;
use crate::rows::NO_ONE;
use heaplake_schemas::comparison::Comparison;
use heaplake_schemas::diff::Status;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Subjects shown per table.
const TOP: usize = 20;

/// Summary of a comparison.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Sides, runs and tables of the comparison.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Summaries of the tables.
    pub compared: Vec<InBrief>,
}

/// Summary of a table.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InBrief {
    /// Table name.
    pub table: &'static str,
    /// Input format of its runs.
    pub format: String,
    /// Measure by which subjects are ranked.
    pub measure: &'static str,
    /// Number of subjects.
    pub rows: u64,
    /// Number of subjects per status.
    pub statuses: BTreeMap<&'static str, u64>,
    /// Number of subjects with `q` below 0.05; null if both sides have one run.
    pub significant: Option<u64>,
    /// Number of paired hosts.
    pub pairs: usize,
    /// Median of the subjects' smallest detectable effects on all runs.
    pub smallest_effect: Option<f64>,
    /// Median of their smallest detectable effects on a tenth of the runs.
    pub smallest_effect_on_tenth: Option<f64>,
    /// First subjects, without parts of other subjects and without possible duplicates.
    pub top: Vec<TopRow>,
}

/// A subject.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TopRow {
    /// Signature.
    pub signature: String,
    /// Key columns.
    pub keys: BTreeMap<&'static str, Option<String>>,
    /// Status.
    pub status: &'static str,
    /// Evidence for the status.
    pub evidence: &'static str,
    /// Main measure of the base.
    pub base: Option<Amount>,
    /// Main measure of the target.
    pub target: Option<Amount>,
    /// Sum of the target less the base's sum, scaled to the target's number of runs.
    pub delta_sum: Option<i64>,
    /// `delta_sum` in percent of the base; infinite (null in JSON) if the base is 0.
    pub percent_sum: Option<f64>,
    /// Difference of the means.
    pub delta_mean: Option<i64>,
    /// Confidence interval of the shift.
    pub shift: Option<[f64; 2]>,
    /// q-value.
    pub q: Option<f64>,
    /// Number of base runs with the subject.
    pub base_runs_with: u32,
    /// Number of target runs with the subject.
    pub target_runs_with: u32,
    /// Number of target hosts with the subject.
    pub target_hosts_with: Option<u32>,
    /// Number of target hosts (or runs) on which it changed.
    pub changed_on: u32,
    /// Number of target hosts (or runs).
    pub of: usize,
    /// Names of the hosts on which it changed most.
    pub changed_on_names: Option<String>,
    /// Chain through which a class grew most.
    pub grew_through: Option<GrewThrough>,
    /// Share of a chain in the growth of its class.
    pub share: Option<f64>,
}

/// A measure on one side.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Amount {
    /// Sum over all runs.
    pub sum: i64,
    /// Mean of the runs.
    pub mean: i64,
    /// Median of the runs.
    pub median: i64,
}

/// A chain through which a class grew.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GrewThrough {
    /// Chain as text.
    pub text: String,
    /// Mean growth per run, in bytes.
    pub bytes: i64,
    /// Whether the base lacks the chain.
    pub new: bool,
}

impl InBrief {
    /// Creates the summary, without subjects.
    pub(super) fn of(compared: &Compared, format: &str) -> Self {
        let table = compared.ranked.table;
        let [smallest_effect, smallest_effect_on_tenth] = compared.smallest_effects;
        Self {
            table: table.table.name,
            format: format.to_owned(),
            measure: table.measures[0],
            rows: compared.ranked.order.len() as u64,
            statuses: BTreeMap::new(),
            significant: compared.has_statistics.then_some(0),
            pairs: compared.pairs,
            smallest_effect,
            smallest_effect_on_tenth,
            top: Vec::new(),
        }
    }

    /// Adds the next subject.
    pub(super) fn take(&mut self, subject: &Subject<Measure, Decision>, compared: &Compared) {
        let Decision { verdict, q, .. } = &subject.decision;
        *self.statuses.entry(verdict.status.name()).or_default() += 1;
        let significant = q[0].is_some_and(|q| q < SIGNIFICANT);
        self.significant = self.significant.map(|rows| rows + u64::from(significant));
        let is_possible = subject.labels.is_possible(compared.ranked.table);
        if self.top.len() < TOP && subject.part_of.is_none() && verdict.status != Status::Same && !is_possible {
            self.top.push(top_row(subject, compared));
        }
    }
}

fn top_row(subject: &Subject<Measure, Decision>, compared: &Compared) -> TopRow {
    let Subject { row, labels, changed_on, decision, .. } = subject;
    let Decision { verdict, q, through, share } = decision;
    let (main, ranked) = (&row.values[0], &compared.ranked);
    let amount = |side: usize| {
        let of = main.sides[side];
        of.is_reported().then_some(Amount { sum: of.sum, mean: of.mean, median: of.median })
    };
    let [base_with, target_with] = main.sides.map(|side| side.with);
    TopRow {
        signature: labels.signature.clone(),
        keys: ranked.table.keys.iter().copied().zip(labels.keys.iter().cloned()).collect(),
        status: verdict.status.name(),
        evidence: verdict.evidence.name(),
        base: amount(BASE),
        target: amount(TARGET),
        delta_sum: main.delta_sum(),
        percent_sum: main.percent_sum(),
        delta_mean: main.delta_mean(),
        shift: Some(main.tests.shift_interval).filter(|ends| ends.iter().all(|end| !end.is_nan())),
        q: q[0],
        base_runs_with: base_with[0],
        target_runs_with: target_with[0],
        target_hosts_with: Some(target_with[1]).filter(|&hosts| hosts != NO_ONE),
        changed_on: row.head.changed_on,
        of: ranked.sides[TARGET].hosts.unwrap_or(ranked.sides[TARGET].runs),
        changed_on_names: changed_on.clone(),
        grew_through: through.as_ref().map(|through| GrewThrough {
            text: through.text.clone(),
            bytes: through.bytes,
            new: through.new,
        }),
        share: *share,
    }
}
