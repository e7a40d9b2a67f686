//! Lets exactly one thread report why the process ends.
//!
//! Several threads may fail at the same time: memory is refused to two, or both read a truncated map. The first thread
//! reports and ends the process; the others wait silently.
//!
//! Nothing here allocates, and everything is async-signal-safe.

use nix::libc;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval and number of checks whether the first thread has ended the process.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: usize = 500;

static BEGUN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True for the reporting thread.
    static FIRST: Cell<bool> = const { Cell::new(false) };
}

/// Returns for the first calling thread, on each of its calls. Any other thread waits for the end of the process, and
/// after five seconds ends it with `code`.
pub fn begin(code: i32) {
    // A thread in teardown has no thread-local value.
    let is_first = FIRST.try_with(Cell::get).unwrap_or(false);
    if is_first || !BEGUN.swap(true, Ordering::SeqCst) {
        let _ = FIRST.try_with(|first| first.set(true));
        return;
    }
    (0..LOOKS).for_each(|_| std::thread::sleep(LOOK));
    // SAFETY: `_exit` is async-signal-safe and does not return; no destructor runs.
    unsafe { libc::_exit(code) }
}
