//! `heaplake top`: the objects with the largest retained sizes, overall, by class or by owner, with their dominators.

use crate::asked::Asked;
use crate::error::QueryError;
use crate::largest::Largest;
use crate::names::{self, Key, Wanted};
use crate::rows::{self, NodeRow, fetch};
use glob::Pattern;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::path::Path;

/// Nearest dominators shown per object.
const HOLDERS: usize = 5;

/// Largest objects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Top {
    /// Objects, largest first.
    pub objects: Vec<Object>,
    /// Remarks on the patterns, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An object and its dominators.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Object {
    /// Object.
    #[serde(flatten)]
    pub node: NodeRow,
    /// Nearest dominators, the nearest last.
    pub dominators: Vec<NodeRow>,
    /// Number of dominators above these.
    pub dominators_left_out: usize,
}

/// Patterns that select objects; without any of a kind, all match.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    /// Of class names.
    pub classes: Vec<Pattern>,
    /// Of names of owners.
    pub owners: Vec<Pattern>,
}

/// Finds the `most` largest objects of the classes and owners that match a pattern.
///
/// # Errors
/// [`QueryError`] also if no class or no owner matches, or if the run has no column of owners.
pub fn ask(asked: &Asked, patterns: &Patterns, most: usize) -> Result<Top, QueryError> {
    page(asked, patterns, 0, most)
}

/// As [`ask`], from the place `first` to the place `end`. Resident memory: also 16 bytes for each place up to `end`.
pub fn page(asked: &Asked, patterns: &Patterns, first: usize, end: usize) -> Result<Top, QueryError> {
    let nodes = asked.nodes();
    if !patterns.owners.is_empty() && !Reader::open(&nodes)?.has(names::OWNER.column) {
        let cause = format!("{}: the nodes of this run have no owners", asked.folder.display());
        return Err(QueryError::usage(
            cause,
            "analyse the snapshot again with --force: an older heaplake made this run",
        ));
    }
    let mut wanted = Vec::new();
    for (key, patterns) in [(&names::CLASS, &patterns.classes), (&names::OWNER, &patterns.owners)] {
        wanted.extend(Wanted::of(asked, key, patterns)?.map(|names| (key, names)));
    }
    let best = largest(&nodes, &wanted, end)?.from(first);
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
    Ok(Top { objects: objects.collect(), notes: wanted.into_iter().flat_map(|(_, wanted)| wanted.notes).collect() })
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

/// Finds the `most` largest objects.
fn largest(nodes: &Path, wanted: &[(&Key, Wanted)], most: usize) -> Result<Largest, StageError> {
    let mut best = Largest::new(most);
    let columns: Vec<&str> =
        ["kind", "retained_bytes"].into_iter().chain(wanted.iter().map(|(key, _)| key.column)).collect();
    let mut batches = Reader::open(nodes)?.columns(&columns)?;
    while let Some(batch) = batches.batch()? {
        let (kinds, retained) = (batch.texts("kind")?, batch.sizes("retained_bytes")?);
        let names = wanted.iter().map(|(key, wanted)| Ok((batch.texts(key.column)?, wanted)));
        let names = names.collect::<Result<Vec<_>, StageError>>()?;
        for (row, &bytes) in retained.values().iter().enumerate() {
            let entry = (Reverse(bytes), (batch.first_row() + row as u64) as u32);
            if !best.would_stay(entry) {
                continue;
            }
            // Skip nodes of the runtime itself, unless a pattern selects them.
            let fits = match names.is_empty() {
                true => !["synthetic", "root"].contains(&kinds.value(row)),
                false => names.iter().all(|(names, wanted)| value(*names, row).is_some_and(|name| wanted.has(name))),
            };
            if fits {
                best.add(entry);
            }
        }
    }
    Ok(best)
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
