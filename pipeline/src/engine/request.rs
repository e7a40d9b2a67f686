//! A request to the engine, and its outcome.

use clap::ValueEnum;
use heaplake_input::source::Input;
use heaplake_kit::storage;
use heaplake_publish::snapshot::StageTime;
use heaplake_schemas::options::Options;
use heaplake_schemas::run::Run;
use std::path::PathBuf;

/// Request for the run of one input.
#[derive(Clone, Debug)]
pub struct Request {
    /// The input.
    pub input: Input,
    /// The lake.
    pub lake: PathBuf,
    /// Release of the run.
    pub release: String,
    /// Name of the run, if the user gives one.
    pub snapshot: Option<String>,
    /// Expected hash, if the input was read before.
    pub hash: Option<String>,
    /// Options of the analysis or replay.
    pub options: Options,
    /// Memory budget, bytes.
    pub memory: u64,
    /// Maximum threads.
    pub threads: usize,
    /// Folder for intermediate columns, if not the lake.
    pub scratch: Option<PathBuf>,
    /// Whether a killed run can resume.
    pub resume: Resume,
    /// Whether to replace an existing run.
    pub force: bool,
    /// Whether to accept any expansion ratio of a compressed input.
    pub allow_bomb: bool,
}

/// Whether a killed run can resume after its last finished stage. A resumable run writes its columns to disk; others
/// keep them in memory as far as it suffices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Resume {
    /// Large inputs are resumable; smaller ones take less time than the writes are worth.
    #[default]
    Auto,
    /// Always resumable.
    Always,
    /// Never resumable.
    Never,
}

/// Inputs above this many bytes are large.
const LARGE: u64 = 4 << 30;

/// Assumed expansion ratio of a compressed input.
const COMPRESSED: u64 = 12;

/// Inputs up to this many bytes count as short with one thread.
const SHORT: u64 = 4 << 20;

impl Request {
    /// Whether a killed run can resume.
    pub fn is_resumable(&self) -> bool {
        match (&self.input, self.resume) {
            // Standard input cannot be read again.
            (Input::Stdin, _) | (_, Resume::Never) => false,
            (_, Resume::Always) => true,
            (Input::File(path), Resume::Auto) => storage::input(path).is_ok_and(|file| file.bytes > LARGE),
        }
    }

    /// Whether steps are too short to be worth handing to another thread.
    pub fn is_short(&self) -> bool {
        self.threads == 1 && self.bytes().is_some_and(|bytes| bytes <= SHORT)
    }

    /// Estimated size of the decompressed input, bytes; `None` for stdin.
    pub fn bytes(&self) -> Option<u64> {
        let Input::File(path) = &self.input else { return None };
        let bytes = storage::input(path).ok()?.bytes;
        let compressed = path.extension().is_some_and(|end| end == "gz" || end == "zst");
        Some(if compressed { bytes.saturating_mul(COMPRESSED) } else { bytes })
    }
}

/// A run in the lake.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Folder of the run.
    pub place: PathBuf,
    /// Description of the run.
    pub run: Run,
    /// Whether the run existed before, so nothing was done.
    pub unchanged: bool,
    /// Cost of each stage, if the run was made now.
    pub stages: Vec<StageTime>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::options::AnalysisOptions;
    use std::fs;

    fn request(input: Input, threads: usize) -> Request {
        Request {
            input,
            lake: PathBuf::new(),
            release: String::new(),
            snapshot: None,
            hash: None,
            options: Options::Analysis(AnalysisOptions::default()),
            memory: 0,
            threads,
            scratch: None,
            resume: Resume::Auto,
            force: false,
            allow_bomb: false,
        }
    }

    #[test]
    fn short_are_small_files_on_one_thread() {
        let folder = tempfile::tempdir().unwrap();
        let is_short = |name: &str, bytes: u64, threads| {
            let path = folder.path().join(name);
            fs::File::create(&path).unwrap().set_len(bytes).unwrap();
            request(Input::File(path), threads).is_short()
        };
        assert!(is_short("a.heapsnapshot", SHORT, 1));
        assert!(!is_short("a.heapsnapshot", SHORT, 2) && !is_short("a.heapsnapshot", SHORT + 1, 1));
        assert!(is_short("a.hprof.gz", SHORT / COMPRESSED, 1) && !is_short("a.hprof.gz", SHORT / 2, 1));
        assert!(!request(Input::File(folder.path().join("missing")), 1).is_short());
        assert!(!request(Input::Stdin, 1).is_short());
    }
}
