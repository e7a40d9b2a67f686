//! A trend in brief, for people.

use super::row::{Measure, Row};
use super::shape::Shape;
use crate::amounts::Amounts;
use crate::diff::POSSIBLE;
use heaplake_schemas::series::Series;
use heaplake_schemas::trend::TrendTable;
use serde::Serialize;
use std::collections::BTreeMap;

/// Rows of each table that are told.
const TOP: usize = 20;

/// The answer.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// What was followed.
    #[serde(flatten)]
    pub series: Series,
    /// The tables in brief.
    pub followed: Vec<InBrief>,
}

/// A table in brief.
#[derive(Debug, Serialize)]
pub struct InBrief {
    /// Its name.
    pub table: &'static str,
    /// The format of the inputs of its runs.
    pub format: String,
    /// What rows are ranked by.
    pub measure: &'static str,
    /// Its rows.
    pub rows: u64,
    /// How many rows have each shape.
    pub shapes: BTreeMap<&'static str, u64>,
    /// The first rows, of those whose slope is above 0.
    pub top: Vec<TopRow>,
}

/// A row.
#[derive(Debug, Serialize)]
pub struct TopRow {
    /// What it is.
    pub signature: String,
    /// Its keys.
    pub keys: BTreeMap<&'static str, Option<String>>,
    /// What its series looks like.
    pub shape: &'static str,
    /// Its main measure along the series: the medians of the steps; of what leaks on some hosts, the means.
    pub levels: Vec<Option<i64>>,
    /// Growth per step.
    pub slope: f64,
    /// Ends of its interval; null if there are too few values for one.
    pub slope_interval: Option<[f64; 2]>,
    /// The first step of growth, from 0.
    pub first_growth: Option<usize>,
    /// Steps with it.
    pub steps_with: u32,
    /// Runs with it.
    pub runs_with: u32,
    /// Hosts of the last step, or runs, on which it has grown.
    pub grown_on: u32,
    /// Names of hosts that have most of it.
    pub grown_on_names: Option<String>,
}

impl InBrief {
    /// Of a table without rows yet.
    #[must_use]
    pub fn of(table: &TrendTable, format: &str) -> Self {
        let (table, measure) = (table.table.name, table.rows.measures[0]);
        Self { table, format: format.to_owned(), measure, rows: 0, shapes: BTreeMap::new(), top: Vec::new() }
    }

    /// Takes the next subject, its texts, the names of hosts on which it has grown, and whether it is a part of one before.
    pub fn take(
        &mut self,
        table: &TrendTable,
        row: &Row,
        texts: &[Option<String>],
        named: Option<String>,
        is_part: bool,
    ) {
        let Measure { steps, series } = &row.measures[0];
        let shape = series.shape();
        self.rows += 1;
        *self.shapes.entry(shape.name()).or_default() += 1;
        // Objects that may be duplicates, and may not be, are in the table alone.
        let first = texts.first().and_then(Option::as_deref).unwrap_or_default();
        let last = texts.last().and_then(Option::as_deref).unwrap_or_default();
        let is_possible = match table.rows.compared.name {
            "findings" => first.starts_with(POSSIBLE),
            "duplicate_sets" => last.starts_with("possible "),
            _ => false,
        };
        let is_shown = self.top.len() < TOP && !is_part && !is_possible;
        let Some(slope) = series.slope().filter(|slope| slope.slope > 0.0 && is_shown) else { return };
        let level = |step: &Amounts| if shape == Shape::LeaksOnSome { step.mean } else { step.median };
        self.top.push(TopRow {
            signature: texts.last().cloned().flatten().unwrap_or_default(),
            keys: table.rows.keys.iter().copied().zip(texts.iter().cloned()).collect(),
            shape: shape.name(),
            levels: steps.iter().map(|step| step.told(level(step))).collect(),
            slope: slope.slope,
            slope_interval: (slope.low.is_finite() && slope.high.is_finite()).then_some([slope.low, slope.high]),
            first_growth: series.first_growth(),
            steps_with: row.head.steps_with,
            runs_with: row.head.runs_with,
            grown_on: row.head.grown_on,
            grown_on_names: named,
        });
    }
}
