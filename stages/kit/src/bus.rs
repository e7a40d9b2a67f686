//! A mapped file that cannot be read any more ends the process with a message, not with a signal.
//!
//! Columns are mapped for random access: that costs no copy, and the page cache is shared by all stages. But where a
//! mapped file is cut off by somebody else, or the disk fails under it, an access has no result and no error: the system
//! sends SIGBUS. Nothing can go on from there. The handler says so and ends the process with exit code 1, as any other
//! error of scratch does; the run is not published, and the next command removes what is left of it.

use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::os::fd::BorrowedFd;
use std::sync::Once;

const MESSAGE: &[u8] = b"heaplake: a file of scratch was cut off, or the disk failed under it, while it was in use\n  \
                         -> check the disk and who else writes to the scratch folder, and run the same command again\n";

/// Exit code of a failure.
const FAILED: i32 = 1;

/// Installs the handler, once.
pub(crate) fn handle() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let action = SigAction::new(SigHandler::Handler(end), SaFlags::empty(), SigSet::empty());
        // SAFETY: `end` calls only functions that may be called in a handler, and touches no state of the process. No
        // other code of the process handles this signal. Without the handler the signal ends the process too.
        let _ = unsafe { sigaction(Signal::SIGBUS, &action) };
    });
}

extern "C" fn end(_signal: libc::c_int) {
    // SAFETY: descriptor 2 is only written to, in one call that a handler may make; where it is closed, that fails.
    let stderr = unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) };
    let _ = rustix::io::write(stderr, MESSAGE);
    // SAFETY: `_exit` may be called in a handler and does not return; no destructor runs.
    unsafe { libc::_exit(FAILED) }
}
