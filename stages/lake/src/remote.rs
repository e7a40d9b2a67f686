//! Runs in an object store: uploaded file by file, there once `run.json` is.
//!
//! A store has no folders that could be renamed, but it can write an object on a condition. So the tables of an attempt go to a
//! folder that no other attempt has, and `run.json`, which names that folder, is written last: on the condition that there is
//! none, or that it is still the one that stood there when the work began. Of several that upload one run at a time, one wins and
//! the others are told; none waits for a lock, and a process that was killed holds nothing. What it leaves is a folder that no
//! `run.json` names: no reader of heaplake sees it, and [`sweep`] removes it when it is [`OLD`].

use crate::stored::{self, Layout};
use heaplake_kit::storage::{self, Object, Only};
use heaplake_kit::{StageError, fs};
use heaplake_schemas::run;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::xxh3_64;

/// An upload without progress for so long is taken for one that was killed.
pub const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// What stands in a place of a store.
pub struct Standing {
    /// The store's name for the content of `run.json`.
    pub tag: String,
    /// A number for the attempt that made it.
    pub attempt: u64,
}

/// What stands in a place; nothing where there is no run.
///
/// # Errors
/// [`StageError::Io`].
pub fn standing(place: &Path) -> Result<Option<Standing>, StageError> {
    match stored::look(place) {
        Ok((object, text)) => {
            let attempt = stored::layout_of(&text).folder.map_or(0, |folder| number(&folder));
            Ok(Some(Standing { tag: object.tag.unwrap_or_default(), attempt }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StageError::io(&place.join(run::FILE), "read", error)),
    }
}

/// A number for an attempt.
#[must_use]
pub fn number(folder: &str) -> u64 {
    xxh3_64(folder.as_bytes())
}

/// A name for the tables of an attempt that no other attempt has.
#[must_use]
pub fn attempt(hidden: &Path) -> String {
    // The folder is new in this boot of this machine, the moment tells boots apart, and the random number machines.
    let random = fs::read("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let random = match random.is_empty() {
        true => std::process::id().to_le_bytes().to_vec(),
        false => random,
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let parts = [hidden.to_string_lossy().as_bytes(), &random, &now.to_le_bytes()].concat();
    format!("{}{:016x}", run::TABLES, xxh3_64(&parts))
}

/// Uploads the files of a folder to one of a place, and makes sure that they are there.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Refused`].
pub fn upload(hidden: &Path, place: &Path, attempt: &str) -> Result<(), StageError> {
    let to = place.join(attempt);
    let files = storage::entries(hidden).map_err(|error| StageError::io(hidden, "read", error))?;
    let mut sent = BTreeMap::new();
    for file in files.into_iter().filter(|file| !file.is_folder && file.name != run::FILE) {
        let target = to.join(&file.name);
        let url = url(&target)?;
        let store = storage::store().map_err(|error| StageError::io(&target, "write", error))?;
        store.upload(&hidden.join(&file.name), url).map_err(|error| StageError::io(&target, "write", error))?;
        sent.insert(file.name, file.bytes);
    }
    let there = storage::entries(&to).map_err(|error| StageError::io(&to, "read", error))?;
    let there: BTreeMap<String, u64> = there.into_iter().map(|file| (file.name, file.bytes)).collect();
    if there != sent {
        return Err(StageError::Refused {
            problem: format!("{}: what was uploaded is not there as it was sent", to.display()),
            advice: "somebody removes objects there; run the same command again".to_owned(),
        });
    }
    Ok(())
}

/// Writes the description of a run, if what stands there is still what stood there; false if it is not.
///
/// # Errors
/// [`StageError::Io`].
pub fn describe(place: &Path, text: &[u8], standing: Option<&str>) -> Result<bool, StageError> {
    let path = place.join(run::FILE);
    let only = standing.map_or(Only::IfNone, |tag| Only::IfStill(tag.to_owned()));
    let put = storage::store().and_then(|store| store.put(&path.to_string_lossy(), text.to_vec().into(), only));
    match put {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(StageError::io(&path, "write", error)),
    }
}

/// Removes `run.json`, which ends the run, then the rest of what it names. Nobody makes a removal depend on a condition, so who
/// calls looks what stands there just before.
///
/// # Errors
/// [`StageError::Io`].
pub fn discard(place: &Path) -> Result<(), StageError> {
    let failed = |error| StageError::io(place, "remove", error);
    let store = storage::store().map_err(failed)?;
    let (_, text) = match stored::description(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read.map_err(failed)?,
    };
    store.remove(vec![url(&place.join(run::FILE))?.to_owned()]).map_err(failed)?;
    let all = store.list(url(place)?).map_err(failed)?;
    let ours = of_run(place, &stored::layout_of(&text));
    store.remove(all.into_iter().map(|object| object.url).filter(|url| ours(url)).collect()).map_err(failed)
}

/// Which objects of a place belong to a run: those of its folder, and those beside `run.json`.
fn of_run(place: &Path, layout: &Layout) -> impl Fn(&str) -> bool + use<> {
    let prefix = format!("{}/", place.display());
    let folder = layout.folder.as_ref().map(|folder| format!("{folder}/"));
    move |url| {
        let Some(within) = url.strip_prefix(&prefix) else { return false };
        !within.contains('/') || folder.as_ref().is_some_and(|folder| within.starts_with(folder))
    }
}

/// Removes what a run left that was replaced: the folder of its attempt, which this is the number of, and what lay beside its
/// description. What cannot be removed is swept later.
pub fn clear(place: &Path, before: u64, now: &str) {
    let Ok(entries) = storage::entries(place) else { return };
    for entry in entries.iter().filter(|entry| entry.is_folder && entry.name != now && number(&entry.name) == before) {
        forget(place, &entry.name);
    }
    let beside = entries.iter().filter(|entry| !entry.is_folder && entry.name != run::FILE);
    let urls = beside.map(|entry| place.join(&entry.name).to_string_lossy().into_owned()).collect();
    let _ = storage::store().and_then(|store| store.remove(urls));
}

/// Removes one attempt, as far as that is possible.
pub fn forget(place: &Path, attempt: &str) {
    let folder = place.join(attempt);
    if let (Ok(store), Some(url)) = (storage::store(), storage::url(&folder)) {
        let urls = store.list(url).unwrap_or_default().into_iter().map(|object| object.url);
        let _ = store.remove(urls.collect());
    }
}

/// Removes what killed uploads and drops left below a prefix, if it is [`OLD`]; what cannot be removed stays. Also removes what a
/// replaced run left there.
pub fn sweep(prefix: &Path) {
    let (Ok(store), Some(url)) = (storage::store(), storage::url(prefix)) else { return };
    let Ok(objects) = store.list(url) else { return };
    let left = left(&objects, SystemTime::now());
    // What counts now, not what counted before: an upload may have ended since the list was made.
    let places: BTreeSet<PathBuf> = left.iter().map(|left| left.place.clone()).collect();
    let places: Vec<PathBuf> = places.into_iter().collect();
    stored::expect(&places);
    for place in places {
        let layout = match stored::description(&place) {
            Ok((_, text)) => Some(stored::layout_of(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => continue,
        };
        let of_run = |folder: &Option<String>| {
            layout.as_ref().is_some_and(|layout| folder.is_none() || *folder == layout.folder)
        };
        let orphans = left.iter().filter(|left| left.place == place && !of_run(&left.folder));
        let _ = store.remove(orphans.flat_map(|left| left.urls.iter().cloned()).collect());
    }
}

/// What may be left of a run, and is if its description does not name it.
struct Left {
    /// The place of the run.
    place: PathBuf,
    /// The folder of an attempt; nothing for what lies beside the description.
    folder: Option<String>,
    urls: Vec<String>,
}

/// Folders of attempts, and what lies beside descriptions, where nothing was written for long.
fn left(objects: &[Object], now: SystemTime) -> Vec<Left> {
    let mut folders: BTreeMap<PathBuf, (Vec<String>, SystemTime)> = BTreeMap::new();
    for object in objects {
        let path = Path::new(&object.url);
        let Some(folder) = path.parent() else { continue };
        let of_place = is_named(folder, "snapshot=") && !path.ends_with(run::FILE);
        if of_place || is_named(folder, run::TABLES) {
            let (urls, last) = folders.entry(folder.to_owned()).or_insert((Vec::new(), object.changed));
            urls.push(object.url.clone());
            *last = object.changed.max(*last);
        }
    }
    let is_old = |last: SystemTime| now.duration_since(last).is_ok_and(|age| age > OLD);
    let old = folders.into_iter().filter(|(_, (_, last))| is_old(*last));
    old.map(|(folder, (urls, _))| match is_named(&folder, run::TABLES) {
        true => {
            let place = folder.parent().map(Path::to_owned).unwrap_or_default();
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
            Left { place, folder: name, urls }
        }
        false => Left { place: folder, folder: None, urls },
    })
    .collect()
}

fn is_named(folder: &Path, prefix: &str) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}

fn url(path: &Path) -> Result<&str, StageError> {
    storage::url(path).ok_or_else(|| StageError::io(path, "use", io::ErrorKind::InvalidInput.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(url: &str, age: Duration, now: SystemTime) -> Object {
        Object { url: format!("s3://b/lake/release=r/{url}"), bytes: 1, tag: None, changed: now - age }
    }

    #[test]
    fn old_attempts_are_left_where_nothing_of_them_is_new() {
        let now = SystemTime::now();
        let (old, new) = (OLD + Duration::from_secs(1), OLD - Duration::from_secs(1));
        let objects = [
            object("snapshot=a/run.json", old, now),
            object("snapshot=a/report.html", old, now),
            object("snapshot=a/tables-1/nodes.parquet", old, now),
            object("snapshot=a/tables-2/nodes.parquet", old, now),
            object("snapshot=a/tables-2/edges.parquet", new, now),
            object("snapshot=b/tables-3/nodes.parquet", old, now),
        ];
        let left = left(&objects, now);
        let names: Vec<&str> = left.iter().map(|left| left.folder.as_deref().unwrap_or("beside")).collect();
        assert_eq!(names, ["beside", "tables-1", "tables-3"]);
        assert_eq!(left[0].urls, ["s3://b/lake/release=r/snapshot=a/report.html"]);
        assert_eq!(left[0].place, left[1].place);
    }

    #[test]
    fn attempts_have_names_of_their_own() {
        let names: BTreeSet<String> = (0..100).map(|_| attempt(Path::new("a"))).collect();
        assert_eq!(names.len(), 100);
        assert!(names.iter().all(|name| name.starts_with(run::TABLES) && name.len() == run::TABLES.len() + 16));
    }

    #[test]
    fn a_run_owns_its_folder_and_what_lies_beside_its_description() {
        let layout = stored::layout_of(br#"{"folder": "tables-1", "tables": []}"#);
        let ours = of_run(Path::new("s3://b/lake/release=r/snapshot=a"), &layout);
        for (url, is_ours) in [
            ("s3://b/lake/release=r/snapshot=a/report.html", true),
            ("s3://b/lake/release=r/snapshot=a/tables-1/x.parquet", true),
            ("s3://b/lake/release=r/snapshot=a/tables-2/x.parquet", false),
            ("s3://b/lake/release=r/snapshot=ab/report.html", false),
        ] {
            assert_eq!(ours(url), is_ours, "{url}");
        }
    }
}
