//! Sums up one table of a group.

use super::row::Row;
use super::signatures::Signatures;
use super::write::Made;
use crate::rows;
use crate::rows::kept::Kept;
use crate::sides::{Sides, has_table};
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::diff::DiffTable;
use heaplake_schemas::rollup::{Brief, Group, RolledRun, RollupTable};
use heaplake_schemas::run;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// A group to sum up.
pub(super) struct Work<'a> {
    /// Group.
    pub group: &'a Group,
    /// Its runs, as one side.
    pub sides: &'a Sides,
    /// Earlier state of the group, and its folder.
    pub before: Option<(&'a Group, PathBuf)>,
    /// Folder for scratch files.
    pub scratch: &'a Path,
}

impl Work<'_> {
    /// Sums up a table: writes it and its file of rows; returns both and a summary, or `None` if no run has the table.
    pub(super) fn roll(
        &self,
        table: &'static RollupTable,
        output: &Output,
        context: &Context<'_>,
    ) -> Result<Option<(Vec<run::Table>, Brief)>, StageError> {
        // Without keys: they may differ between runs; signatures do not.
        let rows = DiffTable { keys: &[], ..*table.rows };
        let with_table = self.with_table(&rows);
        let (path, numbers) = self.kept(table, &with_table);
        let kept = path.as_ref().map(|path| Kept { path, runs: &numbers });
        let gathered = rows::gather_with(self.sides, &rows, kept.as_ref(), self.scratch, context)?;
        if gathered.runs.is_empty() {
            return Ok(None);
        }
        let before = self.before.as_ref().map(|(_, folder)| folder.join(table.table.file));
        let mut signatures = Signatures::find(&gathered, before.as_deref(), context)?;
        let mut made = Made::create(table, self.group, with_table, &gathered, output)?;
        let (captured, measures) = (made.captured(), rows.measures.len());
        gathered.each(
            context,
            |group| Row::of(group, measures, &captured),
            |row| {
                let signature = signatures.of(row.fingerprint)?;
                made.take(row, signature)
            },
        )?;
        made.finish().map(Some)
    }

    /// Indices, within the group, of the runs with the table.
    fn with_table(&self, table: &DiffTable) -> Vec<u32> {
        let runs = (0..).zip(self.sides.runs());
        runs.filter(|(_, (_, found))| has_table(&found.run, table.compared.file)).map(|(number, _)| number).collect()
    }

    /// The earlier file of rows, and the new number of each run in it, among runs with the table.
    fn kept(&self, table: &RollupTable, with_table: &[u32]) -> (Option<PathBuf>, FxHashMap<u32, u32>) {
        let Some((before, folder)) = &self.before else { return (None, FxHashMap::default()) };
        let path = folder.join(table.kept);
        if !before.tables.iter().any(|listed| listed.file == table.kept) {
            return (None, FxHashMap::default());
        }
        let known = |run: &RolledRun| (run.path.clone(), run.hash.clone());
        let now: FxHashMap<_, u32> =
            with_table.iter().map(|&run| known(&self.group.runs[run as usize])).zip(0..).collect();
        let numbers = (0..).zip(&before.runs).filter_map(|(then, run)| Some((then, *now.get(&known(run))?)));
        (Some(path), numbers.collect())
    }
}
