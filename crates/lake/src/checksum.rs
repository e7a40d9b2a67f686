//! Checksums of files: XXH3-64 of their content as sixteen hexadecimal digits.

use crate::seal::digits;
use crate::stored;
use heaplake_kit::{Context, StageError};
use std::io::Read;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3Default;

/// Bytes per read.
pub const BUFFER_BYTES: usize = 256 << 10;

/// Length and checksum of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Length in bytes.
    pub bytes: u64,
    /// Checksum.
    pub xxh3_64: String,
}

/// Reads a file from end to end, calling `read` after each part. The caller may reuse the buffer.
pub fn of_file(
    path: &Path,
    buffer: &mut Vec<u8>,
    mut read: impl FnMut(u64) -> Result<(), StageError>,
) -> Result<Content, StageError> {
    let failed = |error| StageError::io(path, "read", error);
    let mut file = stored::open(path).map_err(failed)?;
    buffer.resize(BUFFER_BYTES, 0);
    let (mut hash, mut bytes) = (Xxh3Default::new(), 0);
    loop {
        match file.read(buffer) {
            Ok(0) => break,
            Ok(count) => {
                hash.update(&buffer[..count]);
                bytes += count as u64;
                read(count as u64)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(Content { bytes, xxh3_64: digits(hash.digest()) })
}

/// As [`of_file`], with progress and cancellation.
pub fn of_file_within(path: &Path, buffer: &mut Vec<u8>, context: &Context<'_>) -> Result<Content, StageError> {
    of_file(path, buffer, |bytes| context.step(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_64;

    #[test]
    fn of_files_of_any_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for length in [0, 1, BUFFER_BYTES, BUFFER_BYTES + 1, 3 * BUFFER_BYTES + 7] {
            let content: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
            std::fs::write(&path, &content).unwrap();
            let mut told = 0;
            let found = of_file(&path, &mut Vec::new(), |bytes| {
                told += bytes;
                Ok(())
            });
            let expected = Content { bytes: length as u64, xxh3_64: format!("{:016x}", xxh3_64(&content)) };
            assert_eq!((found.unwrap(), told), (expected, length as u64));
        }
        assert!(of_file(&folder.path().join("missing"), &mut Vec::new(), |_| Ok(())).is_err());
    }
}
