//! How fast traces are replayed:
//!
//!     cargo run --release -p heaplake-replay --example replay_speed -- [MILLIONS [TYPES]]
//!
//! so many million allocations, so many types on each stack.
//!
//! Writes a trace to a temporary file and replays it from there, at interval 1 and 10, tracked and not; checks the answers;
//! prints seconds and events per second. Run on one thread; comparisons count within one run only.

#![expect(clippy::print_stdout, reason = "this program prints")]

use heaplake_generator::trace::{self, Answers, Plan};
use heaplake_input::source::{Input, Opened, Source};
use heaplake_kit::stage::{Handover, Silent};
use heaplake_kit::{Budget, ColumnReader, Context, Job, Scratch};
use heaplake_replay::replay_trace::STAGE;
use heaplake_schemas::options::{Options, Recording, ReplayOptions, SampleMode};
use heaplake_schemas::replay::{COLLECTIONS, METADATA, Metadata};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let millions: u64 = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("trace");
    let plan = Plan { allocations: millions * 1_000_000, ..Plan::default() };
    let types_of_stack = std::env::args().nth(2).map_or(Ok(plan.types_of_stack), |text| text.parse())?;
    let plan = Plan { types_of_stack, ..plan };
    let answers = trace::write(&plan, BufWriter::new(File::create(&path)?))?;
    let bytes = std::fs::metadata(&path)?.len();
    println!("{millions} million allocations, {} collections, {} MB", answers.live.len(), bytes / 1_000_000);
    let input = Input::File(path);
    let cancel = AtomicBool::new(false);
    let begun = Instant::now();
    let context = Context { budget: Budget::new(0), threads: 1, progress: &Silent, cancel: &cancel };
    let (mut source, mut block) = (Source::open(&input)?, Vec::new());
    while source.next_block(&mut block, &context)? {}
    println!("  reading alone         {:6.2} s", begun.elapsed().as_secs_f64());
    for (name, interval, mode) in [
        ("creation, every object", 1, SampleMode::Creation),
        ("creation, every tenth", 10, SampleMode::Creation),
        ("every object", 1, SampleMode::CreationAndCollection),
        ("every tenth object", 10, SampleMode::CreationAndCollection),
    ] {
        let recording = Recording { sample_interval: interval, sample_mode: mode, ..Recording::default() };
        let (seconds, peak) = replay(&input, &folder.path().join("scratch"), recording, &plan, &answers)?;
        let (rate, peak) = (plan.allocations as f64 / seconds / 1e6, peak >> 20);
        println!("  {name:22} {seconds:5.2} s  {rate:5.2} million/s  {peak} MiB of budget at most");
    }
    Ok(())
}

/// Replays the trace and checks the answers; seconds, and the most of the budget that was in use.
fn replay(
    trace: &Input,
    scratch: &Path,
    recording: Recording,
    plan: &Plan,
    answers: &Answers,
) -> Result<(f64, u64), Box<dyn Error>> {
    let scratch = Scratch::create(scratch)?;
    let cancel = AtomicBool::new(false);
    let budget = Budget::new(488 << 20);
    let context = Context { budget: budget.clone(), threads: 1, progress: &Silent, cancel: &cancel };
    let mode = recording.sample_mode;
    let options = Options::Replay(ReplayOptions { recording, ..ReplayOptions::default() });
    let handover = Handover::of(Opened { input: trace.clone(), source: Source::open(trace)? });
    let begun = Instant::now();
    (STAGE.run)(&Job { input: &handover, ..Job::on(&scratch, &context, &options) })?;
    let seconds = begun.elapsed().as_secs_f64();
    let metadata: Metadata = scratch.read_document(METADATA)?;
    assert_eq!(metadata.allocated_count, plan.allocations);
    assert!(metadata.anomalies.is_empty(), "{:?}", metadata.anomalies);
    if mode == SampleMode::CreationAndCollection {
        assert_eq!(metadata.live_count, answers.alive);
        let mut rows = ColumnReader::open(&scratch, COLLECTIONS)?;
        for (&live, &dead) in answers.live.iter().zip(&answers.dead) {
            let row = rows.next()?;
            assert_eq!((row.live_objects, row.dead_objects), (live, dead), "collection {}", row.gc);
        }
    }
    Ok((seconds, budget.peak()))
}
