//! With exact allocation sizes in a trace, each type's numbers are exact in the table, the summary, the page and the
//! profile, under default options, which sample the stacks.

use super::golden::plain;
use super::profiles;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake, read_json};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const LOG: &str = "dotnet/net8_exact.log.zst";
const TRACE: &str = "dotnet/net8_both.nettrace.zst";

/// Objects and bytes by type.
type Types = BTreeMap<String, (u64, u64)>;

/// Objects and bytes logged by the profiler but not in the trace, which began later and ended earlier.
const MISSING: [(&str, u64, u64); 14] = [
    ("Order", 1, 40),
    ("System.Byte[]", 1, 40),
    ("System.Collections.Generic.Dictionary`2[System.String,System.String]", 1, 80),
    ("System.Collections.Generic.List`1[System.Diagnostics.Tracing.EventSource]", 1, 32),
    ("System.Diagnostics.Tracing.EventCommandEventArgs", 1, 88),
    ("System.Diagnostics.Tracing.EventSource[]", 2, 80),
    ("System.ExecutionEngineException", 1, 128),
    ("System.Int32", 1, 24),
    ("System.Int32[]", 1, 96),
    ("System.Object", 1, 24),
    ("System.Object[]", 1, 8184),
    ("System.OutOfMemoryException", 1, 128),
    ("System.StackOverflowException", 1, 128),
    ("System.String", 2, 60),
];

fn sum(types: impl IntoIterator<Item = (String, u64, u64)>) -> Types {
    let mut sums = Types::new();
    for (name, count, bytes) in types {
        let sum = sums.entry(plain(&name)).or_default();
        *sum = (sum.0 + count, sum.1 + bytes);
    }
    sums
}

/// The allocations in the profiler's log, parsed here line by line.
fn logged() -> Types {
    let log = zstd::decode_all(fs::File::open(fixtures::path(LOG)).unwrap()).unwrap();
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    let log = String::from_utf8_lossy(&log);
    for line in log.lines() {
        if let Some((id, name)) = line.strip_prefix("T ").and_then(|line| line.split_once(' ')) {
            names.insert(id, name);
        }
        if let Some(line) = line.strip_prefix("A ") {
            let fields: Vec<&str> = line.split(' ').collect();
            found.push((names[fields[2]].to_owned(), 1, fields[3].parse().unwrap()));
        }
    }
    sum(found)
}

fn table(run: &Path) -> Types {
    let table = Table::read(run, "allocation_types.parquet");
    let (names, counts, bytes) = (table.texts("type"), table.u64s("allocated_count"), table.u64s("bytes"));
    assert_eq!(bytes, table.u64s("exact_bytes"));
    assert!(bytes.is_sorted_by(|a, b| a >= b), "the largest come first");
    let samples: u64 = table.u64s("sampled_count").iter().flatten().sum();
    assert!(samples < counts.iter().flatten().sum::<u64>() / 5, "stacks are a sample: {samples}");
    assert_ne!(bytes, table.u64s("estimated_bytes"));
    sum((0..table.rows()).map(|row| (names[row].clone().unwrap(), counts[row].unwrap(), bytes[row].unwrap())))
}

fn page(run: &Path, lake: &Lake) -> Types {
    let page = lake.folder().join("page.html");
    heaplake().arg("report").arg(run).arg("--output").arg(&page).assert().success();
    let html = fs::read_to_string(page).unwrap();
    let json = html.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    let text = |at: &serde_json::Value| data["texts"][at.as_u64().unwrap() as usize].as_str().unwrap().to_owned();
    let rows = data["allocations"]["types"]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["low"].is_null() && row["high"].is_null()), "nothing is estimated");
    sum(rows.iter().map(|row| (text(&row["name"]), row["count"].as_u64().unwrap(), row["bytes"].as_u64().unwrap())))
}

fn summary(run: &Path) -> Vec<(String, u64, u64)> {
    let run: serde_json::Value = read_json(run.join("run.json"));
    let types = run["replay"]["types"].as_array().unwrap().iter();
    let shown = types.map(|row| {
        (row["name"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap(), row["bytes"].as_u64().unwrap())
    });
    shown.collect()
}

#[test]
fn each_type_has_the_bytes_of_the_profiler() {
    let logged = logged();
    let mut traced = logged.clone();
    for (name, count, bytes) in MISSING {
        let sum = traced.get_mut(name).unwrap();
        *sum = (sum.0 - count, sum.1 - bytes);
    }
    traced.retain(|_, sum| *sum != (0, 0));
    for (input, truth) in [(LOG, &logged), (TRACE, &traced)] {
        let lake = Lake::new();
        replay(&lake, fixtures::path(input)).arg("--pprof").assert().success();
        let run = lake.run();
        assert_eq!(&table(&run), truth, "{input}");
        assert_eq!(&page(&run, &lake), truth, "{input}");
        assert_eq!(&sum(profiles::by_type(&run)), truth, "{input}");
        let shown = summary(&run);
        assert_eq!(shown.len(), 10);
        assert!(shown.is_sorted_by_key(|row| u64::MAX - row.2));
        for (name, count, bytes) in shown {
            // One name of the log may belong to several types.
            assert!(truth[&plain(&name)].0 >= count && truth[&plain(&name)].1 >= bytes, "{name}");
            assert!(
                truth[&plain(&name)] == (count, bytes) || name.starts_with("Entry") || name.contains("[]"),
                "{name}"
            );
        }
    }
}

/// .NET Core 3.1 records ticks only. The same run's log lies within each type's interval.
#[test]
fn ticks_have_intervals_that_hold() {
    let (one, other) = (Lake::new(), Lake::new());
    replay(&one, fixtures::path("dotnet/both.nettrace.zst")).assert().success();
    replay(&other, fixtures::path("dotnet/both.log.zst")).assert().success();
    let log = Table::read(&other.run(), "allocation_types.parquet");
    let (names, bytes) = (log.texts("type"), log.u64s("exact_bytes"));
    let rows = names.into_iter().zip(bytes);
    let truth = sum(rows.map(|(name, bytes)| (name.unwrap(), 1, bytes.unwrap())));
    let ticks = Table::read(&one.run(), "allocation_types.parquet");
    let (names, bytes) = (ticks.texts("type"), ticks.u64s("bytes"));
    let (low, high) = (ticks.u64s("estimated_low_bytes"), ticks.u64s("estimated_high_bytes"));
    assert_eq!(ticks.rows(), 8);
    for row in 0..ticks.rows() {
        let (name, low, high) = (names[row].as_deref().unwrap(), low[row].unwrap(), high[row].unwrap());
        let truth = truth[&plain(name)].1;
        assert!(low <= truth && truth <= high, "{name}: {low} {truth} {high}");
        assert!(low <= bytes[row].unwrap() && bytes[row].unwrap() <= high, "{name}");
    }
    // The largest type is known well.
    assert!(high[0].unwrap() - low[0].unwrap() < bytes[0].unwrap() * 6 / 10);
}

/// Calls sum to all allocations with a stack; with those without one, to all allocations.
#[test]
fn sampled_calls_sum_to_what_was_allocated() {
    for (input, start) in
        [(LOG, "random"), (TRACE, "random"), (LOG, "nth"), ("dotnet/net8_sampled.nettrace.zst", "random")]
    {
        let lake = Lake::new();
        let options = ["--collapsed", "--sample-start", start];
        replay(&lake, fixtures::path(input)).args(options).assert().success();
        let run = lake.run();
        let types = Table::read(&run, "allocation_types.parquet");
        let all: u64 = types.u64s("bytes").iter().flatten().sum();
        let calls = Table::read(&run, "allocation_callees.parquet");
        let (inclusive, depths) = (calls.u64s("inclusive_bytes"), calls.u32s("depth"));
        let roots = inclusive.iter().zip(&depths).filter(|(_, depth)| **depth == Some(0));
        let roots: u64 = roots.map(|(bytes, _)| bytes.unwrap()).sum();
        let own: u64 = calls.u64s("exclusive_bytes").iter().flatten().sum();
        assert_eq!(roots, own, "{input}");
        assert!(roots <= all && roots > all / 2, "{input}: {roots} of {all}");
        let text = fs::read_to_string(run.join("allocations.collapsed")).unwrap();
        let lines = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        assert_eq!(lines.sum::<u64>(), all, "{input}");
    }
}
