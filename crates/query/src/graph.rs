//! Essential edges of a run in memory, by target, for queries about all holders.

use crate::edges::each;
use crate::rows::dominators;
use heaplake_kit::StageError;
use heaplake_lake::reader::Reader;
use heaplake_paths::retainer_tree::{Dominates, Holders, Place, Retainer};
use heaplake_schemas::chains::label;
use std::collections::HashMap;
use std::path::Path;

/// Maximum nesting of parts.
const NESTED: usize = 8;

/// Nodes and essential edges: 29 bytes per node, 8 per edge.
pub(crate) struct Graph {
    pub root: u32,
    /// Offset of each node's retainers in `edges`, and the end.
    start: Vec<u64>,
    /// Sources and labels.
    edges: Vec<(u32, u32)>,
    distance: Vec<i32>,
    class: Vec<u32>,
    is_part: Vec<bool>,
    dominator: Vec<u32>,
    /// Dominator tree in preorder: position of each node, and the end of its subtree.
    place: Vec<(u32, u32)>,
    labels: Vec<String>,
    classes: HashMap<u32, String>,
}

impl Graph {
    /// Reads the tables. Nodes of `part_kinds` are parts of the object that refers to them.
    pub(crate) fn read(nodes: &Path, edges: &Path, part_kinds: &[String]) -> Result<Self, StageError> {
        let dominator = dominators(nodes)?;
        let count = dominator.len();
        let mut graph = Self {
            root: (0..).zip(&dominator).find(|(node, above)| node == *above).map_or(0, |(node, _)| node),
            start: Vec::new(),
            edges: Vec::new(),
            distance: Vec::with_capacity(count),
            class: Vec::with_capacity(count),
            is_part: Vec::with_capacity(count),
            place: numbered(&dominator),
            dominator,
            labels: Vec::new(),
            classes: HashMap::new(),
        };
        let mut batches = Reader::open(nodes)?.columns(&["distance", "class_id", "class", "kind"])?;
        while let Some(batch) = batches.batch()? {
            graph.distance.extend(batch.i32s("distance")?.iter().map(|distance| distance.unwrap_or(i32::MAX)));
            let (ids, names, kinds) = (batch.u32s("class_id")?, batch.texts("class")?, batch.texts("kind")?);
            for row in 0..batch.len() {
                graph.class.push(ids.value(row));
                graph.classes.entry(ids.value(row)).or_insert_with(|| names.value(row).to_owned());
                graph.is_part.push(part_kinds.iter().any(|kind| kind == kinds.value(row)));
            }
        }
        graph.read_edges(edges)?;
        Ok(graph)
    }

    /// Reads the edges in two passes: in-degrees, then sources.
    fn read_edges(&mut self, table: &Path) -> Result<(), StageError> {
        let count = self.dominator.len();
        let mut start = vec![0u64; count + 1];
        each(table, count, false, |edge| {
            start[edge.to as usize + 1] += 1;
            Ok(())
        })?;
        (1..=count).for_each(|node| start[node] += start[node - 1]);
        self.edges = vec![(0, label::NONE); start[count] as usize];
        let mut next = start.clone();
        let (mut labels, mut numbers) = (Vec::new(), HashMap::new());
        each(table, count, true, |edge| {
            let label = match edge.label() {
                None => label::NONE,
                Some("[]") => label::INDEX,
                Some(name) => *numbers.entry(name.to_owned()).or_insert_with(|| {
                    labels.push(name.to_owned());
                    labels.len() as u32 - 1
                }),
            };
            let place = &mut next[edge.to as usize];
            self.edges[*place as usize] = (edge.from, label);
            *place += 1;
            Ok(())
        })?;
        (self.start, self.labels) = (start, labels);
        Ok(())
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.distance.len()
    }

    /// Sources and labels of the essential edges to a node.
    pub(crate) fn held_by(&self, node: u32) -> &[(u32, u32)] {
        &self.edges[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }

    /// Distance of a node; `i32::MAX` if none.
    pub(crate) fn far(&self, node: u32) -> i32 {
        self.distance[node as usize]
    }

    /// The object that a node is a part of.
    fn owner(&self, node: u32) -> Option<u32> {
        let up = |&at: &u32| Some(self.dominator[at as usize]);
        let mut above = std::iter::successors(Some(node), up).take(NESTED);
        above.find(|&at| at == self.root || !self.is_part[at as usize]).filter(|&at| at != node)
    }

    /// Name of a class.
    pub(crate) fn class_name(&self, class: u32) -> &str {
        self.classes.get(&class).map_or("", String::as_str)
    }

    /// Text of a label.
    pub(crate) fn label(&self, label: u32) -> Option<&str> {
        Some(match label {
            label::NONE => return None,
            label::INDEX => "[]",
            label::ANY => "(any)",
            label::NO_PATH => "(no path)",
            name => self.labels.get(name as usize)?,
        })
    }
}

/// Preorder positions in the dominator tree, and ends of subtrees.
pub(crate) fn numbered(dominator: &[u32]) -> Vec<(u32, u32)> {
    let mut behind = vec![0u32; dominator.len() + 1];
    dominator.iter().for_each(|&above| behind[above as usize + 1] += 1);
    (1..behind.len()).for_each(|node| behind[node] += behind[node - 1]);
    let (mut children, mut next) = (vec![0u32; dominator.len()], behind.clone());
    for (node, &above) in (0..).zip(dominator) {
        children[next[above as usize] as usize] = node;
        next[above as usize] += 1;
    }
    let mut places = vec![(0, 0); dominator.len()];
    let mut place = 0;
    let roots = (0..).zip(dominator).filter(|(node, above)| node == *above).map(|(node, _)| (node, false));
    let mut stack: Vec<(u32, bool)> = roots.collect();
    while let Some((node, is_done)) = stack.pop() {
        if is_done {
            places[node as usize].1 = place;
            continue;
        }
        places[node as usize].0 = place;
        place += 1;
        stack.push((node, true));
        let below = behind[node as usize] as usize..behind[node as usize + 1] as usize;
        stack.extend(children[below].iter().filter(|&&child| child != node).map(|&child| (child, false)));
    }
    places
}

impl Holders for Graph {
    fn root(&self) -> u32 {
        self.root
    }

    fn places(&mut self, nodes: &[u32], out: &mut Vec<Place>) -> Result<(), StageError> {
        out.extend(nodes.iter().map(|&node| Place {
            start: node.into(),
            // The root has no retainer, whatever refers to it; nodes without retainers are held by the root.
            count: if node == self.root { 0 } else { self.held_by(node).len().max(1) as u32 },
            position: node,
            distance: self.far(node),
        }));
        Ok(())
    }

    fn retainers(&mut self, asked: &[Place], out: &mut Vec<Retainer>) -> Result<(), StageError> {
        let mut nodes = Vec::new();
        for (asked, place) in (0..).zip(asked).filter(|(_, place)| place.count > 0) {
            let edges = self.held_by(place.start as u32);
            nodes.clear();
            nodes.extend(edges.iter().take(place.count as usize).map(|edge| edge.0));
            if edges.is_empty() {
                nodes.push(self.root);
            }
            nodes.sort_unstable();
            nodes.dedup();
            out.extend(nodes.iter().map(|&node| Retainer {
                asked,
                node,
                position: node,
                distance: self.far(node),
                owner: self.owner(node).unwrap_or(u32::MAX),
            }));
        }
        Ok(())
    }

    fn dominates(&mut self, asked: &[Dominates], out: &mut Vec<bool>) -> Result<(), StageError> {
        let place = |node: u32| self.place[node as usize];
        out.extend(
            asked.iter().map(|asked| (place(asked.above).0..place(asked.above).1).contains(&place(asked.node).0)),
        );
        Ok(())
    }

    fn labels(&mut self, holder: u32, held: &[u32], out: &mut Vec<(u32, u32)>) -> Result<u64, StageError> {
        let mut cost = 0;
        for &to in held {
            let edges = self.held_by(to);
            cost += edges.len() as u64;
            out.extend(edges.iter().filter(|edge| edge.0 == holder).map(|edge| (to, edge.1)));
            if edges.is_empty() {
                out.push((to, label::NO_PATH));
            }
        }
        Ok(cost)
    }

    fn class(&mut self, node: u32) -> Result<u32, StageError> {
        Ok(self.class[node as usize])
    }

    fn distance(&mut self, node: u32) -> Result<i32, StageError> {
        Ok(self.distance[node as usize])
    }
}

#[cfg(test)]
impl Graph {
    /// A graph of edges (source, target, label), distances, classes and parts; the root is 0. Names of classes and
    /// labels are their numbers.
    pub(crate) fn of(
        edges: &[(u32, u32, u32)],
        distance: Vec<i32>,
        class: Vec<u32>,
        is_part: Vec<bool>,
        dominator: Vec<u32>,
    ) -> Self {
        let mut sorted: Vec<(u32, u32, u32)> = edges.iter().map(|&(from, to, label)| (to, from, label)).collect();
        sorted.sort_by_key(|edge| edge.0);
        let start = (0..=distance.len()).map(|node| sorted.partition_point(|edge| (edge.0 as usize) < node) as u64);
        Self {
            root: 0,
            start: start.collect(),
            edges: sorted.iter().map(|&(_, from, label)| (from, label)).collect(),
            labels: (0..16).map(|label| label.to_string()).collect(),
            classes: class.iter().map(|&class| (class, class.to_string())).collect(),
            distance,
            class,
            is_part,
            place: numbered(&dominator),
            dominator,
        }
    }
}
