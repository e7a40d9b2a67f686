//! Walks of .NET heaps: real ones and thousands of small odd ones through the whole pipeline, against the naive oracle.

use super::check::check;
use heaplake::engine::admission::smallest_budget;
use heaplake::engine::request::Outcome;
use heaplake_oracle::dotnet::{Heap, Layout, random, read, truth};
use heaplake_oracle::rng::SplitMix64;
use heaplake_schemas::options::AnalysisOptions;
use heaplake_support::cases::cases;
use heaplake_support::compress::{gzip, zstd};
use heaplake_support::fixtures;
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::{Lake, diagnostic, fast_folder, heaplake, said};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::fs;
use std::path::Path;

/// A trace fixture, decompressed.
fn fixture(name: &str) -> Vec<u8> {
    fixtures::content(&format!("dotnet/{name}.nettrace"))
}

/// Analyses a file in this process, edges included.
pub(crate) fn analyzed(
    folder: &Path,
    bytes: &[u8],
    walk: Option<u32>,
    threads: usize,
    memory: u64,
) -> Result<Outcome, String> {
    let input = folder.join("input");
    fs::write(&input, bytes).unwrap();
    let options = AnalysisOptions { walk, ..Analysis::default().options };
    let analysis = Analysis { options, memory, threads };
    analyze(&folder.join("lake"), &input, analysis).map_err(|failure| failure.to_string())
}

/// The tables that depend on nothing but input and options.
pub(crate) fn bytes(run: &Path) -> Vec<Vec<u8>> {
    ["nodes", "edges", "classes", "chains", "findings"]
        .map(|table| fs::read(run.join(format!("{table}.parquet"))).unwrap())
        .to_vec()
}

fn layout(seed: u64) -> Layout {
    let rng = &mut SplitMix64::new(seed);
    Layout {
        seed,
        wide: !rng.one_in(4),
        entries: 1 + rng.below(12),
        events: 1 + rng.below(6),
        compressed: !rng.one_in(3),
        other_thread: rng.one_in(2),
        lost: None,
    }
}

#[test]
fn tables_equal_the_oracle() {
    for seed in 0..u64::from(cases(500)) {
        let folder = fast_folder();
        let heap = random::heap(seed, 24);
        let layout = layout(seed);
        let walk = seed as usize % heap.walks.len();
        // The last walk is the default.
        let wanted = (walk + 1 < heap.walks.len()).then_some(walk as u32 + 1);
        let outcome = analyzed(folder.path(), &heap.to_nettrace(&layout), wanted, 2, 96 << 20);
        let outcome = outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        check(&truth(&heap, walk), &outcome.place);
        assert_eq!(outcome.run.summary.format, "dotnet-nettrace");
    }
}

#[test]
fn neither_threads_nor_budget_change_a_byte() {
    for seed in 0..u64::from(cases(100)) {
        let folder = fast_folder();
        let file = random::heap(seed, 40).to_nettrace(&layout(seed));
        let run = |threads, memory| bytes(&analyzed(folder.path(), &file, None, threads, memory).unwrap().place);
        let expected = run(1, 256 << 20);
        assert!(run(3, smallest_budget()) == expected, "seed {seed}");
    }
}

/// Object for object; the oracle's own reader reads each trace a second time.
#[test]
fn real_walks_equal_the_oracle() {
    for (name, objects, shallow) in [("heap8_2", 7362, 889_418), ("both", 232, 61_112)] {
        let folder = fast_folder();
        let file = fixture(name);
        let heap = read::read(&file);
        assert_eq!(heap.walks.len(), 1);
        for packed in [gzip(&file), zstd(&file)] {
            let outcome = analyzed(folder.path(), &packed, None, 2, 96 << 20).unwrap();
            check(&truth(&heap, 0), &outcome.place);
            let summary = outcome.run.summary;
            assert_eq!((summary.node_count - 1, summary.shallow_bytes), (objects, shallow));
        }
    }
}

/// The types of `heap8_2`, counted by hand in the log of the same program.
#[test]
fn types_of_a_real_walk() {
    let lake = Lake::new();
    lake.analyze(fixtures::path("dotnet/heap8_2.nettrace.zst")).assert().success();
    let classes = Table::read(&lake.run(), "classes.parquet");
    let (names, counts, bytes) = (classes.texts("class"), classes.u64s("count"), classes.u64s("shallow_bytes"));
    let found = |name: &str| {
        let row = names.iter().position(|class| class.as_deref() == Some(name)).unwrap_or_else(|| panic!("{name}"));
        (counts[row].unwrap(), bytes[row].unwrap())
    };
    assert_eq!(found("Node"), (2174, 86_960));
    assert_eq!(found("Order"), (500, 20_000));
    assert_eq!(found("System.String"), (2033, 92_736));
    assert_eq!(found("System.Byte[]"), (507, 436_518));
    assert_eq!(found("System.Collections.Generic.Dictionary`2[System.Int32,Order]"), (1, 80));
    let snapshot = Table::read(&lake.run(), "snapshot.parquet");
    assert_eq!(snapshot.texts("format")[0].as_deref(), Some("dotnet-nettrace"));
    assert_eq!(snapshot.u64s("reachable_count"), [Some(7363)]);
    assert!(!lake.run().join("duplicate_sets.parquet").exists(), "a walk has no values");
}

/// A trace is replayed and its walk analysed into one lake; a repetition does nothing.
#[test]
fn runs_of_one_trace_stand_beside_each_other() {
    let lake = Lake::new();
    let trace = fixtures::path("dotnet/both.nettrace.zst");
    for _ in 0..2 {
        lake.analyze(&trace).assert().success();
        replay(&lake, &trace).assert().success();
        lake.analyze(&trace).args(["--walk", "1"]).assert().success();
    }
    let names: Vec<String> =
        lake.runs().iter().map(|run| run.file_name().unwrap().to_string_lossy().into_owned()).collect();
    let [replayed, walked, first] = &names[..] else { panic!("{names:?}") };
    assert_eq!((walked, first), (&format!("{replayed}-walk"), &format!("{replayed}-walk1")));
    assert!(lake.leftovers().iter().all(|path| path.is_dir() && path.file_name().unwrap() == "release=none"));
}

#[test]
fn walks_that_are_not_there_are_named() {
    let lake = Lake::new();
    let trace = fixtures::path("dotnet/both.nettrace.zst");
    let (cause, advice) = diagnostic(lake.analyze(&trace).args(["--walk", "2"]), 1);
    assert!(cause.contains("walk 2") && cause.contains("found 1 in the trace"), "{cause}");
    assert!(advice.contains("--walk"), "{advice}");
    let (cause, advice) = diagnostic(&mut lake.analyze(fixtures::path("dotnet/net8_sampled.nettrace.zst")), 1);
    assert!(cause.contains("expected a walk of the heap in the trace, found none"), "{cause}");
    assert!(advice.contains("GCHeapDump"), "{advice}");
    lake.analyze(&trace).args(["--walk", "0"]).assert().code(2);
    let six = [&b"Nettrace"[..], &0_u32.to_le_bytes(), &6_u32.to_le_bytes(), &0_u32.to_le_bytes()].concat();
    let (cause, _) = diagnostic(&mut lake.analyze(lake.input("six.nettrace", &six)), 1);
    assert!(cause.contains("version 6.0"), "{cause}");
}

/// The plan knows the numbers of the largest walk.
#[test]
fn plans() {
    let text = said(heaplake().arg("plan").arg(fixtures::path("dotnet/heap8_2.nettrace.zst")));
    assert!(text.contains("7,363 nodes") && text.contains("join walk"), "{text}");
}

fn big_heap() -> Heap {
    (0..).map(|seed| random::heap(seed, 40)).find(|heap| heap.walks[0].objects.len() > 30).unwrap()
}

/// A lost event makes the events after it meaningless, so the walk is refused.
#[test]
fn lost_events_are_noticed() {
    let heap = Heap { walks: big_heap().walks[..1].to_vec(), ..big_heap() };
    let folder = fast_folder();
    let (mut noticed, mut lost) = (0, 0);
    while lost < 40 {
        let layout = Layout { entries: 2, lost: Some(lost), ..Layout::default() };
        match analyzed(folder.path(), &heap.to_nettrace(&layout), None, 1, 96 << 20) {
            Err(error) => {
                noticed += 1;
                assert!(error.contains("the recorder lost events") || error.contains("references"), "{error}");
            }
            // The loss of the last event of roots or handles cannot be noticed.
            Ok(outcome) => assert_eq!(outcome.run.summary.node_count, heap.walks[0].objects.len() as u64 + 1),
        }
        lost += 1;
    }
    assert!(noticed >= 36, "{noticed} of {lost}");
}

/// Cut anywhere: an error that names the position.
#[test]
fn truncated_anywhere() {
    let folder = fast_folder();
    for trace in [big_heap().to_nettrace(&Layout { entries: 5, ..Layout::default() }), fixture("both")] {
        let step = (trace.len() / 60).max(1);
        for cut in (8..trace.len()).step_by(step).chain(trace.len() - 20..trace.len()) {
            let error = analyzed(folder.path(), &trace[..cut], None, 1, 96 << 20).expect_err("cut");
            assert!(error.contains("byte ") && error.contains("expected"), "{cut}: {error}");
        }
    }
}

/// Random byte changes: an error or a consistent walk, never a panic.
#[test]
fn changed_anywhere() {
    let folder = fast_folder();
    let traces = [big_heap().to_nettrace(&Layout::default()), big_heap().to_nettrace(&layout(3))];
    let mut rng = SplitMix64::new(5);
    let (mut taken, rounds) = (0, cases(300));
    for round in 0..rounds {
        let mut trace = traces[round as usize % 2].clone();
        for _ in 0..1 + rng.below(3) {
            let at = 8 + rng.below(trace.len() - 8);
            trace[at] = if rng.one_in(2) { rng.next_u64() as u8 } else { trace[at] ^ (1 << rng.below(8)) };
        }
        if let Ok(outcome) = analyzed(folder.path(), &trace, None, 1, 96 << 20) {
            taken += 1;
            let nodes = Table::read(&outcome.place, "nodes.parquet");
            let all: u64 = nodes.u64s("shallow_bytes").into_iter().flatten().fold(0, u64::wrapping_add);
            assert_eq!(all, outcome.run.summary.shallow_bytes, "round {round}");
        }
    }
    assert!(taken > rounds / 20, "{taken}");
}

/// Two objects at one address, overflowing sizes, and exaggerated counts.
#[test]
fn lies_are_named() {
    let folder = fast_folder();
    let heap = big_heap();
    let refused = |change: &dyn Fn(&mut Heap)| {
        let mut heap = heap.clone();
        heap.walks.truncate(1);
        change(&mut heap);
        analyzed(folder.path(), &heap.to_nettrace(&Layout::default()), None, 1, 96 << 20).expect_err("a lie")
    };
    let twice = refused(&|heap| heap.walks[0].objects[5].address = heap.walks[0].objects[9].address);
    assert!(twice.contains("expected every object once, found another one at 0x"), "{twice}");
    let huge = refused(&|heap| heap.walks[0].objects.iter_mut().for_each(|object| object.size = u64::MAX / 2));
    assert!(huge.contains("larger than 2^64"), "{huge}");
}
