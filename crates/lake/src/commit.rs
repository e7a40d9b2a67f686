//! The folder of a run: written beside its final place, then moved there atomically.
//!
//! The writer of a run holds its [`Place`]. Tables are written to the hidden folder of that place. [`NewRun::commit`]
//! writes `run.json` last, with the checksum of each table and its own seal, syncs everything to disk and renames the
//! folder; an existing run is exchanged atomically and then removed. A crash at any moment leaves the old run, the new
//! run, or no run, never a partial one. The commit checks that the renamed folder is the one created here, and that it
//! replaces the run that existed when the place was taken: anything put there meanwhile, by hand or by an older
//! version, stays, and the commit fails.
//!
//! Patterns of polars, DuckDB and Spark match hidden folders, too, so an unfinished folder must not match
//! `LAKE/*/*/classes.parquet`: it is one level deeper than runs.

use crate::json_text::json_text;
use crate::place::{self, Place, Standing, in_new_folder, remove};
use crate::{described, remote, seal, stored};
use heaplake_kit::{StageError, fs, storage};
use heaplake_schemas::SCHEMA_VERSION;
use heaplake_schemas::run::{self, Run};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Maximum values of a description, counted by commas: parsed, a value may take ten times its length in memory. A
/// description with 100,000 findings has two million.
const MOST_VALUES: usize = 4 << 20;

/// Returns the path of a run inside a lake.
pub fn place(lake: &Path, release: &str, snapshot: &str) -> PathBuf {
    place::path(lake, release, snapshot)
}

/// Reads the description of a run; `None` if there is no run.
///
/// # Errors
/// [`StageError::Table`] when `run.json` is damaged or [modified](described); [`StageError::Refused`] when a newer
/// version of heaplake made the run.
pub fn read(place: &Path) -> Result<Option<Run>, StageError> {
    let Some(text) = text(place)? else { return Ok(None) };
    let run = parse(place, &text)?;
    match described::difference(place, &text, &run) {
        None => Ok(Some(run)),
        Some(described::Difference { expected, found, .. }) => {
            let problem = format!("{} is not what was written: expected {expected}, found {found}", run::FILE);
            Err(StageError::Table { path: place.join(run::FILE), problem })
        }
    }
}

/// Reads the text of a run's description; `None` if there is no run.
///
/// # Errors
/// [`StageError::Table`] when it is longer than [`fs::DOCUMENT_BYTES`].
pub fn text(place: &Path) -> Result<Option<Vec<u8>>, StageError> {
    let path = place.join(run::FILE);
    let read = match storage::is_url(place) {
        true => stored::description(place).map(|(_, text)| text),
        false => fs::read(&path),
    };
    match read {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) if fs::TooLong::is(&error) => {
            Err(StageError::Table { path, problem: format!("{} is not that of a run: {error}", run::FILE) })
        }
        Err(error) => Err(StageError::io(&path, "read", error)),
    }
}

/// Parses a description, without checking its seal.
pub fn parse(place: &Path, text: &[u8]) -> Result<Run, StageError> {
    let path = place.join(run::FILE);
    // Versions are parsed alone: a newer version may have another format.
    if let Ok(Made { heaplake_version, schema_version }) = serde_json::from_slice(text)
        && schema_version > SCHEMA_VERSION
    {
        let known = format!("schema version {schema_version}, and this heaplake knows those up to {SCHEMA_VERSION}");
        let problem = format!("{}: {known}", path.display());
        return Err(StageError::Refused { problem, advice: format!("use heaplake {heaplake_version}, which made it") });
    }
    let damaged =
        |problem: String| StageError::Table { path, problem: format!("{} is not that of a run: {problem}", run::FILE) };
    let values = text.iter().filter(|&&byte| byte == b',').count();
    if values > MOST_VALUES {
        return Err(damaged(format!("expected at most {MOST_VALUES} values, found {values}")));
    }
    serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))
}

/// Returns the input size of a run, from the first lines of its description; `None` if they lack it, so that it must be
/// [`read`]. Descriptions are long, and a lake may have many runs of inputs of the same name.
pub fn input_bytes(place: &Path) -> Option<u64> {
    if storage::is_url(place) {
        let text = text(place).ok()??;
        return serde_json::from_slice::<Sized>(&text).ok().map(|run| run.input_bytes);
    }
    let file = fs::File::open(place.join(run::FILE)).ok()?;
    let mut found = None;
    // The visitor stops with an error, so the rest is not read.
    let _ = serde_json::Deserializer::from_reader(BufReader::new(file.take(fs::DOCUMENT_BYTES)))
        .deserialize_map(InputBytes(&mut found));
    found
}

/// Extracts the input size from a description.
struct InputBytes<'a>(&'a mut Option<u64>);

impl<'de> Visitor<'de> for InputBytes<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("the description of a run")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "input_bytes" {
                *self.0 = Some(map.next_value()?);
                return Err(A::Error::custom("the rest is not needed"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Size of a run's input.
#[derive(Deserialize)]
struct Sized {
    input_bytes: u64,
}

/// Version that made a run.
#[derive(Deserialize)]
struct Made {
    heaplake_version: String,
    schema_version: u32,
}

/// An unfinished run. Removed if dropped before its commit.
#[derive(Debug)]
pub struct NewRun {
    place: Place,
    own: (u64, u64),
    /// Folder of the tables in a store.
    attempt: Option<String>,
    committed: bool,
}

impl NewRun {
    /// Creates the hidden folder of a place.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if the place has something other than a run, or a run with files of the user.
    pub fn create(place: Place) -> Result<Self, StageError> {
        // Later changes are detected by the commit.
        if place.standing().is_some() {
            place.refuse_replaced()?;
        }
        let hidden = place.hidden();
        let created = in_new_folder(hidden, || fs::create_dir(hidden));
        created.map_err(|error| StageError::io(hidden, "create", error))?;
        let own = Standing::at(hidden)?.ok_or_else(|| gone(hidden))?.folder();
        if !place.is_remote() {
            return Ok(Self { place, own, attempt: None, committed: false });
        }
        let attempt = remote::attempt(hidden);
        let own = (u64::MAX, remote::number(&attempt));
        Ok(Self { place, own, attempt: Some(attempt), committed: false })
    }

    /// The folder for tables.
    pub fn folder(&self) -> &Path {
        self.place.hidden()
    }

    /// Device and inode of the folder, before and after its commit.
    pub fn identity(&self) -> (u64, u64) {
        self.own
    }

    /// Moves the run to its place; returns its description with checksums and seal.
    ///
    /// # Errors
    /// [`StageError::Refused`] if the place changed meanwhile (its content stays), or if the run is in place but may
    /// not survive a power failure.
    pub fn commit(self, run: Run) -> Result<Run, StageError> {
        let mut run = Run { seal: None, folder: self.attempt.clone(), ..run };
        let mut buffer = Vec::new();
        for table in &mut run.tables {
            let content = stored::checksum(&self.folder().join(&table.file), &mut buffer, |_| Ok(()))?;
            table.xxh3_64 = Some(content.xxh3_64);
        }
        let path = self.folder().join(run::FILE);
        let unsealed = json_text(&run).map_err(|error| StageError::Scratch { path, problem: error.to_string() })?;
        let (text, seal) = seal::sealed(&unsealed);
        self.commit_described(text.as_bytes())?;
        Ok(Run { seal: Some(seal), ..run })
    }

    /// Moves the run to its place, with an existing description.
    pub fn commit_described(mut self, text: &[u8]) -> Result<(), StageError> {
        if let Some(attempt) = self.attempt.clone() {
            return self.upload(&attempt, text);
        }
        self.describe(text)?;
        for path in [&self.folder().join(run::FILE), self.folder()] {
            fs::sync(path).map_err(|error| StageError::io(path, "write", error))?;
        }
        self.appear()?.settle()
    }

    /// Writes an existing description into the folder, the first part of the commit of a local run. The caller syncs the
    /// file system before [`Self::appear`], once for many runs.
    pub(crate) fn describe(&self, text: &[u8]) -> Result<(), StageError> {
        let path = self.folder().join(run::FILE);
        fs::write(&path, text).map_err(|error| StageError::io(&path, "write", error))
    }

    /// Moves the folder of a described run to its place. The caller syncs the folders around it.
    pub(crate) fn appear(mut self) -> Result<Self, StageError> {
        let hidden = self.place.hidden().to_owned();
        if Standing::at(&hidden)?.is_none_or(|there| there.folder() != self.own) {
            return Err(gone(&hidden));
        }
        if Standing::at(self.place.path())?.as_ref() != self.place.standing() {
            return Err(replaced(self.place.path()));
        }
        if self.place.standing().is_some() {
            self.place.refuse_replaced()?;
            self.replace()?;
        } else {
            in_new_folder(self.place.path(), || fs::rename(&hidden, self.place.path()))
                .map_err(|error| StageError::io(self.place.path(), "rename to", error))?;
        }
        self.committed = true;
        Ok(self)
    }

    /// Folders whose entries the commit changed: the release, and the lake.
    pub(crate) fn around(&self) -> Vec<PathBuf> {
        self.place.path().ancestors().skip(1).take(2).map(Path::to_owned).collect()
    }

    /// Uploads the run to its place in a store.
    fn upload(&mut self, attempt: &str, text: &[u8]) -> Result<(), StageError> {
        let place = self.place.path();
        let before = self.place.standing();
        // The put of the description is refused if somebody else changed the run.
        let level = remote::upload(self.place.hidden(), place, attempt)?;
        let old = before.is_some().then(|| remote::owned(place)).transpose()?.flatten();
        if !remote::describe(place, text, before.and_then(Standing::tag))? {
            return Err(replaced(place));
        }
        self.committed = true;
        old.iter().for_each(|old| remote::clear(place, old));
        // Leftovers of attempts killed long ago.
        remote::sweep_listed(&level);
        Ok(())
    }

    /// Exchanges the run with the existing one.
    fn replace(&self) -> Result<(), StageError> {
        let (hidden, path) = (self.place.hidden(), self.place.path());
        match fs::exchange(hidden, path) {
            Ok(()) => {
                // Detects changes between the check and the exchange.
                if Standing::at(hidden)?.as_ref() != self.place.standing() {
                    fs::exchange(hidden, path).map_err(|error| StageError::io(path, "give back", error))?;
                    return Err(replaced(path));
                }
                // The new run is committed; an old one that cannot be removed is hidden and only takes disk space.
                let _ = remove(hidden);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.step_aside(),
            Err(error) => Err(StageError::io(path, "replace", error)),
        }
    }

    /// As [`Self::replace`], where folders cannot be exchanged: the old run is renamed first. After a kill in between,
    /// there is no run until the next command restores it.
    fn step_aside(&self) -> Result<(), StageError> {
        let (hidden, path, aside) = (self.place.hidden(), self.place.path(), self.place.aside());
        remove(&aside)?;
        fs::rename(path, &aside).map_err(|error| StageError::io(path, "rename", error))?;
        if let Err(error) = fs::rename(hidden, path) {
            fs::rename(&aside, path).map_err(|error| StageError::io(&aside, "rename", error))?;
            return Err(StageError::io(hidden, "rename", error));
        }
        let _ = remove(&aside);
        Ok(())
    }

    /// Syncs the folder entries of the run and of its release.
    fn settle(&self) -> Result<(), StageError> {
        self.around().iter().try_for_each(|folder| settle(folder, "the run is", self.place.path()))
    }
}

impl Drop for NewRun {
    fn drop(&mut self) {
        if !self.committed {
            // The hidden folder is removed with the place. A release created for this run is removed, too, if empty.
            let _ = remove(self.place.hidden());
            if let Some(attempt) = &self.attempt {
                return remote::forget(self.place.path(), attempt);
            }
            let _ = self.place.path().parent().map(fs::remove_dir);
        }
    }
}

/// Syncs the entries of a folder with new runs; the message says where and `what` is in place.
pub(crate) fn settle(folder: &Path, what: &str, place: &Path) -> Result<(), StageError> {
    fs::sync(folder).map_err(|error| StageError::Refused {
        problem: format!("{}: {what} in its place, but may be lost with the power: {error}", place.display()),
        advice: "check the disk; the run can be read, and --force makes it anew".to_owned(),
    })
}

/// Error: the unfinished folder was removed or replaced.
fn gone(hidden: &Path) -> StageError {
    StageError::Refused {
        problem: format!("{}: somebody removed the folder in which the run was made", hidden.display()),
        advice: "leave the hidden folders of a lake alone, and run the same command again".to_owned(),
    }
}

/// Error: the place of the run changed.
fn replaced(place: &Path) -> StageError {
    StageError::Refused {
        problem: format!("{}: somebody changed what stands here while this run was made", place.display()),
        advice: "look at what is there now, and run the same command again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_of_millions_of_values_is_refused_before_they_are_read() {
        let zeros = vec!["0"; MOST_VALUES + 2].join(",");
        let error = parse(Path::new("run"), format!("{{\"options\":{{\"x\":[{zeros}]}}}}").as_bytes()).unwrap_err();
        assert!(error.to_string().contains("expected at most 4194304 values, found 4194305"), "{error}");
    }

    #[test]
    fn bytes_of_an_input_are_told_by_the_first_lines() {
        let folder = tempfile::tempdir().unwrap();
        let told = |text: &str| {
            std::fs::write(folder.path().join(run::FILE), text).unwrap();
            input_bytes(folder.path())
        };
        assert_eq!(input_bytes(folder.path()), None, "there is no run");
        assert_eq!(told(r#"{"source": {"input_bytes": 3}, "input_bytes": 18446744073709551615, "cut"#), Some(u64::MAX));
        for unknown in ["", "[1]", r#"{"source": "a"}"#, r#"{"input_bytes": -1}"#, r#"{"source": "#] {
            assert_eq!(told(unknown), None, "{unknown}");
        }
    }
}
