//! Columns of the nodes that a question about cuts needs.

use crate::asked::Asked;
use crate::cut::{Cut, What};
use crate::error::QueryError;
use crate::graph::numbered;
use crate::names::{NODE_CLASS, Wanted, all_names};
use crate::reach::Variants;
use crate::rows::dominators;
use heaplake_lake::reader::Reader;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Columns of the nodes.
pub(super) struct Heap {
    pub root: u32,
    /// Dominator tree in preorder: position of each node, and the end of its subtree.
    pub place: Vec<(u32, u32)>,
    /// Whether the root holds a node without an edge: reachable ones without retainers; until the edges are read, all
    /// reachable ones.
    pub is_held: Vec<bool>,
    pub class: Vec<u32>,
    /// As `class`, but of a part, such as the backing store of a map, the class of the object that it belongs to.
    pub holder: Vec<u32>,
    pub names: FxHashMap<u32, String>,
    /// Cuts of fields or elements of a class.
    pub of_class: FxHashMap<u32, Variants>,
    /// Cuts of an object.
    pub of_node: FxHashMap<u32, Variants>,
}

/// Most levels of parts.
const NESTED: usize = 8;

impl Heap {
    pub(super) fn read(asked: &Asked, cuts: &[Cut]) -> Result<Self, QueryError> {
        let dominator = dominators(&asked.nodes())?;
        let names = all_names(asked, &NODE_CLASS)?;
        let mut wanted = Vec::new();
        let mut of_node = FxHashMap::default();
        for (at, cut) in cuts.iter().enumerate() {
            match &cut.what {
                What::Field { class, .. } | What::Elements { class } => {
                    wanted.push((at, Wanted::among(&names, asked, &NODE_CLASS, std::slice::from_ref(class))?));
                }
                What::Object(subject) => *of_node.entry(asked.find(*subject)?).or_default() |= 1 << at,
            }
        }
        let root = (0..).zip(&dominator).find(|(node, above)| node == *above).map_or(0, |(node, _)| node);
        let count = dominator.len();
        let mut heap = Self {
            root,
            place: numbered(&dominator),
            is_held: Vec::with_capacity(count),
            class: Vec::with_capacity(count),
            holder: Vec::new(),
            names: FxHashMap::default(),
            of_class: FxHashMap::default(),
            of_node,
        };
        let mut is_part = Vec::with_capacity(dominator.len());
        let mut batches = Reader::open(&asked.nodes())?.columns(&["class_id", "class", "kind", "reachable"])?;
        while let Some(batch) = batches.batch()? {
            let (ids, names, kinds) = (batch.u32s("class_id")?, batch.texts("class")?, batch.texts("kind")?);
            let reachable = batch.flags("reachable")?;
            for row in 0..batch.len() {
                heap.is_held.push(reachable.value(row));
                is_part.push(asked.run.summary.part_kinds.iter().any(|kind| kind == kinds.value(row)));
                let class = ids.value(row);
                heap.class.push(class);
                if let Entry::Vacant(new) = heap.names.entry(class) {
                    let name = names.value(row);
                    let bits =
                        wanted.iter().filter(|(_, names)| names.has(name)).fold(0, |bits, (at, _)| bits | 1 << at);
                    new.insert(name.to_owned());
                    heap.of_class.extend((bits != 0).then_some((class, bits)));
                }
            }
        }
        let above = |&at: &u32| Some(dominator[at as usize]);
        let owner = |node: u32| {
            let mut up = std::iter::successors(Some(node), above).take(NESTED);
            up.find(|&at| !is_part[at as usize]).filter(|&at| at != root).unwrap_or(node)
        };
        heap.holder = (0..dominator.len() as u32).map(|node| heap.class[owner(node) as usize]).collect();
        Ok(heap)
    }

    pub(super) fn len(&self) -> usize {
        self.class.len()
    }

    /// Whether a node dominates another, itself included.
    pub(super) fn dominates(&self, above: u32, node: u32) -> bool {
        let (start, end) = self.place[above as usize];
        (start..end).contains(&self.place[node as usize].0)
    }

    /// Whether a node dominates one of those at these positions, which are sorted.
    pub(super) fn dominates_any(&self, above: u32, positions: &[u32]) -> bool {
        let (start, end) = self.place[above as usize];
        positions.get(positions.partition_point(|&at| at < start)).is_some_and(|&at| at < end)
    }

    /// The nodes in preorder of the dominator tree.
    pub(super) fn preorder(&self) -> Vec<u32> {
        let mut order = vec![0; self.len()];
        for (node, (position, _)) in (0..).zip(&self.place) {
            order[*position as usize] = node;
        }
        order
    }
}
