//! SIGBUS handler: a mapped file that becomes unreadable ends the process with a message, not with a signal.
//!
//! Columns are mapped for random access: no copy, and all stages share the page cache. If another process truncates a
//! mapped file, or the disk fails, the access raises SIGBUS, and the program cannot continue. The handler prints the
//! file and exits with code 1, as for any other error of scratch; the run is not published, and the next command
//! removes its scratch.

use crate::last_words;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

const BEFORE: &[u8] = b"heaplake: ";
const UNKNOWN: &[u8] = b"a file of scratch";
const AFTER: &[u8] = b": it was cut off, or the disk failed under it, while it was in use\n  \
                       -> check the disk and who else writes to the scratch folder, and run the same command again\n";

/// Exit code of a failure.
const FAILED: i32 = 1;

/// Maximum number of registered maps; further ones are reported without a name.
const MAPS: usize = 128;

/// Bytes kept of a path: the last ones.
const NAME: usize = 256;

/// A registered map. The handler may read it at any time, so it contains no pointers; at worst the name is wrong.
struct Map {
    /// Address; 0: free entry, 1: entry being filled.
    start: AtomicUsize,
    end: AtomicUsize,
    length: AtomicUsize,
    name: [AtomicU8; NAME],
}

static ALL: [Map; MAPS] = [const {
    Map {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        length: AtomicUsize::new(0),
        name: [const { AtomicU8::new(0) }; NAME],
    }
}; MAPS];

/// Registration of a map, until drop.
pub(crate) struct Known(&'static Map);

impl Drop for Known {
    fn drop(&mut self) {
        self.0.start.store(0, Ordering::Release);
    }
}

/// Installs the handler once and registers a map; `None` if the registry is full.
pub(crate) fn handle(map: &[u8], path: &Path) -> Option<Known> {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let action = SigAction::new(SigHandler::SigAction(end), SaFlags::SA_SIGINFO, SigSet::empty());
        // SAFETY: `end` calls only async-signal-safe functions and touches only atomics. No other code of the process
        // handles SIGBUS.
        let _ = unsafe { sigaction(Signal::SIGBUS, &action) };
    });
    let is_taken = |free: &&Map| free.start.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
    let free = ALL.iter().find(is_taken)?;
    let path = path.as_os_str().as_bytes();
    let name = &path[path.len().saturating_sub(NAME)..];
    free.name.iter().zip(name).for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
    free.length.store(name.len(), Ordering::Relaxed);
    free.end.store(map.as_ptr() as usize + map.len(), Ordering::Relaxed);
    free.start.store(map.as_ptr() as usize, Ordering::Release);
    Some(Known(free))
}

extern "C" fn end(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    last_words::begin(FAILED);
    // SAFETY: the kernel passes a valid `siginfo_t` to an SA_SIGINFO handler; for SIGBUS it has an address.
    let address = unsafe { info.as_ref().map_or(0, |info| info.si_addr() as usize) };
    let mut message = [0; BEFORE.len() + NAME + AFTER.len()];
    let mut length = 0;
    let mut add = |byte: u8| {
        message[length] = byte;
        length += 1;
    };
    BEFORE.iter().for_each(|byte| add(*byte));
    let is_here = |map: &&Map| {
        let start = map.start.load(Ordering::Acquire);
        start > 1 && (start..map.end.load(Ordering::Relaxed)).contains(&address)
    };
    match ALL.iter().find(is_here) {
        Some(Map { name, length, .. }) => {
            name.iter().take(length.load(Ordering::Relaxed)).for_each(|byte| add(byte.load(Ordering::Relaxed)));
        }
        None => UNKNOWN.iter().for_each(|byte| add(*byte)),
    }
    AFTER.iter().for_each(|byte| add(*byte));
    // SAFETY: descriptor 2 is only written to, with `write`, which is async-signal-safe; if it is closed, that fails.
    let stderr = unsafe { BorrowedFd::borrow_raw(libc::STDERR_FILENO) };
    let _ = rustix::io::write(stderr, &message[..length]);
    // SAFETY: `_exit` is async-signal-safe and does not return; no destructor runs.
    unsafe { libc::_exit(FAILED) }
}
