//! Real traces against the reference replay of the same run.

use super::answer::{Answer, Collection, Function, Type, collections, exactly, functions, types};
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::path::Path;

/// A log equals its answer in every number: garbage collections, types, functions; each heap walk equals the live
/// objects.
fn equals(name: &str) {
    let answer = Answer::read(&format!("{name}.log.replay.txt"));
    let lake = Lake::new();
    let run = exactly(&lake, fixtures::path(&format!("dotnet/{name}.log.zst")));
    let found: Vec<Collection> = collections(&run);
    assert_eq!(found, answer.collections);
    let found: Vec<Type> = types(&run);
    assert_eq!(found.iter().map(|row| row.count).sum::<u64>(), answer.allocations);
    for expected in answer.types {
        assert!(found.contains(&expected), "{expected:?}");
    }
    let found: Vec<Function> = functions(&run);
    // By bytes; the order of equal rows is unspecified.
    let mut first = found[..answer.functions.len()].to_vec();
    first.sort_by(|a, b| b.cmp(a));
    let mut expected = answer.functions;
    expected.sort_by(|a, b| b.cmp(a));
    assert_eq!(first, expected);
    assert!(lake.leftovers().iter().all(|path| path.is_dir() && path.file_name().unwrap() == "release=none"));
}

#[test]
fn log_of_dotnet_8() {
    equals("net8_exact");
}

#[test]
fn log_of_dotnet_core_3() {
    equals("both");
}

/// A name common to both sources: agents write `List<T>`, the runtime `List[T]`; agents omit the types around a nested
/// one, and the dimensions of arrays.
pub(crate) fn plain(name: &str) -> String {
    let name = name.replace('<', "[").replace('>', "]").replace("[,]", "[]");
    let end = name.find("::").or_else(|| name.find('[')).unwrap_or(name.len());
    match name[..end].rfind('+') {
        Some(at) => name[at + 1..].to_owned(),
        None => name,
    }
}

/// Allocations in the log but not in the trace, by type: EventPipe started after the first seven, loses the first one
/// of some threads, and stopped before the last ones.
const MISSING: [(&str, u64); 14] = [
    ("Order", 1),
    ("System.Byte[]", 1),
    ("System.Collections.Generic.Dictionary`2[System.String,System.String]", 1),
    ("System.Collections.Generic.List`1[System.Diagnostics.Tracing.EventSource]", 1),
    ("System.Diagnostics.Tracing.EventCommandEventArgs", 1),
    ("System.Diagnostics.Tracing.EventSource[]", 2),
    ("System.ExecutionEngineException", 1),
    ("System.Int32", 1),
    ("System.Int32[]", 1),
    ("System.Object", 1),
    ("System.Object[]", 1),
    ("System.OutOfMemoryException", 1),
    ("System.StackOverflowException", 1),
    ("System.String", 2),
];

/// Bytes of functions without code in the trace. They count for the callers, so they differ twice: once as missing and
/// once as surplus.
const UNRESOLVED: u64 = 2 * 8000;

#[test]
fn trace_of_dotnet_8_agrees_with_its_log() {
    let (one, other) = (Lake::new(), Lake::new());
    let log = exactly(&one, fixtures::path("dotnet/net8_exact.log.zst"));
    let trace = exactly(&other, fixtures::path("dotnet/net8_both.nettrace.zst"));
    check_collections(&log, &trace);
    let missing_bytes = check_types(&log, &trace);
    check_functions(&log, &trace, missing_bytes);
}

fn check_collections(log: &Path, trace: &Path) {
    // All garbage collections but the last, which came after the recorder had stopped.
    let (logged, traced) = (collections(log), collections(trace));
    assert_eq!((logged.len(), traced.len()), (16, 15));
    for (logged, traced) in logged.iter().zip(&traced) {
        let ranges = |row: &Collection| (row.gc, row.condemned.clone(), row.moved_ranges, row.surviving_ranges);
        assert_eq!(ranges(logged), ranges(traced));
        // Seven objects from before the recorder are never seen to live; a few others are not seen to die.
        assert_eq!(logged.live - traced.live, 7);
        assert!(logged.dead - traced.dead <= 4, "{logged:?} {traced:?}");
    }
}

/// The trace lacks exactly [`MISSING`]; returns its bytes.
fn check_types(log: &Path, trace: &Path) -> u64 {
    let mut missing = BTreeMap::new();
    let mut by_type: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in types(trace) {
        let sum = by_type.entry(plain(&row.name)).or_default();
        *sum = (sum.0 + row.count, sum.1 + row.bytes);
    }
    let mut missing_bytes = 0;
    for row in types(log) {
        let sum = by_type.entry(plain(&row.name)).or_default();
        let there = row.count.min(sum.0);
        missing_bytes += row.bytes - row.bytes.min(sum.1);
        *sum = (sum.0 - there, sum.1 - row.bytes.min(sum.1));
        if there < row.count {
            *missing.entry(plain(&row.name)).or_insert(0) += row.count - there;
        }
    }
    let missing: Vec<(&str, u64)> = missing.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(missing, MISSING);
    assert!(by_type.values().all(|left| *left == (0, 0)), "{by_type:?}");
    missing_bytes
}

/// Allocations of functions differ by no more than the missing bytes.
fn check_functions(log: &Path, trace: &Path, missing_bytes: u64) {
    let exclusive = |run: &Path| {
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (inclusive, exclusive, name) in functions(run) {
            let sum = sums.entry(plain(&name)).or_default();
            *sum = (sum.0.max(inclusive), sum.1 + exclusive);
        }
        sums
    };
    let (logged, traced) = (exclusive(log), exclusive(trace));
    let mut different = 0;
    for (name, &(inclusive, exclusive)) in &logged {
        let (traced_inclusive, traced_exclusive) = traced.get(name).copied().unwrap_or_default();
        assert!(inclusive.abs_diff(traced_inclusive) <= missing_bytes, "{name}");
        different += exclusive.abs_diff(traced_exclusive);
    }
    assert!(different <= missing_bytes + UNRESOLVED, "{different} of {missing_bytes}");
    let unheard: Vec<&String> = traced.keys().filter(|name| !logged.contains_key(*name)).collect();
    assert!(unheard.is_empty(), "{unheard:?}");
}

/// .NET Core 3.1 reports ticks only, no single objects, so no lifetimes are known. Garbage collections agree.
#[test]
fn trace_of_dotnet_core_3_has_ticks() {
    let (one, other) = (Lake::new(), Lake::new());
    let log = exactly(&one, fixtures::path("dotnet/both.log.zst"));
    let run = exactly(&other, fixtures::path("dotnet/both.nettrace.zst"));
    let table = Table::read(&run, "allocation_types.parquet");
    assert!(table.u64s("allocated_count").iter().chain(&table.u64s("live_count")).all(Option::is_none));
    assert_eq!(table.u64s("sampled_count").iter().flatten().sum::<u64>(), 75);
    assert!(!run.join("object_lifetimes.parquet").exists());
    let table = Table::read(&run, "collections.parquet");
    assert!(table.u64s("dead_objects").iter().chain(&table.u64s("walk_missing")).all(Option::is_none));
    assert_eq!(table.u64s("walked_objects")[0], Some(232));
    let (logged, traced) = (collections(&log), collections(&run));
    assert_eq!(traced.len(), 16);
    for (logged, traced) in logged.iter().zip(&traced) {
        assert_eq!((logged.gc, logged.moved_ranges), (traced.gc, traced.moved_ranges));
        assert_eq!((&logged.condemned, logged.surviving_ranges), (&traced.condemned, traced.surviving_ranges));
    }
}
