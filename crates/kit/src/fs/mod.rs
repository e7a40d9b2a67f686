//! File system access of all of heaplake.
//!
//! The functions are those of [`std::fs`], with these differences:
//!
//! - Files opened for reading must be regular: a pipe without a writer is an error, not an endless wait.
//! - Whole-file reads have a maximum length, checked first.
//! - Files are never created through a symbolic link in the last path component.
//! - Calls interrupted by a signal are repeated.
//! - Tests can make any of these calls fail (module `faults`, with the feature of that name, which no production build
//!   has).

mod faults;
mod folders;
mod hints;
mod itself;
mod private;
mod space;
mod whole;

use crate::scheme::is_url;
use faults::{At, before};
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;
use std::fs::{self, Metadata, OpenOptions, ReadDir};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

pub use faults::{Operation, before_folder, before_thread};
pub use folders::{MOST_FILES, files_below};
pub use private::{is_open_to_all, is_private, private_folder, user};
pub use whole::{DOCUMENT_BYTES, LIST_BYTES, TooLong};

/// An open file; see the module.
#[derive(Debug)]
pub struct File {
    file: fs::File,
    /// For a file written sequentially since its creation: the bytes written, which must be its length.
    written: Option<u64>,
}

/// Adds flags, which prevent blocking opens and links.
fn flags(options: &mut OpenOptions, flags: OFlags) -> &mut OpenOptions {
    options.custom_flags(flags.bits().cast_signed())
}

fn opened(path: &Path, options: &OpenOptions) -> io::Result<File> {
    before(Operation::Open, At::Path(path))?;
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(File { file, written: None })
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Err(irregular())
    }
}

/// Refuses to create a URL, which would be a relative path to the system.
fn refuse_url(path: &Path) -> io::Result<()> {
    match is_url(path) {
        true => Err(io::Error::new(
            io::ErrorKind::ReadOnlyFilesystem,
            "only runs, their pages, comparisons and rollups go to an object store",
        )),
        false => Ok(()),
    }
}

fn irregular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "this is no regular file")
}

impl File {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a pipe, a socket or a device.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        // Opening a pipe, even nonblocking, would look to its writer like a reader that leaves.
        if fs::metadata(&path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return Err(irregular());
        }
        opened(path.as_ref(), flags(OpenOptions::new().read(true), OFlags::NONBLOCK))
    }

    /// Creates or truncates a file for appending: a truncation by others leaves no hole of zeros.
    ///
    /// # Errors
    /// As [`Self::open`]; `ELOOP` for a symbolic link.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        refuse_url(path.as_ref())?;
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let made = opened(path.as_ref(), flags(&mut options, OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::TRUNC))?;
        Ok(Self { written: Some(0), ..made })
    }

    /// Creates an unnamed file in a folder, for random reads and writes; it disappears when closed.
    pub fn unnamed(folder: impl AsRef<Path>) -> io::Result<Self> {
        before(Operation::Open, At::Path(folder.as_ref()))?;
        tempfile::tempfile_in(folder).map(Self::from_std)
    }

    /// Opens an existing file for writing anywhere.
    pub fn edit(path: impl AsRef<Path>) -> io::Result<Self> {
        opened(path.as_ref(), flags(OpenOptions::new().write(true), OFlags::NONBLOCK | OFlags::NOFOLLOW))
    }

    /// Opens an existing file for appending.
    pub fn append(path: impl AsRef<Path>) -> io::Result<Self> {
        opened(path.as_ref(), flags(OpenOptions::new().append(true), OFlags::NONBLOCK | OFlags::NOFOLLOW))
    }

    /// Opens or creates a lock file; never truncates it.
    pub fn lockable(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let wanted = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CREATE;
        let options = flags(options.read(true).write(true), wanted).mode(0o666);
        match opened(path.as_ref(), options) {
            // Another user's file. Only network file systems need write access for locks.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                opened(path.as_ref(), options.write(false))
            }
            other => other,
        }
    }

    /// Wraps a file opened elsewhere.
    pub fn from_std(file: fs::File) -> Self {
        Self { file, written: None }
    }

    /// Returns the file of the standard library.
    pub fn as_std(&self) -> &fs::File {
        &self.file
    }

    /// Returns the metadata of the file.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Truncates or extends the file.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        before(Operation::Resize, At::File(&self.file))?;
        self.file.set_len(length)
    }

    /// Preallocates disk space, where supported.
    pub fn allocate(&self, bytes: u64) -> io::Result<()> {
        space::change(&self.file, FallocateFlags::empty(), 0, bytes)
    }

    /// Deallocates the disk space of a range, where supported. The range must not be read again.
    pub fn free(&self, at: u64, bytes: u64) -> io::Result<()> {
        space::change(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes)
    }

    /// Checks that the length equals the bytes written since [`Self::create`].
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if it does not.
    pub fn whole(&self) -> io::Result<()> {
        match (self.written, self.metadata()?.len()) {
            (Some(written), there) if written != there => {
                let problem = format!("{written} bytes were written, and it has {there}");
                Err(io::Error::new(io::ErrorKind::InvalidData, problem))
            }
            _ => Ok(()),
        }
    }

    /// Checks the length ([`Self::whole`]) and waits until the file is on disk.
    pub fn sync_all(&self) -> io::Result<()> {
        self.whole()?;
        before(Operation::Sync, At::File(&self.file))?;
        self.file.sync_all()
    }

    /// Fault injection point before a map.
    ///
    /// # Errors
    /// Injected faults.
    pub fn before_map(&self) -> io::Result<()> {
        before(Operation::Map, At::File(&self.file)).map(drop)
    }

    /// Fills `buffer` from an offset.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] past the end.
    pub fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            let read = before(Operation::Read, At::File(&self.file)).and_then(|most| {
                let count = buffer.len().min(most);
                self.file.read_at(&mut buffer[..count], offset)
            });
            match read {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends too early")),
                Ok(count) => (buffer, offset) = (&mut buffer[count..], offset + count as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all bytes at an offset.
    pub fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = before(Operation::Write, At::File(&self.file))
                .and_then(|most| self.file.write_at(&bytes[..bytes.len().min(most)], offset));
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => (bytes, offset) = (&bytes[count..], offset + count as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(before(Operation::Read, At::File(&self.file))?);
        self.file.read(&mut buffer[..count])
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(before(Operation::Write, At::File(&self.file))?);
        let count = self.file.write(&bytes[..count])?;
        self.written = self.written.map(|written| written + count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Reads a regular file of at most [`DOCUMENT_BYTES`].
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_at_most(path, DOCUMENT_BYTES)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// [`TooLong`] for a longer file.
pub fn read_at_most(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    whole::content(file, bytes, most)
}

/// Writes a file.
pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<()> {
    File::create(path)?.write_all(content.as_ref())
}

/// Copies a file.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    io::copy(&mut File::open(from)?, &mut File::create(to)?)
}

/// Gives a file a second name.
pub fn hard_link(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Rename, At::Path(to.as_ref()))?;
    fs::hard_link(from, to)
}

/// Renames a file or a folder.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Rename, At::Path(to.as_ref()))?;
    fs::rename(from, to)
}

/// Exchanges two folders atomically.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] where the file system cannot do that.
pub fn exchange(one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    before(Operation::Exchange, At::Path(other.as_ref()))?;
    let exchanged = renameat_with(CWD, one.as_ref(), CWD, other.as_ref(), RenameFlags::EXCHANGE);
    exchanged.map_err(|error| match error {
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => io::ErrorKind::Unsupported.into(),
        error => error.into(),
    })
}

/// Removes a file.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Remove, At::Path(path.as_ref()))?;
    fs::remove_file(path)
}

/// Removes a file, if it exists.
pub fn remove_file_if_any(path: impl AsRef<Path>) -> io::Result<()> {
    match remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes an empty folder.
pub fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Remove, At::Path(path.as_ref()))?;
    fs::remove_dir(path)
}

/// Removes a folder recursively. Links are removed, not followed.
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Remove, At::Path(path.as_ref()))?;
    fs::remove_dir_all(path)
}

/// Creates a folder and its parents, even while other processes remove such folders when empty.
pub fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    refuse_url(path.as_ref())?;
    before(Operation::Folder, At::Path(path.as_ref()))?;
    folders::make(path.as_ref(), 0o777)
}

/// As [`create_dir_all`]; new folders are writable only for their owner, regardless of the umask.
pub fn create_own_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    refuse_url(path.as_ref())?;
    before(Operation::Folder, At::Path(path.as_ref()))?;
    folders::make(path.as_ref(), 0o755)
}

/// Creates a folder.
pub fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Folder, At::Path(path.as_ref()))?;
    fs::create_dir(path)
}

/// Lists a folder.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    before(Operation::Open, At::Path(path.as_ref()))?;
    fs::read_dir(path)
}

/// Waits until a file or a folder is on disk.
pub fn sync(path: impl AsRef<Path>) -> io::Result<()> {
    let flags = flags(OpenOptions::new().read(true), OFlags::NONBLOCK).clone();
    File::from_std(flags.open(path)?).sync_all()
}

/// Waits until all that was written to the file system of a folder is on disk: cheaper than [`sync`] for many files.
pub fn sync_file_system(folder: impl AsRef<Path>) -> io::Result<()> {
    let flags = flags(OpenOptions::new().read(true), OFlags::NONBLOCK).clone();
    let opened = flags.open(folder)?;
    before(Operation::Sync, At::File(&opened))?;
    Ok(rustix::fs::syncfs(&opened)?)
}

#[cfg(test)]
mod tests;
