//! The objects of the runs of a lake in a store, as the last listing of the lake has them.
//!
//! One listing, in parallel pieces, finds the runs, the versions of their descriptions and the lengths of their files.
//! So readers ask for none of these run by run. It is of one moment: who does not find a file here asks the store.
//!
//! Memory: about 40 bytes per object.

use crate::attempt::MARK;
use crate::entry::shared;
use heaplake_kit::storage::{self, Level, Object};
use heaplake_kit::threads::locked;
use heaplake_schemas::run;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The objects of a run and of its attempts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// Length and tag of the description, if there is one.
    pub description: Option<(u64, Option<Arc<str>>)>,
    /// Folder beside the description, or none; name; length.
    files: Vec<(Option<Arc<str>>, Arc<str>, u64)>,
}

impl Objects {
    /// Adds an object; `within` is its path in the run. Deeper objects are none of heaplake.
    fn add(&mut self, within: &str, bytes: u64, tag: Option<&str>) {
        let (folder, name) = within.split_once('/').map_or((None, within), |(folder, name)| (Some(folder), name));
        if name.contains('/') {
            return;
        }
        if within == run::FILE {
            self.description = Some((bytes, tag.map(Arc::from)));
        }
        // The objects of a folder come one after the other.
        let last = self.files.last().and_then(|(last, ..)| last.clone());
        let folder = folder.map(|folder| last.filter(|last| **last == *folder).unwrap_or_else(|| folder.into()));
        self.files.push((folder, shared(name), bytes));
    }

    /// Length of a file, in a folder beside the description or beside it.
    pub(crate) fn bytes(&self, folder: Option<&str>, name: &str) -> Option<u64> {
        self.files.iter().find(|(of, file, _)| of.as_deref() == folder && **file == *name).map(|(.., bytes)| *bytes)
    }

    /// Names and lengths of the files of a run with this folder of tables, without the mark of the attempt.
    pub(crate) fn of_run(&self, folder: Option<&str>) -> Vec<(String, u64)> {
        let is_of_run = |of: Option<&str>| of.is_none() || of == folder;
        let files = self.files.iter().filter(|(of, name, _)| is_of_run(of.as_deref()) && **name != *MARK);
        files.map(|(_, name, bytes)| (name.to_string(), *bytes)).collect()
    }

    /// Names and lengths of all objects in a folder beside the description.
    pub(crate) fn in_folder(&self, folder: &str) -> BTreeMap<&str, u64> {
        let files = self.files.iter().filter(|(of, ..)| of.as_deref() == Some(folder));
        files.map(|(_, name, bytes)| (&**name, *bytes)).collect()
    }
}

static LISTED: Mutex<BTreeMap<PathBuf, Arc<Objects>>> = Mutex::new(BTreeMap::new());

/// The objects of the run at a place, if they were listed.
pub(crate) fn of(place: &Path) -> Option<Arc<Objects>> {
    locked(&LISTED).get(place).cloned()
}

/// Forgets the objects at a place that changed.
pub(crate) fn forget(place: &Path) {
    locked(&LISTED).remove(place);
}

/// Records the removal of a file of a run, given by place and name.
pub(crate) fn remove(path: &Path) {
    let (Some(place), Some(file)) = (path.parent(), path.file_name()) else { return };
    let mut listed = locked(&LISTED);
    if let Some(objects) = listed.get_mut(place).map(Arc::make_mut) {
        objects.files.retain(|(_, name, _)| **name != *file.to_string_lossy());
    }
}

/// Records the description that was put after a listing of its run.
pub(crate) fn describe(place: &Path, bytes: u64, tag: Option<&str>) {
    let mut listed = locked(&LISTED);
    let Some(objects) = listed.get_mut(place).and_then(Arc::get_mut) else { return };
    objects.files.retain(|(folder, name, _)| folder.is_some() || **name != *run::FILE);
    objects.add(run::FILE, bytes, tag);
}

/// Lists a lake, or a folder `release=…` in one, cut at these URLs: returns the places with a description, sorted.
pub(crate) fn places(folder: &Path, cuts: &[String]) -> io::Result<Vec<PathBuf>> {
    let mut runs = BTreeMap::new();
    let (folder, lake) = (url(folder)?, lake_of(url(folder)?));
    storage::store()?.pieces(folder, cuts, &mut |level| add(&mut runs, lake, &level.objects))?;
    Ok(record(runs))
}

/// As [`places`], with all objects, also those of no run.
pub(crate) fn whole(folder: &Path, cuts: &[String]) -> io::Result<(Vec<PathBuf>, Level)> {
    let (mut runs, mut whole, mut foreign) = (BTreeMap::new(), Level::default(), BTreeSet::new());
    let (folder, lake) = (url(folder)?, lake_of(url(folder)?));
    storage::store()?.pieces(folder, cuts, &mut |level| {
        add(&mut runs, lake, &level.objects);
        whole.objects.extend(level.objects);
        foreign.extend(level.foreign);
        whole.answered = whole.answered.max(level.answered);
    })?;
    whole.objects.sort_by(|one, other| one.url.cmp(&other.url));
    whole.foreign = foreign.into_iter().collect();
    Ok((record(runs), whole))
}

/// Lists one run, and returns the objects.
pub(crate) fn run(place: &Path) -> io::Result<Level> {
    let level = storage::store()?.list(url(place)?)?;
    forget(place);
    let mut runs = BTreeMap::new();
    add(&mut runs, lake_of(url(place)?), &level.objects);
    record(runs);
    Ok(level)
}

fn url(path: &Path) -> io::Result<&str> {
    storage::url(path).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn add(runs: &mut BTreeMap<PathBuf, Objects>, lake: &str, objects: &[Object]) {
    for object in objects {
        if let Some((place, within)) = split(lake, &object.url) {
            runs.entry(place.into()).or_default().add(within, object.bytes, object.tag.as_deref());
        }
    }
}

/// Replaces what is known of these runs; returns those with a description.
fn record(runs: BTreeMap<PathBuf, Objects>) -> Vec<PathBuf> {
    let described = runs.iter().filter(|(_, objects)| objects.description.is_some());
    let places = described.map(|(place, _)| place.clone()).collect();
    locked(&LISTED).extend(runs.into_iter().map(|(place, objects)| (place, Arc::new(objects))));
    places
}

/// The lake of a lake, of a folder `release=…` in one, or of a run.
fn lake_of(folder: &str) -> &str {
    let folder = folder.trim_end_matches('/');
    let above = |folder: &'_ str, prefix: &str| {
        folder.rsplit_once('/').filter(|(_, last)| last.starts_with(prefix)).map(|(above, _)| above.len())
    };
    let release = above(folder, "snapshot=").map_or(folder, |end| &folder[..end]);
    above(release, "release=").map_or(release, |end| &release[..end])
}

/// Splits the URL of an object of a lake into the place of a run and the path in it; `None` for others.
fn split<'u>(lake: &str, url: &'u str) -> Option<(&'u str, &'u str)> {
    let within = url.strip_prefix(lake)?.strip_prefix('/')?;
    let (release, rest) = within.split_once('/')?;
    let (snapshot, file) = rest.split_once('/')?;
    let is_place = release.starts_with("release=") && snapshot.starts_with("snapshot=");
    is_place.then(|| (&url[..url.len() - file.len() - 1], file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_belongs_to_a_run() {
        let of = |key: &str| {
            let url = format!("s3://b/{key}");
            split("s3://b/l", &url).map(|(place, within)| format!("{place} {within}"))
        };
        assert_eq!(of("l/release=1/snapshot=a/run.json").unwrap(), "s3://b/l/release=1/snapshot=a run.json");
        assert_eq!(of("l/release=1/snapshot=a/tables-1/x").unwrap(), "s3://b/l/release=1/snapshot=a tables-1/x");
        for folder in ["s3://b/l/", "s3://b/l", "s3://b/l/release=1", "s3://b/l/release=1/snapshot=a"] {
            assert_eq!(lake_of(folder), "s3://b/l");
        }
        for other in [
            "release=1/snapshot=a/run.json",
            "l/in/release=1/snapshot=a/run.json",
            "l/release=1/x",
            "l/release=1/other/run.json",
            "l/catalogue/x",
            "l/release=1/snapshot=a",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn objects_are_found_by_folder_and_name() {
        let mut objects = Objects::default();
        for (within, bytes) in [("tables-1/a", 1), ("tables-1/heaplake-attempt.json", 2), ("tables-2/a", 3)] {
            objects.add(within, bytes, None);
        }
        objects.add(run::FILE, 4, Some("tag"));
        objects.add("tables-1/deep/a", 5, None);
        assert_eq!((objects.bytes(Some("tables-2"), "a"), objects.bytes(None, "a")), (Some(3), None));
        assert_eq!(objects.of_run(Some("tables-1")), [("a".to_owned(), 1), (run::FILE.to_owned(), 4)]);
        assert_eq!(objects.in_folder("tables-2"), [("a", 3)].into());
        assert_eq!(objects.description, Some((4, Some("tag".into()))));
    }
}
