//! Runs in an object store: uploaded file by file, there once `run.json` is.
//!
//! A store has no folders that could be renamed, but it can write an object on a condition. So the tables of an attempt go to a
//! folder that no other attempt has, and `run.json`, which names that folder, is written last: on the condition that there is
//! none, or that it is still the one that stood there when the work began. Of several that upload one run at a time, one wins and
//! the others are told; none waits for a lock, and a process that was killed holds nothing. What it leaves is a folder that no
//! `run.json` names: no reader of heaplake sees it, and [`sweep`] removes it when it is [`OLD`], if it has the
//! [mark](crate::attempt) of the attempt.

use crate::attempt::{MARK, Owned, PAGE, is_folder};
use crate::stored;
use heaplake_kit::storage::{self, Entry, Level, Object, Only};
use heaplake_kit::{StageError, fs};
use heaplake_schemas::run;
use std::collections::BTreeMap;
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
    let path = place.join(run::FILE);
    match stored::look(place) {
        Ok((object, text)) => {
            let attempt = stored::layout_of(&text).folder.map_or(0, |folder| number(&folder));
            Ok(Some(Standing { tag: object.tag.unwrap_or_default(), attempt }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // One that nobody reads can be replaced and dropped all the same.
        Err(error) if fs::TooLong::is(&error) => storage::about(&path)
            .map(|about| Some(Standing { tag: about.tag.unwrap_or_default(), attempt: 0 }))
            .map_err(|error| StageError::io(&path, "examine", error)),
        Err(error) => Err(StageError::io(&path, "read", error)),
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

/// Uploads the files of a folder to one of a place, behind the mark of the attempt, and makes sure that they are there.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Refused`].
pub fn upload(hidden: &Path, place: &Path, attempt: &str) -> Result<(), StageError> {
    let to = place.join(attempt);
    let files = storage::entries(hidden).map_err(|error| StageError::io(hidden, "read", error))?;
    let files: Vec<Entry> = files.into_iter().filter(|file| !file.is_folder && file.name != run::FILE).collect();
    let owned = Owned::new(place, Some(attempt), files.iter().map(|file| file.name.clone()));
    let mut sent: BTreeMap<String, u64> = [(MARK.to_owned(), owned.mark()?)].into();
    for file in files {
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
            advice: "somebody changes objects there; run the same command again".to_owned(),
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

/// What the run that stands in a place wrote; nothing where there is none. It is marked, if an earlier version left that out, so
/// that a removal that is killed can be completed.
///
/// # Errors
/// [`StageError::Io`].
pub fn owned(place: &Path) -> Result<Option<Owned>, StageError> {
    let failed = |error| StageError::io(place, "read", error);
    let text = match stored::description(place) {
        Ok((_, text)) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // Nothing tells what belongs to it.
        Err(error) if fs::TooLong::is(&error) => return Ok(Some(Owned::new(place, None, []))),
        Err(error) => return Err(failed(error)),
    };
    let layout = stored::layout_of(&text);
    if let Some(folder) = &layout.folder
        && let Some(owned) = Owned::marked(place, folder).map_err(failed)?
    {
        return Ok(Some(owned));
    }
    let owned = Owned::new(place, layout.folder.as_deref(), layout.files());
    owned.mark()?;
    Ok(Some(owned))
}

/// Removes `run.json`, which ends the run, then the rest of what it names. Nobody makes a removal depend on a condition, so who
/// calls looks what stands there just before.
///
/// # Errors
/// [`StageError::Io`].
pub fn discard(place: &Path) -> Result<(), StageError> {
    let failed = |error| StageError::io(place, "remove", error);
    let Some(owned) = owned(place)? else { return Ok(()) };
    let store = storage::store().map_err(failed)?;
    store.remove(vec![url(&place.join(run::FILE))?.to_owned()]).map_err(failed)?;
    owned.remove(true).map_err(failed)
}

/// Removes what a run left that was replaced, with its page. What cannot be removed is swept later.
pub fn clear(before: &Owned) {
    let _ = before.remove(true);
}

/// Removes one attempt, as far as that is possible.
pub fn forget(place: &Path, attempt: &str) {
    if let Ok(Some(owned)) = Owned::marked(place, attempt) {
        let _ = owned.remove(false);
    }
}

/// Removes what killed uploads and drops left below a prefix: what a [mark](crate::attempt) names, where no run has it and
/// nothing was written for [`OLD`], by the clock of the store. What cannot be removed stays.
pub fn sweep(prefix: &Path) {
    let (Ok(store), Some(url)) = (storage::store(), storage::url(prefix)) else { return };
    let Ok(Level { objects, answered: Some(now), .. }) = store.list(url) else { return };
    for attempt in left(&objects, now) {
        let Ok(Some(owned)) = Owned::marked(&attempt.place, &attempt.folder) else { continue };
        // What counts now, not what counted before: an upload may have ended since the list was made.
        let is_gone = match stored::description(&attempt.place) {
            Ok((_, text)) if stored::layout_of(&text).folder.as_ref() != Some(&attempt.folder) => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            _ => continue,
        };
        let _ = owned.remove(is_gone && attempt.has_old_page);
    }
}

/// An attempt with a mark, to which nothing was written for long.
#[derive(Debug, PartialEq, Eq)]
struct Attempt {
    /// The place of the run.
    place: PathBuf,
    /// The folder of its tables.
    folder: String,
    /// Whether the page of the run is old too.
    has_old_page: bool,
}

fn left(objects: &[Object], now: SystemTime) -> Vec<Attempt> {
    let is_old = |last: SystemTime| now.duration_since(last).is_ok_and(|age| age > OLD);
    let mut last: BTreeMap<&Path, SystemTime> = BTreeMap::new();
    for object in objects {
        let path = Path::new(&object.url);
        // A page stands for itself, another object for its folder.
        let of = if path.ends_with(PAGE) { Some(path) } else { path.parent() };
        let newest = last.entry(of.unwrap_or(path)).or_insert(object.changed);
        *newest = object.changed.max(*newest);
    }
    let marks =
        objects.iter().filter_map(|object| Path::new(&object.url).parent().filter(|_| object.url.ends_with(MARK)));
    let attempt = |folder: &Path| {
        let (place, name) = (folder.parent()?, folder.file_name()?.to_str()?);
        let is_place = place.file_name()?.to_str()?.starts_with("snapshot=");
        let is_ours = is_place && is_folder(name) && last.get(folder).is_some_and(|last| is_old(*last));
        let has_old_page = last.get(&*place.join(PAGE)).is_some_and(|last| is_old(*last));
        is_ours.then(|| Attempt { place: place.to_owned(), folder: name.to_owned(), has_old_page })
    };
    marks.filter_map(attempt).collect()
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
        let mark = |folder: &str, age| object(&format!("{folder}/{MARK}"), age, now);
        let objects = [
            object("snapshot=a/run.json", new, now),
            object("snapshot=a/report.html", old, now),
            object("snapshot=a/tables-1/nodes.parquet", old, now),
            mark("snapshot=a/tables-1", old),
            object("snapshot=a/tables-2/nodes.parquet", new, now),
            mark("snapshot=a/tables-2", old),
            object("snapshot=b/tables-3/users.csv", old, now),
            object("snapshot=b/report.html", new, now),
            mark("snapshot=b/tables-4", old),
            mark("other/tables-5", old),
            mark("snapshot=b/other", old),
        ];
        let left = left(&objects, now);
        let found: Vec<_> = left.iter().map(|left| (left.folder.as_str(), left.has_old_page)).collect();
        assert_eq!(found, [("tables-1", true), ("tables-4", false)]);
        assert_eq!(left[0].place, Path::new("s3://b/lake/release=r/snapshot=a"));
    }

    #[test]
    fn attempts_have_names_of_their_own() {
        let names: std::collections::BTreeSet<String> = (0..100).map(|_| attempt(Path::new("a"))).collect();
        assert_eq!(names.len(), 100);
        assert!(names.iter().all(|name| name.starts_with(run::TABLES) && name.len() == run::TABLES.len() + 16));
    }
}
