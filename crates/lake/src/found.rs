//! A run as read by a reader: its description, and whether its tables still match it.

use crate::handles::{self, Handles};
use crate::place::Standing;
use crate::{commit, listed, stored};
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
    /// Its description.
    pub run: Run,
    /// Identity of the folder when it was read; `None` in a store.
    standing: Option<Standing>,
    /// Its tables, if held open.
    held: Option<Arc<Handles>>,
}

impl FoundRun {
    /// Opens the `wanted` tables, so that they stay readable. No effect if the run was replaced meanwhile, if too many
    /// files are open, or in a store: check [`Self::stands`].
    pub fn hold(&mut self, wanted: &dyn Fn(&str) -> bool) {
        if self.held.is_some() || storage::is_url(&self.place) {
            return;
        }
        let Some(handles) = Handles::open(&self.place, &self.run, wanted) else { return };
        if self.is_current() {
            let handles = handles.register();
            self.run = handles.run().clone();
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
    pub fn missing(&self) -> Vec<run::Table> {
        if storage::is_url(&self.place) {
            return Vec::new();
        }
        let files: BTreeSet<String> = match self.held {
            Some(_) => BTreeSet::new(),
            None => stored::files(&self.place).into_iter().map(|(name, _)| name).collect(),
        };
        let is_missing = |file: &String| match &self.held {
            Some(held) => held.missing().contains(file),
            None => !files.contains(file),
        };
        let tables = self.run.tables.iter().filter(|table| is_missing(&table.file));
        tables.cloned().collect()
    }
}

impl FoundRun {
    /// Verifies a table and returns its defect as text: reads it, once if held. A missing file is no defect, see
    /// [`Self::missing`].
    pub(crate) fn check(&self, file: &str, context: &Context<'_>) -> Result<Option<String>, StageError> {
        let Some(table) = self.run.tables.iter().find(|table| table.file == file) else { return Ok(None) };
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
        Ok(Reading::Run(found)) => Ok(Some(*found)),
        Ok(Reading::Nothing) => Ok(None),
        Ok(Reading::Folder) => Err(format!("there is no {}", run::FILE)),
        Err(StageError::Table { problem, .. }) => Err(problem),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the run in a folder; `None` if there is none.
pub fn open(place: &Path) -> Result<Option<FoundRun>, StageError> {
    Ok(match read(place)? {
        Reading::Run(found) => Some(*found),
        Reading::Nothing | Reading::Folder => None,
    })
}

/// Returns the run in a folder with all tables [held open](FoundRun::hold), so that all reads see one version; `None` if
/// there is none.
pub fn hold(place: &Path) -> Result<Option<FoundRun>, StageError> {
    let mut tries = 0;
    loop {
        let Some(mut found) = open(place)? else { return Ok(None) };
        found.hold(&|_| true);
        tries += 1;
        if tries >= TRIES || found.stands() {
            return Ok(Some(found));
        }
    }
}

/// Result of reading a place.
enum Reading {
    Run(Box<FoundRun>),
    /// A folder without a description.
    Folder,
    /// No folder.
    Nothing,
}

/// Reads a description, again if the run was replaced meanwhile.
fn read(place: &Path) -> Result<Reading, StageError> {
    if let Some(held) = handles::of(place) {
        let (place, run) = (place.to_owned(), held.run().clone());
        return Ok(Reading::Run(Box::new(FoundRun { place, run, standing: None, held: Some(held) })));
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
                Reading::Run(Box::new(FoundRun { place: place.to_owned(), run, standing: before, held: None }))
            }
            None if before.is_some() => Reading::Folder,
            None => Reading::Nothing,
        });
    }
}
