//! Walks of .NET heaps: real ones and thousands of small odd ones through the whole pipeline, against the naive oracle.

#![allow(clippy::unwrap_used)] // helpers of tests may fail loudly

#[path = "support/dotnet.rs"]
mod dotnet;
mod support;

use heaplake::analyze::{Outcome, Request, analyze};
use heaplake::progress::Mode;
use heaplake_ingest::source::Input;
use heaplake_oracle::dotnet::{Heap, Layout, gcdump, random, read, truth};
use heaplake_oracle::rng::SplitMix64;
use heaplake_schemas::run::{Options, Tables};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use support::{Lake, Table, complaint, gzip, heaplake};

/// A committed trace, decompressed.
fn fixture(name: &str) -> Vec<u8> {
    zstd::decode_all(fs::File::open(support::replay::dotnet(&format!("{name}.nettrace.zst"))).unwrap()).unwrap()
}

/// Analyses a file in this process, edges and all.
fn analysed(folder: &Path, bytes: &[u8], walk: Option<u32>, threads: usize, memory: u64) -> Result<Outcome, String> {
    let input = folder.join("input");
    fs::write(&input, bytes).unwrap();
    let request = Request {
        input: Input::File(input),
        lake: folder.join("lake"),
        release: "none".to_owned(),
        snapshot: Some("it".to_owned()),
        options: Options { tables: Tables::all(), big: support::all_classes(), walk, ..Options::default() },
        memory,
        threads,
        scratch: None,
        force: true,
    };
    analyze(&request, Mode::Quiet, &AtomicBool::new(false)).map_err(|failure| failure.to_string())
}

/// The tables that must not depend on anything but input and options.
fn bytes(run: &Path) -> Vec<Vec<u8>> {
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

fn cases(default: u64) -> u64 {
    std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default)
}

#[test]
fn tables_equal_the_oracle() {
    for seed in 0..cases(500) {
        let folder = support::fast_folder();
        let heap = random::heap(seed, 24);
        let layout = layout(seed);
        let walk = seed as usize % heap.walks.len();
        // The last one is what is taken where nothing else is said.
        let wanted = (walk + 1 < heap.walks.len()).then_some(walk as u32 + 1);
        let outcome = analysed(folder.path(), &heap.to_nettrace(&layout), wanted, 2, 96 << 20);
        let outcome = outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        dotnet::check(&truth(&heap, walk), &outcome.place);
        assert_eq!(outcome.run.summary.format, "dotnet-nettrace");
    }
}

#[test]
fn neither_threads_nor_budget_change_a_byte() {
    for seed in 0..cases(100) {
        let folder = support::fast_folder();
        let file = random::heap(seed, 40).to_nettrace(&layout(seed));
        let run = |threads, memory| bytes(&analysed(folder.path(), &file, None, threads, memory).unwrap().place);
        let expected = run(1, 256 << 20);
        assert!(run(3, heaplake::plan::smallest_budget()) == expected, "seed {seed}");
    }
}

/// Real walks, object for object; each trace read a second time by a decoder of its own.
#[test]
fn real_walks_equal_the_oracle() {
    for (name, objects, shallow) in [("heap8_2", 7362, 889_418), ("both", 232, 61_112)] {
        let folder = support::fast_folder();
        let file = fixture(name);
        let heap = read::read(&file);
        assert_eq!(heap.walks.len(), 1);
        let outcome = analysed(folder.path(), &gzip(&file), None, 2, 96 << 20).unwrap();
        dotnet::check(&truth(&heap, 0), &outcome.place);
        let summary = outcome.run.summary;
        assert_eq!((summary.node_count - 1, summary.shallow_bytes), (objects, shallow));
    }
}

/// What the program of `heap8_2` made, by hand: see the types of the log of the same program.
#[test]
fn types_of_a_real_walk() {
    let lake = Lake::new();
    lake.analyze(support::replay::dotnet("heap8_2.nettrace.zst")).assert().success();
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

/// A trace is replayed and its walk analysed into one lake; again is a no-op.
#[test]
fn runs_of_one_trace_stand_beside_each_other() {
    let lake = Lake::new();
    let trace = support::replay::dotnet("both.nettrace.zst");
    for _ in 0..2 {
        lake.analyze(&trace).assert().success();
        support::replay::replay(&lake, &trace).assert().success();
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
    let trace = support::replay::dotnet("both.nettrace.zst");
    let (cause, advice) = complaint(lake.analyze(&trace).args(["--walk", "2"]), 1);
    assert!(cause.contains("walk 2") && cause.contains("found 1 in the trace"), "{cause}");
    assert!(advice.contains("--walk"), "{advice}");
    let (cause, advice) = complaint(&mut lake.analyze(support::replay::dotnet("net8_sampled.nettrace.zst")), 1);
    assert!(cause.contains("expected a walk of the heap in the trace, found none"), "{cause}");
    assert!(advice.contains("GCHeapDump"), "{advice}");
    lake.analyze(&trace).args(["--walk", "0"]).assert().code(2);
    let six = [&b"Nettrace"[..], &0_u32.to_le_bytes(), &6_u32.to_le_bytes(), &0_u32.to_le_bytes()].concat();
    let (cause, _) = complaint(&mut lake.analyze(lake.input("six.nettrace", &six)), 1);
    assert!(cause.contains("version 6.0"), "{cause}");
}

/// The plan knows the numbers of the largest walk.
#[test]
fn plans() {
    let output = heaplake().arg("plan").arg(support::replay::dotnet("heap8_2.nettrace.zst")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("7,363 nodes") && text.contains("join walk"), "{text}");
}

fn big_heap() -> Heap {
    (0..).map(|seed| random::heap(seed, 40)).find(|heap| heap.walks[0].objects.len() > 30).unwrap()
}

/// An event that the recorder lost makes what follows it meaningless.
#[test]
fn lost_events_are_noticed() {
    let heap = Heap { walks: big_heap().walks[..1].to_vec(), ..big_heap() };
    let folder = support::fast_folder();
    let (mut noticed, mut lost) = (0, 0);
    while lost < 40 {
        let layout = Layout { entries: 2, lost: Some(lost), ..Layout::default() };
        match analysed(folder.path(), &heap.to_nettrace(&layout), None, 1, 96 << 20) {
            Err(error) => {
                noticed += 1;
                assert!(error.contains("the recorder lost events") || error.contains("references"), "{error}");
            }
            // The last event of roots or handles is missed by none.
            Ok(outcome) => assert_eq!(outcome.run.summary.node_count, heap.walks[0].objects.len() as u64 + 1),
        }
        lost += 1;
    }
    assert!(noticed >= 36, "{noticed} of {lost}");
}

/// Cut anywhere: an error that names the place.
#[test]
fn truncated_anywhere() {
    let folder = support::fast_folder();
    for trace in [big_heap().to_nettrace(&Layout { entries: 5, ..Layout::default() }), fixture("both")] {
        let step = (trace.len() / 60).max(1);
        for cut in (8..trace.len()).step_by(step).chain(trace.len() - 20..trace.len()) {
            let error = analysed(folder.path(), &trace[..cut], None, 1, 96 << 20).expect_err("cut");
            assert!(error.contains("byte ") && error.contains("expected"), "{cut}: {error}");
        }
    }
}

/// Bytes changed at random: an error, or a walk that still adds up; never a panic.
#[test]
fn changed_anywhere() {
    let folder = support::fast_folder();
    let traces = [big_heap().to_nettrace(&Layout::default()), big_heap().to_nettrace(&layout(3))];
    let mut rng = SplitMix64::new(5);
    let (mut taken, rounds) = (0, cases(300));
    for round in 0..rounds {
        let mut trace = traces[round as usize % 2].clone();
        for _ in 0..1 + rng.below(3) {
            let at = 8 + rng.below(trace.len() - 8);
            trace[at] = if rng.one_in(2) { rng.next_u64() as u8 } else { trace[at] ^ (1 << rng.below(8)) };
        }
        if let Ok(outcome) = analysed(folder.path(), &trace, None, 1, 96 << 20) {
            taken += 1;
            let nodes = Table::read(&outcome.place, "nodes.parquet");
            let all: u64 = nodes.u64s("shallow_bytes").into_iter().flatten().fold(0, u64::wrapping_add);
            assert_eq!(all, outcome.run.summary.shallow_bytes, "round {round}");
        }
    }
    assert!(taken > rounds / 20, "{taken}");
}

/// Two objects at one address, sizes beyond all sums, and counts that promise too much.
#[test]
fn lies_are_named() {
    let folder = support::fast_folder();
    let heap = big_heap();
    let refused = |change: &dyn Fn(&mut Heap)| {
        let mut heap = heap.clone();
        heap.walks.truncate(1);
        change(&mut heap);
        analysed(folder.path(), &heap.to_nettrace(&Layout::default()), None, 1, 96 << 20).expect_err("a lie")
    };
    let twice = refused(&|heap| heap.walks[0].objects[5].address = heap.walks[0].objects[9].address);
    assert!(twice.contains("expected every object once, found another one at 0x"), "{twice}");
    let huge = refused(&|heap| heap.walks[0].objects.iter_mut().for_each(|object| object.size = u64::MAX / 2));
    assert!(huge.contains("larger than 2^64"), "{huge}");
}

#[test]
fn dumps_equal_the_oracle() {
    for seed in 0..cases(250) {
        let folder = support::fast_folder();
        let graph = gcdump::graph(seed, 30);
        let file = graph.to_gcdump(seed);
        let outcome = analysed(folder.path(), &file, None, 2, 96 << 20);
        let outcome = outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        dotnet::check_dump(&graph, &outcome.place);
        if seed % 20 == 0 {
            let expected = bytes(&outcome.place);
            let again = analysed(folder.path(), &file, None, 1, heaplake::plan::smallest_budget()).unwrap();
            assert!(bytes(&again.place) == expected, "seed {seed}");
        }
        assert_eq!(outcome.run.summary.format, "dotnet-gcdump");
    }
}

/// Cut anywhere up to the end of the graph, or changed: an error that names the place, or a graph that adds up.
#[test]
fn damaged_dumps() {
    let folder = support::fast_folder();
    let file = gcdump::graph(7, 30).to_gcdump(7);
    let graph = file.len() - 80;
    for cut in (24..graph).step_by(3) {
        let error = analysed(folder.path(), &file[..cut], None, 1, 96 << 20).expect_err("cut");
        assert!(error.contains("byte ") && error.contains("expected"), "{cut}: {error}");
    }
    let mut rng = SplitMix64::new(5);
    let (mut taken, rounds) = (0, cases(300));
    for _ in 0..rounds {
        let mut file = file.clone();
        let at = 24 + rng.below(file.len() - 24);
        file[at] = rng.next_u64() as u8;
        taken += u64::from(analysed(folder.path(), &file, None, 1, 96 << 20).is_ok());
    }
    assert!(taken > rounds / 20 && taken < rounds, "{taken}");
}

/// What of a dump is not read is refused by name.
#[test]
fn other_dumps_are_refused() {
    let lake = Lake::new();
    let file = gcdump::graph(7, 30).to_gcdump(7);
    let refused = |at: usize, byte: u8| {
        let mut file = file.clone();
        file[at] = byte;
        complaint(&mut lake.analyze(lake.input("other.gcdump", &file)), 1).0
    };
    // The version of the dump, the reader that the graph asks for.
    assert!(refused(27, 8).contains("found version 8"));
    assert!(refused(24 + 26 + 7, 1).contains("with names in other files"));
    assert!(refused(24 + 15, b'X').contains("expected an object of type GCHeapDump"));
    lake.assert_empty();
}
