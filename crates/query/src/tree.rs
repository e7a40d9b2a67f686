//! `heaplake dominators`: the subtree of the dominator tree below an object.

use crate::asked::{Asked, Subject};
use crate::error::QueryError;
use crate::rows::{NodeRow, fetch};
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, damaged};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A node of the tree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Branch {
    /// Object.
    #[serde(flatten)]
    pub node: NodeRow,
    /// Its largest children in the dominator tree.
    pub children: Vec<Branch>,
    /// Number of further children.
    pub others: u64,
    /// Retained bytes of these.
    pub others_retained_bytes: u64,
}

/// Children of a node, the largest listed.
#[derive(Default)]
struct Children {
    largest: Vec<(Reverse<u64>, u32)>,
    others: u64,
    others_bytes: u64,
}

/// Builds the tree under a node or the root, `depth` levels deep, with at most `most` children per node.
pub fn ask(asked: &Asked, subject: Option<Subject>, depth: usize, most: usize) -> Result<Branch, QueryError> {
    let nodes = asked.nodes();
    let top = match subject {
        Some(subject) => asked.find(subject)?,
        None => root(asked)?,
    };
    let mut found: BTreeMap<u32, Children> = BTreeMap::new();
    let mut frontier = BTreeSet::from([top]);
    for _ in 0..depth {
        if frontier.is_empty() {
            break;
        }
        let mut level: BTreeMap<u32, Children> = frontier.iter().map(|&node| (node, Children::default())).collect();
        let mut batches = Reader::open(&nodes)?.columns(&["retained_bytes", "dominator"])?;
        while let Some(batch) = batches.batch()? {
            let (retained, dominators) = (batch.sizes("retained_bytes")?, batch.u32s("dominator")?);
            for (row, &dominator) in dominators.values().iter().enumerate() {
                let node = (batch.first_row() + row as u64) as u32;
                if let Some(children) = level.get_mut(&dominator).filter(|_| dominator != node) {
                    children.add(node, retained.value(row), most);
                }
            }
        }
        frontier = level.values().flat_map(|children| children.largest.iter().map(|entry| entry.1)).collect();
        found.append(&mut level);
    }
    let shown = found.values().flat_map(|children| children.largest.iter().map(|entry| entry.1));
    let rows = fetch(&nodes, shown.chain([top]))?;
    branch(top, &found, &rows).ok_or_else(|| damaged(&nodes, format!("node {top} is missing")).into())
}

impl Children {
    fn add(&mut self, node: u32, retained: u64, most: usize) {
        let entry = (Reverse(retained), node);
        let at = self.largest.partition_point(|other| *other < entry);
        self.largest.insert(at, entry);
        if self.largest.len() > most
            && let Some((Reverse(bytes), _)) = self.largest.pop()
        {
            self.others += 1;
            self.others_bytes = self.others_bytes.saturating_add(bytes);
        }
    }
}

/// Recursion is as deep as the answer, which the user bounds.
fn branch(node: u32, found: &BTreeMap<u32, Children>, rows: &BTreeMap<u32, NodeRow>) -> Option<Branch> {
    let none = Children::default();
    let children = found.get(&node).unwrap_or(&none);
    Some(Branch {
        node: rows.get(&node)?.clone(),
        children: children.largest.iter().filter_map(|&(_, child)| branch(child, found, rows)).collect(),
        others: children.others,
        others_retained_bytes: children.others_bytes,
    })
}

/// Finds the root: the node that dominates itself.
pub(crate) fn root(asked: &Asked) -> Result<u32, StageError> {
    let nodes = asked.nodes();
    let mut batches = Reader::open(&nodes)?.columns(&["dominator"])?;
    while let Some(batch) = batches.batch()? {
        let numbered = batch.u32s("dominator")?.values().iter().zip(batch.first_row()..);
        if let Some((&root, _)) = numbered.into_iter().find(|&(&dominator, node)| u64::from(dominator) == node) {
            return Ok(root);
        }
    }
    Err(damaged(&nodes, "no node is its own dominator"))
}
