//! Compares runs on Java heap dumps with the oracle.

use arrow::array::AsArray;
use heaplake_oracle::jvm::Truth;
use heaplake_oracle::jvm::truth::{ClassId, ClassRow, NodeTruth, ThreadTruth};
use heaplake_support::chain_paths::paths;
use heaplake_support::chain_sums::check_chain_sums;
use heaplake_support::owner_sums::check_owner_sums;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::path::Path;

/// Address of each row of `nodes`; `None` for the root.
pub(crate) fn addresses(nodes: &Table) -> Vec<Option<u64>> {
    let ids = nodes.u64s("id");
    let has = nodes.texts("kind").into_iter().map(|kind| kind.as_deref() != Some("root"));
    assert!(ids.iter().zip(has).all(|(id, has)| id.is_some() == has));
    ids
}

/// One object in the tables.
#[derive(Debug, PartialEq)]
struct Row {
    kind: String,
    class: String,
    /// Only for strings.
    text: Option<String>,
    shallow: u64,
    retained: u64,
    dominator: Option<Option<u64>>,
    distance: Option<i32>,
    weakly: bool,
    /// Targets, and whether the edge is essential: self edges are not.
    edges: Vec<(Option<u64>, bool)>,
}

/// Compares all tables with the oracle.
pub(crate) fn check(truth: &Truth, run: &Path) {
    let nodes = Table::read(run, "nodes.parquet");
    let address = addresses(&nodes);
    let theirs: BTreeMap<Option<u64>, Row> =
        truth.nodes.iter().map(|node| (node.address, expected(truth, node))).collect();
    let ours = rows(&nodes, &address, run);
    assert_eq!(ours.len(), nodes.rows(), "addresses are told once");
    for (address, row) in &theirs {
        assert_eq!(ours.get(address), Some(row), "at {address:x?}");
    }
    assert_eq!(ours.len(), theirs.len(), "more nodes than there are");
    let counts = nodes.u64s("edge_count");
    for (row, address) in address.iter().enumerate() {
        assert_eq!(counts[row].unwrap() as usize, ours[address].edges.len(), "edges of {address:x?}");
    }
    check_retainers(&nodes, &address, &ours);
    check_classes(truth, &nodes, &address, run);
    check_chain_sums(run);
    check_chain_names(run);
    check_owner_sums(run);
    check_threads(&truth.threads, &address, run);
}

fn expected(truth: &Truth, node: &NodeTruth) -> Row {
    let address = |v: usize| truth.nodes[v].address;
    let essential = |to: Option<u64>, holds: bool| (to, holds && to != node.address);
    let mut edges: Vec<_> = node.edges.iter().map(|&(to, holds)| essential(address(to), holds)).collect();
    edges.sort_unstable();
    Row {
        kind: node.kind.to_owned(),
        class: node.class_name.clone(),
        text: node.name.clone(),
        shallow: node.shallow,
        retained: node.retained,
        dominator: node.dominator.map(address),
        distance: node.distance.map(|distance| distance as i32),
        weakly: node.weakly,
        edges,
    }
}

fn rows(nodes: &Table, address: &[Option<u64>], run: &Path) -> BTreeMap<Option<u64>, Row> {
    let mut edges = edges(address, run);
    let (kinds, classes, names) = (nodes.texts("kind"), nodes.texts("class"), nodes.texts("name"));
    let (shallow, retained) = (nodes.u64s("shallow_bytes"), nodes.u64s("retained_bytes"));
    let weakly = nodes.bools("weakly_reachable");
    let (dominators, distances, reached) = (nodes.u32s("dominator"), nodes.i32s("distance"), nodes.bools("reachable"));
    let row = |at: usize| {
        let reached = reached[at].unwrap();
        let class = classes[at].clone().unwrap();
        Row {
            kind: kinds[at].clone().unwrap(),
            text: (class == "java.lang.String").then(|| names[at].clone()).flatten(),
            class: if address[at].is_some() { class } else { String::new() },
            shallow: shallow[at].unwrap(),
            // The oracle gives unreachable objects no retained size.
            retained: if reached { retained[at].unwrap() } else { 0 },
            dominator: reached.then(|| address[dominators[at].unwrap() as usize]),
            distance: distances[at],
            // Null if the dump has no weak references.
            weakly: weakly[at].unwrap_or_default(),
            edges: edges.remove(&address[at]).unwrap_or_default(),
        }
    };
    (0..nodes.rows()).map(row).enumerate().map(|(at, row)| (address[at], row)).collect()
}

/// Targets by source, sorted.
fn edges(address: &[Option<u64>], run: &Path) -> BTreeMap<Option<u64>, Vec<(Option<u64>, bool)>> {
    let table = Table::read(run, "edges.parquet");
    let mut edges: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let ends = table.u32s("from").into_iter().zip(table.u32s("to"));
    for ((from, to), essential) in ends.zip(table.bools("essential")) {
        let [from, to] = [from, to].map(|node| address[node.unwrap() as usize]);
        edges.entry(from).or_default().push((to, essential.unwrap()));
    }
    edges.values_mut().for_each(|targets| targets.sort_unstable());
    edges
}

fn check_retainers(nodes: &Table, address: &[Option<u64>], rows: &BTreeMap<Option<u64>, Row>) {
    let mut counts: BTreeMap<Option<u64>, u64> = BTreeMap::new();
    for (to, _) in rows.values().flat_map(|row| &row.edges) {
        *counts.entry(*to).or_default() += 1;
    }
    for (address, count) in address.iter().zip(nodes.u64s("retainer_count")) {
        assert_eq!(count, Some(counts.get(address).copied().unwrap_or(0)), "retainers of {address:x?}");
    }
}

fn check_classes(truth: &Truth, nodes: &Table, address: &[Option<u64>], run: &Path) {
    let classes = Table::read(run, "classes.parquet");
    let by_address: BTreeMap<Option<u64>, Option<ClassId>> =
        truth.nodes.iter().map(|node| (node.address, node.class)).collect();
    // Objects map class ids to the oracle's classes.
    let mut meaning: BTreeMap<u32, ClassId> = BTreeMap::new();
    for (class, address) in nodes.u32s("class_id").into_iter().zip(address) {
        if let Some(known) = by_address[address] {
            let class = meaning.entry(class.unwrap()).or_insert(known);
            assert_eq!(*class, known, "class of {address:x?}");
        }
    }
    let numbers = ["count", "shallow_bytes", "retained_bytes", "max_retained_bytes"].map(|column| classes.u64s(column));
    let (ids, names, distances) = (classes.u32s("class_id"), classes.texts("class"), classes.i32s("distance"));
    let row = |at: usize| ClassRow {
        name: names[at].clone().unwrap(),
        count: numbers[0][at].unwrap(),
        shallow: numbers[1][at].unwrap(),
        retained: numbers[2][at].unwrap(),
        max_retained: numbers[3][at].unwrap(),
        distance: distances[at].unwrap() as u32,
    };
    let ours: BTreeMap<ClassId, ClassRow> =
        (0..classes.rows()).map(|at| (meaning[&ids[at].unwrap()], row(at))).collect();
    assert_eq!(ours, truth.classes, "classes");
    assert_eq!(ours.len(), classes.rows());
    let mut keys = classes.texts("class_key");
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "keys tell classes apart: {keys:?}");
    assert!(numbers[2].is_sorted_by(|a, b| a >= b), "classes are sorted by retained size");
}

fn check_threads(truth: &[ThreadTruth], address: &[Option<u64>], run: &Path) {
    assert_eq!(threads(address, run), truth, "threads");
}

fn threads(address: &[Option<u64>], run: &Path) -> Vec<ThreadTruth> {
    let table = Table::read(run, "threads.parquet");
    let (nodes, names, locals, retained) =
        (table.u32s("node"), table.texts("name"), table.u64s("locals"), table.u64s("retained_bytes"));
    let frames = table.0.column_by_name("frames").unwrap().as_list::<i32>().clone();
    let lines = |at: usize| {
        let lines = frames.value(at);
        lines.as_string::<i32>().iter().map(|line| line.unwrap().to_owned()).collect()
    };
    let row = |at: usize| ThreadTruth {
        address: address[nodes[at].unwrap() as usize].unwrap(),
        name: names[at].clone(),
        frames: lines(at),
        locals: locals[at].unwrap(),
        retained: retained[at].unwrap(),
    };
    let mut threads: Vec<ThreadTruth> = (0..table.rows()).map(row).collect();
    threads.sort_by_key(|thread| thread.address);
    threads
}

/// The last step of the shortest path to a node: the previous node, the label of the edge, and whether it is a static
/// field.
type Step = (usize, Option<String>, bool);

/// The last step of the shortest path to each node, the least one in the order of [`words`].
fn first_paths(nodes: &Table, run: &Path) -> BTreeMap<usize, Step> {
    let edges = Table::read(run, "edges.parquet");
    let (from, to, essential) = (edges.u32s("from"), edges.u32s("to"), edges.bools("essential"));
    let (kinds, labels) = (edges.texts("kind"), edges.texts("name"));
    let (distances, weakly) = (nodes.i32s("distance"), nodes.bools("weakly_reachable"));
    let (classes, names) = (nodes.texts("class"), nodes.texts("name"));
    let weakly = |node: usize| weakly[node] == Some(true);
    let mut nearer: Vec<(i32, usize, Step)> = Vec::new();
    for edge in 0..edges.rows() {
        let (from, to) = (from[edge].unwrap() as usize, to[edge].unwrap() as usize);
        let Some((before, far)) = distances[from].zip(distances[to]) else { continue };
        let kind = kinds[edge].as_deref().unwrap();
        let avoided = !weakly(to) && (weakly(from) || kind == "referent");
        if before + 1 != far || essential[edge] != Some(true) || avoided {
            continue;
        }
        let label = match kind {
            "root" => None,
            "element" => Some("[]".to_owned()),
            _ => labels[edge].clone(),
        };
        nearer.push((far, to, (from, label, kind == "static")));
    }
    nearer.sort_by_key(|&(far, to, _)| (far, to));
    let mut paths: BTreeMap<usize, Step> = BTreeMap::new();
    for (_, to, step) in nearer {
        let reads_less = |known: &Step| {
            let (one, other) = (words(&step, &paths, &classes, &names), words(known, &paths, &classes, &names));
            one.zip(other).find(|(one, other)| one != other).is_some_and(|(one, other)| one < other)
        };
        if paths.get(&to).is_none_or(reads_less) {
            paths.insert(to, step);
        }
    }
    paths
}

/// The words of a path from its end upwards: a label, then the class and the name of the source node. Labels that begin
/// with a letter come first; numbers, and names with numbers, count as empty.
fn words<'a>(
    step: &'a Step,
    paths: &'a BTreeMap<usize, Step>,
    classes: &'a [Option<String>],
    names: &'a [Option<String>],
) -> impl Iterator<Item = (bool, String)> + 'a {
    std::iter::successors(Some(step), |step| paths.get(&step.0)).flat_map(|(from, label, of_class)| {
        let plain = |text: &Option<String>| text.clone().unwrap_or_default();
        let name = plain(&names[*from]);
        let label = match plain(label) {
            label if *of_class => format!("{name}.{label}"),
            label if label == "[]" => String::new(),
            label => label,
        };
        let numbered = name.bytes().any(|byte| byte.is_ascii_digit());
        let name = if numbered { String::new() } else { name };
        [(!label.starts_with(|c: char| c.is_ascii_alphabetic()), label), (false, plain(&classes[*from])), (false, name)]
    })
}

/// Checks that unfolded chains show the classes and labels on the shortest path of their example; returns the number of
/// edges compared.
pub(crate) fn check_chain_names(run: &Path) -> usize {
    let nodes = Table::read(run, "nodes.parquet");
    let (kinds, classes) = (nodes.texts("kind"), nodes.texts("class"));
    let before = first_paths(&nodes, run);
    let chains = Table::read(run, "chains.parquet");
    let (of_kind, examples) = (chains.texts("kind"), chains.u32s("example_node"));
    let folded =
        |edge: &Option<String>| edge.as_deref().is_some_and(|edge| ["(any)", "…", "(no path)"].contains(&edge));
    let mut compared = 0;
    for (row, path) in paths(&chains).into_iter().enumerate() {
        let plain = path.iter().all(|(edge, _, repeats)| !repeats && !folded(edge));
        if of_kind[row].as_deref() != Some("reference") || !plain {
            continue;
        }
        let mut at = examples[row].unwrap() as usize;
        for (edge, class, _) in path.iter().rev() {
            // Long names are cut.
            if class.chars().count() <= 120 {
                assert_eq!(Some(class), classes[at].as_ref(), "{path:?}");
            }
            let (above, name, of_class) = before.get(&at).unwrap_or_else(|| panic!("no way to {at}: {path:?}"));
            let long = edge.as_ref().is_some_and(|edge| edge.chars().count() > 120);
            match (edge, name) {
                _ if long => {}
                // The label of a static field begins with its class.
                (Some(edge), Some(name)) if *of_class => {
                    assert!(edge.ends_with(&format!(".{name}")), "{edge} for {name}: {path:?}");
                }
                (edge, name) => assert_eq!(edge, name, "{path:?}"),
            }
            compared += usize::from(edge.is_some());
            at = *above;
        }
        assert_eq!(kinds[at].as_deref(), Some("root"), "{path:?}");
    }
    compared
}
