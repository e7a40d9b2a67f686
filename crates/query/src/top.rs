//! `heaplake top`: the objects with the largest retained sizes, overall or by class, with their dominators.

use crate::asked::Asked;
use crate::error::QueryError;
use crate::names::Wanted;
use crate::rows::{self, NodeRow, fetch};
use glob::Pattern;
use heaplake_kit::StageError;
use heaplake_lake::reader::Reader;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

/// Nearest dominators shown per object.
const HOLDERS: usize = 5;

/// Largest objects.
#[derive(Debug, Serialize)]
pub struct Top {
    /// Objects, largest first.
    pub objects: Vec<Object>,
    /// Remarks on the patterns, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An object and its dominators.
#[derive(Debug, Serialize)]
pub struct Object {
    /// Object.
    #[serde(flatten)]
    pub node: NodeRow,
    /// Nearest dominators, the nearest last.
    pub dominators: Vec<NodeRow>,
    /// Number of dominators above these.
    pub dominators_left_out: usize,
}

/// Finds the `most` largest objects of the classes that match a pattern, or of all without patterns.
///
/// # Errors
/// [`QueryError`] also if no class matches.
pub fn ask(asked: &Asked, patterns: &[Pattern], most: usize) -> Result<Top, QueryError> {
    let nodes = asked.nodes();
    let wanted = if patterns.is_empty() { None } else { Some(Wanted::of(asked, patterns)?) };
    let best = largest(&nodes, wanted.as_ref(), most)?;
    let dominators = rows::dominators(&nodes)?;
    let mut depths = vec![UNKNOWN; dominators.len()];
    let above: Vec<(u32, Vec<u32>, usize)> = best
        .iter()
        .map(|&(_, node)| {
            let up = |at: u32| Some(dominators[at as usize]).filter(|&above| above != at);
            let mut near: Vec<u32> = std::iter::successors(up(node), |&at| up(at)).take(HOLDERS).collect();
            near.reverse();
            let left_out = (depth(node, &dominators, &mut depths) as usize).saturating_sub(near.len());
            (node, near, left_out)
        })
        .collect();
    let rows = fetch(&nodes, above.iter().flat_map(|(node, near, _)| near.iter().chain([node])).copied())?;
    let objects = above.iter().filter_map(|(node, near, left_out)| {
        Some(Object {
            node: rows.get(node)?.clone(),
            dominators: near.iter().filter_map(|node| rows.get(node).cloned()).collect(),
            dominators_left_out: *left_out,
        })
    });
    Ok(Top { objects: objects.collect(), notes: wanted.map_or_else(Vec::new, |wanted| wanted.notes) })
}

/// Depth not yet computed.
const UNKNOWN: u32 = u32::MAX;

/// Number of dominators above a node. `depths` caches results, so each node is visited once.
fn depth(node: u32, dominators: &[u32], depths: &mut [u32]) -> u32 {
    let mut path = vec![node];
    let mut known = 0;
    while let Some(&at) = path.last() {
        let above = dominators[at as usize];
        match depths[at as usize] {
            // In a damaged table, dominators may form a cycle: stop at any of its nodes.
            UNKNOWN if above != at && path.len() <= dominators.len() => path.push(above),
            UNKNOWN => break,
            depth => {
                known = depth;
                break;
            }
        }
    }
    let mut depth = known;
    for (above, &at) in path.iter().rev().enumerate() {
        depth = known.saturating_add(above as u32);
        depths[at as usize] = depth;
    }
    depth
}

/// Finds the `most` largest objects, largest first.
fn largest(nodes: &Path, wanted: Option<&Wanted>, most: usize) -> Result<Vec<(Reverse<u64>, u32)>, StageError> {
    // Heap with the smallest on top.
    let mut best: BinaryHeap<(Reverse<u64>, u32)> = BinaryHeap::new();
    let mut batches = Reader::open(nodes)?.columns(&["kind", "class", "retained_bytes"])?;
    while let Some(batch) = batches.batch()? {
        let (kinds, classes, retained) = (batch.texts("kind")?, batch.texts("class")?, batch.sizes("retained_bytes")?);
        for (row, &bytes) in retained.values().iter().enumerate() {
            let entry = (Reverse(bytes), (batch.first_row() + row as u64) as u32);
            if best.len() == most && best.peek().is_none_or(|last| entry >= *last) {
                continue;
            }
            // Skip nodes of the runtime itself, unless a pattern selects them.
            let fits = match wanted {
                Some(wanted) => wanted.has(classes.value(row)),
                None => !["synthetic", "root"].contains(&kinds.value(row)),
            };
            if fits {
                best.push(entry);
                if best.len() > most {
                    best.pop();
                }
            }
        }
    }
    Ok(best.into_sorted_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_count_dominators_and_a_ring_ends() {
        // A chain to the root, a branch of it, and a cycle.
        let dominators = [0, 0, 1, 2, 1, 6, 5];
        let mut depths = [UNKNOWN; 7];
        for (node, expected) in [(3, 3), (4, 2), (0, 0), (2, 2), (1, 1), (3, 3)] {
            assert_eq!(depth(node, &dominators, &mut depths), expected, "{node}");
        }
        assert!(depth(5, &dominators, &mut depths) <= 7 && depth(6, &dominators, &mut depths) <= 7);
    }
}
