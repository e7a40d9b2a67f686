//! Waits of the calling thread for the runtime: until the work is done, or the user wants to stop.
//!
//! The library panics where a variable of the environment has a value that it did not think of. [`environment`](crate::environment)
//! refuses those that are known; what is left becomes an error here.

use crate::buckets::runtime;
use crate::error::broken;
use futures::FutureExt;
use heaplake_kit::{panics, stop};
use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;

/// Does some work on the runtime.
///
/// # Errors
/// Those of the work; that of [`stop`] where the user does not want to wait for it.
pub fn wait<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
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

/// Some work of a thread of the runtime, whose panic is an error.
///
/// # Errors
/// Those of the work.
pub async fn guarded<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(broken()))
}

/// Comes when a wait must end.
pub async fn over(begun: stop::Wait) {
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
