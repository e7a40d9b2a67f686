//! What was done in a scratch folder, so that a killed run goes on where it stopped.
//!
//! `journal.json` lists the finished stages. It is replaced in one step after each stage, so whatever moment a run is
//! killed at, the folder holds what the listed stages wrote, and perhaps more: columns of the stage that was at work,
//! which that stage writes anew, and what was added at the end of files that stages append to, which is cut off. A
//! journal of another input, other options, another version of heaplake or of a stage, or from before the system last
//! started, counts as none.

use crate::analyze::Request;
use crate::plan;
use heaplake_ingest::Format;
use heaplake_ingest::source::Input;
use heaplake_ingest::v8::APPENDED;
use heaplake_kit::{Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::HEAPLAKE_VERSION;
use heaplake_schemas::run::Options;
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
    /// The most disk that the folder took, bytes.
    fullest: u64,
    /// Lengths of the files that stages append to, after the last stage that did.
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
        Ok((scratch, Self { origin, done: Vec::new(), fullest: 0, appended: BTreeMap::new() }))
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
            let file = File::options().write(true).open(scratch.file(name)).ok()?;
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

    /// The most disk that the folder took, bytes.
    #[must_use]
    pub fn fullest(&self) -> u64 {
        self.fullest
    }

    /// Whether a stage is done.
    #[must_use]
    pub fn has(&self, stage: &StageInfo) -> bool {
        self.done.iter().any(|done| done.stage == stage.name)
    }

    /// Notes that a stage is done.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn add(
        &mut self,
        scratch: &Scratch,
        stage: &StageInfo,
        appends: bool,
        stats: Stats,
        seconds: f64,
    ) -> Result<(), StageError> {
        let Stats { rows, spilled_bytes } = stats;
        scratch.measure();
        self.fullest = self.fullest.max(scratch.fullest());
        self.done.push(Done { stage: stage.name.to_owned(), seconds, rows, spilled_bytes });
        if appends {
            let length = |name: &str| fs::metadata(scratch.file(name)).ok().map(|file| file.len());
            self.appended = APPENDED.iter().filter_map(|&name| Some((name.to_owned(), length(name)?))).collect();
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
            stages: Format::ALL
                .into_iter()
                .flat_map(plan::every_stage)
                .map(|stage| (stage.name.to_owned(), stage.version))
                .collect(),
            input,
            options: request.options.clone(),
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok(),
        }
    }
}
