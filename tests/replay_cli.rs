//! `heaplake replay` and `heaplake track` from the command line.

#![allow(clippy::unwrap_used)]

mod support;

use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use support::replay::{dotnet, exactly, replay};
use support::{Lake, Table, complaint, heaplake};

const LOG: &str = "both.log.zst";

fn table_bytes(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|extension| extension != "json"));
    tables.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())).collect()
}

#[test]
fn tables_are_the_same_bytes_with_any_threads_and_memory() {
    let (one, other) = (Lake::new(), Lake::new());
    let all = ["--tracks", "--pprof", "--collapsed"];
    replay(&one, dotnet(LOG)).args(all).args(["--threads", "1", "--memory", "64MiB"]).assert().success();
    replay(&other, dotnet(LOG)).args(all).args(["--threads", "4", "--memory", "1GiB"]).assert().success();
    let (a, b) = (table_bytes(&one.run()), table_bytes(&other.run()));
    assert_eq!(a.len(), 12);
    assert!(a == b, "{:?}", a.keys().filter(|name| a[*name] != b[*name]).collect::<Vec<_>>());
}

#[test]
fn tables_are_those_that_were_chosen() {
    let (chosen, tracked) = (Lake::new(), Lake::new());
    let list = ["--tables", "collections,allocation_types"];
    replay(&chosen, dotnet(LOG)).args(list).assert().success();
    let names = |lake: &Lake| table_bytes(&lake.run()).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&chosen), ["allocation_types.parquet", "collections.parquet"]);
    replay(&tracked, dotnet(LOG)).args(["--tables", "moved_ranges", "--tracks"]).assert().success();
    assert_eq!(names(&tracked), ["moved_ranges.parquet", "object_tracks.parquet"]);
    replay(&chosen, dotnet(LOG)).args(["--tables", "nodes"]).assert().code(2);
    // What is about snapshots has no place in it.
    let run: serde_json::Value = serde_json::from_slice(&fs::read(chosen.run().join("run.json")).unwrap()).unwrap();
    let keys: Vec<&String> = run["options"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["labels", "replay"]);
    assert_eq!(run["options"]["replay"]["tables"], serde_json::json!(["allocation_types", "collections"]));
}

#[test]
fn a_run_that_stands_is_left_alone() {
    let lake = Lake::new();
    let trace = dotnet(LOG);
    replay(&lake, &trace).assert().success();
    let before = fs::metadata(lake.run().join("run.json")).unwrap().modified().unwrap();
    let mut again = heaplake();
    let again = again.arg("replay").arg(&trace).arg("--out").arg(lake.path()).arg("--json").output().unwrap();
    assert!(String::from_utf8(again.stdout).unwrap().contains(r#""status": "unchanged""#));
    assert_eq!(fs::metadata(lake.run().join("run.json")).unwrap().modified().unwrap(), before);
    let (cause, _) = complaint(replay(&lake, &trace).args(["--sample-interval", "3"]), 1);
    assert!(cause.contains("differs in the options of replay"), "{cause}");
    replay(&lake, &trace).args(["--sample-interval", "3", "--force"]).assert().success();
    let shown = heaplake().arg("show").arg(lake.run()).output().unwrap();
    assert!(String::from_utf8(shown.stdout).unwrap().contains("145,306  allocations, each in the trace"));
}

#[test]
fn counts_are_exact_at_any_interval_and_estimates_near() {
    let (one, ten) = (Lake::new(), Lake::new());
    let exact = exactly(&one, dotnet(LOG));
    replay(&ten, dotnet(LOG)).assert().success();
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
    // What functions and call trees say is what types say, less what has no stack.
    let sum =
        |run: &Path, file: &str, column: &str| -> u64 { Table::read(run, file).u64s(column).iter().flatten().sum() };
    let samples = sum(&run, "allocation_functions.parquet", "exclusive_samples");
    assert_eq!(samples, sum(&run, "allocation_callees.parquet", "exclusive_samples"));
    let bytes = sum(&run, "allocation_functions.parquet", "exclusive_bytes");
    assert_eq!(bytes, sum(&run, "allocation_callees.parquet", "exclusive_bytes"));
    assert_eq!(Table::read(&exact, "object_lifetimes.parquet").0, Table::read(&run, "object_lifetimes.parquet").0);
}

#[test]
fn creation_alone_says_nothing_of_deaths() {
    let lake = Lake::new();
    replay(&lake, dotnet(LOG)).args(["--sample-mode", "creation"]).assert().success();
    let run = lake.run();
    assert!(!run.join("object_lifetimes.parquet").exists() && !run.join("lifetime_sites.parquet").exists());
    assert!(Table::read(&run, "allocation_types.parquet").u64s("live_count").iter().all(Option::is_none));
    assert!(Table::read(&run, "collections.parquet").u64s("dead_objects").iter().all(Option::is_none));
}

/// Objects are found again by where they were after any collection.
#[test]
fn objects_are_found_by_address_and_time() {
    let lake = Lake::new();
    replay(&lake, dotnet(LOG)).args(["--tracks", "--sample-interval", "1"]).assert().success();
    let run = lake.run();
    let tracks = Table::read(&run, "object_tracks.parquet");
    let (first, last) = (tracks.u64s("first_address"), tracks.u64s("last_address"));
    let (born, died, moves) = (tracks.u32s("allocated_at_gc"), tracks.u32s("died_at_gc"), tracks.u32s("moves"));
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
    complaint(heaplake().arg("track").arg(&run).arg("10@99"), 2);
    complaint(heaplake().arg("track").arg(&run).arg("10@1.5s"), 2);
}

#[test]
fn collapsed_stacks_add_up() {
    let lake = Lake::new();
    replay(&lake, dotnet(LOG)).args(["--collapsed", "--sample-interval", "1"]).assert().success();
    let run = lake.run();
    let text = fs::read_to_string(run.join("allocations.collapsed")).unwrap();
    let mut inclusive: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines() {
        let (stack, bytes) = line.rsplit_once(' ').unwrap();
        let mut names: Vec<&str> = stack.split(';').collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            *inclusive.entry(name).or_default() += bytes.parse::<u64>().unwrap();
        }
    }
    assert_eq!(inclusive["Program::Main"], 7_801_614);
    assert_eq!(inclusive["Order::.ctor"], 2_001_872);
}

/// A message's fields: number, and the number or bytes in it.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = varint(&mut bytes);
        let content = match key & 7 {
            0 => &[][..],
            2 => {
                let (content, rest) = bytes.split_at(value as usize);
                bytes = rest;
                content
            }
            kind => panic!("kind {kind}"),
        };
        fields.push((key >> 3, value, content));
    }
    fields
}

#[test]
fn profiles_add_up() {
    let lake = Lake::new();
    replay(&lake, dotnet(LOG)).args(["--pprof", "--sample-interval", "1"]).assert().success();
    let run = lake.run();
    let mut profile = Vec::new();
    GzDecoder::new(fs::File::open(run.join("allocations.pb.gz")).unwrap()).read_to_end(&mut profile).unwrap();
    let profile = fields(&profile);
    let strings: Vec<&str> = profile
        .iter()
        .filter(|(field, ..)| *field == 6)
        .map(|(_, _, text)| std::str::from_utf8(text).unwrap())
        .collect();
    assert_eq!(strings[0], "");
    let number = |message: &[u8], field: u64| {
        fields(message).iter().find(|(number, ..)| *number == field).map_or(0, |(_, value, _)| *value)
    };
    let of = |field: u64| profile.iter().filter(move |(number, ..)| *number == field).map(|(_, _, message)| *message);
    let functions: BTreeMap<u64, &str> =
        of(5).map(|message| (number(message, 1), strings[number(message, 2) as usize])).collect();
    let kinds: Vec<&str> = of(1).map(|message| strings[number(message, 1) as usize]).collect();
    assert_eq!(kinds, ["alloc_objects", "alloc_space"]);
    let (mut by_function, mut by_type) = (BTreeMap::new(), BTreeMap::new());
    for sample in of(2) {
        let parts = fields(sample);
        let packed = |field: u64| {
            let bytes = parts.iter().find(|(number, ..)| *number == field).unwrap().2;
            let (mut list, mut value, mut shift) = (Vec::new(), 0, 0);
            for byte in bytes {
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if *byte < 0x80 {
                    list.push(value);
                    (value, shift) = (0, 0);
                }
            }
            list
        };
        let (locations, values) = (packed(1), packed(2));
        *by_function.entry(functions[&locations[0]]).or_insert(0) += values[1];
        let label = parts.iter().find(|(number, ..)| *number == 3).unwrap().2;
        assert_eq!(strings[number(label, 1) as usize], "type");
        *by_type.entry(strings[number(label, 2) as usize]).or_insert(0) += values[0];
    }
    assert_eq!(by_function["Program::ShortLived"], 4_480_000);
    assert_eq!(by_function["Order::.ctor"], 1_145_232);
    assert_eq!(by_type["Order"], 12_000);
    assert_eq!(by_type["Node"], 4_587);
}

#[test]
fn what_is_no_trace_is_refused() {
    let lake = Lake::new();
    let (cause, _) = complaint(&mut replay(&lake, lake.input("x.nettrace", b"{}")), 1);
    assert!(cause.contains("expected a trace"), "{cause}");
    let (cause, _) = complaint(&mut replay(&lake, lake.input("empty.nettrace", b"")), 1);
    assert!(cause.contains("expected a trace"), "{cause}");
    lake.assert_empty();
    // A log that is cut within a line.
    let mut log = Vec::new();
    zstd::Decoder::new(fs::File::open(dotnet(LOG)).unwrap()).unwrap().read_to_end(&mut log).unwrap();
    let (cause, advice) = complaint(&mut replay(&lake, lake.input("cut.log", &log[..100_003])), 1);
    assert!(cause.contains("byte") && advice.contains("record or copy it again"), "{cause} {advice}");
    lake.assert_empty();
}

#[test]
fn what_does_not_fit_the_budget_is_refused() {
    let lake = Lake::new();
    let mut log = b"# clrprof 1\nT 1 X\n".to_vec();
    for at in 0..1_000_000_u64 {
        log.extend_from_slice(format!("A 1 {:x} 1 24 0\n", 0x10_0000 + at * 24).as_bytes());
    }
    log.extend_from_slice(b"# end\n");
    let trace = lake.input("big.log", &log);
    let (cause, advice) = complaint(replay(&lake, &trace).args(["--memory", "48MiB"]), 3);
    assert!(cause.contains("the objects that are alive in the trace"), "{cause}");
    assert!(advice.starts_with("raise --memory to at least"), "{advice}");
    lake.assert_empty();
    replay(&lake, &trace).args(["--memory", "256MiB"]).assert().success();
}
