//! Names of retainers do not depend on node numbers or on the shortest path.

use crate::findings::took;
use heaplake_oracle::SplitMix64;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake};
use heaplake_support::table::Table;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn texts(run: &Path, table: &str, column: &str) -> Vec<String> {
    Table::read(run, &format!("{table}.parquet")).texts(column).into_iter().map(Option::unwrap).collect()
}

fn numbers(snapshot: &Value, name: &str) -> Vec<u64> {
    snapshot[name].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// Rows as wide as the list `fields`.
fn rows(snapshot: &Value, name: &str, fields: &str) -> Vec<Vec<u64>> {
    let width = snapshot["snapshot"]["meta"][fields].as_array().unwrap().len();
    numbers(snapshot, name).chunks(width).map(<[u64]>::to_vec).collect()
}

/// The same heap with its nodes, except the root, in another order.
fn renumbered(content: &[u8], seed: u64) -> Vec<u8> {
    let mut snapshot: Value = serde_json::from_slice(content).unwrap();
    let fields = snapshot["snapshot"]["meta"]["node_fields"].as_array().unwrap().clone();
    let (width, degree) = (fields.len() as u64, fields.iter().position(|field| field == "edge_count").unwrap());
    let nodes = rows(&snapshot, "nodes", "node_fields");
    let mut edges = rows(&snapshot, "edges", "edge_fields").into_iter();
    let of_node: Vec<Vec<Vec<u64>>> =
        nodes.iter().map(|node| edges.by_ref().take(node[degree] as usize).collect()).collect();
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    let mut random = SplitMix64::new(seed);
    (2..order.len()).rev().for_each(|at| order.swap(at, 1 + random.below(at)));
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &node)| place[node] = at as u64);
    let moved = |index: u64| place[(index / width) as usize] * width;
    snapshot["nodes"] = order.iter().flat_map(|&node| nodes[node].clone()).collect();
    let edges = order.iter().flat_map(|&node| &of_node[node]);
    snapshot["edges"] = edges.flat_map(|edge| [edge[0], edge[1], moved(edge[2])]).collect();
    let mut locations = rows(&snapshot, "locations", "location_fields");
    locations.iter_mut().for_each(|location| location[0] = moved(location[0]));
    snapshot["locations"] = locations.into_iter().flatten().collect();
    serde_json::to_vec(&snapshot).unwrap()
}

/// How often each signature occurs.
fn signatures(run: &Path) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for table in ["chains", "findings"] {
        for signature in texts(run, table, "signature") {
            *all.entry(format!("{table}: {signature}")).or_default() += 1;
        }
    }
    all
}

#[test]
fn numbers_of_nodes_do_not_matter() {
    for name in ["v8/s1.heapsnapshot", "v8/resources20.heapsnapshot"] {
        let content = fixtures::content(name);
        let run = |content: &[u8]| {
            let lake = Lake::new();
            let input = lake.input("a.heapsnapshot", content);
            lake.analyze(&input).arg("--tables=classes,chains,findings").assert().success();
            signatures(&lake.run())
        };
        let plain = run(&content);
        for seed in 1..3 {
            let other = run(&renumbered(&content, seed));
            let differ = plain.iter().filter(|(signature, count)| other.get(*signature) != Some(*count));
            let differ: Vec<_> = differ.map(|(signature, count)| (signature, count, other.get(signature))).collect();
            assert!(plain.len() > 80 && differ.is_empty(), "{name}: {differ:#?} of {}", plain.len());
            assert_eq!(plain.len(), other.len(), "{name}");
        }
    }
}

/// The runs of `moved_path.cjs`, in order.
fn moments(lake: &Lake) -> Option<Vec<PathBuf>> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/moved_path.cjs");
    if !took("node", &[Path::new("--expose-gc"), program.as_path(), lake.folder()]) {
        return None;
    }
    let analyse = |moment: &str| {
        lake.analyze(lake.folder().join(format!("{moment}.heapsnapshot")))
            .args(["--snapshot", moment])
            .assert()
            .success();
        lake.path().join(format!("release=none/snapshot={moment}"))
    };
    Some(["1", "2", "3"].map(analyse).to_vec())
}

#[test]
fn a_holder_to_which_the_path_moves_is_one_row() {
    let lake = Lake::new();
    let Some(runs) = moments(&lake) else { return };
    let paths: Vec<String> = runs.iter().map(|run| texts(run, "chains", "text").join("\n")).collect();
    assert!(paths[1].contains("registry → Object.inner → Object.orders") && !paths[1].contains("aDebug"));
    assert!(paths[2].contains("global.aDebug → Object.inner → Object.orders → Map"));
    for (base, target) in [(0, 1), (1, 2), (0, 2)] {
        let out = lake.folder().join(format!("diff-{base}-{target}"));
        heaplake().arg("diff").arg(&runs[base]).arg(&runs[target]).arg("--out").arg(&out).assert().success();
        for (table, signature) in [
            ("diff_chains", "reference: Object.orders → Map"),
            ("diff_chains", "reference: Object.orders → Map[] → Order (moved_path.cjs)"),
            ("diff_findings", "leak-suspect Order (moved_path.cjs) Object.orders → Map"),
        ] {
            let (signatures, statuses) = (texts(&out, table, "signature"), texts(&out, table, "status"));
            let is_about = |found: &&String| found.starts_with(signature.split(" (").next().unwrap());
            let at = signatures.iter().position(|found| found == signature).unwrap_or_else(|| {
                panic!("{signature}: {:#?}", signatures.iter().filter(is_about).collect::<Vec<_>>())
            });
            assert_eq!(statuses[at], "grew", "{signature}");
            let of_orders = signatures.iter().zip(&statuses).filter(|(found, _)| found.contains(".orders → Map"));
            let pairs: Vec<_> =
                of_orders.filter(|(_, status)| ["appeared", "vanished"].contains(&&***status)).collect();
            assert!(table == "diff_chains" || pairs.is_empty(), "{pairs:?}");
        }
    }
}
