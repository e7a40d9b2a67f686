//! How fast event logs are replayed:
//!
//!     cargo run --release -p heaplake-replay --example events_speed -- [MILLIONS]
//!
//! Writes a log of samples to memory, with deaths and without, replays it, checks the counts, and prints samples per
//! second. Comparisons count within one run only.

#![expect(clippy::print_stdout, reason = "this program prints")]

use heaplake_eventlog::encode::{Encoder, MethodRecord};
use heaplake_eventlog::frame::FrameWriter;
use heaplake_eventlog::header::{Header, INTERVAL, MODE, RUNTIME};
use heaplake_eventlog::record::{FrameOfStack, Sample};
use heaplake_input::source::{Input, Opened, Source};
use heaplake_kit::stage::{Handover, Silent};
use heaplake_kit::{Budget, Context, Job, Scratch};
use heaplake_replay::replay_trace::STAGE;
use heaplake_schemas::options::{Options, Recording, ReplayOptions};
use heaplake_schemas::replay::{METADATA, Metadata};
use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const CLASSES: u32 = 500;
const STACKS: u32 = 2_000;
/// Classes that a stack allocates.
const CLASSES_OF_STACK: u32 = 3;
const METHODS: u32 = 3_000;
/// Living objects with a tag.
const ALIVE: u32 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let millions: u64 = std::env::args().nth(1).map_or(Ok(10), |text| text.parse())?;
    for tracked in [false, true] {
        let log = write(millions * 1_000_000, tracked)?;
        let (seconds, metadata) = replay(&log)?;
        assert_eq!(metadata.sampled_count, millions * 1_000_000);
        assert!(metadata.anomalies.is_empty(), "{:?}", metadata.anomalies);
        let (events, what) = if tracked { (2 * millions, "samples and deaths") } else { (millions, "samples") };
        let rate = events as f64 / seconds;
        println!("{events} million {what}, {} MB: {seconds:.2} s, {rate:.1} million/s", log.len() / 1_000_000);
    }
    Ok(())
}

/// Writes a log; with deaths, each object dies after [`ALIVE`] others.
fn write(samples: u64, tracked: bool) -> Result<Vec<u8>, Box<dyn Error>> {
    let mode = if tracked { "lifetimes" } else { "creation" };
    let header = Header::new([(RUNTIME, "java"), (MODE, mode), (INTERVAL, "10")]);
    let mut frames = FrameWriter::new(Vec::new(), &header)?;
    let mut records = Encoder::default();
    define(&mut records);
    let (mut state, mut collection) = (1_u64, 0);
    for number in 0..samples {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let stack = ((state >> 30) % u64::from(STACKS)) as u32 + 1;
        let class = (stack * 7 + (state >> 50) as u32 % CLASSES_OF_STACK) % CLASSES;
        let tag = if tracked { (number % u64::from(ALIVE)) as u32 + 1 } else { 0 };
        let size = 16 + (state >> 60) * 8;
        records.sample(&Sample { class: class + 1, size, weight: 10, stack, thread: 1, tag });
        if tracked && tag == ALIVE {
            collection += 1;
            records.collection_start(collection);
            records.collection_end(collection);
            records.deaths(&(1..=ALIVE).collect::<Vec<_>>());
        }
        if records.bytes().len() > 2 << 20 {
            frames.write(&records)?;
            records.clear();
        }
    }
    let count = |class| (class, samples * 10 / u64::from(CLASSES), 48);
    records.counts((1..=CLASSES).map(count).collect::<Vec<_>>());
    records.end();
    frames.write(&records)?;
    Ok(frames.into_inner())
}

fn define(records: &mut Encoder) {
    for class in 1..=CLASSES {
        records.class(class, format!("shop.Class{class}").as_bytes());
    }
    for id in 1..=METHODS {
        let name = format!("method{id}");
        records.method(&MethodRecord { id, class: b"shop.Main", name: name.as_bytes(), ..MethodRecord::default() });
    }
    for id in 1..=STACKS {
        // Outer frames are those of a tree: two stacks share them from some depth on.
        let frame =
            |depth: u32| FrameOfStack { method: ((id >> depth) * 31 + depth) % METHODS + 1, position: Some(id) };
        records.stack(id, false, (0..20).map(frame).collect::<Vec<_>>().into_iter());
    }
}

/// Replays a log; seconds, and the totals.
fn replay(log: &[u8]) -> Result<(f64, Metadata), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let scratch = Scratch::create(&folder.path().join("scratch"))?;
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(488 << 20), threads: 1, progress: &Silent, cancel: &cancel };
    let options = Options::Replay(ReplayOptions { recording: Recording::default(), ..ReplayOptions::default() });
    let handover = Handover::of(Opened { input: Input::Stdin, source: Source::of_bytes(log, 1 << 20) });
    let begun = Instant::now();
    (STAGE.run)(&Job { input: &handover, ..Job::on(&scratch, &context, &options) })?;
    Ok((begun.elapsed().as_secs_f64(), scratch.read_document(METADATA)?))
}
