//! Panics whose cause may be damage outside the program: their messages wait until that is known.
//!
//! A panic is a fault of the program, and its message goes to standard error. But where a file is damaged under a
//! reader that has checked all that can be checked before, a panic is how the damage shows, and the file is the cause to
//! tell. Until it is known which of the two it was, the message is held back, also that of another thread that worked for
//! the one that failed.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::Cell;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// Messages that are held back, and how many calls they may belong to.
#[derive(Default)]
struct Waiting {
    calls: usize,
    messages: Vec<String>,
    /// Whether one of the calls panicked, and something else than its message tells why.
    explained: bool,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { calls: 0, messages: Vec::new(), explained: false });

thread_local! {
    /// Whether panics of this thread are nobody's business.
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

fn waiting() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call whose panics are held back. The last one that ends drops the messages, or prints them if no call panicked: then
/// they are those of somebody else.
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

/// A panic that was caught. Dropping it means that its cause is known and told otherwise.
pub struct Panic {
    payload: Box<dyn Any + Send>,
    _call: Call,
}

impl Panic {
    /// What it says, in one line.
    #[must_use]
    pub fn message(&self) -> String {
        let text = self.payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| self.payload.downcast_ref::<String>().map(String::as_str));
        text.unwrap_or("a panic").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Prints what was held back, and panics on.
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

/// Runs something, and holds back the message if it panics.
///
/// # Errors
/// The panic.
pub fn held<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    install();
    let mut call = Call::begin();
    // What was changed half is dropped with the work, or with the process.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        call.failed = true;
        Panic { payload, _call: call }
    })
}

/// Runs something, and never prints the message if this thread panics in it; nothing if it did.
pub fn silent<T>(work: impl FnOnce() -> T) -> Option<T> {
    install();
    let before = SILENT.replace(true);
    // What was being read is dropped: nobody sees it half changed.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    SILENT.set(before);
    result.ok()
}

/// Never prints the message if this thread panics from now on: for threads of a library whose panics are caught and told
/// otherwise.
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

/// Keeps a message for later, if some call waits for it.
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
