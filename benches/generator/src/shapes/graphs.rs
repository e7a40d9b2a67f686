//! Graphs of objects of one class.

use super::v8::{Edge, Heap, NEXT, Node, OTHER, edge, kind, of_parts, part};
use crate::rng::mix;

/// Maximum number of hubs in graphs with hubs.
const HUBS: u64 = 1000;

pub(super) fn star(nodes: u64) -> Heap {
    of_parts(nodes, move |node, edges| match node {
        0 => edges.push((edge::PROPERTY, NEXT, 1)),
        1 => edges.extend((2..nodes).map(|to| (edge::ELEMENT, to, to))),
        _ => {}
    })
}

/// Its labels are not in sorted order.
pub(super) fn star_multi(targets: u64) -> Heap {
    let references = 10 * targets;
    of_parts(targets + 2, move |node, edges| match node {
        0 => edges.push((edge::PROPERTY, NEXT, 1)),
        1 => edges.extend((0..references).map(|at| (edge::ELEMENT, references - at, 2 + at % targets))),
        _ => {}
    })
}

pub(super) fn in_star(nodes: u64) -> Heap {
    of_parts(nodes, move |node, edges| match node {
        0 => edges.extend((2..nodes).map(|to| (edge::ELEMENT, to, to))),
        1 => {}
        _ => edges.push((edge::PROPERTY, NEXT, 1)),
    })
}

/// Four references per node, from `hubs` hubs, to the targets of a formula.
fn hubs(nodes: u64, hubs: u64, target: impl Fn(u64, u64) -> u64 + 'static) -> Heap {
    let others = nodes - hubs - 1;
    of_parts(nodes, move |node, edges| {
        if node == 0 {
            edges.extend((1..=hubs).map(|hub| (edge::ELEMENT, hub, hub)));
        } else if node <= hubs {
            let each = 4 * others / hubs;
            edges.extend((0..each).map(|at| (edge::ELEMENT, at, 1 + hubs + target(node, at) % others)));
        }
    })
}

pub(super) fn bipartite(nodes: u64) -> Heap {
    hubs(nodes, HUBS.min(nodes / 10), mix)
}

/// All hubs of one size refer to the same nodes.
pub(super) fn equal_hubs(nodes: u64) -> Heap {
    hubs(nodes, HUBS.min(nodes / 10), |_, at| at)
}

pub(super) fn random(nodes: u64) -> Heap {
    of_parts(nodes, move |node, edges| {
        let random = |at| 1 + mix(node, at) % (nodes - 1);
        match node {
            0 => edges.push((edge::PROPERTY, NEXT, 1)),
            _ => edges.extend((0..4).map(|at| (edge::ELEMENT, at, random(at)))),
        }
        if node + 1 < nodes {
            edges.push((edge::PROPERTY, NEXT, node + 1));
        }
    })
}

pub(super) fn chain(nodes: u64) -> Heap {
    of_parts(nodes, move |node, edges| {
        if node + 1 < nodes {
            edges.push((edge::PROPERTY, NEXT, node + 1));
        }
    })
}

pub(super) fn chain_back(nodes: u64) -> Heap {
    of_parts(nodes, move |node, edges| match node {
        0 => edges.push((edge::PROPERTY, NEXT, nodes - 1)),
        1 => {}
        _ => edges.push((edge::PROPERTY, NEXT, node - 1)),
    })
}

/// Objects of one size, so that only the cycle distinguishes them.
fn alike(nodes: u64, edges: impl Fn(u64, &mut Vec<Edge>) + 'static) -> Heap {
    let node = |node| Node { bytes: if node == 0 { 0 } else { 24 }, ..part(node) };
    Heap { node: Box::new(node), ..of_parts(nodes, edges) }
}

pub(super) fn ring(nodes: u64) -> Heap {
    let members = nodes - 1;
    alike(nodes, move |node, edges| match node {
        0 => edges.push((edge::PROPERTY, NEXT, 1)),
        _ => {
            edges.push((edge::PROPERTY, NEXT, 1 + node % members));
            edges.push((edge::PROPERTY, OTHER, 1 + 2 * node % members));
        }
    })
}

pub(super) fn rings(nodes: u64) -> Heap {
    const SIZE: u64 = 100;
    let count = nodes.div_ceil(SIZE);
    alike(count * SIZE + 1, move |node, edges| {
        if node == 0 {
            return edges.extend((0..count).map(|ring| (edge::ELEMENT, ring, 1 + ring * SIZE)));
        }
        let (ring, at) = ((node - 1) / SIZE, (node - 1) % SIZE);
        let differs = at == SIZE - 1 && ring.is_multiple_of(2);
        edges.push((edge::PROPERTY, NEXT, 1 + ring * SIZE + (at + 1) % SIZE));
        edges.push((edge::PROPERTY, if differs { NEXT } else { OTHER }, 1 + ring * SIZE + (at + 7) % SIZE));
    })
}

pub(super) fn ladder(nodes: u64) -> Heap {
    of_parts(nodes, move |node, edges| {
        edges.extend((1..4).map(|step| (edge::ELEMENT, step, node + step)).filter(|&(_, _, to)| to < nodes));
        if node > 4 {
            edges.push((edge::PROPERTY, OTHER, node - 3));
        }
    })
}

/// The root, a table, and entries with keys and values by formula. The root refers to the first `held` nodes behind the
/// table.
fn weak(nodes: u64, entries: u64, held: u64, key: fn(u64) -> u64, value: fn(u64, u64) -> u64) -> Heap {
    const TABLE: u64 = 1;
    let names = 3;
    let edges = move |node, edges: &mut Vec<Edge>| match node {
        0 => {
            edges.push((edge::PROPERTY, 2, TABLE));
            edges.extend((0..held).map(|at| (edge::ELEMENT, at, 2 + at)));
        }
        TABLE => edges.extend((0..entries).map(|at| (edge::INTERNAL, names + at, value(at, entries)))),
        _ => edges.extend(
            node.checked_sub(key(0))
                .filter(|&at| at < entries)
                .map(|at| (edge::INTERNAL, names + at, value(at, entries))),
        ),
    };
    let id = |node: u64| 2 * node + 1;
    let name = move |at: u64| {
        let (key, value) = (id(key(at)), id(value(at, entries)));
        format!("1 / part of key (Part @{key}) -> value (Part @{value}) pair in WeakMap (table @{})", id(TABLE))
    };
    Heap {
        node: Box::new(|node| if node == TABLE { Node { kind: kind::ARRAY, name: 2, bytes: 64 } } else { part(node) }),
        strings: names + entries,
        string: Box::new(move |at| match at.checked_sub(names) {
            Some(entry) => name(entry),
            None => ["", "Part", "WeakMap"][at as usize].to_owned(),
        }),
        ..of_parts(nodes, edges)
    }
}

pub(super) fn weak_map(nodes: u64) -> Heap {
    let entries = nodes / 2;
    weak(2 + 2 * entries, entries, entries, |at| 2 + at, |at, entries| 2 + entries + at)
}

pub(super) fn weak_chain(nodes: u64) -> Heap {
    weak(nodes + 3, nodes, 1, |at| 2 + at, |at, _| 3 + at)
}
