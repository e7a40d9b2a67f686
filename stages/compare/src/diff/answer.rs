//! A comparison in brief, for people.

use super::holders::Holders;
use super::table::{Compared, SIGNIFICANT};
use super::write::{Told, amounts};
use heaplake_schemas::comparison::Comparison;
use heaplake_schemas::diff::Status;
use serde::Serialize;
use std::collections::BTreeMap;

/// Rows of each table that are told.
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
    /// What rows are ranked by.
    pub measure: &'static str,
    /// Its rows.
    pub rows: u64,
    /// How many rows have each status.
    pub statuses: BTreeMap<&'static str, u64>,
    /// Rows of which `q` is below 0.05; null if both sides have one run.
    pub significant: Option<u64>,
    /// The median of the smallest effects of its rows; null if there are none.
    pub smallest_effect: Option<f64>,
    /// The first rows.
    pub top: Vec<TopRow>,
}

/// A row.
#[derive(Debug, Serialize)]
pub struct TopRow {
    /// What it is.
    pub signature: String,
    /// Its keys.
    pub keys: BTreeMap<&'static str, Option<String>>,
    /// What became of it.
    pub status: &'static str,
    /// Its main measure on the side of the base.
    pub base: Option<i64>,
    /// On the side of the target.
    pub target: Option<i64>,
    /// Target less base.
    pub delta: Option<i64>,
    /// In percent of the base.
    pub delta_percent: Option<f64>,
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
    /// The chain through which a class grew most.
    pub grew_through: Option<Through>,
    /// A chain's part of the growth of its class.
    pub share: Option<f64>,
}

/// A chain through which a class grew.
#[derive(Debug, Serialize)]
pub struct Through {
    /// Its text.
    pub text: String,
    /// What it grew, bytes.
    pub bytes: i64,
    /// Whether the base does not have it.
    pub new: bool,
}

impl InBrief {
    /// Of a table without rows yet.
    #[must_use]
    pub fn of(compared: &Compared<'_>) -> Self {
        Self {
            table: compared.table.table.name,
            measure: compared.table.measures[0],
            rows: compared.order.len() as u64,
            statuses: BTreeMap::new(),
            significant: compared.has_statistics().then_some(0),
            smallest_effect: None,
            top: Vec::new(),
        }
    }

    /// Takes the next row.
    pub fn take(&mut self, told: &Told, keys: &[&'static str], holders: &Holders) {
        *self.statuses.entry(told.status.name()).or_default() += 1;
        let significant = told.q[0].is_some_and(|q| q < SIGNIFICANT);
        self.significant = self.significant.map(|rows| rows + u64::from(significant));
        if self.top.len() < TOP && !matches!(told.status, Status::Same) {
            self.top.push(top_row(told, keys, (self.table, holders)));
        }
    }
}

fn top_row(told: &Told, keys: &[&'static str], (table, holders): (&str, &Holders)) -> TopRow {
    let Told { row, texts, status, q } = told;
    let main = &row.measures[0];
    let (base, target) = amounts(main);
    let grew = table == "diff_classes" && main.delta().is_some_and(|delta| delta > 0);
    let through = holders.through(row.fingerprint).filter(|_| grew);
    let kind = texts.first().and_then(Option::as_deref).unwrap_or_default();
    TopRow {
        signature: texts.last().cloned().flatten().unwrap_or_default(),
        keys: keys.iter().copied().zip(texts.iter().cloned()).collect(),
        status: status.name(),
        base,
        target,
        delta: main.delta(),
        delta_percent: main.delta_percent(),
        shift: main.statistics.map(|of| [of.low, of.high]),
        q: q[0],
        base_runs_with: row.runs_with[0],
        target_runs_with: row.runs_with[1],
        target_hosts_with: row.hosts_with[1],
        grew_through: through.map(|through| Through {
            text: through.text.clone(),
            bytes: through.bytes,
            new: through.new,
        }),
        share: (table == "diff_chains").then(|| holders.share(row.class, kind, main.delta())).flatten(),
    }
}
