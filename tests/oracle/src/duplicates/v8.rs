//! The equality graph of a V8 snapshot, from the written rules.

use super::{EqualityGraph, Node, Slot};
use crate::model::{Edge, Label};
use crate::{OracleString, Snapshot};
use std::collections::BTreeMap;

/// Kinds that belong to the engine or have invisible content.
const OPAQUE: [&str; 7] = ["hidden", "code", "object shape", "native", "symbol", "closure", "synthetic"];

/// Kinds of texts.
const TEXTS: [&str; 3] = ["string", "concatenated string", "sliced string"];

/// Assigns equal numbers to equal things.
struct Numbers<T>(BTreeMap<T, u32>);

impl<T: Ord> Numbers<T> {
    fn of(&mut self, thing: T) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(thing).or_insert(next)
    }
}

fn is_text(snapshot: &Snapshot, node: usize) -> bool {
    TEXTS.contains(&snapshot.node_types[snapshot.nodes[node].kind].as_str())
}

fn is_opaque(snapshot: &Snapshot, node: usize) -> bool {
    let (kind, name) = (snapshot.nodes[node].kind, snapshot.nodes[node].name);
    let system = !is_text(snapshot, node) && snapshot.strings[name].starts_with("system / ");
    system || OPAQUE.contains(&snapshot.node_types[kind].as_str())
}

/// An edge's label with its kind.
fn label(snapshot: &Snapshot, edge: &Edge) -> (usize, Option<OracleString>, u64) {
    match snapshot.label(edge) {
        Label::Name(name) => (edge.kind, Some(name.clone()), 0),
        Label::Index(index) => (edge.kind, None, index),
    }
}

/// The graph. It has no roots, since it is not used for retainers.
pub fn equality(snapshot: &Snapshot) -> EqualityGraph {
    let mut values = Numbers(BTreeMap::new());
    let mut labels: Labels = Numbers(BTreeMap::new());
    let mut nodes = Vec::new();
    for (i, node) in snapshot.nodes.iter().enumerate() {
        if is_opaque(snapshot, i) {
            // Unique.
            let value = values.of((usize::MAX, OracleString::default(), i as u64, Vec::new()));
            nodes.push(Node { value, bytes: node.self_size, slots: Vec::new() });
            continue;
        }
        let (slots, texts) = outside(snapshot, i, &mut labels);
        let name = snapshot.strings[node.name].clone();
        nodes.push(Node { value: values.of((node.kind, name, node.self_size, texts)), bytes: node.self_size, slots });
    }
    EqualityGraph { nodes, roots: Vec::new() }
}

/// Numbers of labels, each with the edge's position among the edges of that label.
type Labels = Numbers<((usize, Option<OracleString>, u64), usize)>;

/// The slots of a node, and the texts that belong to its value, both sorted.
fn outside(snapshot: &Snapshot, node: usize, labels: &mut Labels) -> (Vec<Slot>, Vec<(u32, OracleString)>) {
    let kind_of_node = snapshot.node_types[snapshot.nodes[node].kind].as_str();
    let (mut slots, mut texts) = (Vec::new(), Vec::new());
    let mut met: BTreeMap<_, usize> = BTreeMap::new();
    for edge in &snapshot.nodes[node].edges {
        let kind = snapshot.edge_type(edge);
        let label = label(snapshot, edge);
        let is = |text: &str| label.1.as_ref().is_some_and(|name| name.to_utf8().as_deref() == Some(text));
        if kind == "shortcut" || (is("map") && kind == "internal" && is_text(snapshot, node)) {
            continue;
        }
        // Edges of one label are distinguished by their order.
        let count = met.entry(label.clone()).or_default();
        *count += 1;
        let number = labels.of((label.clone(), *count));
        if kind_of_node == "number" && is("value") {
            texts.push((number, snapshot.strings[snapshot.nodes[edge.to].name].clone()));
            continue;
        }
        let identity = kind == "weak"
            || is_opaque(snapshot, edge.to)
            || (is("map") && kind == "internal")
            || is("__proto__")
            || is("constructor");
        slots.push(Slot { label: number, to: edge.to, identity });
    }
    slots.sort_unstable();
    texts.sort_unstable();
    (slots, texts)
}
