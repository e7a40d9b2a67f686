//! The files that users name for output: `--out` of `sql`, `--report`, `--metrics` and all others are written here.
//!
//! | at the path | what happens |
//! |---|---|
//! | nothing, or a regular file | the new content is written to a hidden folder beside it and renamed over it in one step, when it is whole; a new file has the mode of the umask, a replaced one keeps its mode, and its owner where the system lets it |
//! | a symbolic link | followed: its target is written to, and the link stays, also where it leads nowhere yet |
//! | a device, a named pipe, a socket, an open file (`/dev/stdout`, `/dev/fd/3`) | written to where it is, see [`heaplake_kit::stream`] |
//! | a folder, a disk (block device), a URL | refused: [`StageError::Unusable`] |
//!
//! Invariants: nothing but a regular file is ever replaced or emptied, and one is unchanged until the new content is on
//! the disk. A killed process leaves a hidden folder, which the next output to the same folder removes.

use crate::hidden::Hidden;
use heaplake_kit::fs::{self, File};
use heaplake_kit::stream::Stream;
use heaplake_kit::{StageError, storage};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::fs::{Metadata, Permissions, canonicalize, metadata, read_link, symlink_metadata};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What names of the hidden folders begin with.
pub const HIDDEN: &str = ".heaplake-output-";

/// Name of the file in the hidden folder.
const NEW: &str = "output";

/// Symbolic links that are followed, as many as the system follows.
const MOST_LINKS: usize = 40;

/// A file in the making; without [`Self::commit`], a regular file stays as it was.
#[derive(Debug)]
pub struct OutputFile<'a> {
    path: PathBuf,
    to: To<'a>,
}

#[derive(Debug)]
enum To<'a> {
    /// A file that will be renamed over the target.
    New { hidden: Hidden, file: File, target: PathBuf },
    /// What is written to where it is.
    Stream(Stream<'a>),
}

/// What a path leads to.
enum Target {
    /// A regular file, which need not exist, by a path that is no link.
    Regular(PathBuf),
    /// A regular file that a process has open, by its path in `/proc`.
    Descriptor(PathBuf),
    /// A device, a pipe or a socket.
    Stream,
}

impl<'a> OutputFile<'a> {
    /// Opens it. `cancel` is looked at where a reader must be waited for.
    ///
    /// # Errors
    /// [`StageError::Unusable`] for what is never written to; [`StageError::Io`], [`StageError::Cancelled`].
    pub fn create(path: &Path, cancel: &'a AtomicBool) -> Result<Self, StageError> {
        let failed = |error| failed(path, error);
        let to = match target(path)? {
            Target::Regular(target) => {
                let hidden = Hidden::create(folder_of(&target), HIDDEN)?;
                let file = new_file(&hidden.path().join(NEW), &target).map_err(failed)?;
                To::New { hidden, file, target }
            }
            Target::Descriptor(at) => To::Stream(Stream::open_descriptor(&at, cancel).map_err(failed)?),
            Target::Stream => To::Stream(Stream::open(path, cancel).map_err(failed)?),
        };
        Ok(Self { path: path.to_owned(), to })
    }

    /// A folder for files that go with this output: beside it, on the same disk; nothing beside what is no regular file.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.to {
            To::New { hidden, .. } => Some(hidden.path()),
            To::Stream(_) => None,
        }
    }

    /// The error of a write to it.
    #[must_use]
    pub fn failed(&self, error: io::Error) -> StageError {
        failed(&self.path, error)
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Unusable`]; a file of before is then unchanged.
    pub fn commit(mut self) -> Result<(), StageError> {
        let written = match &mut self.to {
            To::Stream(stream) => stream.flush(),
            To::New { hidden, file, target } => {
                file.sync_all().map_err(|error| failed(&self.path, error))?;
                // Whatever came there meanwhile is not replaced either.
                if symlink_metadata(&*target).is_ok_and(|there| !there.is_file()) {
                    let advice = "run the same command again";
                    return Err(StageError::unusable(&self.path, "it was a regular file, and is none now", advice));
                }
                fs::rename(hidden.path().join(NEW), &*target)
            }
        };
        written.map_err(|error| failed(&self.path, error))
    }
}

impl Write for OutputFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::New { file, .. } => file.write(bytes),
            To::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::New { file, .. } => file.flush(),
            To::Stream(stream) => stream.flush(),
        }
    }
}

/// Writes a whole file.
///
/// # Errors
/// As [`OutputFile::create`] and [`OutputFile::commit`].
pub fn write(path: &Path, content: &[u8], cancel: &AtomicBool) -> Result<(), StageError> {
    let mut output = OutputFile::create(path, cancel)?;
    output.write_all(content).map_err(|error| failed(path, error))?;
    output.commit()
}

/// Writes to the end of a file, which is made if needed. Where not all can be written, the file is cut to its length of
/// before.
///
/// # Errors
/// As [`OutputFile::create`].
pub fn append(path: &Path, content: &[u8], cancel: &AtomicBool) -> Result<(), StageError> {
    let Target::Regular(target) = target(path)? else { return write(path, content, cancel) };
    if symlink_metadata(&target).is_err() {
        return write(path, content, cancel);
    }
    let appended = File::append(&target).and_then(|mut file| {
        let before = file.metadata()?.len();
        file.write_all(content).or_else(|error| file.set_len(before).and(Err(error)))
    });
    appended.map_err(|error| failed(path, error))
}

/// Refuses a path that cannot be written to, as far as that shows beforehand: before the work, not after it. A folder that is
/// not there yet may be made by the work. Opens nothing that others would notice.
///
/// # Errors
/// As [`OutputFile::create`].
pub fn check(path: &Path) -> Result<(), StageError> {
    let Target::Regular(target) = target(path)? else { return Ok(()) };
    let folder = folder_of(&target);
    let writable = |path: &Path| accessat(CWD, path, Access::WRITE_OK, AtFlags::empty()).map_err(io::Error::from);
    for path in [folder, &target].into_iter().filter(|path| symlink_metadata(path).is_ok()) {
        writable(path).map_err(|error| StageError::io(path, "write", error))?;
    }
    if metadata(folder).is_ok_and(|there| !there.is_dir()) {
        return Err(StageError::io(path, "write", io::ErrorKind::NotADirectory.into()));
    }
    Ok(())
}

/// The same, of a file for which no folder is made.
///
/// # Errors
/// As [`check`].
pub fn check_in_folder(path: &Path) -> Result<(), StageError> {
    check(path)?;
    match target(path)? {
        Target::Regular(target) => metadata(folder_of(&target)).map(drop).map_err(|error| failed(path, error)),
        _ => Ok(()),
    }
}

fn failed(path: &Path, error: io::Error) -> StageError {
    StageError::io(path, "write", error)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Says how a path is written to.
fn target(path: &Path) -> Result<Target, StageError> {
    let refused = |problem| Err(StageError::unusable(path, problem, "name a file"));
    if storage::is_url(path) {
        let problem = "only runs and their pages go to an object store";
        return Err(StageError::unusable(path, problem, "name a file of this machine"));
    }
    let kind = metadata(path).map(|there| there.file_type());
    match kind {
        Ok(kind) if kind.is_dir() => refused("cannot write: this is a folder"),
        Ok(kind) if kind.is_block_device() => refused("cannot write: this is a disk"),
        Ok(kind) if !kind.is_file() => Ok(Target::Stream),
        Err(_) if path.file_name().is_none() || path.as_os_str().as_bytes().ends_with(b"/") => {
            refused("cannot write: this names no file")
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path, error)),
        _ => followed(path).map_err(|error| failed(path, error)),
    }
}

/// Follows the links at the end of a path: the system would do so, and a rename does not.
fn followed(path: &Path) -> io::Result<Target> {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = folder_of(&at);
        if canonicalize(folder).is_ok_and(|folder| folder.starts_with("/proc")) {
            return Ok(Target::Descriptor(at));
        }
        if !symlink_metadata(&at).is_ok_and(|there| there.is_symlink()) {
            return Ok(Target::Regular(at));
        }
        at = folder.join(read_link(&at)?);
    }
    Err(io::Error::from_raw_os_error(rustix::io::Errno::LOOP.raw_os_error()))
}

/// The file that will be renamed over the target: with its mode and owner, if there is one, which must be open to writing.
fn new_file(path: &Path, target: &Path) -> io::Result<File> {
    let before = match symlink_metadata(target) {
        Ok(_) => Some(File::edit(target)?.metadata()?),
        Err(_) => None,
    };
    let file = File::create(path)?;
    if let Some(before) = before {
        keep(&before, &file)?;
    }
    Ok(file)
}

/// Gives a file the owner and the mode of another one.
fn keep(before: &Metadata, file: &File) -> io::Result<()> {
    let there = file.metadata()?;
    let owner = (before.uid(), before.gid());
    if owner != (there.uid(), there.gid()) {
        // Only root can, and a group that the user is not in nobody else.
        let _ = fchown(file.as_std(), Some(owner.0), Some(owner.1));
    }
    file.as_std().set_permissions(Permissions::from_mode(before.mode() & 0o777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn a_link_stays_and_its_target_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("elsewhere")).unwrap();
        symlink("elsewhere/file", at("second")).unwrap();
        symlink("second", at("first")).unwrap();
        for (content, mode) in [("new", None), ("again", Some(0o640))] {
            if let Some(mode) = mode {
                std::fs::set_permissions(at("elsewhere/file"), Permissions::from_mode(mode)).unwrap();
            }
            write(&at("first"), content.as_bytes(), &NEVER).unwrap();
            assert_eq!(std::fs::read_to_string(at("elsewhere/file")).unwrap(), content);
            assert!(symlink_metadata(at("first")).unwrap().is_symlink());
        }
        assert_eq!(metadata(at("elsewhere/file")).unwrap().mode() & 0o777, 0o640);
        append(&at("first"), b" and again", &NEVER).unwrap();
        assert_eq!(std::fs::read_to_string(at("elsewhere/file")).unwrap(), "again and again");
        // Dropped before its commit.
        OutputFile::create(&at("first"), &NEVER).unwrap().write_all(b"it").unwrap();
        assert_eq!(std::fs::read_to_string(at("elsewhere/file")).unwrap(), "again and again");
        assert_eq!(std::fs::read_dir(at("elsewhere")).unwrap().count(), 1);
        symlink("circle", at("circle")).unwrap();
        assert!(matches!(write(&at("circle"), b"", &NEVER), Err(StageError::Io { .. })));
    }

    #[test]
    fn what_is_no_file_is_refused_before_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing/");
        for path in [folder.path(), &missing, Path::new(""), Path::new(".."), Path::new("s3://bucket/file")] {
            assert!(matches!(check(path), Err(StageError::Unusable { .. })), "{path:?}");
            assert!(matches!(OutputFile::create(path, &NEVER), Err(StageError::Unusable { .. })), "{path:?}");
        }
        check(&folder.path().join("missing/file")).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_came_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let output = OutputFile::create(&path, &NEVER).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(output.commit(), Err(StageError::Unusable { .. })));
    }
}
