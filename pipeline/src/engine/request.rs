//! A request to the engine, and its outcome.

use heaplake_input::source::Input;
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
    /// Whether an existing run is replaced.
    pub force: bool,
    /// Whether a compressed input may be any number of times as large when it is decompressed.
    pub allow_bomb: bool,
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
