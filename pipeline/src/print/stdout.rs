//! Standard output: a failed write makes the command fail.
//!
//! A closed pipe is no failure: its reader has enough. Any other error is reported once and sets the exit code of the
//! process, whatever else the command did. A signal ends a write to a pipe without a reading reader.

use crate::diagnostic::Diagnostic;
use heaplake_kit::stream::Stream;
use heaplake_kit::{StageError, stop};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

/// Highest exit code of a failed write.
static WORST: AtomicU8 = AtomicU8::new(0);

/// Opens standard output, for large writes.
pub fn open() -> io::Result<Stream<'static>> {
    Stream::standard_output(stop::flag())
}

/// Writes bytes; returns the exit code.
pub fn write(bytes: &[u8]) -> u8 {
    open().and_then(|mut out| out.write_all(bytes)).map_or_else(failed, |()| 0)
}

/// Reports a failed write; returns the exit code.
pub fn failed(error: io::Error) -> u8 {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return 0;
    }
    let diagnostic = Diagnostic::from(StageError::io(Path::new("standard output"), "write", error));
    let code = diagnostic.exit as u8;
    if WORST.fetch_max(code, Ordering::Relaxed) < code { diagnostic.tell() } else { code }
}

/// Exit code of the worst write so far.
pub fn exit_code() -> u8 {
    WORST.load(Ordering::Relaxed)
}
