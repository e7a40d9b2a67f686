//! Why the process ends, said once.
//!
//! Several threads may find at one time that the process cannot go on: memory is refused to two of them, or both read a
//! mapped file that was cut off. One complaint is enough. The first thread says why and ends the process; the others wait
//! for that without a word.
//!
//! Nothing here allocates, and all of it may be called in the handler of a signal.

use nix::libc;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often, and how many times, a thread looks whether the first one has ended the process.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: usize = 500;

static BEGUN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread is the first one.
    static FIRST: Cell<bool> = const { Cell::new(false) };
}

/// Returns for the first thread that calls it, as often as it does. Any other thread waits here until the first one has ended
/// the process; if that takes more than some seconds, it ends the process itself, with this exit code.
pub fn begin(code: i32) {
    // A thread that is being torn down has no such value any more.
    let is_first = FIRST.try_with(Cell::get).unwrap_or(false);
    if is_first || !BEGUN.swap(true, Ordering::SeqCst) {
        let _ = FIRST.try_with(|first| first.set(true));
        return;
    }
    (0..LOOKS).for_each(|_| std::thread::sleep(LOOK));
    // SAFETY: `_exit` may be called in a handler and does not return; no destructor runs.
    unsafe { libc::_exit(code) }
}
