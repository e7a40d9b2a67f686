//! Standard output: what cannot be written there makes the command fail.
//!
//! A reader that closed the pipe has enough, which is no failure. Everything else is told once, and the process ends with
//! its exit code, whatever the command did besides. A signal ends a write to a pipe whose reader does not read.

use crate::complaint::Complaint;
use heaplake_kit::stream::Stream;
use heaplake_kit::{StageError, stop};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

/// The highest exit code of a failed write.
static WORST: AtomicU8 = AtomicU8::new(0);

/// Standard output, to be written to in large pieces.
///
/// # Errors
/// Those of the system.
pub fn open() -> io::Result<Stream<'static>> {
    Stream::standard_output(stop::flag())
}

/// Writes bytes; the exit code.
pub fn write(bytes: &[u8]) -> u8 {
    open().and_then(|mut out| out.write_all(bytes)).map_or_else(failed, |()| 0)
}

/// Tells of a write that failed; the exit code.
pub fn failed(error: io::Error) -> u8 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return 0;
    }
    let complaint = Complaint::from(StageError::io(Path::new("standard output"), "write", error));
    let code = complaint.exit as u8;
    if WORST.fetch_max(code, Ordering::Relaxed) < code { complaint.tell() } else { code }
}

/// The exit code of the worst write so far.
pub fn exit_code() -> u8 {
    WORST.load(Ordering::Relaxed)
}
