//! Output files named by users: `--out` of `sql`, `--report`, `--metrics` and all others.
//!
//! | at the path | action |
//! |---|---|
//! | nothing, or a regular file | the new content is written to a hidden folder beside it and, when complete, renamed over it atomically; a new file gets the mode of the umask, a replaced one keeps its mode, and its owner where permitted |
//! | a symbolic link | followed, even if dangling: its target is written, and the link stays |
//! | a device, a named pipe, a socket, an open file (`/dev/stdout`, `/dev/fd/3`) | written in place, see [`heaplake_kit::stream`] |
//! | a folder, a disk (block device), a URL | refused: [`StageError::Unusable`] |
//!
//! Invariants: nothing but a regular file is ever replaced or truncated, and it is unchanged until the new content is
//! on disk. A killed process leaves a hidden folder, which the next output to the same folder removes.

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

/// Name prefix of the hidden folders.
pub const HIDDEN: &str = ".heaplake-output-";

/// Name of the file in the hidden folder.
const NEW: &str = "output";

/// Maximum number of symbolic links followed, as in the system.
const MOST_LINKS: usize = 40;

/// An unfinished output file; without [`Self::commit`], a regular file is unchanged.
#[derive(Debug)]
pub struct OutputFile<'a> {
    path: PathBuf,
    to: To<'a>,
}

#[derive(Debug)]
enum To<'a> {
    /// A file that will be renamed over the target.
    New { hidden: Hidden, file: File, target: PathBuf },
    /// Written in place.
    Stream(Stream<'a>),
}

/// Target of a path.
enum Target {
    /// A regular file, existing or not; the path is not a link.
    Regular(PathBuf),
    /// An open file of a process, by its path in `/proc`.
    Descriptor(PathBuf),
    /// A device, a pipe or a socket.
    Stream,
}

impl<'a> OutputFile<'a> {
    /// Opens the output. Polls `cancel` while it waits for a pipe's reader.
    ///
    /// # Errors
    /// [`StageError::Unusable`] for targets that are never written.
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

    /// Returns a folder on the same disk for temporary files; `None` for a stream.
    pub fn folder(&self) -> Option<&Path> {
        match &self.to {
            To::New { hidden, .. } => Some(hidden.path()),
            To::Stream(_) => None,
        }
    }

    /// Creates the error of a failed write.
    pub fn failed(&self, error: io::Error) -> StageError {
        failed(&self.path, error)
    }

    /// Moves the file to its place; on error an existing file is unchanged.
    ///
    /// # Errors
    /// [`StageError::Unusable`] if the target is no longer a regular file.
    pub fn commit(mut self) -> Result<(), StageError> {
        let written = match &mut self.to {
            To::Stream(stream) => stream.flush(),
            To::New { hidden, file, target } => {
                file.sync_all().map_err(|error| failed(&self.path, error))?;
                // Do not replace an irregular file created meanwhile.
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
pub fn write(path: &Path, content: &[u8], cancel: &AtomicBool) -> Result<(), StageError> {
    let mut output = OutputFile::create(path, cancel)?;
    output.write_all(content).map_err(|error| failed(path, error))?;
    output.commit()
}

/// Appends to a file, created if needed. If the write fails, the file is truncated to its former length.
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

/// Refuses an unwritable path early, before the work. A missing folder is accepted: the work may create it. Opens
/// nothing that others would notice.
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

/// As [`check`], but also refuses a missing folder.
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

/// Determines how a path is written.
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

/// Follows the links at the end of a path, which a rename would not.
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

/// Creates the file that will be renamed over the target, with mode and owner of an existing target, which must be
/// writable.
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

/// Copies owner and mode of a file.
fn keep(before: &Metadata, file: &File) -> io::Result<()> {
    let there = file.metadata()?;
    let owner = (before.uid(), before.gid());
    if owner != (there.uid(), there.gid()) {
        // Only root may change owners, and users only to their own groups.
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
