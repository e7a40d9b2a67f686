//! A comparison in brief, for people.

use super::holders::Holders;
use super::row::NO_ONE;
use super::sides::{BASE, TARGET};
use super::table::{Compared, SIGNIFICANT};
use super::write::Told;
use heaplake_schemas::comparison::Comparison;
use heaplake_schemas::diff::Status;
use serde::Serialize;
use std::collections::BTreeMap;

/// Subjects of each table that are told.
const TOP: usize = 20;

/// The answer.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// What was compared.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The tables in brief.
    pub compared: Vec<InBrief>,
}

/// A table in brief.
#[derive(Debug, Serialize)]
pub struct InBrief {
    /// Its name.
    pub table: &'static str,
    /// The format of the inputs of its runs.
    pub format: String,
    /// What subjects are ranked by.
    pub measure: &'static str,
    /// Its subjects.
    pub rows: u64,
    /// How many subjects have each status.
    pub statuses: BTreeMap<&'static str, u64>,
    /// Subjects of which `q` is below 0.05; null if both sides have one run.
    pub significant: Option<u64>,
    /// Hosts that were compared with themselves.
    pub pairs: usize,
    /// The median of the smallest effects on all runs of its subjects; null if there are none.
    pub smallest_effect: Option<f64>,
    /// The same of effects on a tenth of the runs.
    pub smallest_effect_on_tenth: Option<f64>,
    /// The first subjects, without those that are a part of another one, and without what may be duplicates.
    pub top: Vec<TopRow>,
}

/// A subject.
#[derive(Debug, Serialize)]
pub struct TopRow {
    /// What it is.
    pub signature: String,
    /// Its keys.
    pub keys: BTreeMap<&'static str, Option<String>>,
    /// What became of it.
    pub status: &'static str,
    /// By what that is decided.
    pub evidence: &'static str,
    /// Its main measure on the side of the base.
    pub base: Option<Amount>,
    /// On the side of the target.
    pub target: Option<Amount>,
    /// What the runs of the target have more than as many of the base.
    pub delta_sum: Option<i64>,
    /// In percent of the base; infinite, which is null in JSON, if the base has nothing.
    pub percent_sum: Option<f64>,
    /// Difference of the means: what a run has more.
    pub delta_mean: Option<i64>,
    /// Ends of the interval of the shift.
    pub shift: Option<[f64; 2]>,
    /// q.
    pub q: Option<f64>,
    /// Runs of the base with it.
    pub base_runs_with: u32,
    /// Runs of the target with it.
    pub target_runs_with: u32,
    /// Hosts of the target with it.
    pub target_hosts_with: Option<u32>,
    /// Hosts of the target, or runs, on which it changed.
    pub changed_on: u32,
    /// Hosts of the target, or runs.
    pub of: usize,
    /// Names of hosts on which it changed most.
    pub changed_on_names: Option<String>,
    /// The chain through which a class grew most.
    pub grew_through: Option<Through>,
    /// A chain's part of the growth of its class.
    pub share: Option<f64>,
}

/// A measure on one side.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Amount {
    /// On all runs together.
    pub sum: i64,
    /// Mean of the runs.
    pub mean: i64,
    /// Their median.
    pub median: i64,
}

/// A chain through which a class grew.
#[derive(Debug, Serialize)]
pub struct Through {
    /// Its text.
    pub text: String,
    /// What it grew on a run in the mean, bytes.
    pub bytes: i64,
    /// Whether the base does not have it.
    pub new: bool,
}

impl InBrief {
    /// Of a table without subjects yet.
    #[must_use]
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

    /// Takes the next subject.
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
