//! The run and the object of a query.

use crate::error::QueryError;
use heaplake_kit::text::quoted;
use heaplake_lake::reader::Reader;
use heaplake_lake::selection::{self, OpenRun};
use heaplake_schemas::options::{AnalysisOptions, Duplicates, Referents, TableName, Tables};
use heaplake_schemas::run::Run;
use heaplake_schemas::table::TableSchema;
use heaplake_schemas::{edges, nodes};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// An object as users name it: row number in the table of nodes, or `@` and the format's own id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Row in the table of nodes.
    Node(u32),
    /// Id or address in the format.
    Id(u64),
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = |_| format!("{text:?} is neither the number of a node nor @ and an id");
        match text.strip_prefix('@') {
            None => text.parse().map(Self::Node).map_err(bad),
            Some(id) => match id.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).map(Self::Id).map_err(bad),
                None => id.parse().map(Self::Id).map_err(bad),
            },
        }
    }
}

/// A run to query.
pub struct Asked {
    pub(crate) folder: PathBuf,
    pub(crate) run: Arc<Run>,
    /// Keeps the tables open, so that all answers come from one version of the run.
    _held: OpenRun,
}

impl Asked {
    /// Opens a run with a table of nodes.
    ///
    /// # Errors
    /// [`QueryError`] also if the run has no such table.
    pub fn open(folder: &Path) -> Result<Self, QueryError> {
        let asked = Self::with_any_tables(folder)?;
        asked.need(&nodes::TABLE)?;
        Ok(asked)
    }

    /// Opens a run, whatever tables it has.
    pub fn with_any_tables(folder: &Path) -> Result<Self, QueryError> {
        let held = selection::hold(folder)?.ok_or_else(|| QueryError::no_run(folder))?;
        Ok(Self { folder: folder.to_owned(), run: Arc::clone(&held.run), _held: held })
    }

    /// The description of the run.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Path of a table.
    ///
    /// # Errors
    /// [`QueryError`] if the run has no such table.
    pub fn need(&self, table: &TableSchema) -> Result<PathBuf, QueryError> {
        if self.has(table.file) {
            return Ok(self.folder.join(table.file));
        }
        let cause = format!("{}: this run has no table of {}", self.folder.display(), table.name);
        Err(QueryError::usage(cause, "analyse the snapshot again with --force, and without --tables"))
    }

    /// Whether the run has a table, by its file.
    pub fn has(&self, file: &str) -> bool {
        self.run.tables.iter().any(|table| table.file == file)
    }

    pub(crate) fn nodes(&self) -> PathBuf {
        self.folder.join(nodes::TABLE.file)
    }

    pub(crate) fn edges(&self) -> Option<PathBuf> {
        self.has(edges::TABLE.file).then(|| self.folder.join(edges::TABLE.file))
    }

    /// Shell command that makes the run again with the table of edges.
    pub(crate) fn command_for_edges(&self) -> String {
        command_for_edges(&self.run, &self.folder)
    }

    /// Resolves a subject to a node number.
    ///
    /// # Errors
    /// [`QueryError`] if there is no such node.
    pub fn find(&self, subject: Subject) -> Result<u32, QueryError> {
        // The table has the number of nodes, not `run.json`.
        let table = Reader::open(&self.nodes())?;
        let nodes = table.rows();
        match subject {
            Subject::Node(node) if u64::from(node) < nodes => Ok(node),
            Subject::Node(node) => {
                let cause =
                    format!("{}: there is no node {node}: the last is {}", self.folder.display(), nodes.max(1) - 1);
                Err(QueryError::usage(cause, "take a number from the column node of the tables, or @ and an id"))
            }
            Subject::Id(id) => {
                let mut batches = table.columns(&["id"])?;
                while let Some(batch) = batches.batch()? {
                    if let Some(row) = batch.u64s("id")?.iter().position(|other| other == Some(id)) {
                        return Ok((batch.first_row() + row as u64) as u32);
                    }
                }
                let cause = format!("{}: no node has the id {id}", self.folder.display());
                Err(QueryError::usage(cause, "take an id from the column id of the table of nodes"))
            }
        }
    }
}

/// Shell command that makes a run again with all its options and the table of edges.
fn command_for_edges(run: &Run, folder: &Path) -> String {
    let lake = folder.parent().and_then(Path::parent).filter(|lake| !lake.as_os_str().is_empty());
    let lake = lake.unwrap_or(Path::new(".")).display().to_string();
    let mut words = vec!["heaplake".to_owned(), "analyze".to_owned(), run.source.clone()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("--out", lake);
    option("--release", run.release.clone());
    option("--snapshot", run.snapshot.clone());
    for (key, value) in run.options.labels() {
        option("--label", format!("{key}={value}"));
    }
    chosen(run.options.analysis_or_default(), &mut option);
    if run.options.analysis_or_default().salvage {
        words.push("--salvage".to_owned());
    }
    words.extend(["--edges".to_owned(), "--force".to_owned()]);
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Adds analysis options that differ from the defaults.
fn chosen(options: &AnalysisOptions, option: &mut impl FnMut(&str, String)) {
    if options.tables.clone().with(TableName::Edges) != Tables::default().with(TableName::Edges) {
        option("--tables", options.tables.to_string());
    }
    if options.duplicates != Duplicates::default() {
        option("--duplicates", options.duplicates.name().to_owned());
    }
    for pattern in &options.duplicates_of {
        option("--duplicates-of", pattern.clone());
    }
    for pattern in &options.big.classes {
        option("--class", pattern.clone());
    }
    if !options.texts.is_full() {
        option("--texts", options.texts.mode.name().to_owned());
        options.texts.keep.iter().for_each(|pattern| option("--texts-keep", pattern.clone()));
        // Only its owner knows where it is.
        options.texts.key.iter().for_each(|_| option("--texts-key", "KEY".to_owned()));
    }
    if options.referents != Referents::default() {
        option("--referents", options.referents.name().to_owned());
    }
    let numbers = [
        ("--duplicate-work", options.duplicate_work),
        ("--min-retained", options.big.min_retained),
        ("--min-count", options.big.min_count),
        ("--walk", options.walk.map(u64::from)),
    ];
    for (name, number) in numbers {
        number.into_iter().for_each(|number| option(name, number.to_string()));
    }
}
