//! Disk space of files.

use super::faults::{At, Operation, before};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, retry_on_intr};
use std::{fs, io};

/// Allocates or deallocates the disk space of a range, depending on the flags; no effect where unsupported.
pub(super) fn change(file: &fs::File, flags: FallocateFlags, at: u64, bytes: u64) -> io::Result<()> {
    before(Operation::Resize, At::File(file))?;
    match retry_on_intr(|| fallocate(file, flags, at, bytes)) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
