//! Output to a pipe, a device or a socket, and to standard output.
//!
//! Nothing is replaced: bytes go to whatever is open or has the path. A write that must wait looks at the flag of signals
//! again and again, and so does opening a named pipe that nobody reads from, which ends after [`READER_WAIT`].
//!
//! Failure modes: a reader that went away is [`io::ErrorKind::BrokenPipe`], a pipe without a reader
//! [`io::ErrorKind::TimedOut`], a signal [`stop::is`]. Standard output that is a socket or a terminal is written
//! to without looking at signals, since other processes share its mode.

use crate::fs::File;
use crate::stop;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{OpenOptions, metadata};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a named pipe may have no reader.
pub const READER_WAIT: Duration = Duration::from_secs(5);

/// Pauses between two tries: the first is short, each next one twice as long.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LAST_PAUSE: Duration = Duration::from_millis(20);

/// Path of standard output.
const STANDARD_OUTPUT: &str = "/proc/self/fd/1";

/// An open pipe, device or socket.
#[derive(Debug)]
pub struct Stream<'a> {
    file: File,
    cancel: &'a AtomicBool,
}

impl<'a> Stream<'a> {
    /// Opens what is at a path, which is no regular file and no folder.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::TimedOut`] for a named pipe without a reader; [`stop::is`].
    pub fn open(path: &Path, cancel: &'a AtomicBool) -> io::Result<Self> {
        let kind = metadata(path)?.file_type();
        let file = if kind.is_socket() {
            let socket = UnixStream::connect(path)?;
            socket.set_nonblocking(true)?;
            OwnedFd::from(socket).into()
        } else {
            opened(path, cancel)?
        };
        Ok(Self { file: File::from_std(file), cancel })
    }

    /// Opens an open file of a process by its path in `/proc`, for writing at its end: the shell that opened it may have
    /// written there before.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open_descriptor(path: &Path, cancel: &'a AtomicBool) -> io::Result<Self> {
        let own = |number: &str| path.file_name().is_some_and(|name| name == number) && is_own(path);
        let file = if own("1") {
            io::stdout().as_fd().try_clone_to_owned()?.into()
        } else if own("2") {
            io::stderr().as_fd().try_clone_to_owned()?.into()
        } else {
            OpenOptions::new().append(true).open(path)?
        };
        Ok(Self { file: File::from_std(file), cancel })
    }

    /// Standard output.
    ///
    /// # Errors
    /// Those of the system.
    pub fn standard_output(cancel: &'a AtomicBool) -> io::Result<Self> {
        let shared = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
        // Opened anew, so that others who have the pipe open do not get a descriptor that does not wait.
        let is_pipe = shared.metadata().is_ok_and(|there| there.file_type().is_fifo());
        let own = is_pipe.then(|| without_waiting(Path::new(STANDARD_OUTPUT)).ok());
        Ok(Self { file: File::from_std(own.flatten().unwrap_or(shared)), cancel })
    }
}

/// Whether a path in `/proc` is that of an open file of this process.
fn is_own(path: &Path) -> bool {
    let own = |folder: &str| Path::new(folder).canonicalize().ok();
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    folder.is_some() && (folder == own("/proc/self/fd") || folder == own("/proc/thread-self/fd"))
}

fn without_waiting(path: &Path) -> io::Result<std::fs::File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Opens a device or a pipe; waits for the reader of a pipe.
fn opened(path: &Path, cancel: &AtomicBool) -> io::Result<std::fs::File> {
    let (started, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        match without_waiting(path) {
            // So says a pipe that nobody reads from.
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) && is_pipe(path) => {
                if started.elapsed() >= READER_WAIT {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads from this pipe"));
                }
            }
            other => return other,
        }
        wait(&mut pause, cancel)?;
    }
}

fn is_pipe(path: &Path) -> bool {
    metadata(path).is_ok_and(|there| there.file_type().is_fifo())
}

/// Waits, a little longer each time.
fn wait(pause: &mut Duration, cancel: &AtomicBool) -> io::Result<()> {
    if cancel.load(Ordering::Relaxed) {
        return Err(stop::error());
    }
    sleep(*pause);
    *pause = (*pause * 2).min(LAST_PAUSE);
    Ok(())
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(&mut pause, self.cancel)?,
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::io::Read;
    use std::thread;

    #[test]
    fn a_full_pipe_hears_signals_and_a_gone_reader_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mkfifoat(CWD, &path, Mode::from(0o600)).unwrap();
        let cancel = AtomicBool::new(false);
        let (mut reader, mut stream) = thread::scope(|scope| {
            let reader = scope.spawn(|| std::fs::File::open(&path).unwrap());
            let stream = Stream::open(&path, &cancel).unwrap();
            (reader.join().unwrap(), stream)
        });
        stream.write_all(b"it").unwrap();
        let mut read = [0; 2];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"it");
        thread::scope(|scope| {
            let full = scope.spawn(|| stream.write_all(&vec![0; 1 << 20]).unwrap_err());
            sleep(Duration::from_millis(20));
            cancel.store(true, Ordering::Relaxed);
            assert!(stop::is(&full.join().unwrap()));
        });
        drop(reader);
        // A process that another test starts has a copy of the reader between fork and exec.
        let gone = std::iter::repeat_with(|| stream.write_all(b"it").unwrap_err()).find(|error| !stop::is(error));
        assert_eq!(gone.unwrap().kind(), io::ErrorKind::BrokenPipe);
        assert!(stop::is(&Stream::open(&path, &cancel).unwrap_err()), "no reader, and a signal");
    }
}
