//! Metadata of files and objects.

use super::store::{Object, store};
use crate::scheme::url;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// Metadata of a file or an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Length in bytes.
    pub bytes: u64,
    /// Last modification, if known.
    pub changed: Option<SystemTime>,
    /// The store's version tag of the content (ETag).
    pub tag: Option<String>,
}

impl From<Object> for About {
    fn from(object: Object) -> Self {
        Self { bytes: object.bytes, changed: Some(object.changed), tag: object.tag }
    }
}

/// Returns the metadata of a regular file or an object.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a folder, a pipe or a device.
pub fn about(path: &Path) -> io::Result<About> {
    if let Some(url) = url(path) {
        return store()?.about(url).map(About::from);
    }
    let file = std::fs::metadata(path)?;
    match file.is_file() {
        true => Ok(About { bytes: file.len(), changed: file.modified().ok(), tag: None }),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no regular file")),
    }
}
