//! Paths of runs: the names of their folders.

use std::path::{Path, PathBuf};

/// Returns the path of a run inside a lake.
pub fn path(lake: &Path, release: &str, snapshot: &str) -> PathBuf {
    lake.join(format!("release={release}")).join(format!("snapshot={snapshot}"))
}

/// The components of a run's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The lake.
    pub lake: PathBuf,
    /// Its release.
    pub release: String,
    /// Its name.
    pub snapshot: String,
}

/// Splits the path of a run; `None` for other paths.
pub fn parts(place: &Path) -> Option<Parts> {
    let named = |path: &Path, prefix: &str| Some(path.file_name()?.to_str()?.strip_prefix(prefix)?.to_owned());
    let release = place.parent()?;
    let lake = release.parent().filter(|lake| !lake.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(Parts { release: named(release, "release=")?, snapshot: named(place, "snapshot=")?, lake: lake.to_owned() })
}
