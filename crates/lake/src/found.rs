//! A run as read by a reader: its description, and whether its tables still match it.

use crate::entry::{Entry, TableEntry};
use crate::handles::{self, Handles};
use crate::place::Standing;
use crate::{commit, listed, packs, stored};
use heaplake_kit::{Context, StageError, storage};
use heaplake_schemas::run::{self, Run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum attempts to read a run that others keep replacing.
const TRIES: u32 = 100;

/// A run of a lake.
#[derive(Clone, Debug)]
pub struct FoundRun {
    /// Its folder.
    pub place: PathBuf,
    /// What a list of runs needs of its description.
    pub run: Entry,
    /// Identity of the folder when it was read; `None` in a store.
    standing: Option<Standing>,
    /// Its tables, if held open.
    held: Option<Arc<Handles>>,
    /// Whether the catalogue says that no file is missing.
    is_complete: bool,
}

/// A run with its whole description.
#[derive(Clone, Debug)]
pub struct OpenRun {
    /// The run.
    pub found: FoundRun,
    /// Its description.
    pub run: Arc<Run>,
}

impl FoundRun {
    /// A run as the catalogue has it.
    pub(crate) fn catalogued(place: PathBuf, run: Entry, standing: Option<Standing>, is_complete: bool) -> Self {
        Self { place, run, standing, held: None, is_complete }
    }

    /// Opens the `wanted` tables, so that they stay readable. No effect if the run was replaced meanwhile, if too many
    /// files are open, or in a store: check [`Self::stands`].
    pub fn hold(&mut self, wanted: &dyn Fn(&str) -> bool) {
        if self.held.is_some() || storage::is_url(&self.place) {
            return;
        }
        let Some(handles) = Handles::open(&self.place, (&self.run, None), wanted) else { return };
        if self.is_current() {
            let handles = handles.register();
            self.run = handles.entry().clone();
            self.held = Some(handles);
        }
    }

    /// True if the run was neither replaced nor dropped since it was read.
    pub fn is_current(&self) -> bool {
        storage::is_url(&self.place) || Standing::at(&self.place).is_ok_and(|standing| standing == self.standing)
    }

    /// True if the tables still match the description: they are held open, or the run was not replaced or dropped.
    pub fn stands(&self) -> bool {
        self.held.is_some() || self.is_current()
    }

    /// Returns the tables whose files are missing; for a held run, among the wanted ones. Always empty in a store,
    /// where nobody removes single files.
    pub fn missing(&self) -> Vec<TableEntry> {
        if storage::is_url(&self.place) || self.is_complete {
            return Vec::new();
        }
        let files: BTreeSet<String> = match self.held {
            Some(_) => BTreeSet::new(),
            None => stored::files(&self.place).into_iter().map(|(name, _)| name).collect(),
        };
        let is_missing = |file: &str| match &self.held {
            Some(held) => held.missing().iter().any(|missing| missing == file),
            None => {
                !files.contains(file) && !packs::slice(&self.place, &self.run, file).is_ok_and(|found| found.is_some())
            }
        };
        let tables = self.run.tables.iter().filter(|table| is_missing(&table.file));
        tables.cloned().collect()
    }
}

impl FoundRun {
    /// Verifies a table and returns its defect as text: reads it, once if held. A missing file is no defect, see
    /// [`Self::missing`].
    pub(crate) fn check(&self, file: &str, context: &Context<'_>) -> Result<Option<String>, StageError> {
        let Some(table) = self.run.table(file) else { return Ok(None) };
        let path = self.place.join(file);
        let held = self.held.as_ref().and_then(|held| held.check(file, context));
        let problem = match held {
            Some(checked) => checked?,
            None if std::fs::symlink_metadata(&path).is_err() => None,
            None => listed::problem(&path, table, context)?,
        };
        Ok(problem.map(|problem| format!("{file}: {problem}")))
    }
}

/// Returns the run in a folder; `None` if the folder was removed, because another command dropped the run.
///
/// # Errors
/// The reason why it is not a run, in one line.
pub fn find(place: &Path) -> Result<Option<FoundRun>, String> {
    match read(place) {
        Ok(Reading::Run(open)) => Ok(Some(open.found)),
        Ok(Reading::Nothing) => Ok(None),
        Ok(Reading::Folder) => Err(format!("there is no {}", run::FILE)),
        Err(StageError::Table { problem, .. }) => Err(problem),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the run in a folder; `None` if there is none.
pub fn open(place: &Path) -> Result<Option<OpenRun>, StageError> {
    Ok(match read(place)? {
        Reading::Run(open) => Some(*open),
        Reading::Nothing | Reading::Folder => None,
    })
}

/// Returns the run in a folder with all tables held open, so that all reads see one version; `None` if there is none.
pub fn hold(place: &Path) -> Result<Option<OpenRun>, StageError> {
    let mut tries = 0;
    loop {
        let Some(open) = open(place)? else { return Ok(None) };
        let open = open.held();
        tries += 1;
        if tries >= TRIES || open.found.stands() {
            return Ok(Some(open));
        }
    }
}

impl OpenRun {
    /// Its folder.
    pub fn place(&self) -> &Path {
        &self.found.place
    }

    /// Holds all tables open: see [`FoundRun::hold`].
    fn held(mut self) -> Self {
        let Self { found, run } = &mut self;
        if found.held.is_some() || storage::is_url(&found.place) {
            return self;
        }
        let Some(handles) = Handles::open(&found.place, (&found.run, Some(run)), &|_| true) else { return self };
        if found.is_current() {
            let handles = handles.register();
            found.run = handles.entry().clone();
            if let Some(description) = handles.description() {
                *run = Arc::clone(description);
            }
            found.held = Some(handles);
        }
        self
    }
}

/// Result of reading a place.
enum Reading {
    Run(Box<OpenRun>),
    /// A folder without a description.
    Folder,
    /// No folder.
    Nothing,
}

/// Reads a description, again if the run was replaced meanwhile.
fn read(place: &Path) -> Result<Reading, StageError> {
    if let Some(held) = handles::of(place)
        && let Some(description) = held.description()
    {
        let (run, entry) = (Arc::clone(description), held.entry().clone());
        let found =
            FoundRun { place: place.to_owned(), run: entry, standing: None, held: Some(held), is_complete: false };
        return Ok(Reading::Run(Box::new(OpenRun { found, run })));
    }
    let is_remote = storage::is_url(place);
    let standing = || if is_remote { Ok(None) } else { Standing::at(place) };
    let mut tries = 0;
    loop {
        let before = standing()?;
        let read = commit::read(place);
        tries += 1;
        if tries < TRIES && standing()? != before {
            continue;
        }
        return Ok(match read? {
            Some(run) => {
                let damaged = |problem| StageError::Table { path: place.join(run::FILE), problem };
                let entry = Entry::of(&run).map_err(damaged)?;
                let place = place.to_owned();
                let found = FoundRun { place, run: entry, standing: before, held: None, is_complete: false };
                Reading::Run(Box::new(OpenRun { found, run: Arc::new(run) }))
            }
            None if before.is_some() => Reading::Folder,
            None => Reading::Nothing,
        });
    }
}
