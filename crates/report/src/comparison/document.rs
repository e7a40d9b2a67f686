//! Data of a comparison's page, as read by its script.

use super::table::{self, Table};
use crate::sides::{Side, side};
use crate::texts::Texts;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::comparison::Comparison;
use heaplake_schemas::diff;
use serde::Serialize;
use std::path::Path;

/// Maximum remarks shown.
const REMARKS: usize = 50;

/// All data of the page.
#[derive(Serialize)]
pub(crate) struct Document {
    comparison: Brief,
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

/// Contents of `diff.json`.
#[derive(Serialize)]
struct Brief {
    base: Side,
    target: Side,
    format: u32,
    version: u32,
    remarks: Vec<u32>,
    tables: Vec<(u32, u64, u64)>,
    place: u32,
}

impl Document {
    /// Reads the tables of the comparison in `folder`.
    pub(crate) fn read(of: &Comparison, folder: &Path, context: &Context<'_>) -> Result<Self, StageError> {
        let mut texts = Texts::default();
        let comparison = brief(of, folder, &mut texts);
        let formats = of.format.contains(", ");
        let mut read = |table, most| table::read(folder, table, (most, formats), &mut texts, context);
        // Tables read first get the longest texts.
        let findings = read(&diff::FINDINGS, 300)?;
        let classes = read(&diff::CLASSES, 1500)?;
        let chains = read(&diff::CHAINS, 1500)?;
        let owners = read(&diff::OWNERS, 300)?;
        let duplicates = read(&diff::DUPLICATE_SETS, 400)?;
        let types = read(&diff::ALLOCATION_TYPES, 600)?;
        let functions = read(&diff::ALLOCATION_FUNCTIONS, 600)?;
        let lifetimes = read(&diff::LIFETIMES, 300)?;
        let texts = texts.into_list();
        Ok(Self { comparison, texts, classes, chains, owners, findings, duplicates, types, functions, lifetimes })
    }

    /// Base and target, as the user wrote them.
    pub(crate) fn title(&self) -> String {
        let text = |at: u32| self.texts.get(at as usize).map_or("", String::as_str);
        format!("{} → {}", text(self.comparison.base.selection), text(self.comparison.target.selection))
    }

    /// Whether there are rows for a treemap.
    pub(crate) fn has_map(&self) -> bool {
        let tables = [&self.classes, &self.types];
        tables.into_iter().flatten().any(|table| !table.rows.is_empty())
    }
}

fn brief(of: &Comparison, folder: &Path, texts: &mut Texts) -> Brief {
    Brief {
        base: side(&of.base, 1000, texts),
        target: side(&of.target, 1000, texts),
        format: texts.add(&of.format),
        version: texts.add(&of.heaplake_version),
        remarks: of.remarks.iter().take(REMARKS).map(|remark| texts.add_within(remark, 1000)).collect(),
        tables: of.tables.iter().map(|table| (texts.add(&table.file), table.rows, table.bytes)).collect(),
        place: texts.add_within(&folder.display().to_string(), 1000),
    }
}
