//! Work on a separate thread that the caller can abandon, because the engine does not poll for signals.
//!
//! Parsing and planning recurse as deep as the statement is nested, so the thread has a large stack. Its pages take
//! memory only once touched.

use crate::error::SqlError;
use heaplake_kit::{give_back_freed, memory_limit};
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, Builder};
use std::time::Duration;

/// Stack bytes of a thread that parses, plans or runs statements: enough for [`crate::depth::MOST`] levels in an
/// unoptimised build.
pub(crate) const STACK: usize = 256 << 20;

/// Interval between the caller's checks.
const LOOK: Duration = Duration::from_millis(20);

/// Runs work on a thread until it is done, or an interrupt or lack of memory makes the caller leave. The caller resumes
/// a panic.
pub(crate) fn apart<T: Send + 'static>(
    cancel: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SqlError> {
    let (sender, receiver) = sync_channel(1);
    let worker = Builder::new().stack_size(STACK).spawn(move || {
        // The caller may have left.
        let _ = sender.send(work());
    });
    let worker = worker.map_err(|error| without_threads(&error))?;
    match next(&receiver, cancel)? {
        Some(done) => Ok(done),
        None => match worker.join() {
            Err(payload) => panic::resume_unwind(payload),
            Ok(()) => Err(SqlError::file("the engine ended without an answer", "report this")),
        },
    }
}

/// Returns the next value of a thread; `None` after its end. An interrupt or lack of memory is an error.
pub(crate) fn next<T>(from: &Receiver<T>, cancel: &AtomicBool) -> Result<Option<T>, SqlError> {
    loop {
        if memory_limit::is_exceeded() {
            return Err(SqlError::memory(memory_limit::CAUSE));
        }
        if cancel.load(Ordering::Relaxed) {
            return Err(SqlError::interrupted());
        }
        give_back();
        match from.recv_timeout(LOOK) {
            Ok(next) => return Ok(Some(next)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// Resident bytes above which freed memory is returned to the system; initially unlimited.
static RESIDENT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Keeps resident memory near allocated memory above this many bytes: the engine's freed memory is fragmented, so the
/// allocator would keep it.
pub(crate) fn keep_near(bytes: u64) {
    RESIDENT.store(bytes, Ordering::Relaxed);
}

fn give_back() {
    let most = RESIDENT.load(Ordering::Relaxed);
    if most < u64::MAX && anonymous().is_some_and(|bytes| bytes > most) {
        give_back_freed();
    }
}

/// Resident bytes without file pages; `None` where the system does not report them.
fn anonymous() -> Option<u64> {
    const PAGE: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut numbers = text.split_whitespace().skip(1).map(str::parse::<u64>);
    let (resident, shared) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(resident.saturating_sub(shared) * PAGE)
}

/// Checks that the system gives this many threads at a time: the thread library panics otherwise.
pub(crate) fn need_threads(count: usize) -> Result<(), SqlError> {
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let wait = || {
            while !end.load(Ordering::Acquire) {
                thread::park_timeout(LOOK);
            }
        };
        let mut threads = Vec::with_capacity(count);
        let mut given = Ok(());
        while threads.len() < count && given.is_ok() {
            match Builder::new().stack_size(STACK).spawn_scoped(scope, wait) {
                Ok(thread) => threads.push(thread),
                Err(error) => given = Err(without_threads(&error)),
            }
        }
        end.store(true, Ordering::Release);
        threads.iter().for_each(|thread| thread.thread().unpark());
        given
    })
}

fn without_threads(error: &std::io::Error) -> SqlError {
    let advice =
        "try fewer --threads, or raise the limit of processes (ulimit -u, pids of the cgroup) or memory (ulimit -v)";
    SqlError::resources(format!("the system gives no thread: {error}"), advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use heaplake_kit::panics;
    use std::time::Instant;

    #[test]
    fn the_caller_can_leave() {
        assert_eq!(apart(&AtomicBool::new(false), || 7).ok(), Some(7));
        let started = Instant::now();
        let error = apart(&AtomicBool::new(true), || thread::sleep(Duration::from_secs(60))).unwrap_err();
        assert!(error.kind == Kind::Interrupted && started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_panic_goes_on_in_the_caller() {
        let panic = panics::held(|| apart(&AtomicBool::new(false), || panic!("inside"))).err().unwrap();
        assert_eq!(panic.message(), "inside");
    }

    #[test]
    fn threads_that_are_given() {
        assert!(need_threads(3).is_ok());
    }
}
