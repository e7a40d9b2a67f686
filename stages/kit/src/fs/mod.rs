//! Files and folders, as all of heaplake opens, changes and removes them.
//!
//! The functions are those of [`std::fs`], with these differences:
//!
//! - What is opened for reading must be a regular file: a pipe that nobody writes to is an error, not a wait for ever.
//! - What is read as a whole has a greatest length, which is looked at first.
//! - What is created is never reached through a symbolic link in the last part of its path.
//! - A call that a signal interrupts is repeated.
//! - Tests can make any of these calls fail (module `faults`, only with the feature of that name, which no build for
//!   use has).

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
pub use private::{is_open_to_all, is_private, private_folder, user};
pub use whole::{DOCUMENT_BYTES, LIST_BYTES, TooLong};

/// An open file. See the module.
#[derive(Debug)]
pub struct File {
    file: fs::File,
    /// Length that it must have: that of what was written, for a file that is written from its beginning to its end.
    written: Option<u64>,
}

/// Flags without which opening might wait, or follow a link.
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

/// Refuses to make something at a URL, which would be a path of folders to the system.
fn refuse_url(path: &Path) -> io::Result<()> {
    match is_url(path) {
        true => {
            Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "only runs and their pages go to an object store"))
        }
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
    /// Those of the system; [`io::ErrorKind::InvalidInput`] for a pipe, a socket or a device.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        // To open a pipe, even without waiting, is to read from it: who writes to it would find a reader that goes.
        if fs::metadata(&path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return Err(irregular());
        }
        opened(path.as_ref(), flags(OpenOptions::new().read(true), OFlags::NONBLOCK))
    }

    /// Creates a file for writing, or empties it. Every write goes to its end: where it is cut off meanwhile, what
    /// follows does not leave a hole of zeros.
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

    /// A file in a folder, for reading and writing anywhere, that has no name and goes when it is closed.
    ///
    /// # Errors
    /// Those of the system.
    pub fn unnamed(folder: impl AsRef<Path>) -> io::Result<Self> {
        before(Operation::Open, At::Path(folder.as_ref()))?;
        tempfile::tempfile_in(folder).map(Self::from_std)
    }

    /// Opens a file for writing where it is.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn edit(path: impl AsRef<Path>) -> io::Result<Self> {
        opened(path.as_ref(), flags(OpenOptions::new().write(true), OFlags::NONBLOCK | OFlags::NOFOLLOW))
    }

    /// Opens a file for writing at its end.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn append(path: impl AsRef<Path>) -> io::Result<Self> {
        opened(path.as_ref(), flags(OpenOptions::new().append(true), OFlags::NONBLOCK | OFlags::NOFOLLOW))
    }

    /// Opens a file that is there to be locked, creating it if needed; it is never emptied.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub fn lockable(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let wanted = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CREATE;
        let options = flags(options.read(true).write(true), wanted).mode(0o666);
        match opened(path.as_ref(), options) {
            // That of another user. Network file systems lock only what can be written to; others do not mind.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                opened(path.as_ref(), options.write(false))
            }
            other => other,
        }
    }

    /// A file that was opened elsewhere.
    #[must_use]
    pub fn from_std(file: fs::File) -> Self {
        Self { file, written: None }
    }

    /// The same, as the standard library calls it.
    #[must_use]
    pub fn as_std(&self) -> &fs::File {
        &self.file
    }

    /// What the system knows of it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Cuts or extends it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        before(Operation::Resize, At::File(&self.file))?;
        self.file.set_len(length)
    }

    /// Allocates its space where the file system can do that; else space is allocated as it is written to.
    ///
    /// # Errors
    /// Those of the system.
    pub fn allocate(&self, bytes: u64) -> io::Result<()> {
        space::change(&self.file, FallocateFlags::empty(), 0, bytes)
    }

    /// Gives the space of a part of it back where the file system can do that. Nobody may read the part any more.
    ///
    /// # Errors
    /// Those of the system.
    pub fn free(&self, at: u64, bytes: u64) -> io::Result<()> {
        space::change(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes)
    }

    /// Refuses a file that does not have the length of what was written to it since [`Self::create`].
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`], and those of the system.
    pub fn whole(&self) -> io::Result<()> {
        match (self.written, self.metadata()?.len()) {
            (Some(written), there) if written != there => {
                let problem = format!("{written} bytes were written, and it has {there}");
                Err(io::Error::new(io::ErrorKind::InvalidData, problem))
            }
            _ => Ok(()),
        }
    }

    /// Waits until it is on the disk, whole.
    ///
    /// # Errors
    /// Those of [`Self::whole`] and of the system.
    pub fn sync_all(&self) -> io::Result<()> {
        self.whole()?;
        before(Operation::Sync, At::File(&self.file))?;
        self.file.sync_all()
    }

    /// To be called before it is mapped.
    ///
    /// # Errors
    /// Those that a test asks for.
    pub fn before_map(&self) -> io::Result<()> {
        before(Operation::Map, At::File(&self.file)).map(drop)
    }

    /// Fills `buffer` from a place.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::UnexpectedEof`].
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

    /// Writes all of `bytes` to a place.
    ///
    /// # Errors
    /// Those of the system.
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

/// The content of a regular file that is a [document](DOCUMENT_BYTES).
///
/// # Errors
/// As [`read_at_most`].
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_at_most(path, DOCUMENT_BYTES)
}

/// The content of a regular file. A longer one is not read.
///
/// # Errors
/// As [`File::open`]; [`TooLong`].
pub fn read_at_most(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    whole::content(file, bytes, most)
}

/// Writes a file.
///
/// # Errors
/// As [`File::create`].
pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<()> {
    File::create(path)?.write_all(content.as_ref())
}

/// Copies a file.
///
/// # Errors
/// As [`File::create`].
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    io::copy(&mut File::open(from)?, &mut File::create(to)?)
}

/// Gives a file a second name.
///
/// # Errors
/// Those of the system.
pub fn hard_link(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Rename, At::Path(to.as_ref()))?;
    fs::hard_link(from, to)
}

/// Renames a file or a folder.
///
/// # Errors
/// Those of the system.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Rename, At::Path(to.as_ref()))?;
    fs::rename(from, to)
}

/// Exchanges two folders in one step.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::Unsupported`] where the file system cannot do that.
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
///
/// # Errors
/// Those of the system.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Remove, At::Path(path.as_ref()))?;
    fs::remove_file(path)
}

/// Removes a file, which need not exist.
///
/// # Errors
/// Those of the system.
pub fn remove_file_if_any(path: impl AsRef<Path>) -> io::Result<()> {
    match remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes an empty folder.
///
/// # Errors
/// Those of the system.
pub fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Remove, At::Path(path.as_ref()))?;
    fs::remove_dir(path)
}

/// Removes a folder and what is in it. Links are removed, not followed.
///
/// # Errors
/// Those of the system.
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Remove, At::Path(path.as_ref()))?;
    fs::remove_dir_all(path)
}

/// Makes a folder and those above it, also where another process removes such folders while they are empty.
///
/// # Errors
/// Those of the system.
pub fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    refuse_url(path.as_ref())?;
    before(Operation::Folder, At::Path(path.as_ref()))?;
    folders::make(path.as_ref(), 0o777)
}

/// The same; to a folder that is made, nobody but its owner may write, whatever the umask.
///
/// # Errors
/// Those of the system.
pub fn create_own_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    refuse_url(path.as_ref())?;
    before(Operation::Folder, At::Path(path.as_ref()))?;
    folders::make(path.as_ref(), 0o755)
}

/// Makes one folder.
///
/// # Errors
/// Those of the system.
pub fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    before(Operation::Folder, At::Path(path.as_ref()))?;
    fs::create_dir(path)
}

/// The entries of a folder.
///
/// # Errors
/// Those of the system.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    before(Operation::Open, At::Path(path.as_ref()))?;
    fs::read_dir(path)
}

/// Waits until a file or a folder is on the disk.
///
/// # Errors
/// Those of the system.
pub fn sync(path: impl AsRef<Path>) -> io::Result<()> {
    let flags = flags(OpenOptions::new().read(true), OFlags::NONBLOCK).clone();
    File::from_std(flags.open(path)?).sync_all()
}

#[cfg(test)]
mod tests;
