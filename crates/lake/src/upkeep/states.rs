//! What descriptions say of the packs of their runs.

use super::pack_files::PackFiles;
use crate::{commit, described};
use heaplake_kit::storage;
use heaplake_kit::{StageError, fs};
use heaplake_schemas::run::{self, Packed, Run};
use std::io;
use std::path::{Path, PathBuf};

/// State of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It names this pack.
    Names(Packed),
    /// It names none; its seal.
    Unpacked(String),
    /// There is no run.
    Gone,
    /// Its description cannot be read now.
    Unknown,
}

/// Descriptions that are read together.
const TOGETHER: usize = 64;

/// Reads the states of runs, as they are now. Those in a store are read many at a time.
///
/// # Errors
/// If there is no store.
pub(super) fn read(places: &[PathBuf], files: &PackFiles) -> Result<Vec<State>, StageError> {
    if !files.is_shared() {
        return Ok(places.iter().map(|place| commit::read(place).map_or(State::Unknown, of)).collect());
    }
    let mut states = Vec::with_capacity(places.len());
    let store = storage::store().map_err(|error| StageError::io(files.lake(), "read", error))?;
    for places in places.chunks(TOGETHER) {
        let urls: Vec<String> =
            places.iter().map(|place| place.join(run::FILE).to_string_lossy().into_owned()).collect();
        let mut texts = store.read_all(&urls, fs::DOCUMENT_BYTES).into_iter();
        // A call that was cancelled has one answer.
        states.extend(places.iter().map(|place| texts.next().map_or(State::Unknown, |text| parsed(place, text))));
    }
    Ok(states)
}

fn parsed<T>(place: &Path, read: io::Result<(T, bytes::Bytes)>) -> State {
    match read {
        Ok((_, text)) => {
            let run = commit::parse(place, &text).ok();
            let intact = run.filter(|run| described::difference(place, &text, run).is_none());
            intact.map_or(State::Unknown, |run| of(Some(run)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => State::Gone,
        Err(_) => State::Unknown,
    }
}

fn of(run: Option<Run>) -> State {
    match run {
        Some(Run { packed: Some(packed), .. }) => State::Names(packed),
        Some(run) => State::Unpacked(run.seal.unwrap_or_default()),
        None => State::Gone,
    }
}
