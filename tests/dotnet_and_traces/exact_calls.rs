//! With a stack for every allocation in a trace, each call path has exact objects and bytes under default options:
//! compared with sums over the log, line by line.

use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const LOGS: [&str; 2] = ["dotnet/net8_exact.log.zst", "dotnet/both.log.zst"];

/// Objects and bytes.
type Sum = (u64, u64);

type Sums = BTreeMap<String, Sum>;

fn add(sums: &mut Sums, key: String, (count, bytes): Sum) {
    let sum = sums.entry(key).or_default();
    *sum = (sum.0 + count, sum.1 + bytes);
}

/// Allocations by the tables' keys.
#[derive(Debug, Default, PartialEq, Eq)]
struct Calls {
    /// On a path itself, outermost function first.
    own: Sums,
    /// On a path and below.
    all: Sums,
    /// With a function on the stack, counted once each.
    functions: Sums,
    /// By type and innermost function.
    sites: Sums,
}

/// Sums over the lines of a log.
fn logged(fixture: &str) -> Calls {
    let log = zstd::decode_all(fs::File::open(fixtures::path(fixture)).unwrap()).unwrap();
    let log = String::from_utf8_lossy(&log);
    let (mut types, mut functions, mut stacks) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut allocations: BTreeMap<(&str, &str), Sum> = BTreeMap::new();
    for line in log.lines() {
        let (kind, rest) = line.split_at(line.len().min(2));
        let (first, others) = rest.split_once(' ').unwrap_or((rest, ""));
        match kind {
            "T " => drop(types.insert(first, others)),
            "F " => drop(functions.insert(first, others)),
            "S " => drop(stacks.insert(first, others.split(' ').rev().collect::<Vec<_>>())),
            "A " => {
                let fields: Vec<&str> = rest.split(' ').collect();
                let sum = allocations.entry((fields[2], fields[4])).or_default();
                *sum = (sum.0 + 1, sum.1 + fields[3].parse::<u64>().unwrap());
            }
            _ => {}
        }
    }
    let mut calls = Calls::default();
    for ((of_type, stack), sum) in allocations {
        let none = Vec::new();
        let frames = stacks.get(stack).unwrap_or(&none);
        let path: Vec<&str> = frames.iter().filter_map(|frame| functions.get(frame).copied()).collect();
        (1..=path.len()).for_each(|length| add(&mut calls.all, path[..length].join(";"), sum));
        let Some(last) = path.last() else { continue };
        add(&mut calls.own, path.join(";"), sum);
        add(&mut calls.sites, format!("{} {last}", types[of_type]), sum);
        // Two functions of one name are distinct.
        let known = frames.iter().filter(|frame| functions.contains_key(*frame));
        known.collect::<BTreeSet<_>>().iter().for_each(|of| add(&mut calls.functions, functions[*of].to_owned(), sum));
    }
    calls
}

/// The same from the tables.
fn told(run: &Path) -> Calls {
    let mut calls = Calls::default();
    let functions = Table::read(run, "allocation_functions.parquet");
    let sums = |table: &Table, part: &str| -> Vec<Sum> {
        let of = |what: &str| table.u64s(&format!("{part}{what}")).into_iter().map(Option::unwrap);
        of("count").zip(of("bytes")).collect()
    };
    let mut names = BTreeMap::new();
    let listed = functions.u32s("function_id").into_iter().zip(functions.texts("function"));
    for ((id, name), sum) in listed.zip(sums(&functions, "inclusive_")) {
        add(&mut calls.functions, name.clone().unwrap(), sum);
        names.insert(id, name.unwrap());
    }
    let tree = Table::read(run, "allocation_callees.parquet");
    let (own, all) = (sums(&tree, "exclusive_"), sums(&tree, "inclusive_"));
    let mut path: Vec<&str> = Vec::new();
    for (row, (depth, id)) in tree.u32s("depth").into_iter().zip(tree.u32s("function_id")).enumerate() {
        path.truncate(depth.unwrap() as usize);
        path.push(&names[&id]);
        add(&mut calls.all, path.join(";"), all[row]);
        if own[row].0 > 0 {
            add(&mut calls.own, path.join(";"), own[row]);
        }
    }
    let sites = Table::read(run, "lifetime_sites.parquet");
    let by = sites.texts("type").into_iter().zip(sites.texts("function"));
    for ((of_type, function), sum) in by.zip(sums(&sites, "")) {
        add(&mut calls.sites, format!("{} {}", of_type.unwrap(), function.unwrap()), sum);
    }
    calls
}

#[test]
fn calls_are_those_of_the_log_at_any_interval() {
    for fixture in LOGS {
        let truth = logged(fixture);
        assert!(truth.own.len() > 50 && truth.sites.len() > 50, "{}", truth.own.len());
        for options in [&[][..], &["--sample-start", "nth"], &["--sample-interval", "1000"]] {
            let lake = Lake::new();
            replay(&lake, fixtures::path(fixture)).args(options).assert().success();
            let told = told(&lake.run());
            assert_eq!(told.own, truth.own, "{fixture} {options:?}");
            assert_eq!(told.all, truth.all, "{fixture} {options:?}");
            assert_eq!(told.functions, truth.functions, "{fixture} {options:?}");
            assert_eq!(told.sites, truth.sites, "{fixture} {options:?}");
        }
    }
}
