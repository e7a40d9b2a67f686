//! The session that callbacks use.
//!
//! Callbacks run in all threads of the program, so they take no lock to find the session: each announces itself in one of
//! many counters, then reads a pointer. Retiring a session clears the pointer, then waits until every counter is zero. So no
//! callback sees a freed session.

use crate::session::Session;
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Counters, so that threads rarely share one.
const COUNTERS: usize = 64;

/// Callbacks in progress, in a cache line of its own.
#[repr(align(64))]
struct Counter(AtomicUsize);

static RUNNING: [Counter; COUNTERS] = [const { Counter(AtomicUsize::new(0)) }; COUNTERS];
static SESSION: AtomicPtr<Session> = AtomicPtr::new(null_mut());
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// A callback in progress.
struct Running(&'static AtomicUsize);

impl Running {
    #[inline]
    fn begin() -> Self {
        let own = OWN.try_with(|own| {
            if own.get() == usize::MAX {
                own.set(NEXT.fetch_add(1, Ordering::Relaxed) % COUNTERS);
            }
            own.get()
        });
        let counter = &RUNNING[own.unwrap_or(0)].0;
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Passes the session to a function, if there is one.
#[inline]
pub(crate) fn with(use_it: impl FnOnce(&Session)) {
    let running = Running::begin();
    // SAFETY: `retire` frees a session only after it cleared the pointer and then saw every counter at zero; this
    // callback was counted before it read the pointer, in one total order of both.
    if let Some(session) = unsafe { SESSION.load(Ordering::SeqCst).as_ref() } {
        use_it(session);
    }
    drop(running);
}

/// Makes a session the current one. Returns it if there is another.
pub(crate) fn install(session: Box<Session>) -> Result<(), Box<Session>> {
    let new = Box::into_raw(session);
    match SESSION.compare_exchange(null_mut(), new, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => Ok(()),
        // SAFETY: the pointer was made above, and nobody else has it.
        Err(_) => Err(unsafe { Box::from_raw(new) }),
    }
}

/// Ends the use of the current session, and waits for callbacks, at most so long. If one is still in progress then, the
/// session remains in memory.
pub(crate) fn retire(most: Duration) -> Option<Box<Session>> {
    let old = SESSION.swap(null_mut(), Ordering::SeqCst);
    if old.is_null() {
        return None;
    }
    let until = Instant::now() + most;
    while RUNNING.iter().any(|counter| counter.0.load(Ordering::SeqCst) > 0) {
        if Instant::now() > until {
            return None;
        }
        thread::sleep(Duration::from_micros(50));
    }
    // SAFETY: see `with`; the pointer was made by `install`, and the swap gave it to this thread alone.
    Some(unsafe { Box::from_raw(old) })
}
