//! Lets descriptions of runs name the night of their packs, and removes the files of their packed tables.

use super::check::Description;
use crate::place::{self, Place, Standing, in_new_folder};
use crate::selection::FoundRun;
use crate::{commit, described, remote, seal, stored};
use heaplake_kit::storage;
use heaplake_kit::{StageError, fs};
use heaplake_schemas::run::{self, Packed, Run};
use std::io;
use std::path::{Path, PathBuf};

/// Outcome for a run.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Its description names the night; the place on a disk is held.
    Packed(Option<Box<Place>>),
    /// Another process is making it anew, so it stays.
    Busy,
    /// It was replaced or dropped meanwhile.
    Changed,
}

/// Replaces the descriptions of runs. All new ones are durable before the first old one goes, and all of them are
/// replaced durably when this returns.
pub(super) fn switch(lake: &Path, runs: &[(&FoundRun, Packed)]) -> Result<Vec<Outcome>, StageError> {
    if storage::is_url(lake) {
        return in_store(runs);
    }
    let synced = || fs::sync_file_system(lake).map_err(|error| StageError::io(lake, "write", error));
    let prepared = runs.iter().map(|(found, packed)| prepare(found, packed)).collect::<Result<Vec<_>, _>>()?;
    synced()?;
    let outcomes = prepared.into_iter().map(replace).collect::<Result<Vec<_>, _>>()?;
    synced()?;
    Ok(outcomes)
}

/// Writes the new description of a run beside it.
fn prepare(found: &FoundRun, packed: &Packed) -> Result<Outcome, StageError> {
    let Some(place::Parts { lake, release, snapshot }) = place::parts(&found.place) else {
        return Ok(Outcome::Changed);
    };
    let Some(place) = Place::take_if_free(&lake, &release, &snapshot)? else { return Ok(Outcome::Busy) };
    let Some(description) = Description::read(&found.place) else { return Ok(Outcome::Changed) };
    let is_same = description.standing.as_ref() == place.standing() && description.problem.is_none();
    let text = std::str::from_utf8(&description.text).ok().filter(|_| is_same);
    let before = description.intact().zip(text);
    let Some(text) = before.and_then(|(run, text)| with_night(&found.place, run, text, packed)) else {
        return Ok(Outcome::Changed);
    };
    let hidden = place.hidden();
    let (folder, new) = (hidden.to_owned(), hidden.join(run::FILE));
    in_new_folder(hidden, || fs::create_dir(hidden)).map_err(|error| StageError::io(&folder, "create", error))?;
    fs::write(&new, text).map_err(|error| StageError::io(&new, "write", error))?;
    Ok(Outcome::Packed(Some(Box::new(place))))
}

/// Renames the new description over the old one.
fn replace(prepared: Outcome) -> Result<Outcome, StageError> {
    let Outcome::Packed(Some(place)) = prepared else { return Ok(prepared) };
    if Standing::at(place.path())?.as_ref() != place.standing() {
        return Ok(Outcome::Changed);
    }
    let (new, old) = (place.hidden().join(run::FILE), place.path().join(run::FILE));
    fs::rename(&new, &old).map_err(|error: io::Error| StageError::io(&old, "replace", error))?;
    Ok(Outcome::Packed(Some(place)))
}

/// As [`switch`], in a store: each description is replaced on the condition that it is the one that was read.
fn in_store(runs: &[(&FoundRun, Packed)]) -> Result<Vec<Outcome>, StageError> {
    stored::expect(&runs.iter().map(|(found, _)| found.place.clone()).collect::<Vec<_>>());
    let mut new = Vec::with_capacity(runs.len());
    for (found, packed) in runs {
        let place = &found.place;
        let (object, text) = match stored::description(place) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                new.push(None);
                continue;
            }
            Err(error) => return Err(StageError::io(&place.join(run::FILE), "read", error)),
        };
        let is_intact = |run: &Run| described::difference(place, &text, run).is_none();
        let before = commit::parse(place, &text).ok().filter(is_intact);
        let before = before.zip(std::str::from_utf8(&text).ok()).zip(object.tag);
        new.push(before.and_then(|((run, text), tag)| Some((tag, with_night(place, &run, text, packed)?))));
    }
    let wanted = runs.iter().zip(new).map(|((found, _), new)| (&*found.place, new));
    let described = remote::describe_all(wanted)?;
    Ok(described.into_iter().map(|done| if done { Outcome::Packed(None) } else { Outcome::Changed }).collect())
}

/// Removes files of runs, given by place and name.
pub(super) fn remove(paths: &[PathBuf]) -> Result<(), StageError> {
    if !paths.first().is_some_and(|path| storage::is_url(path)) {
        return paths
            .iter()
            .try_for_each(|path| fs::remove_file_if_any(path).map_err(|error| StageError::io(path, "remove", error)));
    }
    remote::remove_files(paths)
}

/// The text of a description that names a night: one member more, and another seal. `None` if it is not the one that
/// was packed.
fn with_night(place: &Path, run: &Run, text: &str, packed: &Packed) -> Option<String> {
    let object = seal::unsealed(text).filter(|_| run.seal.as_ref() == Some(&packed.seal))?;
    let (members, end) = object.trim_end().strip_suffix('}').map(|members| (members.trim_end(), "}"))?;
    let added = match object.starts_with("{\n") {
        true => {
            let value = serde_json::to_string_pretty(packed).ok()?.replace('\n', "\n  ");
            format!("{members},\n  \"packed\": {value}\n{end}")
        }
        false => format!("{members},\"packed\":{}{end}", serde_json::to_string(packed).ok()?),
    };
    let wanted = Run { seal: None, packed: Some(packed.clone()), ..run.clone() };
    let is_wanted = commit::parse(place, added.as_bytes()).is_ok_and(|run| run == wanted);
    is_wanted.then(|| seal::sealed(&added).0)
}
