//! Checksums of files: XXH3-64 of their content as sixteen hexadecimal digits.

use crate::seal::digits;
use heaplake_kit::StageError;
use std::io;
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

/// Failure of a check.
#[derive(Debug)]
pub enum Failure {
    /// The file cannot be read, or is not the expected one.
    Io(io::Error),
    /// The error of the caller's step.
    Step(StageError),
}

/// Reads content part by part until `read` returns 0, calling `step` after each part. The caller may reuse the buffer.
pub(crate) fn of(
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    buffer: &mut Vec<u8>,
    mut step: impl FnMut(u64) -> Result<(), StageError>,
) -> Result<Content, Failure> {
    buffer.resize(BUFFER_BYTES, 0);
    let (mut hash, mut bytes) = (Xxh3Default::new(), 0);
    loop {
        match read(buffer) {
            Ok(0) => break,
            Ok(count) => {
                hash.update(&buffer[..count]);
                bytes += count as u64;
                step(count as u64).map_err(Failure::Step)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::Io(error)),
        }
    }
    Ok(Content { bytes, xxh3_64: digits(hash.digest()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::checksum as of_file;
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
