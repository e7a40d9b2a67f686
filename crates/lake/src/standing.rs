//! Identity of the run at a place, for the detection of changes.

use crate::remote;
use heaplake_kit::{StageError, storage};
use heaplake_schemas::run;
use std::fs::{Metadata, symlink_metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Identity of the run at a place: device and inode of the folder, and inode, length and modification time of its
/// `run.json`. In a store: a hash of the attempt that made the run, and the tag of its `run.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    folder: (u64, u64),
    run: Option<(u64, u64, i64, i64)>,
    tag: Option<String>,
}

/// Version of a description (`run.json`). Unlike a [`Standing`], it is the same in a copy of the file system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    /// Bytes.
    pub bytes: u64,
    /// When it was last changed, in nanoseconds since 1970; 0 in a store.
    pub changed_ns: i64,
    /// When an entry of its folder was last added or removed, likewise.
    pub folder_changed_ns: i64,
    /// Its tag in a store.
    pub tag: Option<Arc<str>>,
}

impl Version {
    /// Whether two versions of a description are the same. The folder may have changed.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.bytes, self.changed_ns, &self.tag) == (other.bytes, other.changed_ns, &other.tag)
    }
}

impl Standing {
    /// Returns the identity at a place; `None` if it is empty.
    pub fn at(place: &Path) -> Result<Option<Self>, StageError> {
        if storage::is_url(place) {
            let of =
                |there: remote::Standing| Self { folder: (u64::MAX, there.attempt), run: None, tag: Some(there.tag) };
            return Ok(remote::standing(place)?.map(of));
        }
        Ok(Self::examined(place)?.map(|(standing, _)| standing))
    }

    /// Returns the identity of a local run, and the version of its description, if it has one.
    pub(crate) fn examined(place: &Path) -> Result<Option<(Self, Option<Version>)>, StageError> {
        let examined = |path: &Path| match symlink_metadata(path) {
            Ok(there) => Ok(Some(there)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(StageError::io(path, "examine", error)),
        };
        let Some(folder) = examined(place)? else { return Ok(None) };
        let run = examined(&place.join(run::FILE))?;
        let of_run = |run: &Metadata| (run.ino(), run.len(), run.mtime(), run.mtime_nsec());
        let version = |run: &Metadata| Version {
            bytes: run.len(),
            changed_ns: changed(run),
            folder_changed_ns: changed(&folder),
            tag: None,
        };
        let version = run.as_ref().filter(|run| run.is_file()).map(version);
        let standing = Self { folder: (folder.dev(), folder.ino()), run: run.as_ref().map(of_run), tag: None };
        Ok(Some((standing, version)))
    }

    /// Tag of `run.json` in a store.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Device and inode of the folder.
    pub fn folder(&self) -> (u64, u64) {
        self.folder
    }
}

/// Time of the last change, in nanoseconds since 1970.
fn changed(file: &Metadata) -> i64 {
    file.mtime().saturating_mul(1_000_000_000).saturating_add(file.mtime_nsec())
}
