//! Fault injection for tests: any system call of this crate can fail, be cut short, be slow, or kill the process.
//!
//! Compiled only with the feature `faults`. The variable `HEAPLAKE_FAULT` lists the faults as `OPERATION:WHICH:WHAT` or
//! `OPERATION:WHICH:WHAT:PATH`, separated by `;`:
//!
//! | part | values |
//! |---|---|
//! | `OPERATION` | `open`, `read`, `write`, `resize`, `sync`, `rename`, `exchange`, `remove`, `folder`, `map`, `thread`, `any` |
//! | `WHICH` | `7`: the seventh call, `7+`: from the seventh on, `%7`: each seventh |
//! | `WHAT` | an errno; `short`: moves at most 7 bytes; `torn`: moves at most 7 bytes, then error 5; `slow`: a delay of 1 ms; `stop`: SIGSTOP before the call; `kill`: SIGKILL before the call |
//! | `PATH` | calls on paths that contain it |
//!
//! The file named by `HEAPLAKE_FAULT_HIT` is created when a fault happens.

use std::io;
use std::path::Path;

/// A kind of system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Opening or creating.
    Open,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Truncating, extending, allocating.
    Resize,
    /// Waiting for the disk.
    Sync,
    /// Renaming or linking.
    Rename,
    /// Exchanging two folders.
    Exchange,
    /// Removing.
    Remove,
    /// Creating a folder.
    Folder,
    /// Mapping into memory.
    Map,
    /// Starting a thread.
    Thread,
}

/// Target of a call.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    /// A path.
    Path(&'a Path),
    /// An open file.
    File(&'a std::fs::File),
}

#[cfg(not(feature = "faults"))]
mod chosen {
    use super::{At, Operation};
    use std::io;

    /// Called before an operation; returns the maximum bytes that it may move.
    #[inline(always)]
    pub(crate) fn before(_operation: Operation, at: At<'_>) -> io::Result<usize> {
        match at {
            At::Path(path) => _ = path,
            At::File(file) => _ = file,
        }
        Ok(usize::MAX)
    }
}

#[cfg(feature = "faults")]
mod chosen {
    use super::{At, Operation};
    use rustix::process::Signal;
    use std::os::fd::AsRawFd;
    use std::path::PathBuf;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;
    use std::{env, fs, io, process, thread};

    struct Fault {
        operation: String,
        which: Which,
        what: What,
        path: Option<String>,
        hit: Option<PathBuf>,
        calls: AtomicU64,
        torn: AtomicBool,
    }

    #[derive(Clone, Copy)]
    enum Which {
        Only(u64),
        From(u64),
        Each(u64),
    }

    #[derive(Clone, Copy)]
    enum What {
        Error(i32),
        Short,
        Torn,
        Slow,
        Stop,
        Kill,
    }

    impl Fault {
        fn asked(asked: &str) -> Option<Self> {
            let mut parts = asked.splitn(4, ':');
            let (operation, which, what) = (parts.next()?.to_owned(), parts.next()?, parts.next()?);
            let number = |text: &str| text.parse().unwrap_or(1);
            let which = match (which.strip_suffix('+'), which.strip_prefix('%')) {
                (Some(from), _) => Which::From(number(from)),
                (_, Some(each)) => Which::Each(number(each).max(1)),
                _ => Which::Only(number(which)),
            };
            let what = match what {
                "short" => What::Short,
                "torn" => What::Torn,
                "slow" => What::Slow,
                "stop" => What::Stop,
                "kill" => What::Kill,
                error => What::Error(error.parse().unwrap_or(5)),
            };
            let (path, hit) = (parts.next().map(str::to_owned), env::var_os("HEAPLAKE_FAULT_HIT").map(PathBuf::from));
            let (calls, torn) = (AtomicU64::new(0), AtomicBool::new(false));
            Some(Self { operation, which, what, path, hit, calls, torn })
        }

        fn is_meant(&self, operation: Operation, at: At<'_>) -> bool {
            let name = format!("{operation:?}").to_lowercase();
            let path = || match at {
                At::Path(path) => path.to_owned(),
                At::File(file) => fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default(),
            };
            (self.operation == "any" || self.operation == name)
                && self.path.as_ref().is_none_or(|part| path().to_string_lossy().contains(part))
        }

        fn called(&self, operation: Operation, at: At<'_>) -> io::Result<usize> {
            if !self.is_meant(operation, at) {
                return Ok(usize::MAX);
            }
            if self.torn.swap(false, Ordering::Relaxed) {
                return Err(io::Error::from_raw_os_error(5));
            }
            let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
            let meant = match self.which {
                Which::Only(number) => call == number,
                Which::From(number) => call >= number,
                Which::Each(number) => call.is_multiple_of(number),
            };
            if meant { self.strike() } else { Ok(usize::MAX) }
        }

        fn strike(&self) -> io::Result<usize> {
            if let Some(hit) = &self.hit {
                let _ = fs::write(hit, "");
            }
            match self.what {
                What::Error(code) => Err(io::Error::from_raw_os_error(code)),
                // A short count: callers that read or write everything call again.
                What::Short => Ok(7),
                What::Torn => {
                    self.torn.store(true, Ordering::Relaxed);
                    Ok(7)
                }
                What::Slow => {
                    thread::sleep(Duration::from_millis(1));
                    Ok(usize::MAX)
                }
                What::Stop => {
                    signal(Signal::STOP);
                    Ok(usize::MAX)
                }
                What::Kill => {
                    signal(Signal::KILL);
                    process::abort()
                }
            }
        }
    }

    fn signal(signal: Signal) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }

    /// Called before an operation; returns the maximum bytes that it may move.
    pub(crate) fn before(operation: Operation, at: At<'_>) -> io::Result<usize> {
        static FAULTS: OnceLock<Vec<Fault>> = OnceLock::new();
        let all = || env::var("HEAPLAKE_FAULT").unwrap_or_default().split(';').filter_map(Fault::asked).collect();
        FAULTS.get_or_init(all).iter().try_fold(usize::MAX, |most, fault| Ok(most.min(fault.called(operation, at)?)))
    }
}

pub(super) use chosen::before;

/// Fault injection point before a folder is created elsewhere.
///
/// # Errors
/// Injected faults.
pub fn before_folder(folder: &Path) -> io::Result<()> {
    before(Operation::Folder, At::Path(folder)).map(drop)
}

/// Fault injection point before a thread starts.
///
/// # Errors
/// Injected faults.
pub fn before_thread() -> io::Result<()> {
    before(Operation::Thread, At::Path(Path::new("thread"))).map(drop)
}
