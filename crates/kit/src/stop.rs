//! Cancellation of blocking waits: for an object store, and for the reader of standard output.
//!
//! The signal handler sets the process's one flag ([`stop_on`]). A wait that began before ends soon after. A wait that
//! begins later is cleanup: it gets the rest of [`GRACE`].

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Time for cleanup in a store after cancellation, all calls together.
pub const GRACE: Duration = Duration::from_millis(500);
/// Polling interval of waits.
pub const PAUSE: Duration = Duration::from_millis(20);

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static SINCE: OnceLock<Instant> = OnceLock::new();
static GAVE_UP: AtomicBool = AtomicBool::new(false);

/// Registers the flag that requests cancellation. Only the first call counts.
pub fn stop_on(flag: &Arc<AtomicBool>) {
    let _ = FLAG.set(Arc::clone(flag));
}

/// Returns the flag registered with [`stop_on`]; before that, signals end the process.
pub fn flag() -> &'static AtomicBool {
    static NEVER: AtomicBool = AtomicBool::new(false);
    FLAG.get().map_or(&NEVER, |flag| flag)
}

/// Time at which the cancellation was first noticed.
fn since() -> Option<Instant> {
    flag().load(Ordering::Relaxed).then(|| *SINCE.get_or_init(Instant::now))
}

/// True if some wait was cut short: dependent work is incomplete.
pub fn gave_up() -> bool {
    GAVE_UP.load(Ordering::Relaxed)
}

/// A wait in progress.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    is_tidying: bool,
}

impl Wait {
    /// Begins a wait.
    pub fn begin() -> Self {
        Self { is_tidying: since().is_some() }
    }

    /// True if the wait must end now.
    #[must_use]
    pub fn is_over(self) -> bool {
        since().is_some_and(|since| !self.is_tidying || since.elapsed() > GRACE)
    }
}

/// Marks an error as cancellation. Not of kind `Interrupted`, which the standard library retries.
#[derive(Clone, Copy, Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl Error for Stopped {}

/// Creates the error of a wait that was cut short.
pub fn error() -> io::Error {
    GAVE_UP.store(true, Ordering::Relaxed);
    io::Error::other(Stopped)
}

/// True if the error is that of a wait that was cut short.
pub fn is(error: &io::Error) -> bool {
    error.get_ref().and_then(|inner| inner.downcast_ref::<Stopped>()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_the_flag_and_tidying_with_the_grace() {
        let flag = Arc::new(AtomicBool::new(false));
        stop_on(&flag);
        let before = Wait::begin();
        assert!(!before.is_over());
        flag.store(true, Ordering::Relaxed);
        assert!(before.is_over());
        let tidying = Wait::begin();
        assert!(!tidying.is_over(), "the grace is longer than a test takes to get here");
        std::thread::sleep(GRACE + PAUSE);
        assert!(tidying.is_over());
        flag.store(false, Ordering::Relaxed);
        assert!(is(&error()) && !is(&io::Error::other("else")));
    }
}
