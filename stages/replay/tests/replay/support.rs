//! Traces in memory, and a random number generator.

pub(crate) use crate::fast_folder::fast_folder as folder;
use heaplake_input::source::{Input, Opened, Source};
use heaplake_kit::stage::{Handover, Silent};
use heaplake_kit::{Budget, ColumnReader, Context, Job, Scratch, StageError, StringTable};
use heaplake_replay::replay_trace::STAGE;
use heaplake_schemas::options::{Options, Recording, ReplayOptions, SampleMode, SampleStart, TraceTable};
use heaplake_schemas::replay::{METADATA, Metadata};
use heaplake_schemas::scratch::{Column, StringColumns};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// Takes every object.
pub(crate) const EXACT: Recording = Recording {
    sample_interval: 1,
    sample_start: SampleStart::Random,
    sample_mode: SampleMode::CreationAndCollection,
    seed: 0,
    tables: BTreeSet::new(),
    pprof: false,
    collapsed: false,
};

/// Takes every object, and has the tables of single objects.
pub(crate) fn tracked() -> Recording {
    Recording { tables: TraceTable::TRACKS.into(), ..EXACT }
}

/// Number of random cases: `default`, or `HEAPLAKE_CASES`.
pub(crate) fn cases(default: u64) -> u64 {
    std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default)
}

/// Content of a file in `tests/fixtures`.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    zstd::decode_all(File::open(path).unwrap()).unwrap()
}

/// A finished replay.
pub(crate) struct Replayed {
    pub metadata: Metadata,
    folder: TempDir,
}

impl Replayed {
    pub(crate) fn scratch(&self) -> Scratch {
        Scratch::reopen(self.folder.path()).unwrap()
    }

    pub(crate) fn strings(&self, table: StringColumns) -> StringTable {
        StringTable::open(&self.scratch(), table).unwrap()
    }

    pub(crate) fn anomaly(&self, name: &str) -> u64 {
        self.metadata.anomalies.get(name).copied().unwrap_or(0)
    }

    pub(crate) fn rows<T: bytemuck::Pod>(&self, column: Column<T>) -> Vec<T> {
        if !self.scratch().has(column) {
            return Vec::new();
        }
        let mut reader = ColumnReader::open(&self.scratch(), column).unwrap();
        let count = reader.remaining() as usize;
        let mut rows = Vec::new();
        reader.append_to(&mut rows, count).unwrap();
        rows
    }
}

/// Replays a trace with a budget, read in blocks of a size.
pub(crate) fn replay_with(
    trace: &[u8],
    recording: Recording,
    budget: u64,
    size: usize,
) -> Result<Replayed, StageError> {
    let folder = folder();
    let scratch = Scratch::reopen(folder.path()).unwrap();
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(budget), threads: 1, progress: &Silent, cancel: &cancel };
    let input = Handover::of(Opened { input: Input::Stdin, source: Source::of_bytes(trace, size) });
    let options = Options::Replay(ReplayOptions { recording, ..ReplayOptions::default() });
    (STAGE.run)(&Job { input: &input, ..Job::on(&scratch, &context, &options) })?;
    let metadata = scratch.read_document(METADATA)?;
    Ok(Replayed { metadata, folder })
}

/// Replays a trace that may be damaged.
pub(crate) fn try_replay(trace: &[u8], recording: Recording) -> Result<Replayed, StageError> {
    replay_with(trace, recording, 64 << 20, 1 << 16)
}

/// Replays a valid trace.
pub(crate) fn replay(trace: &[u8], recording: Recording) -> Replayed {
    replay_with(trace, recording, 256 << 20, 1 << 16).unwrap()
}

/// Xorshift (Marsaglia), which the engine does not use.
pub(crate) struct Chance(pub u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11
    }

    /// Less than `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 53) as f64
    }
}
