//! Waits of the calling thread for the runtime: until the work is done, or the user interrupts.
//!
//! The library panics on unexpected values of environment variables. [`environment`](crate::environment) refuses the
//! known ones; other panics become errors here.

use crate::buckets::runtime;
use crate::error::broken;
use futures::FutureExt;
use heaplake_kit::{panics, stop};
use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;

/// Runs work on the runtime; an interrupt is the error of [`stop`].
pub(crate) fn wait<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let begun = stop::Wait::begin();
    let either = async {
        tokio::select! {
            biased;
            done = work => done,
            () = over(begun) => Err(stop::error()),
        }
    };
    let runtime = runtime()?;
    panics::silent(|| runtime.block_on(either)).unwrap_or_else(|| Err(broken()))
}

/// Wraps work of a runtime thread: a panic becomes an error.
pub(crate) async fn guarded<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(broken()))
}

/// Completes when a wait must end.
pub(crate) async fn over(begun: stop::Wait) {
    while !begun.is_over() {
        tokio::time::sleep(stop::PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let panics = || async {
            assert_eq!(std::env::args().count(), 0, "inside");
            Ok(1)
        };
        assert_eq!(wait(panics()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(wait(guarded(panics())).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(wait(async { Ok(2) }).unwrap(), 2);
    }
}
