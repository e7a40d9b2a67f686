//! Recordings of Java Flight Recorder: what is in one, damaged and hostile ones.

use crate::support::{Chance, EXACT, Replayed, fixture, replay, replay_with, try_replay};
use crate::written::{
    CLASSES, Class, chunk, constants, event, events, metadata, number, numbers, pools, recording, text,
};
use heaplake_kit::StageError;
use heaplake_schemas::replay::{self as columns, ABSENT, Coverage};
use std::path::Path;
use std::time::{Duration, Instant};

fn text_at(replayed: &Replayed, at: u32) -> String {
    replayed.strings(columns::RECORDING_TEXTS).text(at as usize).into_owned()
}

#[test]
fn a_small_recording_is_read_to_the_letter() {
    for size in [1, 7, 1 << 16] {
        let replayed = replay_with(&recording(), EXACT, 64 << 20, size).unwrap();
        let metadata = &replayed.metadata;
        assert_eq!(
            (metadata.coverage, metadata.estimated_bytes, metadata.sampled_count),
            (Coverage::Weighted, 78_000, 3)
        );
        assert!(
            metadata.anomalies.is_empty() && metadata.left_out.is_none() && metadata.has_stacks && metadata.has_times
        );
        let types = replayed.rows(columns::TYPES);
        let rows: Vec<_> =
            types.iter().map(|row| (row.estimated_bytes, row.sampled_count, row.allocated_count)).collect();
        assert_eq!(rows, [(70_000, 1, ABSENT), (8_000, 2, ABSENT)]);
        let strings = replayed.strings(columns::STRINGS);
        let functions: Vec<_> = replayed
            .rows(columns::FUNCTIONS)
            .iter()
            .map(|row| (strings.text(row.name as usize).into_owned(), row.inclusive_bytes, row.exclusive_bytes))
            .collect();
        assert_eq!(functions, [("app.Row.run".to_owned(), 78_000, 70_000), ("app.Row.make".to_owned(), 8_000, 8_000)]);
        let (collections, details) = (replayed.rows(columns::COLLECTIONS), replayed.rows(columns::COLLECTION_DETAILS));
        assert_eq!((collections.len(), collections[0].gc, collections[0].condemned), (1, 1, 1));
        // Ticks are nanoseconds here; the chunk begins at tick 500.
        assert_eq!(collections[0].started_at_us, 1_700_000_000_000_001);
        assert_eq!(
            (text_at(&replayed, details[0].collector), text_at(&replayed, details[0].cause)),
            ("G1New".to_owned(), "System.gc()".to_owned())
        );
        assert_eq!(
            (details[0].heap_used_before, details[0].heap_used_after, details[0].heap_committed),
            (900_000, 300_000, 2 << 20)
        );
        assert_eq!(replayed.rows(columns::OBJECT_COUNTS)[0].bytes, 288);
        let old = replayed.rows(columns::OLD_OBJECTS);
        let path = "Class Loader > app.Row.ALL > ... > app.Row[n] > app.Row";
        assert_eq!((old.len(), text_at(&replayed, old[0].path), old[0].chain_cut), (1, path.to_owned(), 0));
        assert_eq!(
            (text_at(&replayed, old[0].thread), text_at(&replayed, old[0].stack)),
            ("main".to_owned(), "app.Row.run;app.Row.make".to_owned())
        );
        let chain = replayed.rows(columns::OLD_OBJECT_CHAINS);
        let steps: Vec<_> =
            chain.iter().map(|row| (row.step, row.address, row.array_index, row.is_static, row.skipped)).collect();
        assert_eq!(steps, [(0, 4096, ABSENT, u32::MAX, 0), (1, 8192, 3, u32::MAX, 0), (2, 16384, ABSENT, 1, 4)]);
        assert_eq!((metadata.held.len(), metadata.held[0].path.as_str(), metadata.held[0].count), (1, path, 1));
    }
}

/// A chunk that does not fit the budget lies in scratch; nothing else is different.
#[test]
fn large_chunks_are_read_from_scratch() {
    let trace = fixture("jfr/jdk25-parallel-tlab.jfr.zst");
    let small = replay_with(&trace, EXACT, 24 << 20, 1 << 16).unwrap();
    let large = replay_with(&trace, EXACT, 1 << 30, 1 << 16).unwrap();
    assert!(trace.len() as u64 > (24 << 20) / 32, "it is read from memory: {}", trace.len());
    assert_eq!(small.rows(columns::TYPES), large.rows(columns::TYPES));
    assert_eq!(small.rows(columns::CALLEES), large.rows(columns::CALLEES));
    assert_eq!(small.rows(columns::OLD_OBJECT_CHAINS), large.rows(columns::OLD_OBJECT_CHAINS));
    assert_eq!(small.metadata, large.metadata);
}

#[test]
fn truncated_anywhere() {
    let trace = fixture("jfr/jdk17-serial.jfr.zst");
    let joined = [&trace[..], &trace].concat();
    let whole = replay(&trace, EXACT).rows(columns::TYPES);
    for part in 1..100 {
        let cut = joined.len() * part / 100;
        match try_replay(&joined[..cut], EXACT) {
            Ok(replayed) => {
                assert!(cut >= trace.len(), "{cut}");
                assert_eq!(replayed.rows(columns::TYPES), whole, "{cut}");
                let named = replayed.metadata.left_out.unwrap_or_default();
                assert_eq!(named.contains(&format!("byte {}", trace.len())), cut > trace.len(), "{cut}: {named}");
                assert_eq!(replayed.metadata.anomalies.contains_key("traces_without_end"), cut > trace.len());
            }
            Err(StageError::Input(error)) => assert!(cut < trace.len() && error.offset == 0, "{cut}: {error}"),
            Err(error) => panic!("{cut}: {error}"),
        }
    }
    let small = recording();
    for cut in 4..small.len() {
        assert!(matches!(try_replay(&small[..cut], EXACT), Err(StageError::Input(_))), "{cut}");
    }
}

/// What goes on forever takes longer, on the busiest machine.
const PATIENCE: Duration = Duration::from_secs(100);

/// Bytes changed at random: an error or some answer, soon, within the budget.
#[test]
fn changed_anywhere() {
    let traces = [recording(), [recording(), recording()].concat(), fixture("jfr/jdk17-g1.jfr.zst")];
    let mut chance = Chance::new(5);
    for round in 0..900 {
        let mut trace = traces[if round % 20 == 0 { 2 } else { round % 2 }].clone();
        for _ in 0..1 + chance.below(4) {
            let at = 4 + chance.below(trace.len() as u64 - 4) as usize;
            trace[at] = match chance.below(3) {
                0 => chance.next() as u8,
                1 => 0xff,
                _ => trace[at] ^ (1 << chance.below(8)),
            };
        }
        let begin = Instant::now();
        match try_replay(&trace, EXACT) {
            Ok(_) | Err(StageError::Input(_) | StageError::Budget { .. }) => {}
            Err(error) => panic!("round {round}: {error}"),
        }
        assert!(begin.elapsed() < PATIENCE, "round {round}");
    }
}

fn refused(trace: &[u8]) -> String {
    match try_replay(trace, EXACT) {
        Err(StageError::Input(error)) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("taken"),
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let whole = recording();
    let with = |at: usize, bytes: &[u8]| {
        let mut trace = whole.clone();
        trace[at..at + bytes.len()].copy_from_slice(bytes);
        refused(&trace)
    };
    assert!(with(4, &[0, 3]).contains("version 3.1"));
    assert!(with(8, &u64::MAX.to_be_bytes()).contains("the size of a chunk"));
    assert!(with(8, &(u64::MAX >> 1).to_be_bytes()).contains("a whole chunk"));
    assert!(with(16, &67_u64.to_be_bytes()).contains("a place of constants"));
    assert!(with(24, &(whole.len() as u64).to_be_bytes()).contains("a place of metadata"));
    assert!(with(24, &69_u64.to_be_bytes()).contains("the place of metadata"));
    assert!(with(56, &0_u64.to_be_bytes()).contains("ticks of a second"));
    assert!(with(68, &[0]).contains("the size of an event"));
    assert!(with(68, &[0xff; 9]).contains("the size of an event"));
    assert!(with(68, &[3]).contains("of an event"));
    let events = [events(), vec![event(104, &numbers(&[1]))]].concat();
    assert!(refused(&chunk(&events, &constants(&pools()), &metadata(CLASSES))).contains("the fields of an event"));
    let unknown = constants(&[(77, vec![(1, vec![0])])]);
    assert!(refused(&chunk(&[], &unknown, &metadata(CLASSES))).contains("class 77"));
}

/// Classes inside themselves, without fields, lists of nothing: each would take forever.
#[test]
fn hostile_descriptions_end() {
    const CYCLE: &[Class] = &[(10, "long", ""), (1000, "A", "b:B"), (1001, "B", "a:[A]")];
    const EMPTY: &[Class] = &[(1000, "A", "b:[B]"), (1001, "B", "")];
    const WIDE: &[Class] = &[(1000, "A", "a:B b:B c:B"), (1001, "B", "a:C b:C c:C"), (1002, "C", "a:A b:A c:A")];
    for (classes, count) in [(CYCLE, 100), (EMPTY, 100), (WIDE, 100), (CYCLE, 1 << 20), (EMPTY, 1 << 20)] {
        let pool = constants(&[(1000, vec![(1, [numbers(&[count]), vec![1; 100_000]].concat())])]);
        let begin = Instant::now();
        assert!(refused(&chunk(&[], &pool, &metadata(classes))).contains("a constant"));
        assert!(begin.elapsed() < PATIENCE);
    }
    // An element in an element, a thousand deep; and a number of children beyond all bytes.
    let mut tree = numbers(&[0, 0, 1, 1]);
    tree.extend(text("x"));
    let deep = [tree.clone(), numbers(&[0, 0, 1].repeat(1000))].concat();
    let many = [tree, numbers(&[0, 0, u64::from(u32::MAX >> 1)])].concat();
    for payload in [deep, many] {
        assert!(refused(&chunk(&[], &constants(&[]), &event(0, &payload))).contains("the metadata"));
    }
}

/// An object that holds itself, and one that a thousand others hold.
#[test]
fn chains_that_go_on_are_cut() {
    let mut pools = pools();
    let reference = pools.iter().position(|(class, _)| *class == 31).unwrap();
    pools[reference].1[1] = (2, numbers(&[0, 1, 1, 0]));
    let replayed = replay(&chunk(&events(), &constants(&pools), &metadata(CLASSES)), EXACT);
    assert_eq!(replayed.metadata.anomalies["chains_that_go_on"], 1);
    let old = replayed.rows(columns::OLD_OBJECTS);
    assert_eq!((old[0].chain_cut, old[0].chain_length), (1, 1));
    let object = |key: u64| (key, [numbers(&[key, 1]), vec![0], numbers(&[key])].concat());
    let hold = |key: u64| (key, numbers(&[0, 1, key + 1, 0]));
    pools.retain(|(class, _)| ![30, 31].contains(class));
    pools.push((30, (1..5000).map(object).collect()));
    pools.push((31, (1..5000).map(hold).collect()));
    let replayed = replay(&chunk(&events(), &constants(&pools), &metadata(CLASSES)), EXACT);
    assert_eq!(replayed.rows(columns::OLD_OBJECT_CHAINS).len(), 1000);
}

const LOSS: &[Class] = &[(11, "long", ""), (100, "jdk.DataLoss", "amount:long")];

/// What the constants lack is said, not invented.
#[test]
fn missing_constants_are_counted() {
    let replayed = replay(&chunk(&events(), &constants(&[]), &metadata(CLASSES)), EXACT);
    assert_eq!(replayed.metadata.anomalies["unknown_stacks"], 2);
    assert_eq!((replayed.metadata.estimated_bytes, replayed.metadata.stackless_count), (78_000, 3));
    let mut lost = Vec::new();
    number(&mut lost, 4096);
    let replayed = replay(&chunk(&[event(100, &lost)], &constants(&[]), &metadata(LOSS)), EXACT);
    assert_eq!(replayed.metadata.anomalies["bytes_of_lost_events"], 4096);
}

/// The seed of the fuzzer is this recording.
#[test]
fn the_seed_of_the_fuzzer_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/jfr/small.jfr");
    if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
        std::fs::write(&path, recording()).unwrap();
    }
    assert!(std::fs::read(&path).unwrap() == recording(), "renew it with HEAPLAKE_UPDATE=1");
}
