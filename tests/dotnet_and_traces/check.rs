//! Compares runs on walks of .NET heaps with the oracle.

use heaplake_oracle::dotnet::truth::NodeTruth;
use heaplake_oracle::dotnet::{Truth, gcdump};
use heaplake_support::chain_sums::check_chain_sums;
use heaplake_support::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Address of each row of `nodes`; `None` for the root.
fn addresses(nodes: &Table) -> Vec<Option<u64>> {
    let ids = nodes.u64s("id").into_iter().zip(nodes.texts("kind"));
    ids.map(|(id, kind)| id.filter(|_| kind.as_deref() != Some("root"))).collect()
}

/// Compares all tables with the oracle.
pub(crate) fn check(truth: &Truth, run: &Path) {
    let nodes = Table::read(run, "nodes.parquet");
    let addresses = addresses(&nodes);
    let (mut edges, roots, retainers) = edges(&addresses, run);
    let (kinds, classes) = (nodes.texts("kind"), nodes.texts("class"));
    let (shallow, retained, selfs) =
        (nodes.u64s("shallow_bytes"), nodes.u64s("retained_bytes"), nodes.u64s("self_bytes"));
    let (dominators, distances) = (nodes.u32s("dominator"), nodes.i32s("distance"));
    let (out, into, reached) = (nodes.u64s("edge_count"), nodes.u64s("retainer_count"), nodes.bools("reachable"));
    assert_eq!(nodes.rows(), truth.nodes.len() + 1);
    assert!(nodes.texts("name").iter().all(Option::is_none));
    for row in 0..nodes.rows() {
        assert_eq!(reached[row], Some(true), "what was walked is alive");
        assert_eq!(into[row], Some(retainers.get(&addresses[row]).copied().unwrap_or(0)), "retainers of row {row}");
        let Some(address) = addresses[row] else {
            assert_eq!(out[row], Some(roots.len() as u64));
            continue;
        };
        let edges = edges.remove(&address).unwrap_or_default();
        assert_eq!(out[row], Some(edges.len() as u64));
        assert_eq!(selfs[row], shallow[row]);
        let ours = NodeTruth {
            kind: ["object", "array", "string"].into_iter().find(|kind| kinds[row].as_deref() == Some(kind)).unwrap(),
            class: classes[row].clone().unwrap(),
            shallow: shallow[row].unwrap(),
            retained: retained[row].unwrap(),
            dominator: addresses[dominators[row].unwrap() as usize],
            distance: distances[row].map(|distance| distance as u32),
            edges: edges.iter().map(|(to, kind)| (*to, kind.as_str())).map(|(to, kind)| (to, known(kind))).collect(),
        };
        assert_eq!(Some(&ours), truth.nodes.get(&address), "at {address:#x}");
    }
    let names: BTreeSet<(u64, String)> = roots.iter().cloned().collect();
    assert_eq!(names, truth.roots);
    assert_eq!(names.len(), roots.len(), "each once");
    check_classes(truth, run);
    check_chain_sums(run);
}

fn known(kind: &str) -> &'static str {
    ["reference", "dependent"].into_iter().find(|&known| known == kind).unwrap()
}

/// Targets and kinds or names of edges.
type Targets = Vec<(u64, String)>;

/// Number of incoming edges per node.
type Retainers = BTreeMap<Option<u64>, u64>;

/// Edges of the objects, those of the root, and the number of incoming edges per node.
fn edges(addresses: &[Option<u64>], run: &Path) -> (BTreeMap<u64, Targets>, Targets, Retainers) {
    let table = Table::read(run, "edges.parquet");
    let (mut edges, mut roots, mut retainers) = (BTreeMap::<u64, Targets>::new(), Vec::new(), BTreeMap::new());
    let (from, to, kinds) = (table.u32s("from"), table.u32s("to"), table.texts("kind"));
    let names = table.texts("name");
    for row in 0..table.rows() {
        let [from, to] = [&from, &to].map(|column| addresses[column[row].unwrap() as usize]);
        *retainers.entry(to).or_insert(0) += 1;
        match from {
            Some(from) => {
                assert_eq!(names[row], None);
                edges.entry(from).or_default().push((to.unwrap(), kinds[row].clone().unwrap()));
            }
            None => {
                assert_eq!(kinds[row].as_deref(), Some("root"));
                roots.push((to.unwrap(), names[row].clone().unwrap()));
            }
        }
    }
    (edges, roots, retainers)
}

fn check_classes(truth: &Truth, run: &Path) {
    let table = Table::read(run, "classes.parquet");
    let (keys, counts, bytes) = (table.texts("class_key"), table.u64s("count"), table.u64s("shallow_bytes"));
    let ours: BTreeMap<String, (u64, u64)> = (0..table.rows())
        .map(|row| (keys[row].clone().unwrap(), (counts[row].unwrap(), bytes[row].unwrap())))
        .collect();
    assert_eq!(ours.len(), table.rows(), "keys tell classes apart");
    assert_eq!(ours, truth.classes);
    assert!(table.texts("class").iter().all(|class| class.as_deref() != Some("")));
}

/// Every node of a dump, by number.
pub(crate) fn check_dump(graph: &gcdump::Graph, run: &Path) {
    let nodes = Table::read(run, "nodes.parquet");
    let table = Table::read(run, "edges.parquet");
    let mut edges: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (from, to) in table.u32s("from").into_iter().zip(table.u32s("to")) {
        edges.entry(from.unwrap()).or_default().push(to.unwrap());
    }
    let (kinds, classes, ids) = (nodes.texts("kind"), nodes.texts("class"), nodes.u64s("id"));
    let (shallow, retained) = (nodes.u64s("shallow_bytes"), nodes.u64s("retained_bytes"));
    let (dominators, distances) = (nodes.u32s("dominator"), nodes.i32s("distance"));
    let truth = graph.truth();
    assert_eq!(nodes.rows(), truth.len());
    for (row, expected) in truth.iter().enumerate() {
        assert_eq!(ids[row], Some(graph.nodes[row].address));
        let ours = gcdump::NodeTruth {
            kind: kinds[row].clone().unwrap(),
            class: classes[row].clone().unwrap(),
            shallow: shallow[row].unwrap(),
            retained: retained[row].unwrap(),
            dominator: dominators[row].unwrap(),
            distance: distances[row].map(|distance| distance as u32),
            edges: edges.remove(&(row as u32)).unwrap_or_default(),
        };
        assert_eq!(&ours, expected, "node {row}");
    }
    let keys: BTreeSet<_> = Table::read(run, "classes.parquet").texts("class_key").into_iter().collect();
    assert_eq!(keys.len(), Table::read(run, "classes.parquet").rows(), "keys tell classes apart");
    let snapshot = Table::read(run, "snapshot.parquet");
    let described = graph.nodes[graph.root as usize].references.len() as u64;
    assert_eq!(snapshot.u64s("root_count"), [Some(described)]);
    check_chain_sums(run);
}
