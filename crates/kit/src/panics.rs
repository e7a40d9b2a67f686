//! Holds back panic messages until it is known whether external damage is the cause.
//!
//! A panic is a program error, and its message goes to standard error. But a reader of a damaged file may panic
//! although it checked everything that can be checked; then the report should name the file. Until the cause is known,
//! messages are held back, including those of helper threads.

use crate::threads::locked;
use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::Cell;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, MutexGuard, Once};

/// Held-back messages, and the number of active [`held`] calls.
#[derive(Default)]
struct Waiting {
    calls: usize,
    messages: Vec<String>,
    /// True if one of the calls panicked and its cause is reported otherwise.
    explained: bool,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { calls: 0, messages: Vec::new(), explained: false });

thread_local! {
    /// True if panics of this thread are never printed.
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

fn waiting() -> MutexGuard<'static, Waiting> {
    locked(&WAITING)
}

/// A call whose panics are held back. When the last one ends, messages are dropped, or printed if no call panicked:
/// then they belong to unrelated threads.
struct Call {
    failed: bool,
}

impl Call {
    fn begin() -> Self {
        waiting().calls += 1;
        Self { failed: false }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut waiting = waiting();
        waiting.calls -= 1;
        waiting.explained |= self.failed;
        if waiting.calls == 0 {
            let messages = std::mem::take(&mut waiting.messages);
            if !std::mem::take(&mut waiting.explained) {
                print(&messages);
            }
        }
    }
}

/// A caught panic. Dropping it declares that its cause is reported otherwise.
pub struct Panic {
    payload: Box<dyn Any + Send>,
    _call: Call,
}

impl Panic {
    /// Returns the message in one line.
    pub fn message(&self) -> String {
        let text = self.payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| self.payload.downcast_ref::<String>().map(String::as_str));
        text.unwrap_or("a panic").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Prints the held-back messages and resumes the panic.
    pub fn resume(self) -> ! {
        let messages = std::mem::take(&mut waiting().messages);
        print(&messages);
        panic::resume_unwind(self.payload)
    }
}

fn print(messages: &[String]) {
    for message in messages {
        let _ = std::io::stderr().write_all(message.as_bytes());
    }
}

/// Runs `work`; returns its panic with the message held back.
pub fn held<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    install();
    let mut call = Call::begin();
    // Half-changed state is dropped with the work, or with the process.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        call.failed = true;
        Panic { payload, _call: call }
    })
}

/// Runs `work`; returns `None` without a message if it panics in this thread.
pub fn silent<T>(work: impl FnOnce() -> T) -> Option<T> {
    install();
    let before = SILENT.replace(true);
    // Half-changed state is dropped.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    SILENT.set(before);
    result.ok()
}

/// Never prints panics of this thread from now on: for threads of a library that reports its panics otherwise.
pub fn silence() {
    install();
    SILENT.set(true);
}

fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SILENT.get() && !hold_back(info) {
                before(info);
            }
        }));
    });
}

/// Holds back a message if some call is active.
fn hold_back(info: &PanicHookInfo<'_>) -> bool {
    let mut waiting = waiting();
    if waiting.calls == 0 {
        return false;
    }
    let backtrace = Backtrace::capture();
    let trace = match backtrace.status() {
        BacktraceStatus::Captured => format!("stack backtrace:\n{backtrace}"),
        _ => "note: run with `RUST_BACKTRACE=1` to display a backtrace\n".to_owned(),
    };
    waiting.messages.push(format!("\n{info}\n{trace}"));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn messages_wait_until_the_cause_is_known() {
        assert_eq!(held(|| 7).ok(), Some(7));
        let helped = || {
            let helper = thread::spawn(|| [1, 2, 3].iter().position(|it| *it == 4).expect("of a helper"));
            helper.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
        };
        let panic = held(helped).err().unwrap();
        assert!(waiting().messages.iter().any(|message| message.contains("of a helper")));
        let payload = panic::catch_unwind(AssertUnwindSafe(|| panic.resume())).map(|never: ()| never).unwrap_err();
        assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some("of a helper"));
        assert!(held(|| assert_eq!(std::env::args().count(), 0, "explained")).is_err());
        assert!(!waiting().messages.iter().any(|message| message.contains("explained")));
    }

    #[test]
    fn a_message_is_one_line() {
        let panic = held(|| panic!("two\n  {}", "lines")).err().unwrap();
        assert_eq!(panic.message(), "two lines");
    }

    #[test]
    fn a_silent_panic_leaves_nothing() {
        assert_eq!(silent(|| 7), Some(7));
        assert!(silent(|| assert_eq!(std::env::args().count(), 0, "inside")).is_none());
        assert!(!SILENT.get());
    }
}
