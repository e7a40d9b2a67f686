//! `heaplake replay` and `heaplake track` from the command line.

use super::answer::exactly;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, heaplake, read_json};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

const LOG: &str = "dotnet/both.log.zst";

fn table_bytes(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|extension| extension != "json"));
    tables.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())).collect()
}

#[test]
fn tables_are_the_same_bytes_with_any_threads_and_memory() {
    let (one, other) = (Lake::new(), Lake::new());
    let all = ["--tracks", "--pprof", "--collapsed"];
    replay(&one, fixtures::path(LOG)).args(all).args(["--threads", "1", "--memory", "64MiB"]).assert().success();
    replay(&other, fixtures::path(LOG)).args(all).args(["--threads", "4", "--memory", "1GiB"]).assert().success();
    let (a, b) = (table_bytes(&one.run()), table_bytes(&other.run()));
    assert_eq!(a.len(), 17);
    assert!(a == b, "{:?}", a.keys().filter(|name| a[*name] != b[*name]).collect::<Vec<_>>());
}

#[test]
fn tables_are_those_that_were_chosen() {
    let (chosen, tracked) = (Lake::new(), Lake::new());
    let list = ["--tables", "collections,allocation_types"];
    replay(&chosen, fixtures::path(LOG)).args(list).assert().success();
    let names = |lake: &Lake| table_bytes(&lake.run()).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&chosen), ["allocation_types.parquet", "collections.parquet"]);
    replay(&tracked, fixtures::path(LOG)).args(["--tables", "moved_ranges", "--tracks"]).assert().success();
    let tracks = [
        "collection_roots",
        "generation_bounds",
        "moved_ranges",
        "object_generations",
        "object_tracks",
        "walk_objects",
    ];
    assert_eq!(names(&tracked), tracks.map(|name| format!("{name}.parquet")));
    replay(&chosen, fixtures::path(LOG)).args(["--tables", "nodes"]).assert().code(2);
    // Options for snapshots do not appear in it.
    let run: serde_json::Value = read_json(chosen.run().join("run.json"));
    let keys: Vec<&String> = run["options"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["labels", "replay"]);
    assert_eq!(run["options"]["replay"]["tables"], serde_json::json!(["allocation_types", "collections"]));
}

#[test]
fn a_run_that_stands_is_left_alone() {
    let lake = Lake::new();
    let trace = fixtures::path(LOG);
    replay(&lake, &trace).assert().success();
    let before = fs::metadata(lake.run().join("run.json")).unwrap().modified().unwrap();
    let mut again = heaplake();
    let again = again.arg("replay").arg(&trace).arg("--out").arg(lake.path()).arg("--json").output().unwrap();
    assert!(String::from_utf8(again.stdout).unwrap().contains(r#""status": "unchanged""#));
    assert_eq!(fs::metadata(lake.run().join("run.json")).unwrap().modified().unwrap(), before);
    let (cause, _) = diagnostic(replay(&lake, &trace).args(["--sample-interval", "3"]), 1);
    assert!(cause.contains("differs in the options of replay"), "{cause}");
    replay(&lake, &trace).args(["--sample-interval", "3", "--force"]).assert().success();
    let shown = heaplake().arg("show").arg(lake.run()).output().unwrap();
    assert!(String::from_utf8(shown.stdout).unwrap().contains("145,306  allocations, each in the trace"));
}

#[test]
fn counts_are_exact_at_any_interval_and_estimates_near() {
    let (one, ten) = (Lake::new(), Lake::new());
    let exact = exactly(&one, fixtures::path(LOG));
    replay(&ten, fixtures::path(LOG)).assert().success();
    let by_type = |run: &Path, column: &str| -> BTreeMap<u32, Option<u64>> {
        let table = Table::read(run, "allocation_types.parquet");
        table.u32s("type_id").into_iter().map(Option::unwrap).zip(table.u64s(column)).collect()
    };
    let run = ten.run();
    for column in ["allocated_count", "exact_bytes", "live_count", "live_bytes"] {
        assert_eq!(by_type(&exact, column), by_type(&run, column), "{column}");
    }
    assert_eq!(by_type(&exact, "estimated_bytes"), by_type(&exact, "exact_bytes"));
    assert_eq!(by_type(&exact, "estimated_low_bytes"), by_type(&exact, "estimated_high_bytes"));
    let (estimates, truth) = (by_type(&run, "estimated_bytes"), by_type(&exact, "exact_bytes"));
    let (estimate, all): (u64, u64) = (estimates.values().flatten().sum(), truth.values().flatten().sum());
    assert!(estimate.abs_diff(all) < all / 10, "{estimate} {all}");
    // Functions and call trees agree.
    let sum =
        |run: &Path, file: &str, column: &str| -> u64 { Table::read(run, file).u64s(column).iter().flatten().sum() };
    let samples = sum(&run, "allocation_functions.parquet", "exclusive_samples");
    assert_eq!(samples, sum(&run, "allocation_callees.parquet", "exclusive_samples"));
    let bytes = sum(&run, "allocation_functions.parquet", "exclusive_bytes");
    assert_eq!(bytes, sum(&run, "allocation_callees.parquet", "exclusive_bytes"));
    assert_eq!(Table::read(&exact, "object_lifetimes.parquet").0, Table::read(&run, "object_lifetimes.parquet").0);
}

/// If the Nth object is the first sampled, small types have no sample; otherwise each type has one.
#[test]
fn the_rule_of_the_document_is_an_option() {
    for (start, all_sampled) in [("nth", false), ("random", true)] {
        let lake = Lake::new();
        replay(&lake, fixtures::path(LOG)).args(["--sample-start", start]).assert().success();
        let types = Table::read(&lake.run(), "allocation_types.parquet");
        let (samples, counts) = (types.u64s("sampled_count"), types.u64s("allocated_count"));
        assert_eq!(samples.iter().all(|&count| count > Some(0)), all_sampled);
        assert!(all_sampled || samples.iter().zip(&counts).all(|(&taken, &of)| taken == Some(0) || of >= Some(10)));
        for column in ["estimated_bytes", "estimated_low_bytes", "estimated_high_bytes"] {
            assert!(types.u64s(column).iter().all(Option::is_some), "{column} with {start}");
        }
    }
}

#[test]
fn creation_alone_says_nothing_of_deaths() {
    let lake = Lake::new();
    replay(&lake, fixtures::path(LOG)).args(["--sample-mode", "creation"]).assert().success();
    let run = lake.run();
    assert!(!run.join("object_lifetimes.parquet").exists() && !run.join("lifetime_sites.parquet").exists());
    assert!(Table::read(&run, "allocation_types.parquet").u64s("live_count").iter().all(Option::is_none));
    assert!(Table::read(&run, "collections.parquet").u64s("dead_objects").iter().all(Option::is_none));
}

/// Objects are found by their address after any garbage collection.
#[test]
fn objects_are_found_by_address_and_time() {
    let lake = Lake::new();
    replay(&lake, fixtures::path(LOG)).args(["--tracks", "--sample-interval", "1"]).assert().success();
    let run = lake.run();
    let tracks = Table::read(&run, "object_tracks.parquet");
    let (first, last) = (tracks.u64s("first_address"), tracks.u64s("last_address"));
    let (born, died, moves) = (tracks.u32s("allocated_at_gc"), tracks.u32s("died_at_gc"), tracks.u64s("moves"));
    assert_eq!(tracks.rows(), 145_306);
    let find = |address: u64, gc: u32| -> serde_json::Value {
        let output = heaplake().arg("track").arg(&run).arg(format!("{address:x}@{gc}")).arg("--json").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let moved: Vec<usize> = (0..tracks.rows()).filter(|&row| moves[row] >= Some(2)).step_by(997).collect();
    assert!(moved.len() >= 3, "{}", moved.len());
    for row in moved {
        // At its birth, and at its end.
        for (address, gc) in [(first[row], born[row]), (last[row], died[row].map(|gc| gc - 1).or(Some(17)))] {
            let found = find(address.unwrap() + 8, gc.unwrap());
            assert_eq!(found["object"], row, "{found}");
            assert_eq!(found["first_address"].as_u64(), first[row]);
            assert_eq!(found["last_address"].as_u64(), last[row]);
            assert_eq!(found["moves"], moves[row].unwrap());
        }
    }
    let nowhere = heaplake().arg("track").arg(&run).arg("10@3").output().unwrap();
    assert_eq!(nowhere.status.code(), Some(1));
    diagnostic(heaplake().arg("track").arg(&run).arg("10@99"), 2);
    diagnostic(heaplake().arg("track").arg(&run).arg("10@1.5s"), 2);
}

/// Walks of one process are joined by object although addresses change; types and sizes are those of the walks.
#[test]
fn walks_are_joined_by_object() {
    let lake = Lake::new();
    let trace = fixtures::path("dotnet/net8_exact.log.zst");
    replay(&lake, &trace).args(["--tracks", "--tables", "allocation_types"]).assert().success();
    let run = lake.run();
    let types = Table::read(&run, "allocation_types.parquet");
    let names: BTreeMap<u32, String> =
        types.u32s("type_id").into_iter().flatten().zip(types.texts("type").into_iter().flatten()).collect();
    let table = Table::read(&run, "walk_objects.parquet");
    let (gcs, addresses) = (table.u32s("gc"), table.u64s("address"));
    let (objects, type_ids, sizes) = (table.u32s("object"), table.u32s("type_id"), table.u64s("bytes"));
    let log = zstd::decode_all(fs::File::open(&trace).unwrap()).unwrap();
    let (mut gc, mut said) = (0, BTreeMap::new());
    let mut walked: BTreeMap<(u32, u64), String> = BTreeMap::new();
    for line in String::from_utf8_lossy(&log).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["T", id, ..] => drop(said.insert(id.to_owned(), line.splitn(3, ' ').nth(2).unwrap().to_owned())),
            ["G", number, ..] => gc = number.parse().unwrap(),
            ["O", address, id, ..] => {
                walked.insert((gc, u64::from_str_radix(address, 16).unwrap()), said[id].clone());
            }
            _ => {}
        }
    }
    assert_eq!(table.rows(), walked.len());
    let mut seen: BTreeMap<u32, Vec<(u32, u64, u64)>> = BTreeMap::new();
    for row in 0..table.rows() {
        let (gc, address, object) = (gcs[row].unwrap(), addresses[row].unwrap(), objects[row].unwrap());
        assert_eq!(names[&type_ids[row].unwrap()], walked[&(gc, address)], "{address:x}@{gc}");
        seen.entry(object).or_default().push((gc, address, sizes[row].unwrap()));
    }
    // Five walks. Many objects are in all of them; some moved in between, none changed its size.
    let all: Vec<_> = seen.values().filter(|walks| walks.len() == 5).collect();
    let moved = all.iter().filter(|walks| walks.iter().any(|walk| walk.1 != walks[0].1)).count();
    assert_eq!((seen.len(), all.len(), moved), (10_556, 3652, 306));
    assert!(seen.values().all(|walks| walks.iter().all(|walk| walk.2 == walks[0].2)));
}

#[test]
fn what_is_no_trace_is_refused() {
    let lake = Lake::new();
    let (cause, _) = diagnostic(&mut replay(&lake, lake.input("x.nettrace", b"{}")), 1);
    assert!(cause.contains("not a trace of allocations"), "{cause}");
    let (cause, _) = diagnostic(&mut replay(&lake, lake.input("empty.nettrace", b"")), 1);
    assert!(cause.contains("not a trace of allocations"), "{cause}");
    lake.assert_empty();
    // A log cut within a line.
    let mut log = Vec::new();
    zstd::Decoder::new(fs::File::open(fixtures::path(LOG)).unwrap()).unwrap().read_to_end(&mut log).unwrap();
    let (cause, advice) = diagnostic(&mut replay(&lake, lake.input("cut.log", &log[..100_003])), 1);
    assert!(cause.contains("byte") && advice.contains("record or copy it again"), "{cause} {advice}");
    lake.assert_empty();
}

/// Logs that need much memory: for live objects, for types, for stacks.
fn large_logs() -> [(&'static str, u64, Vec<u8>); 3] {
    let log = |count: u64, lines: fn(u64) -> String| {
        let mut log = b"# clrprof 1\nT 0 X\n".to_vec();
        (1..=count).for_each(|at| log.extend_from_slice(lines(at).as_bytes()));
        log.extend_from_slice(b"# end\n");
        log
    };
    let objects = log(1_000_000, |at| format!("A 1 {:x} 0 24 0\n", 0x10_0000 + at * 24));
    let types = log(150_000, |at| format!("T {at} a.name.Of{at}\nA 1 {:x} {at} 24 0\n", 0x10_0000 + at * 24));
    let stacks = log(150_000, |at| format!("F {at} f{at}\nS {at} {at}\nA 1 {:x} 0 24 {at}\n", 0x10_0000 + at * 24));
    [("objects", 48, objects), ("types", 40, types), ("stacks", 40, stacks)]
}

/// A refusal names a sufficient budget.
#[test]
fn what_does_not_fit_the_budget_is_refused() {
    for (name, budget, log) in large_logs() {
        let lake = Lake::new();
        let trace = lake.input("big.log", &log);
        let (cause, advice) = diagnostic(replay(&lake, &trace).args(["--memory", &format!("{budget}MiB")]), 3);
        assert!(name != "objects" || cause.contains("the objects that are alive in the trace"), "{cause}");
        lake.assert_empty();
        let named = advice.strip_prefix("raise --memory to at least ").unwrap_or_else(|| panic!("{advice}"));
        let (number, unit) = named.split_at(named.len() - 3);
        assert!(unit == "MiB" && (budget + 1..1024).contains(&number.parse().unwrap()), "{name}: {named}");
        replay(&lake, &trace).args(["--memory", named]).assert().success();
    }
}
