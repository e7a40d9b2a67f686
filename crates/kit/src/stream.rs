//! Output to pipes, devices, sockets and standard output.
//!
//! Nothing is replaced: bytes go to the open file at the path. Blocking writes poll the cancellation flag; so does
//! opening a named pipe without a reader, which times out after [`READER_WAIT`].
//!
//! Failure modes: reader gone: [`io::ErrorKind::BrokenPipe`]; pipe without reader: [`io::ErrorKind::TimedOut`]; signal:
//! [`stop::is`]. If standard output is a socket or a terminal, writes do not poll for signals, since other processes
//! share its file mode.

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

/// Timeout for the reader of a named pipe.
pub const READER_WAIT: Duration = Duration::from_secs(5);

/// Pauses between two attempts: the first is short, each next one twice as long.
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
    /// Opens a pipe, device or socket.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] for a named pipe without a reader; [`stop::is`] after a signal.
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

    /// Opens a file descriptor of a process by its `/proc` path in append mode: the shell that opened it may have
    /// written there before.
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

    /// Opens standard output.
    pub fn standard_output(cancel: &'a AtomicBool) -> io::Result<Self> {
        let shared = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
        // Reopened, so that other holders of the pipe do not get a nonblocking descriptor.
        let is_pipe = shared.metadata().is_ok_and(|there| there.file_type().is_fifo());
        let own = is_pipe.then(|| without_waiting(Path::new(STANDARD_OUTPUT)).ok());
        Ok(Self { file: File::from_std(own.flatten().unwrap_or(shared)), cancel })
    }
}

/// True if a `/proc` path is a file descriptor of this process.
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
            // ENXIO: the pipe has no reader.
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

/// Sleeps, with exponential backoff.
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
        // A process started by another test inherits the reader between fork and exec.
        let gone = std::iter::repeat_with(|| stream.write_all(b"it").unwrap_err()).find(|error| !stop::is(error));
        assert_eq!(gone.unwrap().kind(), io::ErrorKind::BrokenPipe);
        assert!(stop::is(&Stream::open(&path, &cancel).unwrap_err()), "no reader, and a signal");
    }
}
