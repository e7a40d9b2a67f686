//! How fast traces are replayed: `cargo run --release -p heaplake-replay --example replay_speed -- [MILLIONS [TYPES]]`, of so many
//! types on each stack.
//!
//! Writes a trace to a temporary file and replays it from there, at interval 1 and 10, tracked and not; checks the answers;
//! prints seconds and events per second. Run on one thread; comparisons count within one run only.

#![allow(clippy::print_stdout)]

use heaplake_generator::trace::{self, Plan};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, ColumnReader, Context, Scratch, StageError};
use heaplake_replay::blocks::Blocks;
use heaplake_replay::replay::{Mode, Options};
use heaplake_replay::stage::{self, Format};
use heaplake_schemas::replay::COLLECTIONS;
use std::fs::File;
use std::io::{BufWriter, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A file, read in blocks.
struct Blocked(File);

impl Blocks for Blocked {
    fn name(&self) -> &str {
        "trace"
    }

    fn next_block(&mut self, block: &mut Vec<u8>) -> Result<bool, StageError> {
        block.resize(256 << 10, 0);
        let count = self.0.read(block).map_err(|error| StageError::io(Path::new("trace"), "read", error))?;
        block.truncate(count);
        Ok(count > 0)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let millions: u64 = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("trace");
    let plan = Plan { allocations: millions * 1_000_000, ..Plan::default() };
    let types_of_stack = std::env::args().nth(2).map_or(Ok(plan.types_of_stack), |text| text.parse())?;
    let plan = Plan { types_of_stack, ..plan };
    let answers = trace::write(&plan, BufWriter::new(File::create(&path)?))?;
    let bytes = std::fs::metadata(&path)?.len();
    println!("{millions} million allocations, {} collections, {} MB", answers.live.len(), bytes / 1_000_000);
    let begun = Instant::now();
    let (mut file, mut block) = (Blocked(File::open(&path)?), Vec::new());
    while file.next_block(&mut block)? {}
    println!("  reading alone         {:6.2} s", begun.elapsed().as_secs_f64());
    for (name, interval, mode) in [
        ("creation, every object", 1, Mode::Creation),
        ("creation, every tenth", 10, Mode::Creation),
        ("every object", 1, Mode::CreationAndCollection),
        ("every tenth object", 10, Mode::CreationAndCollection),
    ] {
        let scratch = Scratch::create(&folder.path().join("scratch"))?;
        let cancel = AtomicBool::new(false);
        let budget = Budget::new(488 << 20);
        let context = Context { budget: budget.clone(), threads: 1, progress: &Silent, cancel: &cancel };
        let options = Options { interval, mode, seed: 0, tracks: false };
        let begun = Instant::now();
        let mut blocks = Blocked(File::open(&path)?);
        let (facts, _) = stage::run(Format::Nettrace, &mut blocks, options, &scratch, &context)?;
        let seconds = begun.elapsed().as_secs_f64();
        assert_eq!(facts.allocated_count, plan.allocations);
        assert!(facts.anomalies.is_empty(), "{:?}", facts.anomalies);
        if mode == Mode::CreationAndCollection {
            assert_eq!(facts.live_count, answers.alive);
            let mut rows = ColumnReader::open(&scratch, COLLECTIONS)?;
            for (&live, &dead) in answers.live.iter().zip(&answers.dead) {
                let row = rows.next()?;
                assert_eq!((row.live_objects, row.dead_objects), (live, dead), "collection {}", row.gc);
            }
        }
        let (rate, peak) = (plan.allocations as f64 / seconds / 1e6, budget.peak() >> 20);
        println!("  {name:22} {seconds:5.2} s  {rate:5.2} million/s  {peak} MiB of budget at most");
    }
    Ok(())
}
