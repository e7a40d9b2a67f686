//! A trend in brief, for people.

use super::row::Row;
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
    /// Its main measure along the series.
    pub medians: Vec<Option<i64>>,
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
}

impl InBrief {
    /// Of a table without rows yet.
    #[must_use]
    pub fn of(table: &TrendTable) -> Self {
        let (table, measure) = (table.table.name, table.rows.measures[0]);
        Self { table, measure, rows: 0, shapes: BTreeMap::new(), top: Vec::new() }
    }

    /// Takes the next row and its texts.
    pub fn take(&mut self, table: &TrendTable, row: &Row, texts: &[Option<String>]) {
        let main = &row.measures[0];
        self.rows += 1;
        *self.shapes.entry(main.shape.name()).or_default() += 1;
        let Some(slope) = main.slope.filter(|slope| slope.slope > 0.0 && self.top.len() < TOP) else { return };
        self.top.push(TopRow {
            signature: texts.last().cloned().flatten().unwrap_or_default(),
            keys: table.rows.keys.iter().copied().zip(texts.iter().cloned()).collect(),
            shape: main.shape.name(),
            medians: main.medians.clone(),
            slope: slope.slope,
            slope_interval: (slope.low.is_finite() && slope.high.is_finite()).then_some([slope.low, slope.high]),
            first_growth: main.first_growth,
            steps_with: row.steps_with,
            runs_with: row.runs_with,
        });
    }
}
