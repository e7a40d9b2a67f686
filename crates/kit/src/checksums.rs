//! Checksums of the files in a scratch folder, so that a later process reuses only intact files.
//!
//! Writers hash the bytes they write; nothing is read again for it. Each append adds a part, so that the output of an
//! unfinished stage can be separated from earlier content.

use crate::StageError;
use crate::fs::File;
use crate::threads::locked;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Hash of an unhashed part.
const UNKNOWN: u64 = 0;

/// Bytes per read.
const BLOCK: usize = 1 << 18;

/// Checksum of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    /// End and hash of each part.
    parts: Vec<(u64, u64)>,
}

impl Checksum {
    /// Checksum of a file with these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { parts: vec![(bytes.len() as u64, xxh3_64(bytes))] }
    }

    /// Length of a column in memory, without a hash: no later process reads it.
    pub(crate) fn of_length(bytes: u64) -> Self {
        Self { parts: vec![(bytes, UNKNOWN)] }
    }

    /// Length of the file, bytes.
    pub fn length(&self) -> u64 {
        self.parts.last().map_or(0, |&(end, _)| end)
    }

    /// Adds the part of an append.
    pub(crate) fn and(mut self, bytes: u64, hash: &Xxh3) -> Self {
        self.parts.push((self.length() + bytes, hash.digest()));
        self
    }

    /// Returns true if a file begins with the checksummed bytes.
    ///
    /// # Errors
    /// [`StageError::Cancelled`] when `cancel` is set meanwhile.
    pub fn is_of(&self, path: &Path, cancel: &AtomicBool) -> Result<bool, StageError> {
        let failed = |error| StageError::io(path, "read", error);
        let mut file = match File::open(path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory) => {
                return Ok(false);
            }
            opened => opened.map_err(failed)?,
        };
        let (mut block, mut from) = (vec![0; BLOCK], 0);
        for &(end, expected) in &self.parts {
            let (mut hash, mut left) = (Xxh3::new(), end.saturating_sub(from));
            while left > 0 {
                if cancel.load(Ordering::Relaxed) {
                    return Err(StageError::Cancelled);
                }
                let most = left.min(BLOCK as u64) as usize;
                match file.read(&mut block[..most]) {
                    Ok(0) => return Ok(false),
                    Ok(count) => {
                        hash.update(&block[..count]);
                        left -= count as u64;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            if expected != UNKNOWN && hash.digest() != expected {
                return Ok(false);
            }
            from = end;
        }
        Ok(true)
    }
}

/// Checksums of the files in a folder.
#[derive(Debug, Default)]
pub(crate) struct Checksums(Mutex<FxHashMap<OsString, Checksum>>);

impl Checksums {
    pub(crate) fn get(&self, path: &Path) -> Option<Checksum> {
        locked(&self.0).get(path.as_os_str()).cloned()
    }

    /// Records a file's checksum, or `None` if its content is unknown.
    pub(crate) fn set(&self, path: &Path, sum: Option<Checksum>) {
        match sum {
            Some(sum) => locked(&self.0).insert(path.into(), sum),
            None => locked(&self.0).remove(path.as_os_str()),
        };
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) {
        let sum = locked(&self.0).remove(from.as_os_str());
        self.set(to, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnWriter, Scratch};
    use heaplake_schemas::scratch::Column;

    const MINE: Column<u32> = Column::new("mine");
    const OTHER: Column<u32> = Column::new("other");

    #[test]
    fn a_sum_knows_every_byte_and_what_was_appended_later() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let (path, never) = (scratch.path(MINE), AtomicBool::new(false));
        let mut writer = ColumnWriter::create(&scratch, MINE).unwrap();
        writer.extend(&vec![7; 100_000]).unwrap();
        writer.finish().unwrap();
        let first = scratch.sum(&path).unwrap();
        let mut writer = ColumnWriter::append(&scratch, MINE).unwrap();
        writer.extend(&[1, 2, 3]).unwrap();
        writer.finish().unwrap();
        let second = scratch.sum(&path).unwrap();
        assert_eq!((first.length(), second.length()), (400_000, 400_012));
        assert!(first.is_of(&path, &never).unwrap() && second.is_of(&path, &never).unwrap());
        let bytes = std::fs::read(&path).unwrap();
        for at in [0, 200_000, 399_999, 400_000, 400_011] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            std::fs::write(&path, changed).unwrap();
            assert!(!second.is_of(&path, &never).unwrap());
            assert_eq!(first.is_of(&path, &never).unwrap(), at >= 400_000);
        }
        std::fs::write(&path, &bytes[..400_008]).unwrap();
        assert!(first.is_of(&path, &never).unwrap() && !second.is_of(&path, &never).unwrap());
        assert!(matches!(first.is_of(&path, &AtomicBool::new(true)), Err(StageError::Cancelled)));
    }

    #[test]
    fn sums_go_with_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let mut writer = ColumnWriter::create(&scratch, MINE).unwrap();
        writer.push(1).unwrap();
        writer.finish().unwrap();
        let sum = scratch.sum(&scratch.path(MINE));
        assert!(sum.is_some());
        scratch.share(MINE, OTHER).unwrap();
        assert_eq!(scratch.sum(&scratch.path(OTHER)), sum);
        scratch.set_aside(MINE.name).unwrap();
        assert_eq!(
            (scratch.sum(&scratch.path(MINE)), scratch.sum(&scratch.originals().path(MINE))),
            (None, sum.clone())
        );
        scratch.take_back(MINE).unwrap();
        ColumnWriter::create(&scratch, OTHER).unwrap().finish().unwrap();
        scratch.replace(OTHER, MINE).unwrap();
        assert_eq!((scratch.sum(&scratch.path(OTHER)), scratch.sum(&scratch.path(MINE))), (sum, None));
        scratch.withdraw(OTHER).unwrap();
        assert_eq!(scratch.sum(&scratch.path(OTHER)), None);
    }
}
