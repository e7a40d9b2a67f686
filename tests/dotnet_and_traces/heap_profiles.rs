//! Profiles of V8's sampling heap profiler: every number equals the file's.

use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use serde_json::Value;
use std::collections::BTreeMap;

/// Bytes and samples by path: each function's name and line, outermost first.
type Sums = BTreeMap<Vec<(String, i64)>, [u64; 2]>;

/// Sums of a node and its descendants in the file.
fn read(node: &Value, samples: &BTreeMap<u64, u64>, path: &[(String, i64)], sums: &mut Sums) {
    let (name, line) = (node["callFrame"]["functionName"].as_str().unwrap(), &node["callFrame"]["lineNumber"]);
    let mut path = path.to_vec();
    if name != "(root)" {
        let name = if name.is_empty() { "(anonymous)" } else { name };
        path.push((name.to_owned(), line.as_i64().unwrap() + 1));
    }
    let own = [node["selfSize"].as_u64().unwrap(), samples.get(&node["id"].as_u64().unwrap()).copied().unwrap_or(0)];
    if own[0] > 0 {
        let sum = sums.entry(path.clone()).or_default();
        *sum = [sum[0] + own[0], sum[1] + own[1]];
    }
    for callee in node["children"].as_array().unwrap() {
        read(callee, samples, &path, sums);
    }
}

/// A profile of Node 20 of a program that allocates in four functions.
#[test]
fn figures_are_those_of_the_file() {
    let profile: Value = serde_json::from_slice(&fixtures::content("v8/heap_prof20.heapprofile")).unwrap();
    let mut samples = BTreeMap::new();
    for sample in profile["samples"].as_array().unwrap() {
        *samples.entry(sample["nodeId"].as_u64().unwrap()).or_default() += 1;
    }
    let mut expected = Sums::new();
    read(&profile["head"], &samples, &[], &mut expected);
    assert!(expected.len() > 10 && expected.values().map(|sum| sum[1]).sum::<u64>() > 50);

    let lake = Lake::new();
    replay(&lake, fixtures::path("v8/heap_prof20.heapprofile.zst")).assert().success();
    let functions = Table::read(&lake.run(), "allocation_functions.parquet");
    let names = functions.texts("function").into_iter().map(Option::unwrap).zip(functions.u32s("line"));
    let names: BTreeMap<u32, (String, i64)> = functions
        .u32s("function_id")
        .into_iter()
        .map(Option::unwrap)
        .zip(names.map(|(name, line)| (name, line.map_or(0, i64::from))))
        .collect();
    let tree = Table::read(&lake.run(), "allocation_callees.parquet");
    let (parents, of_node) = (tree.u32s("parent"), tree.u32s("function_id"));
    let columns = ["exclusive_bytes", "exclusive_samples", "exclusive_count"].map(|name| tree.u64s(name));
    let mut found = Sums::new();
    for row in (0..tree.rows()).filter(|&row| columns[0][row] > Some(0)) {
        let [bytes, samples, count] = [0, 1, 2].map(|at: usize| columns[at][row].unwrap());
        assert_eq!(samples, count, "no figure is scaled");
        let (mut path, mut at) = (Vec::new(), Some(row as u32));
        while let Some(node) = at {
            path.insert(0, names[&of_node[node as usize].unwrap()].clone());
            at = parents[node as usize];
        }
        let sum = found.entry(path).or_default();
        *sum = [sum[0] + bytes, sum[1] + samples];
    }
    // The root's own allocations have no stack.
    expected.remove(&Vec::new());
    assert_eq!(found, expected);
}
