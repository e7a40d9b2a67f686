//! Allocations of snapshots with tracking: equal to the allocation view and the timeline of Chrome DevTools' worker,
//! and to sums over the table of nodes.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake};
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Real snapshots with allocation tracking.
const TRACKED: [&str; 2] = ["alloc20", "node24_alloc"];

fn analyzed(lake: &Lake, name: &str) -> PathBuf {
    lake.analyze(fixtures::v8(name)).assert().success();
    lake.run()
}

fn u64s(table: &Table, name: &str) -> Vec<u64> {
    table.u64s(name).into_iter().map(Option::unwrap).collect()
}

fn u32s(table: &Table, name: &str) -> Vec<u32> {
    table.u32s(name).into_iter().map(Option::unwrap).collect()
}

/// Name, script, its number, line and column; missing texts are empty, missing numbers 0.
type Place = (String, String, [u32; 3]);

/// Count and bytes of allocations, and of live objects.
type Amounts = [u64; 4];

/// The functions of a run by their numbers.
fn places(run: &Path) -> BTreeMap<u32, Place> {
    let table = Table::read(run, "allocation_functions.parquet");
    let names = table.texts("function").into_iter().map(Option::unwrap);
    let names = names.map(|name| if name == "(anonymous)" { String::new() } else { name });
    let files = table.texts("file").into_iter().map(Option::unwrap_or_default);
    let numbers = ["script_id", "line", "column"].map(|name| table.u32s(name));
    let place = |row: usize| [0, 1, 2].map(|at: usize| numbers[at][row].unwrap_or(0));
    let rows = names.zip(files).enumerate().map(|(row, (name, file))| (name, file, place(row)));
    u32s(&table, "function_id").into_iter().zip(rows).collect()
}

/// DevTools' results.
#[derive(Default)]
struct Answer {
    /// Amounts by the path from a function over its callers.
    stacks: BTreeMap<Vec<Place>, Vec<Amounts>>,
    /// Live bytes by function and class.
    functions: BTreeMap<(Place, String), u64>,
    /// Live bytes by sample and class.
    ranges: BTreeMap<(u32, String), u64>,
    /// Milliseconds, last id, live bytes.
    samples: Vec<(f64, u64, u64)>,
}

fn answer(name: &str) -> Answer {
    let text = fixtures::text(&format!("v8/{name}.devtools.tsv.allocations"));
    let mut answer = Answer::default();
    let mut path: Vec<Place> = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let quoted = |at: usize| serde_json::from_str::<String>(fields[at]).unwrap();
        let number = |at: usize| fields[at].parse::<u64>().unwrap();
        let place = |at: usize| (quoted(at), quoted(at + 1), [2, 3, 4].map(|next| number(at + next) as u32));
        match fields[0] {
            "stack" => {
                path.truncate(number(1) as usize);
                path.push(place(2));
                answer.stacks.entry(path.clone()).or_default().push([7, 8, 9, 10].map(number));
            }
            "function" => *answer.functions.entry((place(1), quoted(6))).or_default() += number(8),
            "range" => *answer.ranges.entry((number(1) as u32, quoted(2))).or_default() += number(4),
            "sample" => answer.samples.push((fields[2].parse().unwrap(), number(3), number(4))),
            other => panic!("{other}"),
        }
    }
    answer.stacks.values_mut().for_each(|amounts| amounts.sort_unstable());
    answer
}

/// The bottom-up call tree: for each function the callers, their callers and so on, with the function's own allocations
/// in that context. As in DevTools, functions of one path are distinguished by their numbers.
fn from_below(run: &Path) -> BTreeMap<Vec<Place>, Vec<Amounts>> {
    let places = places(run);
    let tree = Table::read(run, "allocation_callees.parquet");
    let (parents, functions) = (tree.u32s("parent"), u32s(&tree, "function_id"));
    let names = ["exclusive_count", "exclusive_bytes", "exclusive_live_count", "exclusive_live_bytes"];
    let columns = names.map(|name| u64s(&tree, name));
    let mut sums: BTreeMap<Vec<u32>, Amounts> = BTreeMap::new();
    for row in (0..tree.rows()).filter(|&row| columns[0][row] > 0) {
        let own = [0, 1, 2, 3].map(|at: usize| columns[at][row]);
        let (mut path, mut at) = (Vec::new(), Some(row as u32));
        while let Some(node) = at {
            path.push(functions[node as usize]);
            let sum = sums.entry(path.clone()).or_default();
            (0..4).for_each(|measure| sum[measure] += own[measure]);
            at = parents[node as usize];
        }
    }
    let mut found: BTreeMap<Vec<Place>, Vec<Amounts>> = BTreeMap::new();
    for (path, sum) in sums {
        found.entry(path.iter().map(|function| places[function].clone()).collect()).or_default().push(sum);
    }
    found.values_mut().for_each(|amounts| amounts.sort_unstable());
    found
}

#[test]
fn stacks_are_those_of_devtools() {
    for name in TRACKED {
        let lake = Lake::new();
        let (run, expected) = (analyzed(&lake, name), answer(name));
        assert!(expected.stacks.len() > 20);
        assert_eq!(from_below(&run), expected.stacks, "{name}");
        // Functions by themselves are paths of length one.
        let table = Table::read(&run, "allocation_functions.parquet");
        let names = ["exclusive_count", "exclusive_bytes", "exclusive_live_count", "exclusive_live_bytes"];
        let columns = names.map(|name| u64s(&table, name));
        let places = places(&run);
        let mut functions: BTreeMap<Vec<Place>, Vec<Amounts>> = BTreeMap::new();
        for (row, function) in u32s(&table, "function_id").into_iter().enumerate() {
            let own = [0, 1, 2, 3].map(|at: usize| columns[at][row]);
            if own[0] > 0 {
                functions.entry(vec![places[&function].clone()]).or_default().push(own);
            }
        }
        functions.values_mut().for_each(|amounts| amounts.sort_unstable());
        let tops = expected.stacks.into_iter().filter(|(path, _)| path.len() == 1).collect();
        assert_eq!(functions, tops, "{name}");
    }
}

#[test]
fn classes_of_stacks_and_ranges_are_those_of_devtools() {
    for name in TRACKED {
        let lake = Lake::new();
        let (run, expected) = (analyzed(&lake, name), answer(name));
        let (places, tree) = (places(&run), Table::read(&run, "allocation_callees.parquet"));
        let functions = u32s(&tree, "function_id");
        let live = Table::read(&run, "live_allocations.parquet");
        let classes: Vec<String> = live.texts("class").into_iter().map(Option::unwrap).collect();
        let (nodes, samples, bytes) = (live.u32s("node"), live.u32s("sample"), u64s(&live, "live_bytes"));
        let (mut of_functions, mut of_ranges) = (BTreeMap::new(), BTreeMap::new());
        for row in (0..live.rows()).filter(|&row| bytes[row] > 0) {
            if let Some(node) = nodes[row] {
                let place = places[&functions[node as usize]].clone();
                *of_functions.entry((place, classes[row].clone())).or_default() += bytes[row];
            }
            if let Some(sample) = samples[row] {
                *of_ranges.entry((sample, classes[row].clone())).or_default() += bytes[row];
            }
        }
        assert_eq!(of_functions, expected.functions, "{name}");
        // DevTools lists parts of the runtime in a range, but omits their bytes from the timeline.
        let table = Table::read(&run, "nodes.parquet");
        let ends: Vec<u64> = expected.samples.iter().map(|&(_, end, _)| end).collect();
        let names = table.texts("class").into_iter().map(Option::unwrap);
        let sizes = u64s(&table, "id").into_iter().zip(u64s(&table, "shallow_bytes")).zip(names);
        for ((id, size), class) in sizes.filter(|((id, size), _)| id % 2 == 0 && *id > 0 && *size > 0) {
            if let Some(sample) = ends.iter().position(|&end| id <= end) {
                *of_ranges.entry((sample as u32, class)).or_default() += size;
            }
        }
        assert_eq!(of_ranges, expected.ranges, "{name}");
    }
}

#[test]
fn the_time_line_is_that_of_devtools() {
    for name in TRACKED {
        let lake = Lake::new();
        let (run, expected) = (analyzed(&lake, name), answer(name));
        let samples = Table::read(&run, "samples.parquet");
        let (ids, bytes) = (u64s(&samples, "last_assigned_id"), u64s(&samples, "live_bytes"));
        let times = samples.f64s("seconds").into_iter().map(|time| (time.unwrap() * 1e6).round() / 1e3);
        let found: Vec<(f64, u64, u64)> =
            times.zip(ids).zip(bytes).map(|((time, id), size)| (time, id, size)).collect();
        assert_eq!(found, expected.samples, "{name}");
        // Rows of the timeline are sums over class and stack.
        let live = Table::read(&run, "live_allocations.parquet");
        let mut sums = vec![[0; 2]; samples.rows()];
        let amounts = u64s(&live, "live_count").into_iter().zip(u64s(&live, "live_bytes"));
        for (sample, (count, size)) in live.u32s("sample").into_iter().zip(amounts) {
            if let Some(sum) = sample.map(|sample| &mut sums[sample as usize]) {
                *sum = [sum[0] + count, sum[1] + size];
            }
        }
        let rows = u64s(&samples, "live_count").into_iter().zip(u64s(&samples, "live_bytes"));
        assert_eq!(sums, rows.map(|(count, size)| [count, size]).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn rows_are_sums_over_nodes() {
    let lake = Lake::new();
    let run = analyzed(&lake, "node24_alloc");
    let (nodes, tree) = (Table::read(&run, "nodes.parquet"), Table::read(&run, "allocation_callees.parquet"));
    let traced = u32s(&tree, "trace_node").into_iter().zip(u32s(&tree, "node"));
    let place: BTreeMap<u32, u32> = traced.collect();
    let mut of_types: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    let mut of_stacks: BTreeMap<(u32, u32), [u64; 2]> = BTreeMap::new();
    let rows = u32s(&nodes, "class_id").into_iter().zip(u32s(&nodes, "trace_node"));
    for ((class, trace), size) in rows.zip(u64s(&nodes, "shallow_bytes")).filter(|((_, trace), _)| *trace > 0) {
        for sum in [of_types.entry(class).or_default(), of_stacks.entry((class, place[&trace])).or_default()] {
            *sum = [sum[0] + 1, sum[1] + size];
        }
    }
    let types = Table::read(&run, "allocation_types.parquet");
    let amounts = u64s(&types, "live_count").into_iter().zip(u64s(&types, "live_bytes"));
    let found: BTreeMap<u32, [u64; 2]> =
        u32s(&types, "type_id").into_iter().zip(amounts).map(|(class, (count, size))| (class, [count, size])).collect();
    assert!(found.len() > 10);
    assert_eq!(found, of_types);
    let live = Table::read(&run, "live_allocations.parquet");
    let mut found: BTreeMap<(u32, u32), [u64; 2]> = BTreeMap::new();
    let amounts = u64s(&live, "live_count").into_iter().zip(u64s(&live, "live_bytes"));
    for ((class, node), (count, size)) in u32s(&live, "class_id").into_iter().zip(live.u32s("node")).zip(amounts) {
        let Some(node) = node else { continue };
        let sum = found.entry((class, node)).or_default();
        *sum = [sum[0] + count, sum[1] + size];
    }
    assert_eq!(found, of_stacks);
    // The script of a source location has its name beside its number.
    let scripts = Table::read(&run, "scripts.parquet");
    let urls: BTreeMap<u32, Option<String>> =
        u32s(&scripts, "script_id").into_iter().zip(scripts.texts("url")).collect();
    let located = nodes.u32s("script_id").into_iter().zip(nodes.texts("script"));
    let located: Vec<(u32, Option<String>)> =
        located.filter_map(|(script, url)| script.map(|script| (script, url))).collect();
    assert!(located.len() > 1000 && located.iter().any(|(_, url)| url.is_some()));
    assert!(located.iter().all(|(script, url)| urls[script] == *url));
}

/// An analysis and a replay of the same snapshot agree on functions, except that the replay merges functions of one
/// name without a location, and omits the root above all functions.
#[test]
fn functions_are_those_of_a_replay() {
    for name in TRACKED {
        let (one, two) = (Lake::new(), Lake::new());
        let run = analyzed(&one, name);
        let snapshot = fixtures::v8(name);
        heaplake().arg("replay").arg(snapshot).arg("--out").arg(two.path()).arg("--quiet").assert().success();
        let sums = |run: &Path| {
            let table = Table::read(run, "allocation_functions.parquet");
            let amounts = u64s(&table, "exclusive_count").into_iter().zip(u64s(&table, "exclusive_bytes"));
            let mut sums: BTreeMap<(String, Option<u32>), [u64; 2]> = BTreeMap::new();
            let names = table.texts("signature").into_iter().map(Option::unwrap).zip(table.u32s("line"));
            for (name, (count, bytes)) in names.zip(amounts).filter(|((name, _), _)| name != "(root)") {
                let sum = sums.entry(name).or_default();
                *sum = [sum[0] + count, sum[1] + bytes];
            }
            sums
        };
        assert!(sums(&run).len() > 5);
        assert_eq!(sums(&run), sums(&two.run()), "{name}");
    }
}

const TABLES: [&str; 5] =
    ["allocation_types", "allocation_functions", "allocation_callees", "live_allocations", "samples"];

fn tables(run: &Path) -> Vec<&'static str> {
    TABLES.into_iter().filter(|table| run.join(format!("{table}.parquet")).exists()).collect()
}

#[test]
fn snapshots_have_what_they_tracked() {
    let lake = Lake::new();
    assert!(tables(&analyzed(&lake, "small")).is_empty());
    let text = fixtures::text("v8/alloc20.heapsnapshot");
    // A timeline recording without stacks has samples only.
    let (before, rest) = text.split_once("\"trace_function_infos\":").unwrap();
    let (_, rest) = rest.split_once("\"samples\":").unwrap();
    let lake = Lake::new();
    let without = format!("{before}\"trace_function_infos\":[],\"trace_tree\":[],\"samples\":{rest}");
    lake.analyze(lake.input("line.heapsnapshot", without.as_bytes())).assert().success();
    assert_eq!(tables(&lake.run()), ["live_allocations", "samples"]);
    let live = Table::read(&lake.run(), "live_allocations.parquet");
    assert!(live.rows() > 10 && live.u32s("node").iter().all(Option::is_none));
    // The reverse: stacks without samples.
    let (before, rest) = text.split_once("\"samples\":[").unwrap();
    let (_, rest) = rest.split_once(']').unwrap();
    let lake = Lake::new();
    let without = format!("{before}\"samples\":[]{rest}");
    lake.analyze(lake.input("stacks.heapsnapshot", without.as_bytes())).assert().success();
    assert_eq!(tables(&lake.run()), TABLES[..4]);
    let live = Table::read(&lake.run(), "live_allocations.parquet");
    assert!(live.rows() > 10 && live.u32s("sample").iter().all(Option::is_none));
}

#[test]
fn tables_can_be_chosen() {
    for table in TABLES {
        let lake = Lake::new();
        lake.analyze(fixtures::v8("alloc20")).args(["--tables", table]).assert().success();
        assert_eq!(tables(&lake.run()), [table]);
    }
}
