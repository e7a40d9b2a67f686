//! The user's wish to stop, for waits that cannot look at a flag between two steps: those for an object store,
//! and for the reader of standard output.
//!
//! The process has one flag, which its handler of signals sets ([`stop_on`]). A wait that begins before the flag is set ends
//! soon after. A wait that begins later is tidying up: it gets what is left of [`GRACE`].

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long a process may tidy up in a store after it was told to stop, all calls together.
pub const GRACE: Duration = Duration::from_millis(500);
/// How often a wait looks whether it must end.
pub const PAUSE: Duration = Duration::from_millis(20);

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
static SINCE: OnceLock<Instant> = OnceLock::new();
static GAVE_UP: AtomicBool = AtomicBool::new(false);

/// Names the flag that is set when the user wants to stop. The first one counts.
pub fn stop_on(flag: &Arc<AtomicBool>) {
    let _ = FLAG.set(Arc::clone(flag));
}

/// The flag, once [`stop_on`] named it. Before, a signal ends the process.
#[must_use]
pub fn flag() -> &'static AtomicBool {
    static NEVER: AtomicBool = AtomicBool::new(false);
    FLAG.get().map_or(&NEVER, |flag| flag)
}

/// Since when the user wants to stop, as far as somebody looked.
fn since() -> Option<Instant> {
    flag().load(Ordering::Relaxed).then(|| *SINCE.get_or_init(Instant::now))
}

/// Whether some wait of this process was cut short: what depends on it is incomplete.
#[must_use]
pub fn gave_up() -> bool {
    GAVE_UP.load(Ordering::Relaxed)
}

/// A wait that has begun.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    is_tidying: bool,
}

impl Wait {
    /// Begins now.
    #[must_use]
    pub fn begin() -> Self {
        Self { is_tidying: since().is_some() }
    }

    /// Whether it must end now.
    #[must_use]
    pub fn is_over(self) -> bool {
        since().is_some_and(|since| !self.is_tidying || since.elapsed() > GRACE)
    }
}

/// A wait was cut short. Not of the kind `Interrupted`, after which the standard library tries again.
#[derive(Clone, Copy, Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl Error for Stopped {}

/// The error of a wait that was cut short.
#[must_use]
pub fn error() -> io::Error {
    GAVE_UP.store(true, Ordering::Relaxed);
    io::Error::other(Stopped)
}

/// Whether an error is that of a wait that was cut short.
#[must_use]
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
