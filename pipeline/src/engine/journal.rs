//! The journal of a scratch folder: its finished stages, so that a killed run resumes where it stopped.
//!
//! `journal.json` lists the finished stages and the checksums of their files. It is replaced atomically after each
//! stage, so the folder always has everything that the listed stages wrote. It may have more from a stage that was
//! running: its files, which are removed, and bytes that it appended, which are cut off. A journal is ignored if its
//! input, its options, or the version of heaplake or of a stage differ, if it predates the last boot, or if it or a
//! listed file is damaged. It is also ignored if a stage was killed between replacing a file of another stage and its
//! journal entry.

use super::graph::Step;
use super::registry;
use super::request::Request;
use super::seal;
use heaplake_input::source::Input;
use heaplake_kit::checksums::Checksum;
use heaplake_kit::fs::File;
use heaplake_kit::storage::{self, About};
use heaplake_kit::{IoAt, Scratch, StageError};
use heaplake_lake::place::Standing;
use heaplake_schemas::HEAPLAKE_VERSION;
use heaplake_schemas::options::Options;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::UNIX_EPOCH;
use xxhash_rust::xxh3::xxh3_64;

const FILE: &str = "journal.json";

/// The journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    origin: Origin,
    done: Vec<Done>,
    /// Peak scratch size, bytes.
    peak: u64,
    /// Checksums of files after the last finished stage that wrote or changed them.
    checksums: BTreeMap<String, Checksum>,
    /// Run about to be committed: its path, and device and inode of its folder.
    committing: Option<(PathBuf, (u64, u64))>,
    /// Whether the journal is never written: the run is not resumable.
    #[serde(skip)]
    is_lost: bool,
}

/// Origin of a scratch folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    heaplake_version: String,
    stages: Vec<(String, u32)>,
    /// Path, length, modification time and inode; `None` for an input that cannot be read twice.
    input: Option<(String, u64, i64, u64)>,
    options: Options,
    /// Boot id of the system. Scratch is not synced, so a power loss may leave anything.
    boot: Option<String>,
}

/// A finished stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Name of the stage.
    pub stage: String,
    /// Wall time.
    pub seconds: f64,
    /// Output rows.
    pub rows: u64,
    /// Bytes spilled.
    pub spilled_bytes: u64,
}

impl Journal {
    /// Opens a scratch folder: with its finished stages, or empty. Returns [`StageError::Cancelled`] when `cancel` is
    /// set meanwhile.
    pub fn open(folder: &Path, request: &Request, cancel: &AtomicBool) -> Result<(Scratch, Self), StageError> {
        let origin = Origin::of(request);
        match Self::reopen(folder, &origin, cancel) {
            Ok(Some(opened)) => return Ok(opened),
            Err(StageError::Cancelled) => return Err(StageError::Cancelled),
            // If the remains are unusable for any reason, the run starts afresh.
            Ok(None) | Err(_) => {}
        }
        let is_lost = !request.is_resumable();
        let scratch = Scratch::create(folder)?;
        Ok((scratch, Self { origin, done: Vec::new(), peak: 0, checksums: BTreeMap::new(), committing: None, is_lost }))
    }

    /// Reopens the folder if its journal is usable.
    fn reopen(folder: &Path, origin: &Origin, cancel: &AtomicBool) -> Result<Option<(Scratch, Self)>, StageError> {
        let scratch = Scratch::reopen(folder)?;
        let journal = Self::read(&scratch)?;
        let usable = journal.origin == *origin && origin.input.is_some() && journal.verify(&scratch, cancel)?;
        Ok(usable.then_some((scratch, journal)))
    }

    fn read(scratch: &Scratch) -> Result<Self, StageError> {
        seal::read(&scratch.file(FILE))
    }

    /// Whether the files are as the finished stages left them. Removes all others.
    fn verify(&self, scratch: &Scratch, cancel: &AtomicBool) -> Result<bool, StageError> {
        let mut known = BTreeSet::from([scratch.file(FILE)]);
        for (name, sum) in &self.checksums {
            let Some(path) = self.left(scratch, name, sum, cancel)? else { return Ok(false) };
            scratch.note(&path, Some(sum.clone()));
            known.insert(path);
        }
        seal::remove_others(scratch.folder(), &known)?;
        Ok(true)
    }

    /// Path of a file that a finished stage left, after truncation of bytes appended by an unfinished stage; `None` if
    /// the file differs.
    fn left(
        &self,
        scratch: &Scratch,
        name: &str,
        sum: &Checksum,
        cancel: &AtomicBool,
    ) -> Result<Option<PathBuf>, StageError> {
        let (path, original) = (scratch.file(name), scratch.original(name));
        if path.exists() && self.is_left(&path, name, sum, cancel)? {
            return Ok(Some(path));
        }
        if original.exists() {
            // A stage was rewriting it.
            return Ok(self.is_left(&original, name, sum, cancel)?.then_some(original));
        }
        // A missing file was removed after its last reader.
        Ok((!path.exists()).then_some(path))
    }

    fn is_left(&self, path: &Path, name: &str, sum: &Checksum, cancel: &AtomicBool) -> Result<bool, StageError> {
        let there = fs::symlink_metadata(path).at(path, "examine")?;
        let longer = there.is_file() && there.len() > sum.length() && registry::is_appended(name);
        if !there.is_file() || (there.len() != sum.length() && !longer) || !sum.is_of(path, cancel)? {
            return Ok(false);
        }
        if longer {
            let cut = File::edit(path).and_then(|file| file.set_len(sum.length()));
            cut.at(path, "write")?;
        }
        Ok(true)
    }

    /// Finished stages, in the order they finished.
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    /// Peak scratch size, bytes.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Whether a step is done.
    pub fn has(&self, step: &str) -> bool {
        self.done.iter().any(|done| done.stage == step)
    }

    /// Records a step as done.
    pub fn add(&mut self, scratch: &Scratch, step: &Step, done: Done) -> Result<(), StageError> {
        self.peak = self.peak.max(scratch.peak());
        self.done.push(done);
        for file in step.writes.iter().chain(&step.changes) {
            self.note(scratch, &file.name)?;
        }
        self.write(scratch)
    }

    /// Records the checksum of a file that a stage wrote or changed.
    fn note(&mut self, scratch: &Scratch, name: &str) -> Result<(), StageError> {
        let path = scratch.file(name);
        let Some(there) = scratch.length(&path) else {
            self.checksums.remove(name);
            return Ok(());
        };
        let Some(sum) = scratch.sum(&path) else {
            return Err(StageError::scratch(&path, "it has no checksum"));
        };
        if sum.length() != there {
            return Err(StageError::cut_off(&path, sum.length(), there));
        }
        self.checksums.insert(name.to_owned(), sum);
        Ok(())
    }

    /// Truncates the bytes that a step appended, so that it can run again.
    pub fn take_back(&self, scratch: &Scratch, step: &Step) -> Result<(), StageError> {
        for file in step.changes.iter().filter(|file| registry::is_appended(&file.name)) {
            let (path, Some(sum)) = (scratch.file(&file.name), self.checksums.get(&file.name)) else { continue };
            scratch.cut(&path, sum.length())?;
            scratch.note(&path, Some(sum.clone()));
        }
        Ok(())
    }

    fn write(&self, scratch: &Scratch) -> Result<(), StageError> {
        if self.origin.input.is_some() && self.is_kept() { seal::write(&scratch.file(FILE), self) } else { Ok(()) }
    }

    /// Whether a later process can resume the run. A resumed run stays resumable, whatever the options say.
    pub fn is_kept(&self) -> bool {
        !self.is_lost
    }

    /// Measures the current scratch size.
    pub fn measure(&mut self, scratch: &Scratch) {
        scratch.measure();
        self.peak = self.peak.max(scratch.peak());
    }

    /// Lengths of the files that a step reads, as their writers left them or as moved from memory.
    pub fn lengths(&self, scratch: &Scratch, step: &Step) -> Vec<(String, u64)> {
        let known = |name: &String| {
            self.checksums.get(name)?;
            Some((name.clone(), scratch.sum(&scratch.file(name))?.length()))
        };
        let kept =
            step.reads.iter().filter(|file| !step.changes.iter().chain(&step.writes).any(|it| it.name == file.name));
        kept.filter_map(|file| known(&file.name)).collect()
    }

    /// Records that a run is about to be committed, so that a later process can tell whether it was.
    pub fn committing(&mut self, scratch: &Scratch, place: &Path, folder: (u64, u64)) -> Result<(), StageError> {
        self.committing = Some((place.to_owned(), folder));
        self.write(scratch)
    }

    /// Whether the input file is unchanged.
    pub fn is_of(&self, input: &Input) -> bool {
        matches!(input, Input::Stdin) || self.origin.input == identity(input)
    }

    /// Whether a later run can resume an unlocked folder: its run is not in the lake, and its origin is unchanged.
    pub fn is_of_use(folder: &Path) -> bool {
        let journal = Scratch::reopen(folder).and_then(|scratch| Self::read(&scratch));
        let Ok(Self { origin, committing, .. }) = journal else { return false };
        let Some((path, ..)) = &origin.input else { return false };
        let today = Origin::now(origin.options.clone(), identity(&Input::File(PathBuf::from(path))));
        let committed = committing.is_some_and(|(place, folder)| {
            Standing::at(&place).is_ok_and(|there| there.is_some_and(|there| there.folder() == folder))
        });
        origin == today && !committed
    }
}

/// Path, length, modification time and inode; `None` for stdin and other non-files.
fn identity(input: &Input) -> Option<(String, u64, i64, u64)> {
    let Input::File(path) = input else { return None };
    if let Some(url) = storage::url(path) {
        // The store's tag of the content replaces the inode.
        let About { bytes, changed, tag } = storage::input(path).ok()?;
        let changed = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default().as_nanos();
        let tag = xxh3_64(tag.unwrap_or_default().as_bytes());
        return Some((url.to_owned(), bytes, i64::try_from(changed).unwrap_or(i64::MAX), tag));
    }
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let changed = file.mtime().wrapping_mul(1_000_000_000).wrapping_add(file.mtime_nsec());
        (path.display().to_string(), file.len(), changed, file.ino())
    })
}

impl Origin {
    fn of(request: &Request) -> Self {
        Self::now(request.options.clone(), identity(&request.input))
    }

    fn now(options: Options, input: Option<(String, u64, i64, u64)>) -> Self {
        Self {
            heaplake_version: HEAPLAKE_VERSION.to_owned(),
            stages: registry::all_stages().map(|stage| (stage.name.to_owned(), stage.version)).collect(),
            input,
            options,
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok(),
        }
    }
}
