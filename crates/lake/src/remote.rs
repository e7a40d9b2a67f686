//! Runs in an object store: uploaded file by file, and visible once `run.json` exists.
//!
//! A store cannot rename folders, but has conditional puts. So each attempt uploads its tables to a folder of its own,
//! and writes `run.json`, which names that folder, last: on the condition that there is none, or that it is unchanged
//! since the work began (If-Match). Of concurrent uploads of a run one wins, and the others fail; there are no locks
//! for a killed process to hold. A killed process leaves a folder that no `run.json` names: readers ignore it, and
//! [`sweep`] removes it after [`OLD`], if it has the [mark](crate::attempt) of the attempt.

use crate::attempt::{MARK, Owned, is_folder};
use crate::layout::layout_of;
use crate::run_files::PAGE;
use crate::{inventory, stored};
use heaplake_kit::storage::{self, Entry, Level, Object, Only};
use heaplake_kit::{StageError, fs};
use heaplake_schemas::run;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use xxhash_rust::xxh3::xxh3_64;

/// An upload without progress for this long is considered dead.
pub(crate) const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// Identity of the run at a place in a store.
pub(crate) struct Standing {
    /// Tag of `run.json` (ETag).
    pub tag: String,
    /// Hash of the attempt that made it.
    pub attempt: u64,
}

/// Returns the identity at a place; `None` if there is no run.
pub(crate) fn standing(place: &Path) -> Result<Option<Standing>, StageError> {
    let path = place.join(run::FILE);
    match stored::look(place) {
        Ok((object, text)) => {
            let attempt = layout_of(&text).folder.map_or(0, |folder| number(&folder));
            Ok(Some(Standing { tag: object.tag.unwrap_or_default(), attempt }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // A description too long to read can still be replaced and dropped.
        Err(error) if fs::TooLong::is(&error) => storage::about(&path)
            .map(|about| Some(Standing { tag: about.tag.unwrap_or_default(), attempt: 0 }))
            .map_err(|error| StageError::io(&path, "examine", error)),
        Err(error) => Err(StageError::io(&path, "read", error)),
    }
}

/// Returns the hash of an attempt.
pub(crate) fn number(folder: &str) -> u64 {
    xxh3_64(folder.as_bytes())
}

/// Returns a unique folder name for the tables of an attempt.
pub(crate) fn attempt(hidden: &Path) -> String {
    // The folder is unique within this boot of this machine; the time distinguishes boots, and the random number
    // machines.
    let random = fs::read("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let random = match random.is_empty() {
        true => std::process::id().to_le_bytes().to_vec(),
        false => random,
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let parts = [hidden.to_string_lossy().as_bytes(), &random, &now.to_le_bytes()].concat();
    format!("{}{:016x}", run::TABLES, xxh3_64(&parts))
}

/// Writes the mark of the attempt, uploads the files of a folder, and verifies the listing of the run, which it returns.
///
/// # Errors
/// [`StageError::Refused`] if the listing differs.
pub(crate) fn upload(hidden: &Path, place: &Path, attempt: &str) -> Result<Level, StageError> {
    let to = place.join(attempt);
    let files = storage::entries(hidden).map_err(|error| StageError::io(hidden, "read", error))?;
    let files: Vec<Entry> = files.into_iter().filter(|file| !file.is_folder && file.name != run::FILE).collect();
    let owned = Owned::new(place, Some(attempt), files.iter().map(|file| file.name.clone()));
    let mut sent: BTreeMap<&str, u64> = [(MARK, owned.mark()?)].into();
    sent.extend(files.iter().map(|file| (&*file.name, file.bytes)));
    let url = |file: &Entry| to.join(&file.name).to_string_lossy().into_owned();
    let uploads: Vec<(PathBuf, String)> = files.iter().map(|file| (hidden.join(&file.name), url(file))).collect();
    let store = storage::store().map_err(|error| StageError::io(&to, "write", error))?;
    store.upload(&uploads).map_err(|error| StageError::io(&to, "write", error))?;
    let level = inventory::run(place).map_err(|error| StageError::io(&to, "read", error))?;
    let listed = inventory::of(place).unwrap_or_default();
    let there = listed.in_folder(attempt);
    if there != sent {
        return Err(StageError::Refused {
            problem: format!("{}: what was uploaded is not there as it was sent", to.display()),
            advice: "somebody changes objects there; run the same command again".to_owned(),
        });
    }
    Ok(level)
}

/// Writes the description of a run by a conditional put; false if the run at the place changed since `standing`.
pub(crate) fn describe(place: &Path, text: &[u8], standing: Option<&str>) -> Result<bool, StageError> {
    let path = place.join(run::FILE);
    let only = standing.map_or(Only::IfNone, |tag| Only::IfStill(tag.to_owned()));
    let put = storage::store().and_then(|store| store.put(&path.to_string_lossy(), text.to_vec().into(), only));
    match put {
        Ok(tag) => {
            inventory::describe(place, text.len() as u64, tag.as_deref());
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(StageError::io(&path, "write", error)),
    }
}

/// As [`describe`], for runs given by place, with the tag of the old description and the new one; a run without them, or
/// that was changed meanwhile, is false in the result. The caller removes the files that the new ones do not need.
pub(crate) fn describe_all<'p>(
    runs: impl Iterator<Item = (&'p Path, Option<(String, String)>)>,
) -> Result<Vec<bool>, StageError> {
    let (mut done, mut puts) = (Vec::new(), Vec::new());
    for (place, new) in runs {
        if let Some((tag, text)) = new {
            puts.push((done.len(), place, text, tag));
        }
        done.push(false);
    }
    let Some((_, first, ..)) = puts.first() else { return Ok(done) };
    let url = |place: &Path| place.join(run::FILE).to_string_lossy().into_owned();
    let put = |(_, place, text, tag): &(usize, &Path, String, String)| {
        (url(place), text.clone().into(), Only::IfStill(tag.clone()))
    };
    let store = storage::store().map_err(|error| StageError::io(first, "write", error))?;
    for ((at, place, text, _), put) in puts.iter().zip(store.put_all(puts.iter().map(put).collect())) {
        match put {
            Ok(tag) => {
                inventory::describe(place, text.len() as u64, tag.as_deref());
                stored::remember(place, layout_of(text.as_bytes()));
                done[*at] = true;
            }
            // With If-Match, some stores say that there is none any more.
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {}
            Err(error) => return Err(StageError::io(&place.join(run::FILE), "write", error)),
        }
    }
    Ok(done)
}

/// Removes tables of runs, given by place and name, from the folders of their attempts.
pub(crate) fn remove_files(paths: &[PathBuf]) -> Result<(), StageError> {
    let Some(first) = paths.first() else { return Ok(()) };
    let failed = |error| StageError::io(first, "remove", error);
    let mut urls = Vec::with_capacity(paths.len());
    for path in paths {
        urls.push(url(&stored::place_of(path).map_err(failed)?)?.to_owned());
    }
    storage::store().and_then(|store| store.remove(urls)).map_err(failed)?;
    paths.iter().for_each(|path| inventory::remove(path));
    Ok(())
}

/// Returns the objects of the run at a place; `None` if there is none. Adds a mark, if an older version omitted it, so
/// that an interrupted removal can be completed.
pub(crate) fn owned(place: &Path) -> Result<Option<Owned>, StageError> {
    let failed = |error| StageError::io(place, "read", error);
    let text = match stored::description(place) {
        Ok((_, text)) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // A description too long to read: its objects are unknown.
        Err(error) if fs::TooLong::is(&error) => return Ok(Some(Owned::new(place, None, []))),
        Err(error) => return Err(failed(error)),
    };
    let layout = layout_of(&text);
    if let Some(folder) = &layout.folder
        && let Some(owned) = Owned::marked(place, folder).map_err(failed)?
    {
        return Ok(Some(owned));
    }
    let owned = Owned::new(place, layout.folder.as_deref(), layout.files());
    owned.mark()?;
    Ok(Some(owned))
}

/// Removes `run.json`, which ends the run, then its other objects. Stores have no conditional removal, so callers check
/// the run's identity just before.
pub(crate) fn discard(place: &Path) -> Result<(), StageError> {
    let failed = |error| StageError::io(place, "remove", error);
    let Some(owned) = owned(place)? else { return Ok(()) };
    inventory::forget(place);
    let store = storage::store().map_err(failed)?;
    store.remove(vec![url(&place.join(run::FILE))?.to_owned()]).map_err(failed)?;
    owned.remove(true).map_err(failed)
}

/// Removes the objects of a replaced run, with its page. Failures are left to [`sweep`].
pub(crate) fn clear(place: &Path, before: &Owned) {
    inventory::forget(place);
    let _ = before.remove(true);
}

/// Removes one attempt, ignoring failures.
pub(crate) fn forget(place: &Path, attempt: &str) {
    if let Ok(Some(owned)) = Owned::marked(place, attempt) {
        let _ = owned.remove(false);
    }
}

/// Removes leftovers of killed uploads and drops below a prefix: attempts with a [mark](crate::attempt) that no run
/// uses and without writes for [`OLD`], by the clock of the store. Failures are ignored.
pub(crate) fn sweep(prefix: &Path) {
    let (Ok(store), Some(url)) = (storage::store(), storage::url(prefix)) else { return };
    store.list(url).iter().for_each(sweep_listed);
}

/// As [`sweep`], of what a listing has.
pub(crate) fn sweep_listed(level: &Level) {
    let Level { objects, answered: Some(now), .. } = level else { return };
    for attempt in left(objects, *now) {
        let Ok(Some(owned)) = Owned::marked(&attempt.place, &attempt.folder) else { continue };
        // Read again: an upload may have ended since the listing.
        let is_gone = match stored::description(&attempt.place) {
            Ok((_, text)) if layout_of(&text).folder.as_ref() != Some(&attempt.folder) => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            _ => continue,
        };
        let _ = owned.remove(is_gone && attempt.has_old_page);
    }
}

/// A marked attempt without recent writes.
#[derive(Debug, PartialEq, Eq)]
struct Attempt {
    /// The place of the run.
    place: PathBuf,
    /// The folder of its tables.
    folder: String,
    /// True if the page of the run is old, too.
    has_old_page: bool,
}

fn left(objects: &[Object], now: SystemTime) -> Vec<Attempt> {
    let is_old = |last: SystemTime| now.duration_since(last).is_ok_and(|age| age > OLD);
    let mut last: BTreeMap<&Path, SystemTime> = BTreeMap::new();
    for object in objects {
        let path = Path::new(&object.url);
        // A page counts by itself, other objects by their folder.
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
