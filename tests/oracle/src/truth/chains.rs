//! Chains of classes from the roots to instances, by walking up from every instance.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::Truth;
use super::{distance, rows};
use crate::model::Snapshot;
use crate::text::OracleString;

/// Window of elements in which recursion is folded.
const NEAR: usize = 4;
/// Maximum number of names side by side.
const NAMES: usize = 16;

/// An element of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Element {
    /// Name of the incoming edge, `[]` for any number, `(entry)` for an entry of a weak map.
    pub edge: Option<OracleString>,
    pub class: OracleString,
}

/// All instances of one class with the same path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chain {
    /// Along dominators rather than along a shortest path.
    pub dominators: bool,
    /// From the root, which is left out, to the instances, with flags for repeated elements.
    pub path: Vec<(Element, bool)>,
    pub count: u64,
    pub shallow: u64,
    /// Sum of the retained sizes of the instances inside no other instance of the class.
    pub retained: u64,
    /// The first instance with the largest retained size.
    pub example: usize,
}

/// The chains to all instances of all classes with a node that is neither hidden nor synthetic.
pub fn chains(snapshot: &Snapshot, truth: &Truth) -> Vec<Chain> {
    let program = |v: usize| !["hidden", "synthetic"].contains(&snapshot.node_type(v));
    let keys = (0..snapshot.nodes.len()).filter(|&v| program(v)).map(|v| &truth.nodes[v].class_key);
    let big: BTreeSet<&OracleString> = keys.collect();
    let least = truth.nodes.iter().map(|node| node.shallow).sum::<u64>() / 1000;
    let root = snapshot.root();
    let mut chains = Vec::new();
    let nearest = nearest(snapshot, truth);
    for dominators in [false, true] {
        let before = |v: usize| if dominators { dominator(truth, v) } else { nearest[v].clone() };
        let mut repeated = BTreeSet::new();
        let mut found = Found::new();
        for v in 0..snapshot.nodes.len() {
            if truth.nodes[v].shallow == 0 || !big.contains(&truth.nodes[v].class_key) {
                continue;
            }
            let path = folded(&path_to(v, root, truth, before), &mut repeated);
            match found.iter_mut().find(|(other, _)| *other == path) {
                Some((_, instances)) => instances.push(v),
                None => found.push((path, vec![v])),
            }
        }
        let renamed = renamed(snapshot, &found, truth, least);
        let sums = sums(&found, &renamed, &repeated, truth);
        chains.extend(sums.into_iter().map(|chain| Chain { dominators, ..chain }));
    }
    chains
}

/// The previous node, and the name of the edge between them.
type Before = (Option<usize>, Option<OracleString>);

fn dominator(truth: &Truth, v: usize) -> Before {
    (Some(truth.nodes[v].dominator).filter(|&d| d != v), None)
}

/// For each node the followed edge from a node at a distance one less. Ties: least kind, then the least path read from
/// its end upwards, then the least node, then the first edge.
fn nearest(snapshot: &Snapshot, truth: &Truth) -> Vec<Before> {
    let count = snapshot.nodes.len();
    let mut before: Vec<Before> = vec![(None, None); count];
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&v| truth.nodes[v].distance);
    for v in order {
        before[v] = match truth.nodes[v].distance {
            None => (None, Some("(no path)".into())),
            Some(far) => nearest_to(v, far, snapshot, truth, &before),
        };
    }
    before
}

fn nearest_to(v: usize, far: i32, snapshot: &Snapshot, truth: &Truth, before: &[Before]) -> Before {
    let mut best: Option<(usize, Vec<Read>, Before)> = None;
    for (from, node) in snapshot.nodes.iter().enumerate() {
        if truth.nodes[from].distance != Some(far - 1) {
            continue;
        }
        for edge in node.edges.iter().filter(|edge| edge.to == v) {
            let Some(name) = distance::followed_as(snapshot, from, edge) else { continue };
            let link = (Some(from), Some(if is_number(&name) { "[]".into() } else { name }));
            let read = read(&link, snapshot, truth, before);
            let is_less = |(kind, other, _): &(usize, Vec<Read>, Before)| {
                let reads_less = || read.iter().zip(other).find(|(a, b)| a != b).is_some_and(|(a, b)| a < b);
                edge.kind < *kind || (edge.kind == *kind && reads_less())
            };
            if best.as_ref().is_none_or(is_less) {
                best = Some((edge.kind, read, link));
            }
        }
    }
    best.map_or((None, None), |(_, _, link)| link)
}

/// A word of a path: whether it does not begin with a letter, and the word.
type Read = (bool, Vec<u8>);

/// A path from its end upwards: a label, then class and name of the source node.
fn read(link: &Before, snapshot: &Snapshot, truth: &Truth, before: &[Before]) -> Vec<Read> {
    let mut words = Vec::new();
    let mut link = link.clone();
    loop {
        let label = match &link.1 {
            Some(name) if *name == "[]" => Vec::new(),
            // After numbers, before all names.
            Some(name) if *name == "(entry)" => vec![0],
            name => name.as_ref().map(OracleString::to_wtf8).unwrap_or_default(),
        };
        words.push((!label.first().is_some_and(u8::is_ascii_alphabetic), label));
        let Some(from) = link.0 else { return words };
        let told = |name: &OracleString| Some(name.to_wtf8()).filter(|name| !name.iter().all(u8::is_ascii_digit));
        let name = told(snapshot.node_name(from)).filter(|name| !name.iter().any(u8::is_ascii_digit));
        words.push((false, told(&truth.nodes[from].class_name).unwrap_or_default()));
        words.push((false, name.unwrap_or_default()));
        link = before[from].clone();
    }
}

/// Whether a name is a number, which counts as an index.
fn is_number(name: &OracleString) -> bool {
    let text = name.to_string();
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

fn path_to(v: usize, root: usize, truth: &Truth, before: impl Fn(usize) -> Before) -> Vec<Element> {
    let mut path = Vec::new();
    let mut at = v;
    loop {
        let (above, edge) = before(at);
        path.push(Element { edge, class: truth.nodes[at].class_key.clone() });
        match above {
            Some(above) if above != root && at != root => at = above,
            _ => break,
        }
    }
    path.reverse();
    path
}

/// The elements with recursion folded; adds the paths that end with a repeated element to `repeated`.
fn folded(elements: &[Element], repeated: &mut BTreeSet<Vec<Element>>) -> Vec<Element> {
    let mut path: Vec<Element> = Vec::new();
    for element in elements {
        let near = path.len().saturating_sub(NEAR)..path.len();
        let same = near.rev().find(|&at| path[at] == *element);
        // Repeated common classes with a class of the program between them are not recursion.
        let crosses = |at: usize| path[at + 1..].iter().any(|between| !is_common(&between.class));
        match same.filter(|&at| !is_common(&element.class) || !crosses(at)) {
            Some(at) => {
                path.truncate(at + 1);
                repeated.insert(path.clone());
            }
            None => path.push(element.clone()),
        }
    }
    path
}

/// Whether every program has many instances of a class.
fn is_common(class_key: &OracleString) -> bool {
    let key = class_key.to_string();
    // `,name`, or `script,line,column,name`.
    let name = match key.strip_prefix(',') {
        Some(name) => name,
        None => key.splitn(4, ',').nth(3).unwrap_or_default(),
    };
    let whole = ["Object", "Array", "Function", "Map", "Set", "Promise", "global"];
    let beginnings = ["(", "{", "system / ", "Node / "];
    whole.contains(&name) || beginnings.iter().any(|begin| name.starts_with(begin)) || name.ends_with("[]")
}

/// Rank among equally heavy names: by position in the file, missing names last.
fn rank(snapshot: &Snapshot, name: Option<&OracleString>) -> usize {
    let marks = ["(no path)", "(entry)", "[]"].map(OracleString::from);
    let Some(name) = name else { return usize::MAX };
    match marks.iter().position(|mark| mark == name) {
        Some(mark) => usize::MAX - marks.len() + mark,
        None => snapshot.strings.iter().position(|string| string == name).unwrap_or(usize::MAX - 10),
    }
}

/// Paths with their instances.
type Found = Vec<(Vec<Element>, Vec<usize>)>;

/// Sum of the retained sizes of the instances inside no other instance of their class.
fn retained(instances: &[usize], truth: &Truth) -> u64 {
    let outer = instances.iter().filter(|&&v| !rows::is_inside_own_class(&truth.nodes, v));
    outer.map(|&v| truth.nodes[v].retained).sum()
}

/// The paths, after light names have become `(any)`.
fn renamed(snapshot: &Snapshot, found: &Found, truth: &Truth, least: u64) -> Vec<Vec<Element>> {
    let mut renamed: Vec<Vec<Element>> = found.iter().map(|(path, _)| path.clone()).collect();
    for depth in 0..renamed.iter().map(Vec::len).max().unwrap_or(0) {
        // Paths that agree before this element and in its class.
        let mut groups: BTreeMap<(Vec<Element>, OracleString), Vec<usize>> = BTreeMap::new();
        for (at, path) in renamed.iter().enumerate().filter(|(_, path)| path.len() > depth) {
            groups.entry((path[..depth].to_vec(), path[depth].class.clone())).or_default().push(at);
        }
        for group in groups.values() {
            let weighed = group.iter().map(|&at| (renamed[at][depth].edge.clone(), retained(&found[at].1, truth)));
            let light = light_names(snapshot, weighed, least);
            if light.len() > 1 {
                for &at in group {
                    let edge = &mut renamed[at][depth].edge;
                    if light.contains(edge) {
                        *edge = Some("(any)".into());
                    }
                }
            }
        }
    }
    renamed
}

/// The light names, and the heavy ones beyond the first [`NAMES`].
fn light_names(
    snapshot: &Snapshot,
    weighed: impl Iterator<Item = (Option<OracleString>, u64)>,
    least: u64,
) -> Vec<Option<OracleString>> {
    let mut names: BTreeMap<Option<OracleString>, u64> = BTreeMap::new();
    for (name, retained) in weighed {
        let weight = names.entry(name).or_default();
        *weight = retained.max(*weight);
    }
    let mut order: Vec<_> = names.into_iter().collect();
    order.sort_by_key(|(name, weight)| (std::cmp::Reverse(*weight), rank(snapshot, name.as_ref())));
    let kept = order.iter().take(NAMES).take_while(|(_, weight)| *weight >= least).count();
    order.into_iter().skip(kept).map(|(name, _)| name).collect()
}

/// Sums by path, with the new names of its elements.
fn sums(found: &Found, renamed: &[Vec<Element>], repeated: &BTreeSet<Vec<Element>>, truth: &Truth) -> Vec<Chain> {
    let mut repeats: BTreeSet<Vec<Element>> = BTreeSet::new();
    for ((path, _), new) in found.iter().zip(renamed) {
        let again = (1..=path.len()).filter(|&length| repeated.contains(&path[..length]));
        repeats.extend(again.map(|length| new[..length].to_vec()));
    }
    let mut chains: BTreeMap<Vec<Element>, Chain> = BTreeMap::new();
    for ((_, instances), new) in found.iter().zip(renamed) {
        let chain = chains.entry(new.clone()).or_insert_with(|| Chain {
            dominators: false,
            path: (1..=new.len()).map(|length| (new[length - 1].clone(), repeats.contains(&new[..length]))).collect(),
            count: 0,
            shallow: 0,
            retained: 0,
            example: instances[0],
        });
        chain.count += instances.len() as u64;
        chain.shallow += instances.iter().map(|&v| truth.nodes[v].shallow).sum::<u64>();
        chain.retained += retained(instances, truth);
        let best = |v: usize| (std::cmp::Reverse(truth.nodes[v].retained), v);
        chain.example = instances.iter().copied().chain([chain.example]).min_by_key(|&v| best(v)).expect("some");
    }
    chains.into_values().collect()
}
