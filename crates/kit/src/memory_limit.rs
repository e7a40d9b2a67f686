//! Out of memory: a limit for all allocations of the process, and allocations that the system refuses.
//!
//! Most of heaplake asks its [`Budget`](crate::Budget) before it allocates; libraries do not. Where a library may
//! allocate without bound, [`limit`] sets a limit for the whole process. The calling thread becomes the watching
//! thread: it polls [`is_exceeded`] and ends the command as other failures do. A thread that exceeds the limit waits
//! for that; if nothing happens for ten seconds, or if the watching thread itself exceeds the limit, the process ends
//! at once with two lines on standard error and exit code 3.
//!
//! Nothing here allocates.
//!
//! Cost: without a limit, one load per allocation; with one, a thread-local counter, added to that of the process every
//! [`STEP`] bytes.

use crate::last_words;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::time::Duration;

/// First line of the message: the cause.
pub const CAUSE: &str = "it takes more memory than --memory allows";
/// Second line of the message: the advice.
pub const ADVICE: &str = "give it more --memory, or select fewer columns and runs";

/// Bytes that a thread counts locally.
const STEP: isize = 64 << 10;
/// Interval and number of checks whether the watching thread has ended the process.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: usize = 100;
/// Exit code when out of memory.
const EXIT: i32 = 3;

static LIMITED: AtomicBool = AtomicBool::new(false);
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static USED: AtomicIsize = AtomicIsize::new(0);
static EXCEEDED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Bytes not yet added to `USED`.
    static PENDING: Cell<isize> = const { Cell::new(0) };
    static WATCHES: Cell<bool> = const { Cell::new(false) };
}

/// Limits all allocations of the process from now on. The calling thread becomes the watching thread.
pub fn limit(bytes: u64) {
    WATCHES.set(true);
    LIMIT.store(bytes, Ordering::Relaxed);
    LIMITED.store(true, Ordering::Relaxed);
}

/// True after a thread exceeded the limit. That thread waits, with its locks held.
pub fn is_exceeded() -> bool {
    EXCEEDED.load(Ordering::Relaxed)
}

/// Counts allocated bytes; freed bytes are negative.
#[inline]
pub(crate) fn count(bytes: isize) {
    if LIMITED.load(Ordering::Relaxed) {
        count_limited(bytes);
    }
}

#[inline(never)]
fn count_limited(bytes: isize) {
    // A thread in teardown has no counter.
    let sum = PENDING.try_with(|pending| pending.replace(0)).unwrap_or(0) + bytes;
    if sum.abs() < STEP && PENDING.try_with(|pending| pending.set(sum)).is_ok() {
        return;
    }
    let used = USED.fetch_add(sum, Ordering::Relaxed) + sum;
    if sum > 0 && u64::try_from(used).is_ok_and(|used| used > LIMIT.load(Ordering::Relaxed)) {
        exceed();
    }
}

#[cold]
fn exceed() {
    let watches = WATCHES.try_with(Cell::get).unwrap_or(false);
    let was_exceeded = EXCEEDED.swap(true, Ordering::Relaxed);
    if watches {
        if was_exceeded {
            // The watching thread needs memory to end the command.
            return;
        }
        end(&["heaplake: ", CAUSE, "\n  -> ", ADVICE, "\n"]);
    }
    (0..LOOKS).for_each(|_| std::thread::sleep(LOOK));
    end(&["heaplake: ", CAUSE, "\n  -> ", ADVICE, "\n"]);
}

/// Ends the process after the system refused memory.
#[cold]
pub(crate) fn refused(bytes: usize) -> ! {
    let mut digits = [0; 20];
    let text = decimal(bytes, &mut digits);
    let advice = "raise the limit of the process (ulimit -v), or give it less --memory and fewer --threads";
    end(&["heaplake: the system refuses ", text, " bytes of memory\n  -> ", advice, "\n"])
}

/// Formats a number without allocation.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 || at == 0 {
            return std::str::from_utf8(&digits[at..]).unwrap_or("many");
        }
    }
}

/// Writes a message to standard error and ends the process without unwinding: locks may be held.
fn end(parts: &[&str]) -> ! {
    last_words::begin(EXIT);
    for part in parts {
        // SAFETY: pointer and length are those of a live string.
        unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: `_exit` takes no memory of this process and does not return.
    unsafe { libc::_exit(EXIT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_memory() {
        for number in [0, 7, 10, 4096, usize::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string());
        }
    }
}
