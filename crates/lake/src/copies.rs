//! Copies objects of a store to local files: short ones together, long ones by readahead.
//!
//! Memory: the bytes of the short ones that are fetched together, see [`TOGETHER`].

use heaplake_kit::storage::{self, Object, Readahead};
use heaplake_kit::{StageError, fs};
use std::io;
use std::path::{Path, PathBuf};

/// Objects that are fetched together: their number, and their bytes.
const TOGETHER: (usize, u64) = (64, 8 << 20);

/// Copies each object to its path, whose folder exists. Returns the outcome of each, in order; a file that could not be
/// copied may be there in part.
///
/// # Errors
/// If there is no store; and if the disk is full.
pub(crate) fn copy(objects: &[(Object, PathBuf)]) -> Result<Vec<io::Result<()>>, StageError> {
    let mut outcomes = Vec::with_capacity(objects.len());
    let mut left = objects;
    while !left.is_empty() {
        let mut bytes = 0;
        let fits = |(object, _): &&(Object, PathBuf)| {
            bytes += object.bytes;
            bytes <= TOGETHER.1
        };
        let count = left.iter().take(TOGETHER.0).take_while(fits).count().max(1);
        let (now, later) = left.split_at(count);
        match now {
            [(object, to)] => outcomes.push(long(object, to)?),
            several => outcomes.extend(short(several)?),
        }
        left = later;
    }
    Ok(outcomes)
}

/// Copies one object of any length.
fn long(object: &Object, to: &Path) -> Result<io::Result<()>, StageError> {
    let written = |error| StageError::io(to, "write", error);
    let mut file = fs::File::create(to).map_err(written)?;
    if object.bytes == 0 {
        return Ok(Ok(()));
    }
    match io::copy(&mut Readahead::new(object.clone()), &mut file) {
        Err(error) if error.raw_os_error().is_some() => Err(written(error)),
        copied => Ok(copied.map(drop)),
    }
}

/// Copies a few short objects.
fn short(objects: &[(Object, PathBuf)]) -> Result<Vec<io::Result<()>>, StageError> {
    let urls: Vec<String> = objects.iter().map(|(object, _)| object.url.clone()).collect();
    let store = storage::store().map_err(|error| StageError::io(Path::new(&urls[0]), "read", error))?;
    let mut outcomes = Vec::with_capacity(objects.len());
    for ((_, to), read) in objects.iter().zip(store.read_all(&urls, TOGETHER.1)) {
        outcomes.push(match read {
            Ok((_, content)) => {
                fs::write(to, content).map_err(|error| StageError::io(to, "write", error))?;
                Ok(())
            }
            Err(error) => Err(error),
        });
    }
    // A call that was cancelled has one outcome.
    let missing = objects.len() - outcomes.len().min(objects.len());
    outcomes.extend((0..missing).map(|_| Err(io::ErrorKind::Interrupted.into())));
    Ok(outcomes)
}
