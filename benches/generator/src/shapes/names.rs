//! Heaps with many names, or with a long one.

use super::v8::{Heap, Node, edge, kind, of_parts, part};
use crate::rng::mix;

/// Properties of an object.
const PROPERTIES: u64 = 4;

/// Plain objects that the root refers to, half of all nodes, which refer to strings by names from a formula.
fn plain(nodes: u64, strings: u64, named: impl Fn(u64, &mut Vec<u64>) + 'static) -> Heap {
    const OBJECT: u64 = 1;
    let objects = nodes / 2;
    let edges = move |node, edges: &mut Vec<_>| {
        if node == 0 {
            edges.extend((1..objects).map(|to| (edge::ELEMENT, to, to)));
        } else if node < objects {
            let mut names = Vec::new();
            named(node, &mut names);
            edges.extend(names.iter().map(|name| (edge::PROPERTY, 2 + name, objects + mix(node, *name) % objects)));
        }
    };
    let node = move |node| match node {
        0 => part(0),
        _ if node < objects => Node { kind: kind::OBJECT, name: OBJECT, bytes: 56 },
        _ => Node { kind: kind::STRING, name: 2, bytes: 16 },
    };
    Heap {
        node: Box::new(node),
        strings: 2 + strings,
        string: Box::new(|at| match at {
            0 => String::new(),
            OBJECT => "Object".to_owned(),
            _ => format!("p{at}"),
        }),
        ..of_parts(2 * objects, edges)
    }
}

/// Hardly any property occurs twice.
pub(super) fn property_sets(nodes: u64) -> Heap {
    plain(nodes, nodes, move |node, names| names.extend((0..PROPERTIES).map(|at| mix(node, at) % nodes)))
}

/// Every second object has one of 900 sets of three out of twenty properties; the others have more of them.
pub(super) fn supersets(nodes: u64) -> Heap {
    const NAMES: u64 = 20;
    const SETS: u64 = 900;
    plain(nodes, NAMES, |node, names| {
        let (seed, most) = if node.is_multiple_of(2) { (mix(7, node % SETS), 3) } else { (mix(8, node), 14) };
        names.extend((0..most).map(|at| mix(seed, at) % NAMES));
        names.sort_unstable();
        names.dedup();
    })
}

pub(super) fn edge_names(nodes: u64) -> Heap {
    Heap {
        strings: nodes,
        string: Box::new(|at| if at == 0 { String::new() } else { format!("name{at}") }),
        ..of_parts(nodes, move |node, edges| {
            if node == 0 {
                edges.extend((1..nodes).map(|to| (edge::PROPERTY, to, to)));
            }
        })
    }
}

pub(super) fn classes(nodes: u64) -> Heap {
    const LIST: u64 = 1000;
    let edges = move |node: u64, edges: &mut Vec<_>| {
        if node == 0 {
            edges.extend((1..nodes).step_by(LIST as usize).map(|to| (edge::ELEMENT, to, to)));
        } else if !node.is_multiple_of(LIST) && node + 1 < nodes {
            edges.push((edge::PROPERTY, 1, node + 1));
        }
    };
    Heap {
        node: Box::new(|node| Node { name: node, ..part(node) }),
        strings: nodes,
        string: Box::new(|at| if at == 0 { String::new() } else { format!("Class{at}") }),
        ..of_parts(nodes, edges)
    }
}

pub(super) fn scripts(nodes: u64) -> Heap {
    Heap {
        node: Box::new(|node| if node == 0 { part(0) } else { Node { kind: kind::CLOSURE, name: 1, bytes: 64 } }),
        script: Some(|node| node),
        ..of_parts(nodes, move |node, edges| {
            if node == 0 {
                edges.extend((1..nodes).map(|to| (edge::ELEMENT, to, to)));
            } else {
                edges.push((edge::PROPERTY, 2, 1 + mix(node, 1) % (nodes - 1)));
            }
        })
    }
}

pub(super) fn pairs(nodes: u64) -> Heap {
    let texts = nodes / 4;
    let edges = move |node, edges: &mut Vec<_>| {
        if node == 0 {
            edges.extend((1..=2 * texts).map(|to| (edge::ELEMENT, to, to)));
        } else if node <= 2 * texts {
            edges.push((edge::PROPERTY, 1, 2 * texts + node));
        }
    };
    let node = move |node| match node {
        0 => part(0),
        _ if node <= 2 * texts => Node { kind: kind::OBJECT, name: 1, bytes: 32 },
        _ => Node { kind: kind::STRING, name: 2 + (node - 1) % texts, bytes: 32 },
    };
    Heap {
        node: Box::new(node),
        strings: 2 + texts,
        string: Box::new(|at| match at {
            0 => String::new(),
            1 => "Pair".to_owned(),
            _ => format!("text{at}"),
        }),
        ..of_parts(4 * texts + 1, edges)
    }
}

/// A hundred strings share a text of a hundred characters per node.
pub(super) fn wide_text(nodes: u64) -> Heap {
    const STRINGS: u64 = 100;
    let characters = 100 * nodes;
    Heap {
        node: Box::new(|node| if node == 0 { part(0) } else { Node { kind: kind::STRING, name: 1, bytes: 24 } }),
        strings: 2,
        string: Box::new(move |at| "wide ".repeat(if at == 1 { characters as usize / 5 } else { 0 })),
        ..of_parts(STRINGS + 1, |node, edges| {
            if node == 0 {
                edges.extend((1..=STRINGS).map(|to| (edge::ELEMENT, to, to)));
            }
        })
    }
}
