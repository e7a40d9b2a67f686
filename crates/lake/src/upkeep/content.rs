//! Lists the files of a run folder, and links or copies them into another folder.
//!
//! Links are not followed: a file is opened as itself, and its new hard link must refer to the opened file.

use crate::{packs, stored};
use heaplake_kit::{StageError, fs, storage};
use heaplake_schemas::run::{self, Run};
use std::ffi::{OsStr, OsString};
use std::fs::{Metadata, symlink_metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Entries of a folder, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    /// Regular files: tables, files for other programs, the page.
    pub files: Vec<OsString>,
    /// A symbolic link.
    pub link: Option<OsString>,
    /// Folders, hidden files, pipes and devices.
    pub others: Vec<OsString>,
}

impl Content {
    /// Lists the entries of a run folder.
    pub(crate) fn of(source: &Path) -> Result<Self, StageError> {
        let mut content = Self::default();
        if storage::is_url(source) {
            let names = stored::files(source).into_iter().map(|(name, _)| name);
            content.files = names.filter(|name| name != run::FILE && !name.starts_with('.')).map(Into::into).collect();
            return Ok(content);
        }
        let failed = |error| StageError::io(source, "read", error);
        for entry in fs::read_dir(source).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (name, kind) = (entry.file_name(), entry.file_type().map_err(failed)?);
            let is_hidden = name.to_string_lossy().starts_with('.');
            if kind.is_symlink() && !is_hidden {
                content.link = Some(content.link.map_or(name.clone(), |link| link.min(name)));
            } else if !kind.is_file() || is_hidden {
                content.others.push(name);
            } else if name != run::FILE {
                content.files.push(name);
            }
        }
        content.files.sort_unstable();
        content.others.sort_unstable();
        Ok(content)
    }
}

/// Hard-links a file, or copies it if that fails (another disk, or not permitted).
///
/// # Errors
/// [`StageError::Io`] also if it is no longer a regular file.
pub(crate) fn bring(from: &Path, to: &Path) -> Result<(), StageError> {
    let written = |error| StageError::io(to, "write", error);
    if storage::is_url(from) {
        let mut from_store = stored::open(from).map_err(|error| StageError::io(from, "read", error))?;
        let copied = fs::File::create(to).and_then(|mut to| io::copy(&mut from_store, &mut to));
        copied.map_err(|error| StageError::io(from, "copy", error))?;
    } else {
        let failed = |error| StageError::io(from, "read", error);
        let mut file = fs::File::open_itself(from).map_err(failed)?;
        let opened = file.metadata().map_err(failed)?;
        if fs::hard_link(from, to).is_err() {
            fs::File::create(to).and_then(|mut to| io::copy(&mut file, &mut to)).map_err(written)?;
        } else if !symlink_metadata(to).is_ok_and(|linked| is_one_file(&linked, &opened)) {
            return Err(failed(io::Error::other("another program replaced it")));
        }
    }
    fs::sync(to).map_err(written)
}

fn is_one_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Whether the rows of a table of one run are those of the other, at `place`, which has them in a pack.
pub(super) fn is_packed((one, other): (&Run, &Run), place: &Path, name: &OsStr) -> bool {
    let Some(file) = name.to_str() else { return false };
    let table = |of: &Run| of.tables.iter().find(|table| table.file == file && table.xxh3_64.is_some()).cloned();
    let is_same = table(one).is_some_and(|table_of_one| table(other) == Some(table_of_one));
    let slice = other.packed.as_ref().map(|packed| packs::of(place, file, packed, other.schema_version));
    is_same && !place.join(name).exists() && matches!(slice, Some(Ok(Some(_))))
}

/// Whether both are regular files of equal content; if one is in an object store, of equal length.
pub(crate) fn is_same(one: &Path, other: &Path) -> Result<bool, StageError> {
    let failed = |error| StageError::io(one, "read", error);
    if storage::is_url(one) || storage::is_url(other) {
        let there = |path: &Path| stored::bytes(path);
        return Ok(there(other).is_ok_and(|bytes| there(one).is_ok_and(|other| other == bytes)));
    }
    let mut files = [
        fs::File::open_itself(one).map_err(failed)?,
        match fs::File::open_itself(other) {
            Ok(other) => other,
            Err(_) => return Ok(false),
        },
    ];
    let [one, other] = [files[0].metadata().map_err(failed)?, files[1].metadata().map_err(failed)?];
    if is_one_file(&one, &other) || one.len() != other.len() {
        return Ok(one.len() == other.len());
    }
    let [mut ours, mut theirs] = [vec![0; BLOCK], vec![0; BLOCK]];
    let mut left = one.len();
    while left > 0 {
        let count = left.min(BLOCK as u64) as usize;
        files[0].read_exact(&mut ours[..count]).map_err(failed)?;
        if files[1].read_exact(&mut theirs[..count]).is_err() || ours[..count] != theirs[..count] {
            return Ok(false);
        }
        left -= count as u64;
    }
    Ok(true)
}

/// Bytes compared at a time.
const BLOCK: usize = 64 << 10;
