//! Finds objects and folders of a lake that belong to no run. Read-only.
//!
//! A bucket has other users, and a store takes any text as a key. Other commands skip foreign content; this module
//! lists it.

use crate::attempt::{MARK, is_folder};
use crate::catalogue;
use crate::layout::Layout;
use crate::mirror;
use crate::packs;
use crate::run_files::PAGE;
use crate::stored;
use heaplake_kit::fs;
use heaplake_kit::storage::Level;
use heaplake_schemas::{rollup, run};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Content that belongs to no run of a lake, sorted.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Strangers {
    /// Objects in a store that heaplake did not write.
    pub foreign: Vec<String>,
    /// Folders of unfinished attempts, dead or in progress.
    pub left: Vec<Left>,
}

/// The folder of an unfinished attempt, dead or in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Left {
    /// The folder.
    pub path: PathBuf,
    /// True if heaplake removes it once it is old. It never removes one without the mark of an attempt.
    pub is_marked: bool,
}

/// Finds content that belongs to no run of a lake in a store, or of a folder `release=…` in one, in its listing.
pub(crate) fn of_store(lake: &str, level: Level) -> Strangers {
    let places: BTreeSet<PathBuf> = level.objects.iter().filter_map(|object| described(&object.url)).collect();
    let layouts = places.into_iter().map(|place| (place.clone(), stored::layout(&place))).collect();
    of_level(lake, level, &layouts)
}

/// Returns the place of the run that a description belongs to.
fn described(url: &str) -> Option<PathBuf> {
    let place = url.strip_suffix(run::FILE)?.strip_suffix('/')?;
    is_place(place).then(|| place.into())
}

fn is_place(place: &str) -> bool {
    let mut parts = place.rsplit('/');
    let starts = |part: Option<&str>, prefix: &str| part.is_some_and(|part| part.starts_with(prefix));
    starts(parts.next(), "snapshot=") && starts(parts.next(), "release=")
}

/// Lists such content from a store's listing and the table locations of the runs; `None` marks an unreadable description.
fn of_level(lake: &str, level: Level, layouts: &BTreeMap<PathBuf, Option<Layout>>) -> Strangers {
    let lake = lake.trim_end_matches('/');
    // The lake, also when called for a release.
    let base = lake.rsplit_once('/').filter(|(_, last)| last.starts_with("release=")).map_or(lake, |(base, _)| base);
    let (mut foreign, mut left) = (level.foreign, BTreeMap::<PathBuf, bool>::new());
    for object in level.objects {
        let within = object.url.strip_prefix(base).unwrap_or_default().trim_start_matches('/');
        let parts: Vec<&str> = within.split('/').collect();
        let place = match parts[..] {
            [release, snapshot, ..] => format!("{base}/{release}/{snapshot}"),
            _ => String::new(),
        };
        let layout = layouts.get(Path::new(&place));
        let is_ours = match parts[2.min(parts.len())..] {
            _ if catalogue::has(&parts) || packs::has(&parts) => true,
            _ if parts[0] == rollup::FOLDER && mirror::has(&parts[1..], rollup::FILE) => true,
            _ if !is_place(&place) => false,
            // Unreadable description: any object may belong to the run.
            _ if layout.is_some_and(Option::is_none) => true,
            [run::FILE] => true,
            [PAGE] if layout.is_some() => true,
            [file] => layout.into_iter().flatten().any(|layout| layout.has(None, file)),
            [folder, file] if layout.into_iter().flatten().any(|layout| layout.has(Some(folder), file)) => true,
            [folder, file] if is_folder(folder) && (file == MARK || file.ends_with(".parquet")) => {
                *left.entry(Path::new(&place).join(folder)).or_default() |= file == MARK;
                true
            }
            _ => false,
        };
        if !is_ours {
            foreign.push(object.url);
        }
    }
    foreign.sort();
    // Other files beside the tables of a current run are foreign, not an attempt.
    let counts = |path: &Path| {
        let layout = path.parent().and_then(|place| layouts.get(place)).into_iter().flatten().next();
        layout.is_some_and(|layout| layout.folder.as_deref().is_some_and(|folder| path.ends_with(folder)))
    };
    let (beside, left): (Vec<_>, Vec<_>) = left.into_iter().partition(|(path, _)| counts(path));
    foreign.extend(beside.into_iter().map(|(path, _)| path.display().to_string()));
    let left = left.into_iter().map(|(path, is_marked)| Left { path, is_marked }).collect();
    Strangers { foreign, left }
}

/// Lists unfinished runs of a local lake, below a folder.
pub(crate) fn of_folder(in_the_making: &Path) -> Strangers {
    let names = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let is_run = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("snapshot=") || name.starts_with(".snapshot=") && name.ends_with(".old")
    };
    let mut paths: Vec<PathBuf> =
        names(in_the_making).iter().flat_map(|release| names(release)).filter(is_run).collect();
    paths.sort();
    Strangers { foreign: Vec::new(), left: paths.into_iter().map(|path| Left { path, is_marked: true }).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::layout_of;
    use heaplake_kit::storage::Object;
    use std::time::SystemTime;

    #[test]
    fn what_belongs_to_no_run_is_found() {
        let run = "s3://b/prod/release=1/snapshot=a";
        let object = |key: &str| Object {
            url: format!("s3://b/prod/{key}"),
            bytes: 1,
            tag: None,
            changed: SystemTime::UNIX_EPOCH,
        };
        let ours = ["run.json", "report.html", "tables-1/a.parquet", "tables-1/heaplake-attempt.json"];
        let others = [
            "release=1/snapshot=a/notes.txt",
            "release=1/snapshot=a/tables-1/users.csv",
            "release=1/snapshot=a/tables-2/users.csv",
            "release=1/snapshot=b/data.bin",
            "release=1/snapshot=b/report.html",
            "backups/tables-2025/users.csv",
            "db/snapshot=42/data.bin",
            "release=2",
            "x",
        ];
        let attempts = [
            "release=1/snapshot=a/tables-2/a.parquet",
            "release=1/snapshot=a/tables-2/heaplake-attempt.json",
            "release=1/snapshot=b/tables-3/a.parquet",
        ];
        let keys = ours.map(|name| format!("release=1/snapshot=a/{name}"));
        let unread = "release=1/snapshot=c/tables-9/a.parquet".to_owned();
        let all = keys.into_iter().chain(others.iter().chain(&attempts).map(|key| (*key).to_owned())).chain([unread]);
        let objects = all.map(|key| object(&key)).collect();
        let level = Level { objects, foreign: vec!["s3://b/prod//x".to_owned()], ..Level::default() };
        let layout = layout_of(br#"{"folder": "tables-1", "tables": [{"file": "a.parquet"}]}"#);
        let layouts = [(run.into(), Some(layout)), ("s3://b/prod/release=1/snapshot=c".into(), None)].into();
        let strangers = of_level("s3://b/prod/", level, &layouts);
        let mut expected: Vec<String> = others.iter().map(|key| format!("s3://b/prod/{key}")).collect();
        expected.push("s3://b/prod//x".to_owned());
        expected.sort();
        assert_eq!(strangers.foreign, expected);
        let left: Vec<_> = strangers.left.iter().map(|left| (left.path.to_str().unwrap(), left.is_marked)).collect();
        assert_eq!(
            left,
            [("s3://b/prod/release=1/snapshot=a/tables-2", true), ("s3://b/prod/release=1/snapshot=b/tables-3", false)]
        );
    }
}
