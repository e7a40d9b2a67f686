//! Summary of a trend, for people.

use super::row::Step;
use super::shape::Shape;
use crate::ranked::write::Subject;
use heaplake_schemas::diff::DiffTable;
use heaplake_schemas::series::Series;
use heaplake_schemas::trend::TrendTable;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum rows shown per table.
const TOP: usize = 20;

/// Summary of a trend.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The series.
    #[serde(flatten)]
    pub series: Series,
    /// Summaries of the tables.
    pub followed: Vec<InBrief>,
}

/// Summary of a table.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InBrief {
    /// Table name.
    pub table: &'static str,
    /// Input format of its runs.
    pub format: String,
    /// Measure by which rows are ranked.
    pub measure: &'static str,
    /// Number of subjects.
    pub rows: u64,
    /// Number of subjects per shape.
    pub shapes: BTreeMap<&'static str, u64>,
    /// First rows with a positive slope.
    pub top: Vec<TopRow>,
}

/// A subject.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TopRow {
    /// Signature.
    pub signature: String,
    /// Key columns.
    pub keys: BTreeMap<&'static str, Option<String>>,
    /// Shape of its series.
    pub shape: &'static str,
    /// Main measure along the series: medians of the steps; means, if it leaks on some hosts.
    pub levels: Vec<Option<i64>>,
    /// Growth per step.
    pub slope: f64,
    /// Confidence interval of the slope; null if there are too few values.
    pub slope_interval: Option<[f64; 2]>,
    /// The first step of growth, from 0.
    pub first_growth: Option<usize>,
    /// Number of steps with it.
    pub steps_with: u32,
    /// Number of runs with it.
    pub runs_with: u32,
    /// Number of hosts (or runs) of the last step on which it has grown.
    pub grown_on: u32,
    /// Names of the hosts with the largest values.
    pub grown_on_names: Option<String>,
}

impl InBrief {
    /// Creates the summary, without rows.
    pub(super) fn of(table: &TrendTable, format: &str) -> Self {
        let (table, measure) = (table.table.name, table.rows.measures[0]);
        Self { table, format: format.to_owned(), measure, rows: 0, shapes: BTreeMap::new(), top: Vec::new() }
    }

    /// Adds the next subject, with the number of steps.
    pub(super) fn take(&mut self, subject: &Subject<Step, ()>, table: &DiffTable, steps: usize) {
        let Subject { row, labels, changed_on, part_of, .. } = subject;
        let (series, steps) = (&row.values[0].series, &row.values[..steps]);
        let shape = series.shape();
        self.rows += 1;
        *self.shapes.entry(shape.name()).or_default() += 1;
        // Possible duplicates appear in the table only.
        let is_shown = self.top.len() < TOP && part_of.is_none() && !labels.is_possible(table);
        let Some(slope) = series.slope().filter(|slope| slope.slope > 0.0 && is_shown) else { return };
        let level = |Step { amounts, .. }: &Step| {
            amounts.if_reported(if shape == Shape::LeaksOnSome { amounts.mean } else { amounts.median })
        };
        let runs_with = || steps.iter().map(|step| step.amounts.with[0]);
        self.top.push(TopRow {
            signature: labels.signature.clone(),
            keys: table.keys.iter().copied().zip(labels.keys.iter().cloned()).collect(),
            shape: shape.name(),
            levels: steps.iter().map(level).collect(),
            slope: slope.slope,
            slope_interval: (slope.low.is_finite() && slope.high.is_finite()).then_some([slope.low, slope.high]),
            first_growth: series.first_growth(),
            steps_with: runs_with().filter(|&runs| runs > 0).count() as u32,
            runs_with: runs_with().sum(),
            grown_on: row.head.changed_on,
            grown_on_names: changed_on.clone(),
        });
    }
}
