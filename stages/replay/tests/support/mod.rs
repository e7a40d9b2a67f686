//! Traces in memory, and a source of chance.

#![allow(dead_code, clippy::unwrap_used)] // every test file uses its own part, and tests may fail loudly

pub mod heap;
pub mod nettrace;

use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, ColumnReader, Context, Scratch, StageError};
use heaplake_replay::blocks::Blocks;
use heaplake_replay::replay::{Mode, Options};
use heaplake_replay::stage::{self, Format};
use heaplake_schemas::replay::Facts;
use heaplake_schemas::scratch::Column;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// A folder in memory where the system has one.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

/// Bytes in blocks of any size.
pub struct Pieces<'a> {
    pub rest: &'a [u8],
    pub size: usize,
}

impl Blocks for Pieces<'_> {
    fn name(&self) -> &str {
        "trace"
    }

    fn next_block(&mut self, block: &mut Vec<u8>) -> Result<bool, StageError> {
        let (head, tail) = self.rest.split_at(self.size.min(self.rest.len()));
        self.rest = tail;
        block.clear();
        block.extend_from_slice(head);
        Ok(!head.is_empty())
    }
}

/// Takes every object.
pub const EXACT: Options = Options { interval: 1, mode: Mode::CreationAndCollection, seed: 0, tracks: false };

/// A replay that is over.
pub struct Replayed {
    pub facts: Facts,
    folder: TempDir,
}

impl Replayed {
    pub fn scratch(&self) -> Scratch {
        Scratch::reopen(self.folder.path()).unwrap()
    }

    pub fn rows<T: bytemuck::Pod>(&self, column: Column<T>) -> Vec<T> {
        let mut reader = ColumnReader::open(&self.scratch(), column).unwrap();
        let count = reader.remaining() as usize;
        let mut rows = Vec::new();
        reader.append_to(&mut rows, count).unwrap();
        rows
    }
}

/// Replays a trace with a budget, read in blocks of a size.
pub fn replay_with(trace: &[u8], options: Options, budget: u64, size: usize) -> Result<Replayed, StageError> {
    let folder = folder();
    let scratch = Scratch::reopen(folder.path()).unwrap();
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(budget), threads: 1, progress: &Silent, cancel: &cancel };
    let format = Format::of(trace).expect("a trace");
    let (facts, _) = stage::run(format, &mut Pieces { rest: trace, size }, options, &scratch, &context)?;
    Ok(Replayed { facts, folder })
}

/// Replays a trace that is right.
pub fn replay(trace: &[u8], options: Options) -> Replayed {
    replay_with(trace, options, 256 << 20, 1 << 16).unwrap()
}

/// Xorshift (Marsaglia): not a draw of the engine's own.
pub struct Chance(pub u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11
    }

    /// Less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Between 0 and 1.
    pub fn unit(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 53) as f64
    }
}
