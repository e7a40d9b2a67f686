//! Event logs of heaplake's recorders.

use crate::support::{EXACT, Replayed, replay, replay_with, try_replay};
use heaplake_eventlog::encode::{Encoder, MethodRecord};
use heaplake_eventlog::frame::FrameWriter;
use heaplake_eventlog::header::{Header, INTERVAL, MODE, RUNTIME, STARTED_US};
use heaplake_eventlog::record::{FrameOfStack, Sample};
use heaplake_kit::StageError;
use heaplake_schemas::object_lifetimes::ALIVE;
use heaplake_schemas::options::{Recording, SampleMode};
use heaplake_schemas::replay::{self as columns, Coverage};

/// Writes a log of frames.
fn log(interval: u32, mode: &str, frames: &[Encoder]) -> Vec<u8> {
    let header = Header::new([
        (RUNTIME, "java"),
        (MODE, mode),
        (INTERVAL, &interval.to_string()),
        (STARTED_US, "1700000000000000"),
    ]);
    let mut writer = FrameWriter::new(Vec::new(), &header).unwrap();
    frames.iter().for_each(|frame| writer.write(frame).unwrap());
    writer.into_inner()
}

/// Two classes, two methods, and two stacks.
fn definitions() -> Encoder {
    let mut records = Encoder::default();
    records.class(1, b"shop.Order");
    records.class(2, b"byte[]");
    for (id, name, line) in [(1, &b"foo"[..], 10), (2, b"main", 90)] {
        let (class, signature, file) = (&b"shop.Main"[..], &b"()V"[..], &b"Main.java"[..]);
        records.method(&MethodRecord { id, class, name, signature, file, lines: &[(0, line), (8, line + 1)] });
    }
    let frame = |method| FrameOfStack { method, position: Some(8) };
    records.stack(1, false, [frame(1), frame(2)].into_iter());
    records.stack(2, true, [frame(2)].into_iter());
    records
}

fn sample(class: u32, size: u64, weight: u32, stack: u32, tag: u32) -> Sample {
    Sample { class, size, weight, stack, thread: 1, tag }
}

/// Name, and the numbers that [`types`] has of it.
type TypeRow = (String, u64, u64, u64, (u64, u64));

/// Rows of types: name, count, exact bytes, estimate, interval.
fn types(replayed: &Replayed) -> Vec<TypeRow> {
    let names = replayed.strings(columns::TYPE_NAMES);
    let rows = replayed.rows(columns::TYPES);
    rows.iter()
        .map(|row| {
            let name = names.text(row.type_id as usize).into_owned();
            (name, row.allocated_count, row.exact_bytes, row.estimated_bytes, (row.low_bytes, row.high_bytes))
        })
        .collect()
}

#[test]
fn counts_are_the_recorders_and_stacks_have_weights() {
    let mut records = definitions();
    // Four blocks of one, four of two: twelve objects, eight of them sampled.
    for (at, stack) in [1, 1, 1, 2, 1, 1, 1, 2].into_iter().enumerate() {
        records.sample(&sample(1, 24, if at < 4 { 1 } else { 2 }, stack, 0));
    }
    records.counts([(1, 12, 288), (2, 5, 5000)]);
    records.dropped(3);
    records.end();
    let replayed = replay(&log(2, "creation", &[records]), EXACT);
    assert_eq!(
        types(&replayed),
        [
            ("byte[]".to_owned(), 5, 5000, columns::ABSENT, (columns::ABSENT, columns::ABSENT)),
            ("shop.Order".to_owned(), 12, 288, 288, (288, 288)),
        ]
        .map(|mut row| {
            // A type without a sample has the sizes of others as its estimate.
            if row.3 == columns::ABSENT {
                (row.3, row.4) = (types(&replayed)[0].3, types(&replayed)[0].4);
            }
            row
        })
    );
    let strings = replayed.strings(columns::STRINGS);
    let functions: Vec<_> = replayed
        .rows(columns::FUNCTIONS)
        .iter()
        .map(|row| {
            let name = strings.text(row.name as usize).into_owned();
            (name, row.line, row.inclusive_count, row.exclusive_count, row.exclusive_samples)
        })
        .collect();
    assert_eq!(functions, [("shop.Main.main".to_owned(), 90, 12, 3, 2), ("shop.Main.foo".to_owned(), 10, 9, 9, 6)]);
    let metadata = &replayed.metadata;
    assert_eq!((metadata.format.as_str(), metadata.coverage, metadata.interval), ("java-events", Coverage::Every, 2));
    assert_eq!((metadata.allocated_count, metadata.allocated_bytes, metadata.sampled_count), (17, 5288, 8));
    assert_eq!((replayed.anomaly("lost_events"), replayed.anomaly("truncated_stacks")), (3, 1));
    assert!(!metadata.tracked && metadata.left_out.is_none());
}

#[test]
fn deaths_count_for_the_collection_before_them() {
    let mut records = definitions();
    for tag in 1..=4 {
        records.sample(&sample(1, 24, 1, 1, tag));
    }
    records.time(2000);
    records.collection_start(1);
    records.time(500);
    records.collection_end(1);
    records.deaths(&[1]);
    records.sample(&sample(2, 100, 1, 2, 1));
    for number in 2..=4 {
        records.collection_start(number);
        records.collection_end(number);
        records.deaths(&[number]);
    }
    records.counts([(1, 4, 96), (2, 1, 100)]);
    records.end();
    let bytes = log(1, "lifetimes", &[records]);
    let replayed = replay(&bytes, EXACT);
    let rows = replayed.rows(columns::COLLECTIONS);
    let found: Vec<_> = rows.iter().map(|row| (row.gc, row.dead_objects, row.dead_bytes, row.live_objects)).collect();
    assert_eq!(found, [(1, 1, 24, 3), (2, 1, 24, 3), (3, 1, 24, 2), (4, 1, 24, 1)]);
    assert!((rows[0].pause_seconds - 0.0005).abs() < 1e-9);
    assert_eq!(rows[0].started_at_us, 1_700_000_000_002_000);
    let lifetimes: Vec<_> = replayed
        .rows(columns::LIFETIMES)
        .iter()
        .map(|row| (row.type_id, row.generation, row.count, row.mean_age_gcs, row.max_age_gcs))
        .collect();
    let alive = ALIVE as u32;
    assert_eq!(lifetimes, [(0, 0, 1, 1.0, 1), (0, 1, 1, 2.0, 2), (0, 2, 2, 3.5, 4), (1, alive, 1, 3.0, 3)]);
    assert_eq!((replayed.metadata.live_count, replayed.metadata.live_bytes), (1, 100));
    assert!(replayed.metadata.tracked && replayed.metadata.anomalies.keys().eq(["truncated_stacks"]));
    let creation = replay(&bytes, Recording { sample_mode: SampleMode::Creation, ..EXACT });
    assert!(!creation.metadata.tracked && creation.rows(columns::LIFETIMES).is_empty());
}

#[test]
fn a_cut_log_has_its_whole_frames_and_a_damaged_one_is_refused() {
    let mut records = definitions();
    records.sample(&sample(1, 24, 1, 1, 0));
    records.counts([(1, 1, 24)]);
    let mut last = Encoder::default();
    last.counts([(1, 2, 48)]);
    last.end();
    let first = log(1, "creation", &[records.clone()]).len();
    let whole = log(1, "creation", &[records, last]);
    assert_eq!(replay(&whole, EXACT).metadata.allocated_count, 3);
    for length in first..whole.len() {
        let replayed = replay_with(&whole[..length], EXACT, 64 << 20, 7).unwrap();
        assert_eq!((replayed.metadata.allocated_count, replayed.anomaly("traces_without_end")), (1, 1));
        assert_eq!(replayed.metadata.left_out.is_some(), length > first, "{length} of {}", whole.len());
    }
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        match try_replay(&damaged, EXACT) {
            Err(StageError::Input(error)) => assert!(error.offset <= whole.len() as u64),
            Err(other) => panic!("byte {at}: {other}"),
            Ok(_) => panic!("byte {at} was accepted"),
        }
    }
}

#[test]
fn records_that_do_not_fit_the_others_are_refused() {
    let refused = |write: fn(&mut Encoder), expected: &str| {
        let mut records = definitions();
        write(&mut records);
        match try_replay(&log(1, "lifetimes", &[records]), EXACT).map(|_| ()) {
            Err(StageError::Input(error)) => assert!(error.found.contains(expected), "{error}"),
            other => panic!("{expected}: {other:?}"),
        }
    };
    refused(|records| records.stack(9, false, std::iter::empty()), "a stack whose number");
    refused(|records| records.method(&MethodRecord { id: u32::MAX, ..MethodRecord::default() }), "a method");
    refused(|records| records.sample(&sample(1, 24, 1, 1, u32::MAX)), "a tag");
    refused(|records| records.sample(&sample(1, 24, 0, 1, 1)), "a sample");
}
