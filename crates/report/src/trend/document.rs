//! Data of a trend's page, as read by its script.

use super::table::{self, Steps, Table};
use crate::sides::{Side, side};
use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::series::Series;
use heaplake_schemas::trend;
use serde::Serialize;
use std::path::Path;

/// Maximum steps shown, the last ones.
const STEPS: usize = 200;
/// Maximum remarks shown.
const REMARKS: usize = 50;

/// All data of the page.
#[derive(Serialize)]
pub(crate) struct Document {
    trend: Brief,
    texts: Vec<String>,
    classes: Option<Table>,
    chains: Option<Table>,
    owners: Option<Table>,
    findings: Option<Table>,
    duplicates: Option<Table>,
    types: Option<Table>,
    functions: Option<Table>,
    lifetimes: Option<Table>,
}

/// Contents of `trend.json`.
#[derive(Serialize)]
struct Brief {
    by: u32,
    /// Index of the first step shown.
    first: usize,
    steps: Vec<Side>,
    format: u32,
    version: u32,
    remarks: Vec<u32>,
    tables: Vec<(u32, u64, u64)>,
    place: u32,
}

impl Document {
    /// Reads the tables of the trend in `folder`.
    pub(crate) fn read(of: &Series, folder: &Path, context: &Context<'_>) -> Result<Self, StageError> {
        let mut texts = Texts::default();
        let first = of.steps.len().saturating_sub(STEPS);
        let trend = Brief {
            by: texts.add(&of.by),
            first,
            steps: of.steps[first..].iter().map(|step| side(step, 200, &mut texts)).collect(),
            format: texts.add(&of.format),
            version: texts.add(&of.heaplake_version),
            remarks: of.remarks.iter().take(REMARKS).map(|remark| texts.add_within(remark, 1000)).collect(),
            tables: of.tables.iter().map(|table| (texts.add(&table.file), table.rows, table.bytes)).collect(),
            place: texts.add_within(&folder.display().to_string(), 1000),
        };
        let steps = Steps { all: of.steps.len(), first };
        let formats = of.format.contains(", ");
        let mut read = |table, most| table::read(folder, table, (steps, most, formats), &mut texts, context);
        let findings = read(&trend::FINDINGS, 100)?;
        let classes = read(&trend::CLASSES, 400)?;
        let chains = read(&trend::CHAINS, 400)?;
        let owners = read(&trend::OWNERS, 100)?;
        let duplicates = read(&trend::DUPLICATE_SETS, 150)?;
        let types = read(&trend::ALLOCATION_TYPES, 200)?;
        let functions = read(&trend::ALLOCATION_FUNCTIONS, 200)?;
        let lifetimes = read(&trend::LIFETIMES, 100)?;
        let texts = texts.into_list();
        Ok(Self { trend, texts, classes, chains, owners, findings, duplicates, types, functions, lifetimes })
    }

    /// Title.
    pub(crate) fn title(&self) -> String {
        let by = self.texts.get(self.trend.by as usize).map_or("", String::as_str);
        format!("Trend over {} steps by {by}", self.trend.first + self.trend.steps.len())
    }
}
