//! The planted answers against a slow, plain analysis of the written file.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::read_back::{Edge, Graph, generate, small};
use heaplake_generator::file;
use heaplake_generator::plan::{Shape, Target};

/// The common text of a WeakMap entry's two edges, and the id of the table.
fn ephemeron(edge: &Edge) -> Option<(&str, u64)> {
    let (_, text) = edge.name.split_once(" / part of key ")?;
    let table = text.rsplit_once("(table @")?.1.strip_suffix(')')?;
    Some((text, table.parse().ok()?))
}

fn page_owned(graph: &Graph) -> Vec<bool> {
    let mut owned = vec![false; graph.nodes.len()];
    let seed = |edge: &&Edge| edge.kind == "shortcut" || graph.nodes[edge.to].name == "(Document DOM trees)";
    let mut work: Vec<usize> = graph.nodes[0].edges.iter().filter(seed).map(|edge| edge.to).collect();
    while let Some(node) = work.pop() {
        if !std::mem::replace(&mut owned[node], true) {
            work.extend(graph.nodes[node].edges.iter().filter(|edge| edge.kind != "weak").map(|edge| edge.to));
        }
    }
    owned
}

/// The essential edges, and an edge from the root to every node without an incoming essential edge.
fn holding(graph: &Graph) -> Vec<Vec<usize>> {
    let owned = page_owned(graph);
    let holds = |from: usize, edge: &Edge| {
        let of_table = ephemeron(edge).is_some_and(|(_, table)| graph.nodes[from].id == table);
        let inside = from == 0 || (edge.kind != "shortcut" && (owned[from] || !owned[edge.to]));
        edge.kind != "weak" && edge.to != from && !of_table && inside
    };
    let all = graph.nodes.iter().enumerate();
    let mut edges: Vec<Vec<usize>> = all
        .map(|(from, node)| node.edges.iter().filter(|edge| holds(from, edge)).map(|edge| edge.to).collect())
        .collect();
    let targets: HashSet<usize> = edges.iter().flatten().copied().collect();
    edges[0].extend((1..graph.nodes.len()).filter(|node| !targets.contains(node)));
    edges
}

/// A depth-first tree: the nodes in preorder, and each one's parent as a preorder number.
fn depth_first(edges: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let mut seen = vec![false; edges.len()];
    let (mut order, mut parents, mut work) = (Vec::new(), Vec::new(), vec![(0, 0)]);
    while let Some((node, parent)) = work.pop() {
        if !std::mem::replace(&mut seen[node], true) {
            work.extend(edges[node].iter().map(|&to| (to, order.len())));
            order.push(node);
            parents.push(parent);
        }
    }
    (order, parents)
}

/// Immediate dominators by semidominators, without shortcuts; the root for unreachable nodes.
fn dominators(edges: &[Vec<usize>]) -> Vec<usize> {
    let (order, parent) = depth_first(edges);
    let mut place = vec![usize::MAX; edges.len()];
    order.iter().enumerate().for_each(|(i, &node)| place[node] = i);
    let mut into = vec![Vec::new(); order.len()];
    for (i, &node) in order.iter().enumerate() {
        edges[node].iter().for_each(|&to| into[place[to]].push(i));
    }
    let mut semi: Vec<usize> = (0..order.len()).collect();
    for i in (1..order.len()).rev() {
        for &from in &into[i] {
            let mut above = from;
            semi[i] = semi[i].min(from);
            while above > i {
                semi[i] = semi[i].min(semi[above]);
                above = parent[above];
            }
        }
    }
    let mut idom = vec![0; order.len()];
    for i in 1..order.len() {
        idom[i] = parent[i];
        while idom[i] > semi[i] {
            idom[i] = idom[idom[i]];
        }
    }
    let mut dominator = vec![0; edges.len()];
    order.iter().enumerate().for_each(|(i, &node)| dominator[node] = order[idom[i]]);
    dominator
}

/// Shallow sizes after hidden parts gave their bytes to their only owner.
fn shallow(graph: &Graph) -> Vec<u64> {
    let ownable = |i: usize| {
        let node = &graph.nodes[i];
        ["hidden", "array"].contains(&node.kind.as_str()) || node.name == "system / ExternalStringData"
    };
    // `None`: not known yet. Two different owners: the sentinel, which overrides everything.
    const MANY: usize = usize::MAX;
    let count = graph.nodes.len();
    let mut owner: Vec<Option<usize>> = (0..count).map(|i| (!ownable(i)).then_some(i)).collect();
    let mut work: Vec<usize> = (0..count).filter(|&i| !ownable(i)).collect();
    while let Some(node) = work.pop() {
        let mine = owner[node].unwrap();
        for edge in graph.nodes[node].edges.iter().filter(|edge| edge.kind != "weak" && edge.to != node) {
            let new = match owner[edge.to] {
                _ if !ownable(edge.to) => continue,
                None => mine,
                Some(old) if old == mine => continue,
                Some(MANY) => continue,
                Some(_) => MANY,
            };
            owner[edge.to] = Some(new);
            work.push(edge.to);
        }
    }
    let mut sizes: Vec<u64> = graph.nodes.iter().map(|node| node.size).collect();
    for i in (0..count).filter(|&i| ownable(i)) {
        if let Some(to) = owner[i].filter(|&to| to != MANY && to != 0 && graph.nodes[to].kind != "synthetic") {
            sizes[to] += std::mem::take(&mut sizes[i]);
        }
    }
    sizes
}

fn followed(graph: &Graph, from: usize, edge: &Edge) -> bool {
    let node = &graph.nodes[from];
    if node.name == "system / NativeContext" && edge.name == "sloppy_function_map" {
        return false;
    }
    let index = edge.name.parse::<u64>().ok().filter(|_| node.name == "(map descriptors)");
    index.is_none_or(|i| i < 2 || i % 3 != 1)
}

fn distances(graph: &Graph) -> Vec<Option<u64>> {
    let mut distance = vec![None; graph.nodes.len()];
    let mut met: HashMap<String, bool> = HashMap::new();
    let user = |to: usize| graph.nodes[to].kind != "synthetic" || graph.nodes[to].name == "(Document DOM trees)";
    let users: Vec<usize> = graph.nodes[0].edges.iter().map(|edge| edge.to).filter(|&to| user(to)).collect();
    for (starts, first) in [(users, 1), (vec![0], 100_000_000)] {
        let mut queue: VecDeque<usize> = starts.iter().copied().collect();
        starts.iter().for_each(|&start| distance[start] = Some(first));
        while let Some(node) = queue.pop_front() {
            for edge in graph.nodes[node].edges.iter().filter(|edge| edge.kind != "weak") {
                if distance[edge.to].is_some() || !followed(graph, node, edge) {
                    continue;
                }
                if let Some((text, _)) = ephemeron(edge)
                    && !met.get(text).copied().unwrap_or(false)
                {
                    met.insert(text.to_owned(), true);
                    continue;
                }
                distance[edge.to] = distance[node].map(|steps| steps + 1);
                queue.push_back(edge.to);
            }
        }
    }
    distance
}

#[test]
fn checkpoints_are_right() {
    let mut files: Vec<_> = (1..5).map(small).collect();
    files.push(generate(1, Shape::List { nodes: 3000 }, Target::Nodes(1)));
    files.push(generate(6, Shape::Realistic, Target::Nodes(30_000)));
    for (plan, bytes) in files {
        let graph = Graph::read(&bytes);
        let dominator = dominators(&holding(&graph));
        let (sizes, distance) = (shallow(&graph), distances(&graph));
        let mut retained = sizes.clone();
        for node in bottom_up(&dominator) {
            retained[dominator[node]] += retained[node];
        }
        let answers = file::answers(&plan);
        let order = bottom_up(&dominator);
        for (key, row) in answers.classes().filter(|(key, _)| is_named(key)) {
            let name = key.rsplit(',').next().unwrap();
            let inside = |i: usize| graph.nodes[i].kind == "object" && graph.nodes[i].name == name && sizes[i] > 0;
            let members = || (0..sizes.len()).filter(|&i| inside(i));
            let top = topmost(&order, &dominator, inside);
            assert_eq!(row.count, members().count() as u64, "{key}");
            assert_eq!(row.shallow_bytes, members().map(|i| sizes[i]).sum::<u64>(), "{key}");
            assert_eq!(row.retained_bytes, top.iter().map(|&i| retained[i]).sum::<u64>(), "{key}");
            let nearest = members().map(|i| distance[i]).min().flatten();
            assert_eq!(row.distance, nearest, "{key}");
        }
        let metadata = answers.checkpoints();
        assert!(metadata.len() > 20);
        for fact in metadata {
            let i = fact.ordinal as usize;
            let found = (sizes[i], retained[i], distance[i], dominator[i] as u64);
            let planted = (fact.shallow, fact.retained, fact.distance, fact.dominator);
            assert_eq!(found, planted, "node {i}: {} {}", graph.nodes[i].kind, graph.nodes[i].name);
        }
    }
}

/// All nodes but the root, children before parents in the dominator tree.
fn bottom_up(dominator: &[usize]) -> Vec<usize> {
    let mut children = vec![Vec::new(); dominator.len()];
    (1..dominator.len()).for_each(|node| children[dominator[node]].push(node));
    let mut order = vec![0];
    let mut next = 0;
    while next < order.len() {
        order.extend_from_slice(&children[order[next]]);
        next += 1;
    }
    order.split_off(1).into_iter().rev().collect()
}

/// Whether the class consists of all objects with one name, without further rules.
fn is_named(key: &str) -> bool {
    !key.contains(['{', '(', '<', '#']) && ![",Object", ",Function", ",RegExp"].contains(&key)
}

/// Members inside no other member.
fn topmost(bottom_up: &[usize], dominator: &[usize], inside: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut covered = vec![false; dominator.len()];
    let mut top = Vec::new();
    for &node in bottom_up.iter().rev() {
        let above = dominator[node];
        covered[node] = covered[above] || inside(above);
        if inside(node) && !covered[node] {
            top.push(node);
        }
    }
    top
}
