//! Workplace of a run: one scratch folder per input, locked by one process at a time, and cleanup after killed
//! processes.

use super::journal::Journal;
use super::request::Request;
use crate::diagnostic::Diagnostic;
use crate::inputs;
use heaplake_input::source::Input;
use heaplake_kit::{IoAt, Scratch, StageError, fs as files, storage};
use heaplake_lake::hidden::{self, Hidden};
use heaplake_lake::lock::Lock;
use heaplake_lake::{catalogue, output_file, place};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use xxhash_rust::xxh3::xxh3_64;

/// The scratch folder of one input, locked while in use. Drop removes everything made for it, even if only a part could
/// be made. Fields drop in declaration order.
pub struct Workplace {
    /// The folder.
    pub scratch: Scratch,
    /// Stages finished in it, now and by earlier runs.
    pub journal: Journal,
    /// Whether the folder survives the drop, so that a later run can resume.
    pub keep: bool,
    _lock: Lock,
    _root: Root,
}

/// Folder inside a lake that holds scratch; its name matches no `release=*` pattern.
pub const SCRATCH: &str = ".heaplake-scratch";

/// Prefix of folders that are removed when the command ends.
const PASSING: &str = ".heaplake-passing-";

/// Suffix of the lock beside a scratch folder.
const LOCK: &str = ".lock";

impl Workplace {
    /// Takes the folder of an input, as an earlier run on the same input left it, or empty. Fails if another process
    /// holds it.
    pub fn take(request: &Request, cancel: &AtomicBool) -> Result<Self, Diagnostic> {
        let name = format!("{}-{:016x}", inputs::stem(&request.input), identity(request));
        let (root, lock) = loop {
            let root = Root::make(request)?;
            let path = root.folder.join(format!("{name}{LOCK}"));
            match Lock::try_take(path.clone()) {
                // Another process finished and removed the folder before this one wrote anything into it.
                Err(StageError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                lock => break (root, lock?.ok_or_else(|| busy(&path))?),
            }
        };
        let (scratch, journal) = Journal::open(&root.folder.join(name), request, cancel)?;
        Ok(Self { scratch, journal, keep: false, _lock: lock, _root: root })
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if !self.keep {
            // A file that cannot be removed only wastes space; the outcome of the run does not depend on it.
            let _ = files::remove_dir_all(self.scratch.folder());
        }
    }
}

/// Parent of scratch folders.
struct Root {
    folder: PathBuf,
}

impl Root {
    fn make(request: &Request) -> Result<Self, StageError> {
        Ok(Self { folder: private(request.scratch.as_deref(), &request.lake)? })
    }
}

/// Creates the scratch parent, inside `scratch` or else inside the lake. Only its owner can access it, so nobody else
/// can plant links or truncate files; users of a shared lake each have one.
fn private(scratch: Option<&Path>, lake: &Path) -> Result<PathBuf, StageError> {
    let beside = beside(lake);
    let base = scratch.unwrap_or(&beside);
    match scratch {
        Some(scratch) => make_scratch(scratch)?,
        None => files::create_dir_all(base).at(base, "create")?,
    }
    for folder in roots().map(|name| base.join(name)) {
        if files::private_folder(&folder).at(&folder, "create")? {
            return Ok(folder);
        }
    }
    Err(StageError::Refused {
        problem: format!("{}: {SCRATCH} here belongs to somebody else", base.display()),
        advice: "name a folder of your own with --scratch".to_owned(),
    })
}

/// Names of scratch parents: the first user's, and this user's.
fn roots() -> [String; 2] {
    [SCRATCH.to_owned(), format!("{SCRATCH}-{}", files::user())]
}

/// Whether a name is that of a scratch folder: a stem, and an identity of sixteen hex digits.
fn is_scratch(name: &str) -> bool {
    let identity = name.rsplit_once('-').map(|(_, identity)| identity);
    identity.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Default parent of scratch: the lake, or the system's temporary folder if the lake is in an object store.
fn beside(lake: &Path) -> PathBuf {
    if storage::is_url(lake) { std::env::temp_dir() } else { lake.to_owned() }
}

/// Creates the scratch folder that the user named, if missing; whatever the umask, nobody else may write to a new one.
/// Refuses one in which any user may replace files of others.
fn make_scratch(folder: &Path) -> Result<(), StageError> {
    files::create_own_dir_all(folder).at(folder, "create")?;
    if files::is_open_to_all(folder).at(folder, "examine")? {
        return Err(StageError::Refused {
            problem: format!("{}: any user may replace files in this folder", folder.display()),
            advice: "name a folder of your own with --scratch, or set its sticky bit".to_owned(),
        });
    }
    Ok(())
}

/// Creates a folder that is removed when the command ends, inside `scratch` or else the system's temporary folder.
pub fn passing(scratch: Option<&Path>) -> Result<Hidden, StageError> {
    let base = scratch.map_or_else(std::env::temp_dir, Path::to_owned);
    match scratch {
        Some(scratch) => make_scratch(scratch)?,
        None => files::create_dir_all(&base).at(&base, "create")?,
    }
    Hidden::create(&base, PASSING)
}

/// False if a folder certainly has no folders: most file systems count its own two names and one link per folder in it.
fn may_have_folders(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|there| there.nlink() != 2)
}

/// Removes leftovers of killed processes from a lake: unfinished runs and pages, and useless scratch. Keeps everything
/// of live processes, and scratch with which a run can resume.
pub fn sweep(lake: &Path, scratch: Option<&Path>) {
    if !storage::is_url(lake) {
        place::sweep(lake);
        catalogue::sweep(lake);
    }
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    for release in entries(lake).iter().filter(|name| name.starts_with("release=")) {
        let release = lake.join(release);
        let runs = entries(&release).into_iter().filter(|name| name.starts_with("snapshot="));
        for run in runs.map(|run| release.join(run)).filter(|run| may_have_folders(run)) {
            hidden::sweep(&run, output_file::HIDDEN);
        }
    }
    let beside = beside(lake);
    let base = scratch.unwrap_or(&beside);
    let roots = roots().map(|name| base.join(name));
    for root in roots.into_iter().filter(|root| files::is_private(root)) {
        for name in entries(&root) {
            let name = name.strip_suffix(LOCK).unwrap_or(&name);
            if is_scratch(name) {
                sweep_scratch(&root, name);
            }
        }
        let _ = files::remove_dir(root);
    }
}

/// Removes one scratch folder, unless it is locked or a run can resume with it.
fn sweep_scratch(root: &Path, name: &str) {
    let folder = root.join(name);
    if let Ok(Some(_lock)) = Lock::try_take(root.join(format!("{name}{LOCK}")))
        && !Journal::is_of_use(&folder)
    {
        let _ = files::remove_dir_all(folder);
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // Fails if it is not empty: another process works there.
        let _ = files::remove_dir(&self.folder);
    }
}

fn busy(lock: &Path) -> Diagnostic {
    let cause = format!("{}: another heaplake is at work on this input", lock.display());
    Diagnostic::failed(cause, "wait until it is done")
}

/// Distinguishes the inputs that may share a scratch parent.
fn identity(request: &Request) -> u64 {
    let path = match &request.input {
        Input::File(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        Input::Stdin => PathBuf::from("-"),
    };
    let snapshot = request.snapshot.as_deref().unwrap_or_default();
    // A zero byte separates: no path and no name contains one.
    let parts = [path.as_os_str().as_bytes(), request.release.as_bytes(), snapshot.as_bytes()];
    xxh3_64(&parts.join(&0))
}
