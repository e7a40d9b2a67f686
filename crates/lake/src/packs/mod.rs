//! Packs: the small tables of many runs in one file.
//!
//! ```text
//! LAKE/tables/classes/release=<release>/night=<date>/classes-<schema version>.parquet
//! ```
//!
//! A pack has the rows of one table of the runs of one release that were captured on one day (UTC), in order of the
//! names of the runs, with signed numbers (`signed.rs`). The folder of a table is a table of Hive's form, with the
//! partitions `release` and `night`. A run whose description names a night ([`Packed`]) has its rows there; a table
//! whose file is in the folder of the run is read from there.
//!
//! * Truth: the descriptions. A pack may have rows of runs that were dropped or replaced; they count for no run of the
//!   lake, and the next compaction removes them.
//! * The metadata of the file lists its runs: name, seal at the time of packing, number of rows.
//! * Integrity: every page has a checksum, and so has the footer ([`checked`](crate::checked)).
//! * Kills: a pack is replaced by renaming a whole new one over it, in a store by one put. So readers see the old or the
//!   new rows.

mod cache;
mod pack;
mod signed;

pub(crate) use cache::{forget, forget_all};
pub(crate) use pack::{Content, Member};
pub use pack::{Pack, Slice};
pub(crate) use signed::{converted, signed};

use crate::entry::Entry;
use crate::run_path;
use heaplake_kit::{fs, storage};
use heaplake_schemas::run::{self, Packed};
use heaplake_schemas::{edges, nodes};
use serde::Deserialize;
use std::fs::canonicalize;
use std::io;
use std::path::{Path, PathBuf};

/// Folder of the packs in a lake.
pub const FOLDER: &str = "tables";

/// Tables above this size stay in the folder of their run.
pub(crate) const MOST_BYTES: u64 = 4 << 20;

/// Night of runs without a capture time: Hive's name of a null partition.
pub const NO_NIGHT: &str = "__HIVE_DEFAULT_PARTITION__";

/// True for a table of a packed run, by its file name and bytes, that may be in a pack.
pub(crate) fn may_have(file: &str, bytes: Option<u64>) -> bool {
    ![nodes::TABLE.file, edges::TABLE.file].contains(&file) && bytes.is_some_and(|bytes| bytes <= MOST_BYTES)
}

/// True for the path of a pack in a lake, by the names of its folders and its file.
pub(crate) fn has(parts: &[&str]) -> bool {
    match parts {
        [FOLDER, table, release, night, file] => {
            let version = file.strip_prefix(*table).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".parquet"));
            let is_version = version.is_some_and(|version| version.parse::<u32>().is_ok());
            is_version && release.starts_with("release=") && night.starts_with("night=")
        }
        _ => false,
    }
}

/// Path of the pack of a table, given by its file name in a run.
pub(crate) fn path(lake: &Path, file: &str, (release, night): (&str, &str), schema_version: u32) -> PathBuf {
    let name = file.strip_suffix(".parquet").unwrap_or(file);
    let partition = lake.join(FOLDER).join(name).join(format!("release={release}")).join(format!("night={night}"));
    partition.join(format!("{name}-{schema_version}.parquet"))
}

/// Returns the rows of a table of a packed run; `None` if the pack does not have them, or there is none.
///
/// # Errors
/// Those of reading the pack.
pub fn slice(place: &Path, run: &Entry, file: &str) -> io::Result<Option<Slice>> {
    let (Some(packed), Some(listed)) = (&run.packed, run.table(file)) else { return Ok(None) };
    if !may_have(file, Some(listed.bytes)) {
        return Ok(None);
    }
    let Some(slice) = of(place, file, packed, run.schema_version)? else { return Ok(None) };
    let (expected, found) = (listed.rows, slice.rows().end - slice.rows().start);
    if found != expected {
        let problem = format!("expected {expected} rows in the pack as {} says, found {found}", run::FILE);
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(Some(slice))
}

/// As [`slice()`], for a run by what its description says.
pub(crate) fn of(place: &Path, file: &str, packed: &Packed, schema_version: u32) -> io::Result<Option<Slice>> {
    if !is_plain(&packed.night) {
        return Ok(None);
    }
    if let Some(slice) = in_lake_of(place, file, packed, schema_version)? {
        return Ok(Some(slice));
    }
    if storage::is_url(place) {
        return Ok(None);
    }
    // The names of the folders are not in each path: `.`, or a symbolic link.
    match canonicalize(place).ok().filter(|canonical| canonical != place) {
        Some(canonical) => in_lake_of(&canonical, file, packed, schema_version),
        None => Ok(None),
    }
}

/// As [`of`], by the names of the folders in a path.
fn in_lake_of(place: &Path, file: &str, packed: &Packed, schema_version: u32) -> io::Result<Option<Slice>> {
    let Some(parts) = run_path::parts(place) else { return Ok(None) };
    let path = path(&parts.lake, file, (&parts.release, &packed.night), schema_version);
    match cache::pack(&path) {
        Ok(pack) if pack.table() != file => {
            let problem = format!("{}: expected rows of {file}, found those of {}", path.display(), pack.table());
            Err(io::Error::new(io::ErrorKind::InvalidData, problem))
        }
        Ok(pack) => Ok(pack.slice(&parts.snapshot, &packed.seal)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// As [`slice()`], for a table of a local run by path. Reads the description of the run.
pub(crate) fn of_path(path: &Path) -> io::Result<Option<Slice>> {
    #[derive(Deserialize)]
    struct Description {
        schema_version: u32,
        #[serde(default)]
        packed: Option<Packed>,
    }
    let (Some(place), Some(file)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(None);
    };
    if storage::is_url(place) || file == run::FILE {
        return Ok(None);
    }
    let Ok(text) = fs::read_at_most(place.join(run::FILE), fs::DOCUMENT_BYTES) else { return Ok(None) };
    match serde_json::from_slice(&text) {
        Ok(Description { schema_version, packed: Some(packed) }) => of(place, file, &packed, schema_version),
        _ => Ok(None),
    }
}

/// True for a night that is a name of one folder: a damaged or hostile description may name any path.
fn is_plain(night: &str) -> bool {
    !night.is_empty() && night.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}
