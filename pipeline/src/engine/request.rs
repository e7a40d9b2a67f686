//! A request to the engine, and its outcome.

use clap::ValueEnum;
use heaplake_input::source::Input;
use heaplake_kit::storage;
use heaplake_publish::snapshot::StageTime;
use heaplake_schemas::options::Options;
use heaplake_schemas::run::Run;
use std::path::PathBuf;

/// What to do with an input.
#[derive(Clone, Debug)]
pub struct Request {
    /// The input.
    pub input: Input,
    /// The lake.
    pub lake: PathBuf,
    /// Release that the run belongs to.
    pub release: String,
    /// Its name, where the user gives one.
    pub snapshot: Option<String>,
    /// The hash that the input must have, where it was read before.
    pub hash: Option<String>,
    /// The options of the analysis or of the replay.
    pub options: Options,
    /// Bytes that may be allocated.
    pub memory: u64,
    /// Threads that may be used.
    pub threads: usize,
    /// Where intermediate columns go, if not into the lake.
    pub scratch: Option<PathBuf>,
    /// Whether a run that is killed can go on.
    pub resume: Resume,
    /// Whether an existing run is replaced.
    pub force: bool,
    /// Whether a compressed input may be any number of times as large when it is decompressed.
    pub allow_bomb: bool,
}

/// Whether a run that is killed can go on after its last finished stage. One that can writes its columns to disk; one
/// that cannot keeps them in memory as far as there is room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Resume {
    /// Those of large inputs can; the others take less time than writing is worth.
    #[default]
    Auto,
    /// It can.
    Always,
    /// It begins anew.
    Never,
}

/// Inputs of more bytes than this are large.
const LARGE: u64 = 4 << 30;

/// A compressed input is taken for one of so many times its size.
const COMPRESSED: u64 = 12;

/// On inputs of at most so many bytes each step takes a moment, with one thread.
const SHORT: u64 = 4 << 20;

impl Request {
    /// Whether the run can go on if it is killed.
    #[must_use]
    pub fn is_resumable(&self) -> bool {
        match (&self.input, self.resume) {
            // What was read cannot be read again.
            (Input::Stdin, _) | (_, Resume::Never) => false,
            (_, Resume::Always) => true,
            (Input::File(path), Resume::Auto) => storage::about(path).is_ok_and(|file| file.bytes > LARGE),
        }
    }

    /// Whether each step takes so little time that handing it to another thread would cost more than it is worth.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.threads == 1 && self.bytes().is_some_and(|bytes| bytes <= SHORT)
    }

    /// What the input may have when it is not compressed, bytes; nothing for what is no file.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let Input::File(path) = &self.input else { return None };
        let bytes = storage::about(path).ok()?.bytes;
        let compressed = path.extension().is_some_and(|end| end == "gz" || end == "zst");
        Some(if compressed { bytes.saturating_mul(COMPRESSED) } else { bytes })
    }
}

/// A run that is in the lake.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its folder.
    pub place: PathBuf,
    /// What it is.
    pub run: Run,
    /// Whether it was there before, so that nothing was done.
    pub unchanged: bool,
    /// What its stages cost, if it was made now.
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
