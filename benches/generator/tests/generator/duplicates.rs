//! The planted sets of identical instances against the definition itself.
//!
//! Edges have distinct labels, so the nodes reachable from a node can be numbered in one way only. Two nodes are
//! identical exactly if their numbered graphs are equal as texts.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use crate::read_back::{Graph, generate, small};
use heaplake_generator::file;
use heaplake_generator::plan::{Shape, Target};
use serde_json::Value;

/// Whether the target is compared by identity and not descended into.
fn by_identity(graph: &Graph, name: &str, to: usize) -> bool {
    const KINDS: [&str; 7] = ["hidden", "code", "object shape", "native", "symbol", "closure", "synthetic"];
    ["map", "__proto__", "constructor"].contains(&name) || KINDS.contains(&graph.nodes[to].kind.as_str())
}

/// The numbered graph as a text, and its nodes.
fn code(graph: &Graph, start: usize) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut reached = vec![start];
    let mut numbers = HashMap::from([(start, 0)]);
    let mut next = 0;
    while let Some(&node) = reached.get(next) {
        next += 1;
        let node = &graph.nodes[node];
        write!(text, "|{} {:?} {}", node.kind, node.name, node.size).unwrap();
        for edge in node.edges.iter().filter(|edge| edge.kind != "weak" && edge.kind != "shortcut") {
            if by_identity(graph, &edge.name, edge.to) {
                write!(text, " {}={}", edge.name, edge.to).unwrap();
                continue;
            }
            let number = *numbers.entry(edge.to).or_insert_with(|| {
                reached.push(edge.to);
                reached.len() - 1
            });
            write!(text, " {}->{number}", edge.name).unwrap();
        }
    }
    (text, reached)
}

fn bytes(graph: &Graph, nodes: impl IntoIterator<Item = usize>) -> u64 {
    nodes.into_iter().collect::<HashSet<_>>().into_iter().map(|node| graph.nodes[node].size).sum()
}

/// Sets, members and additional bytes among the nodes of a name; strings match by prefix.
fn sets(graph: &Graph, kind: &str, name: &str) -> (u64, HashSet<u64>, u64) {
    let mut found: HashMap<String, Vec<Vec<usize>>> = HashMap::new();
    for (i, node) in graph.nodes.iter().enumerate() {
        // Excludes prototypes and shared strings.
        if node.kind == kind && node.name.starts_with(name) && (kind == "string" || node.name == name) {
            let (text, reached) = code(graph, i);
            found.entry(text).or_default().push(reached);
        }
    }
    found.retain(|_, members| members.len() > 1);
    let mut extra = 0;
    for members in found.values() {
        extra += bytes(graph, members.iter().flatten().copied()) - bytes(graph, members[0].iter().copied());
    }
    (found.len() as u64, found.values().map(|members| members.len() as u64).collect(), extra)
}

#[test]
fn sets_are_as_planted() {
    let queries = [
        ("flags", "object", "DupFlag"),
        ("texts", "string", "twin "),
        ("near miss texts", "string", "near "),
        ("ring texts", "string", "ring "),
        ("lists", "object", "DupList"),
        ("list nodes", "object", "DupListNode"),
        ("tree nodes", "object", "DupTreeNode"),
        ("rings", "object", "DupRing"),
        ("ring nodes", "object", "DupRingNode"),
        ("near misses", "object", "NearMiss"),
    ];
    let two_shards = || generate(9, Shape::Realistic, Target::Nodes(30_000));
    for (plan, written) in [small(1), small(2), two_shards()] {
        let graph = Graph::read(&written);
        let answers: Value = serde_json::from_str(&file::answers(&plan).to_json()).unwrap();
        assert_eq!(answers["duplicates"].as_object().unwrap().len(), queries.len());
        for (id, kind, name) in queries {
            let planted = &answers["duplicates"][id];
            let (count, members, extra) = sets(&graph, kind, name);
            assert_eq!(planted["sets"], count, "{id}");
            assert_eq!(planted["additional_bytes"], extra, "{id}");
            if count > 0 {
                assert_eq!(members.len(), 1, "{id}");
                assert!(members.contains(&planted["members_per_set"].as_u64().unwrap()), "{id}");
            }
        }
    }
}
