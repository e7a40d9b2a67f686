//! Writers of the catalogue.

use super::read::{SEGMENT, Wanted, path_in_lake, runs_of, segments};
use super::segment::{self, Row, Segment};
use crate::entries::Places;
use crate::hidden::{self, Hidden};
use crate::lock::Lock;
use crate::places::places;
use crate::standing::{Standing, Version};
use crate::{captured, found, remote, stored};
use heaplake_kit::{Context, StageError, fs, storage, threads};
use heaplake_schemas::catalogue::{FOLDER, RUNS, TABLES};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Prefix of the names of unfinished segments.
const HIDDEN: &str = ".heaplake-new-";
/// Lock of the process that merges segments.
const LOCK: &str = ".heaplake-lock";
/// Segments of about the same size that are merged into one.
const MOST_ALIKE: usize = 16;
/// Most runs of a segment, which is held in memory while it is written.
const MOST_RUNS: usize = 16 << 10;
/// A file that changed less than this ago may change again without getting another time: file systems count ticks.
const TICK: Duration = Duration::from_millis(10);

/// Result of indexing a lake.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Indexed {
    /// Runs in the catalogue.
    pub runs: usize,
    /// Runs that are not in it: unreadable, half deleted or changed meanwhile, with the reason.
    pub left_out: Vec<(PathBuf, String)>,
}

/// Appends runs to the catalogue of their lake. Runs that are unreadable or changed meanwhile are left out. For a lake
/// in a store, `scratch` is the folder for the new segment.
///
/// # Errors
/// Those of writing. The runs are not affected, and readers find them without the catalogue.
pub fn add(lake: &Path, places: &[PathBuf], scratch: &Path) -> Result<(), StageError> {
    let mut rows = Vec::with_capacity(places.len());
    stored::expect(places);
    for (place, version) in ripe(places) {
        rows.extend(row(&place, version).ok().flatten());
    }
    if rows.is_empty() {
        return Ok(());
    }
    write(lake, rows, scratch)?;
    merge_alike(lake, scratch)
}

/// Writes the catalogue of a lake anew, from the descriptions of its runs.
pub fn index(lake: &Path, scratch: &Path, context: &Context<'_>) -> Result<Indexed, StageError> {
    let old = segments(&lake.join(FOLDER));
    let mut indexed = Indexed::default();
    let Places { places, damaged } = places(lake)?;
    indexed.left_out = damaged;
    context.progress.begin("index", places.len() as u64);
    for places in places.chunks(MOST_RUNS) {
        let mut versions = ripe(places);
        let read = |(place, version): &mut (PathBuf, Version)| {
            context.step(1)?;
            Ok::<_, StageError>((place.clone(), row(place, version.clone())))
        };
        let mut rows = Vec::with_capacity(places.len());
        for read in threads::map(context.threads, &mut versions, read) {
            match read? {
                (_, Ok(Some(row))) => rows.push(row),
                (_, Ok(None)) => {}
                (place, Err(problem)) => indexed.left_out.push((place, problem)),
            }
        }
        indexed.runs += rows.len();
        if !rows.is_empty() {
            write(lake, rows, scratch)?;
        }
    }
    context.progress.end();
    old.iter().try_for_each(|segment| remove(segment))?;
    indexed.left_out.sort();
    Ok(indexed)
}

/// Removes what killed processes left in the catalogue of a lake. Failures are ignored.
pub fn sweep(lake: &Path) {
    let catalogue = lake.join(FOLDER);
    if storage::is_url(lake) || !catalogue.is_dir() {
        return;
    }
    hidden::sweep(&catalogue, HIDDEN);
    if catalogue.join(LOCK).exists() {
        // Its end removes the file.
        drop(Lock::try_take(catalogue.join(LOCK)));
    }
}

/// Versions of the descriptions at these places, none of which can change without getting another version.
fn ripe(places: &[PathBuf]) -> Vec<(PathBuf, Version)> {
    let versions = places.iter().filter_map(|place| {
        let version = match storage::is_url(place) {
            true => Version { tag: Some(tag(place)?), ..Version::default() },
            false => Standing::examined(place).ok()??.1?,
        };
        Some((place.clone(), version))
    });
    let versions: Vec<(PathBuf, Version)> = versions.collect();
    let newest = versions.iter().map(|(_, version)| version.changed_ns.max(version.folder_changed_ns)).max();
    let newest = UNIX_EPOCH + Duration::from_nanos(u64::try_from(newest.unwrap_or(0)).unwrap_or(0));
    // A time in the future says nothing about ticks.
    if let Ok(age) = SystemTime::now().duration_since(newest) {
        sleep(TICK.saturating_sub(age));
    }
    versions
}

/// Tag of a description in a store.
fn tag(place: &Path) -> Option<Arc<str>> {
    remote::standing(place).ok()?.map(|standing| standing.tag.into())
}

/// Reads the row of a run; `None` if it was dropped or replaced since it had this version.
///
/// # Errors
/// The problem of a run that is unreadable or half deleted.
fn row(place: &Path, version: Version) -> Result<Option<Row>, String> {
    let (Some(path), Some(found)) = (path_in_lake(place), found::find(place)?) else { return Ok(None) };
    let (mut version, mut entry) = (version, found.run.clone());
    if storage::is_url(place) {
        version.bytes = stored::bytes(&place.join(heaplake_schemas::run::FILE)).unwrap_or(0);
    } else if Standing::examined(place).ok().flatten().and_then(|(_, now)| now).as_ref() != Some(&version) {
        return Ok(None);
    }
    if let Some(missing) = found.missing().first() {
        return Err(format!("it is half deleted, without {}", missing.file));
    }
    entry.captured_at_us = captured::captured_at(place, &entry).map_err(|error| error.to_string())?;
    Ok(Some(Row { path, entry, version, disk_bytes: stored::disk_bytes(place) }))
}

/// Writes a segment.
fn write(lake: &Path, mut rows: Vec<Row>, scratch: &Path) -> Result<(), StageError> {
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    let catalogue = lake.join(FOLDER);
    let is_remote = storage::is_url(lake);
    let within = if is_remote { scratch } else { &catalogue };
    fs::create_dir_all(within).map_err(|error| StageError::io(within, "create", error))?;
    let hidden = Hidden::create(within, HIDDEN)?;
    // The name of a hidden folder is unique, and its end a hash.
    let unique = hidden.path().to_string_lossy();
    let unique = unique.get(unique.len().saturating_sub(16)..).unwrap_or_default();
    let name = format!("{SEGMENT}{:05}-{unique}", rows.len());
    let new = hidden.path().join(&name);
    fs::create_dir(&new).map_err(|error| StageError::io(&new, "create", error))?;
    segment::write(&new, &rows)?;
    let place = catalogue.join(&name);
    if !is_remote {
        let renamed = fs::sync(&new).and_then(|()| fs::rename(&new, &place)).and_then(|()| fs::sync(&catalogue));
        return renamed.map_err(|error| StageError::io(&place, "write", error));
    }
    // A segment counts once its table of runs is there.
    for file in [TABLES.file, RUNS.file] {
        let to = place.join(file);
        let upload = [(new.join(file), to.to_string_lossy().into_owned())];
        let sent = storage::store().and_then(|store| store.upload(&upload));
        sent.map_err(|error| StageError::io(&to, "write", error))?;
    }
    Ok(())
}

/// Merges segments of about the same size, unless another process does.
fn merge_alike(lake: &Path, scratch: &Path) -> Result<(), StageError> {
    let catalogue = lake.join(FOLDER);
    let _lock = match storage::is_url(lake) {
        true => None,
        false => match Lock::try_take(catalogue.join(LOCK))? {
            Some(lock) => Some(lock),
            None => return Ok(()),
        },
    };
    let mut alike: BTreeMap<u32, Vec<PathBuf>> = BTreeMap::new();
    for path in segments(&catalogue) {
        let runs = path.file_name().and_then(|name| runs_of(&name.to_string_lossy())).unwrap_or(0);
        if runs < MOST_RUNS as u64 / MOST_ALIKE as u64 {
            alike.entry(runs.max(1).ilog2() / 4).or_default().push(path);
        }
    }
    for paths in alike.into_values().filter(|paths| paths.len() >= MOST_ALIKE) {
        let Some(rows) = rows_of(&paths)? else { continue };
        write(lake, rows, scratch)?;
        paths.iter().try_for_each(|path| remove(path))?;
    }
    Ok(())
}

/// Rows of segments, of runs with several the newest; `None` if a segment cannot be read.
fn rows_of(paths: &[PathBuf]) -> Result<Option<Vec<Row>>, StageError> {
    let mut newest: BTreeMap<(String, Option<Arc<str>>), Row> = BTreeMap::new();
    for path in paths {
        let Ok(segment) = Segment::read(path, Wanted::TABLES.tables, true) else { return Ok(None) };
        for row in (0..segment.runs.len()).map(|run| segment.row(run)) {
            // Versions in a store have no order.
            let key = (row.path.clone(), row.version.tag.clone());
            let time = |row: &Row| (row.version.changed_ns, row.version.folder_changed_ns);
            if newest.get(&key).is_none_or(|known| time(known) <= time(&row)) {
                newest.insert(key, row);
            }
        }
    }
    Ok(Some(newest.into_values().collect()))
}

/// Removes a segment, if it is there.
fn remove(segment: &Path) -> Result<(), StageError> {
    let files = [RUNS.file, TABLES.file].map(|file| segment.join(file));
    if storage::is_url(segment) {
        let urls = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
        return storage::store()
            .and_then(|store| store.remove(urls))
            .map_err(|error| StageError::io(segment, "remove", error));
    }
    for file in &files {
        fs::remove_file(file).or_else(gone).map_err(|error| StageError::io(file, "remove", error))?;
    }
    fs::remove_dir(segment).or_else(gone).map_err(|error| StageError::io(segment, "remove", error))
}

fn gone(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
