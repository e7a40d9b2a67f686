//! Small random graphs, dense in hard cases: cycles, shared nodes, symmetric rings, twins and near-twins.

use super::{EqualityGraph, Node, Slot};
use crate::SplitMix64;

/// The graph of a seed, with at most some forty nodes, all reachable from a root.
pub fn random(seed: u64) -> EqualityGraph {
    let mut rng = SplitMix64::new(seed);
    let mut graph = EqualityGraph::default();
    let shared = rng.below(4);
    for _ in 0..shared {
        let value = rng.below(2) as u32;
        add(&mut graph, value);
    }
    while graph.nodes.len() < 3 || (graph.nodes.len() < 24 && !rng.one_in(4)) {
        let first = graph.nodes.len();
        if rng.one_in(3) {
            ring(&mut graph, &mut rng);
        } else {
            tangle(&mut graph, shared, &mut rng);
        }
        let last = graph.nodes.len();
        for _ in 0..rng.below(4) {
            if graph.nodes.len() + last - first <= 40 {
                copy(&mut graph, first..last, &mut rng);
            }
        }
    }
    // A few stray references, some to shared nodes.
    for _ in 0..rng.below(4) {
        let (from, to) = (rng.below(graph.nodes.len()), rng.below(graph.nodes.len()));
        let identity = rng.one_in(4);
        slot(&mut graph, from, to, identity);
    }
    root(&mut graph, &mut rng);
    graph
}

fn add(graph: &mut EqualityGraph, value: u32) -> usize {
    // Sizes with sums that identify their nodes, up to nodes with equal values.
    graph.nodes.push(Node { value, bytes: [8, 24, 160, 1000][value as usize % 4], slots: Vec::new() });
    graph.nodes.len() - 1
}

/// Adds a slot with the next free label.
fn slot(graph: &mut EqualityGraph, from: usize, to: usize, identity: bool) {
    let label = graph.nodes[from].slots.len() as u32;
    graph.nodes[from].slots.push(Slot { label, to, identity });
}

/// A ring of nodes with periodic values, some with references back.
fn ring(graph: &mut EqualityGraph, rng: &mut SplitMix64) {
    let (length, first) = (1 + rng.below(6), graph.nodes.len());
    let period = 1 + rng.below(length);
    for i in 0..length {
        add(graph, (i % period) as u32 % 3);
    }
    let backwards = rng.one_in(2);
    for i in 0..length {
        slot(graph, first + i, first + (i + 1) % length, false);
        if backwards {
            slot(graph, first + i, first + (i + length - 1) % length, false);
        }
    }
}

/// Nodes with references among each other, mostly forwards, and to shared nodes.
fn tangle(graph: &mut EqualityGraph, shared: usize, rng: &mut SplitMix64) {
    let (length, first) = (1 + rng.below(7), graph.nodes.len());
    let (values, cyclic) = (1 + rng.below(3), 1 + rng.below(6));
    for _ in 0..length {
        let value = rng.below(values) as u32;
        add(graph, value);
    }
    for i in 0..length {
        for _ in 0..rng.below(4) {
            let to = if shared > 0 && rng.one_in(4) {
                rng.below(shared)
            } else if rng.one_in(cyclic) {
                first + rng.below(length)
            } else {
                first + i + rng.below(length - i)
            };
            let identity = rng.one_in(8);
            if to != first + i || rng.one_in(4) {
                slot(graph, first + i, to, identity);
            }
        }
    }
}

/// A copy of some nodes, occasionally slightly different.
fn copy(graph: &mut EqualityGraph, range: std::ops::Range<usize>, rng: &mut SplitMix64) {
    let shift = graph.nodes.len() - range.start;
    for node in range.clone() {
        let mut copy = graph.nodes[node].clone();
        for slot in &mut copy.slots {
            if range.contains(&slot.to) && !slot.identity {
                slot.to += shift;
            }
        }
        graph.nodes.push(copy);
    }
    if rng.one_in(2) {
        let node = range.start + shift + rng.below(range.len());
        let (slots, nodes) = (graph.nodes[node].slots.len(), graph.nodes.len());
        match rng.below(4) {
            0 => {
                let value = rng.below(3);
                graph.nodes[node].value = value as u32;
                graph.nodes[node].bytes = [8, 24, 160, 1000][value];
            }
            1 if slots > 0 => graph.nodes[node].slots[rng.below(slots)].to = rng.below(nodes),
            2 if slots > 0 => {
                // A reference into the original instead of the copy.
                let at = rng.below(slots);
                let to = graph.nodes[node].slots[at].to;
                if to >= range.start + shift {
                    graph.nodes[node].slots[at].to = to - shift;
                }
            }
            _ if slots > 1 => graph.nodes[node].slots[0].to = graph.nodes[node].slots[1].to,
            _ => {}
        }
    }
}

/// Random roots, and as many more as it takes to reach every node.
fn root(graph: &mut EqualityGraph, rng: &mut SplitMix64) {
    let nodes = graph.nodes.len();
    graph.roots = (0..nodes).filter(|_| rng.one_in(8)).collect();
    for node in 0..nodes {
        if !graph.reached_without(&[]).contains(&node) {
            graph.roots.push(node);
        }
    }
}
