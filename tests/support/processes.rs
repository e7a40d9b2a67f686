//! Stops, continues, signals and awaits processes.
//!
//! Tests wait for a process state in `/proc`, never for a time: a busy machine makes them slower, not wrong.

use std::fs;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Timeout, above any wait on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Sends a signal, such as `-TERM`.
pub fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").arg(name).arg(child.id().to_string()).status().unwrap().success());
}

/// Polls until `look` returns a value; panics after two minutes.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "after {PATIENCE:?}: {what}");
        sleep(Duration::from_millis(1));
    }
}

/// Waits for the end of a process; kills it after the timeout.
pub fn end(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("still at work after {PATIENCE:?}");
        }
        sleep(Duration::from_millis(2));
    }
}

/// The value of a key in `/proc/PID/status`.
fn status(child: &Child, key: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    status.lines().find_map(|line| line.strip_prefix(key)).map(|value| value.trim().to_owned())
}

/// Waits until a process handles SIGTERM (and the signals that it handles from the same moment on), or has ended.
pub fn wait_until_it_hears(child: &mut Child) {
    const TERM: u64 = 1 << (15 - 1);
    wait_for("it handles no signals", || {
        let handled = status(child, "SigCgt:").and_then(|mask| u64::from_str_radix(&mask, 16).ok()).unwrap_or(0);
        (handled & TERM != 0 || child.try_wait().unwrap().is_some()).then_some(())
    });
}

/// Waits until a process has stopped itself; returns false if it has ended instead.
pub fn wait_until_it_stops(child: &mut Child) -> bool {
    wait_for("it does not stop", || match child.try_wait().unwrap() {
        Some(_) => Some(false),
        None => status(child, "State:").is_some_and(|state| state.starts_with('T')).then_some(true),
    })
}

/// CPU time of a process and its threads so far.
pub fn processor_time(child: &Child) -> Duration {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // After the name, which may contain anything: the state is first, user and system time are twelfth and thirteenth.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // Linux reports ticks of a hundredth of a second to programs on every machine.
    Duration::from_millis(10 * ticks)
}
