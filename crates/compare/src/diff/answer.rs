//! Summary of a comparison, for people.

use super::holders::Holders;
use super::row::NO_ONE;
use super::sides::{BASE, TARGET};
use super::table::{Compared, SIGNIFICANT};
use super::write::Told;
use heaplake_schemas::comparison::Comparison;
use heaplake_schemas::diff::Status;
use serde::Serialize;
use std::collections::BTreeMap;

/// Subjects shown per table.
const TOP: usize = 20;

/// Summary of a comparison.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Sides, runs and tables of the comparison.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// Summaries of the tables.
    pub compared: Vec<InBrief>,
}

/// Summary of a table.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
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
    pub grew_through: Option<Through>,
    /// Share of a chain in the growth of its class.
    pub share: Option<f64>,
}

/// A measure on one side.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Amount {
    /// Sum over all runs.
    pub sum: i64,
    /// Mean of the runs.
    pub mean: i64,
    /// Median of the runs.
    pub median: i64,
}

/// A chain through which a class grew.
#[derive(Debug, Serialize)]
pub struct Through {
    /// Chain as text.
    pub text: String,
    /// Mean growth per run, in bytes.
    pub bytes: i64,
    /// Whether the base lacks the chain.
    pub new: bool,
}

impl InBrief {
    /// Creates the summary, without subjects.
    pub fn of(compared: &Compared<'_>, format: &str) -> Self {
        Self {
            table: compared.table.table.name,
            format: format.to_owned(),
            measure: compared.table.measures[0],
            rows: compared.order.len() as u64,
            statuses: BTreeMap::new(),
            significant: compared.has_statistics().then_some(0),
            pairs: compared.pairs,
            smallest_effect: None,
            smallest_effect_on_tenth: None,
            top: Vec::new(),
        }
    }

    /// Adds the next subject.
    pub fn take(&mut self, told: &Told, compared: &Compared<'_>, holders: &Holders) {
        *self.statuses.entry(told.verdict.status.name()).or_default() += 1;
        let significant = told.q[0].is_some_and(|q| q < SIGNIFICANT);
        self.significant = self.significant.map(|rows| rows + u64::from(significant));
        let is_possible = told.is_possible(compared.table.compared.name);
        let is_told = told.part_of.is_none() && told.verdict.status != Status::Same && !is_possible;
        if self.top.len() < TOP && is_told {
            self.top.push(top_row(told, compared, holders));
        }
    }
}

fn top_row(told: &Told, compared: &Compared<'_>, holders: &Holders) -> TopRow {
    let Told { row, texts, verdict, q, .. } = told;
    let (main, head) = (&row.measures[0], &row.head);
    let delta = main.delta_mean();
    let grew = compared.table.compared.name == "classes" && delta.is_some_and(|delta| delta > 0);
    let through = holders.through(head.fingerprint).filter(|_| grew);
    let kind = texts.first().and_then(Option::as_deref).unwrap_or_default();
    let amount = |side: usize| {
        let of = main.sides[side];
        of.is_told().then_some(Amount { sum: of.sum, mean: of.mean, median: of.median })
    };
    let is_chains = compared.table.compared.name == "chains";
    TopRow {
        signature: texts.last().cloned().flatten().unwrap_or_default(),
        keys: compared.table.keys.iter().copied().zip(texts.iter().cloned()).collect(),
        status: verdict.status.name(),
        evidence: verdict.evidence.name(),
        base: amount(BASE),
        target: amount(TARGET),
        delta_sum: main.delta_sum(),
        percent_sum: main.percent_sum(),
        delta_mean: delta,
        shift: Some(main.tests.shift_interval).filter(|ends| ends.iter().all(|end| !end.is_nan())),
        q: q[0],
        base_runs_with: head.runs_with[BASE],
        target_runs_with: head.runs_with[TARGET],
        target_hosts_with: Some(head.hosts_with[TARGET]).filter(|&hosts| hosts != NO_ONE),
        changed_on: head.changed_on,
        of: compared.hosts[TARGET].unwrap_or(compared.runs[TARGET]),
        changed_on_names: compared.changed_on(row),
        grew_through: through.map(|through| Through {
            text: through.text.clone(),
            bytes: through.bytes,
            new: through.new,
        }),
        share: if is_chains { holders.share(head.class, kind, delta) } else { None },
    }
}
