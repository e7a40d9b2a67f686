//! The journal of a scratch folder: its finished stages, so that a killed run resumes where it stopped.
//!
//! `journal.json` lists the finished stages. It is replaced in one step after each stage, so at any moment the folder
//! has everything that the listed stages wrote. It may have more: columns of a stage that was running, which that
//! stage writes anew, and bytes that it appended to files, which are cut off. A journal is ignored if its input, its
//! options, or the version of heaplake or of a stage differ, or if it is older than the last start of the system.

use super::graph::Step;
use super::registry;
use super::request::Request;
use heaplake_input::source::Input;
use heaplake_kit::{Scratch, StageError};
use heaplake_schemas::HEAPLAKE_VERSION;
use heaplake_schemas::options::Options;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const FILE: &str = "journal.json";

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    origin: Origin,
    done: Vec<Done>,
    /// Most disk that the folder took, bytes.
    peak: u64,
    /// Lengths of the files that some stage appends to, after the last finished stage that wrote or appended to them.
    appended: BTreeMap<String, u64>,
}

/// What a scratch folder was made from and by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Origin {
    heaplake_version: String,
    stages: Vec<(String, u32)>,
    /// Path, length, modification time and inode; nothing for an input that cannot be read twice.
    input: Option<(String, u64, i64, u64)>,
    options: Options,
    /// The system's boot. Scratch is not forced to the disk, so after a loss of power it may be anything.
    boot: Option<String>,
}

/// A finished stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Its name.
    pub stage: String,
    /// Wall time that it took.
    pub seconds: f64,
    /// Rows of its output.
    pub rows: u64,
    /// Bytes that it spilled.
    pub spilled_bytes: u64,
}

impl Journal {
    /// Opens a scratch folder: with the stages that are done in it, or empty.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn open(folder: &Path, request: &Request) -> Result<(Scratch, Self), StageError> {
        let origin = Origin::of(request);
        if let Some(opened) = Self::reopen(folder, &origin) {
            return Ok(opened);
        }
        let scratch = Scratch::create(folder)?;
        Ok((scratch, Self { origin, done: Vec::new(), peak: 0, appended: BTreeMap::new() }))
    }

    /// The folder as it was left, if it is of use.
    fn reopen(folder: &Path, origin: &Origin) -> Option<(Scratch, Self)> {
        let scratch = Scratch::reopen(folder).ok()?;
        let journal: Self = scratch.read_document(FILE).ok()?;
        let usable = journal.origin == *origin && origin.input.is_some() && journal.cut_back(&scratch).is_some();
        usable.then_some((scratch, journal))
    }

    /// Removes what an unfinished stage appended.
    fn cut_back(&self, scratch: &Scratch) -> Option<()> {
        for (name, &length) in &self.appended {
            let path = scratch.file(name);
            if !path.exists() {
                // It went after its last reader.
                continue;
            }
            let file = File::options().write(true).open(path).ok()?;
            if file.metadata().ok()?.len() < length {
                return None;
            }
            file.set_len(length).ok()?;
        }
        Some(())
    }

    /// The stages that are done, in the order in which they were finished.
    #[must_use]
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    /// Most disk that the folder took, bytes.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Whether a step is done.
    #[must_use]
    pub fn has(&self, step: &str) -> bool {
        self.done.iter().any(|done| done.stage == step)
    }

    /// Notes that a step is done.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn add(&mut self, scratch: &Scratch, step: &Step, done: Done) -> Result<(), StageError> {
        scratch.measure();
        self.peak = self.peak.max(scratch.peak());
        self.done.push(done);
        for file in step.writes.iter().chain(&step.changes).filter(|file| registry::is_appended(&file.name)) {
            if let Ok(there) = fs::metadata(scratch.file(&file.name)) {
                self.appended.insert(file.name.clone(), there.len());
            }
        }
        if self.origin.input.is_some() { scratch.write_document(FILE, self) } else { Ok(()) }
    }
}

impl Origin {
    fn of(request: &Request) -> Self {
        let input = match &request.input {
            Input::Stdin => None,
            Input::File(path) => fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| {
                let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                let changed = file.mtime().wrapping_mul(1_000_000_000).wrapping_add(file.mtime_nsec());
                (path.display().to_string(), file.len(), changed, file.ino())
            }),
        };
        Self {
            heaplake_version: HEAPLAKE_VERSION.to_owned(),
            stages: registry::all_stages().map(|stage| (stage.name.to_owned(), stage.version)).collect(),
            input,
            options: request.options.clone(),
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok(),
        }
    }
}
