//! Children of an object in the dominator tree, in pages.

use crate::asked::{Asked, Subject};
use crate::error::QueryError;
use crate::largest::Largest;
use crate::rows::{NodeRow, fetch};
use crate::tree;
use heaplake_lake::reader::{Reader, damaged};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// Some children of an object, by retained size.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Children {
    /// The object.
    pub node: NodeRow,
    /// The children of a page.
    pub children: Vec<NodeRow>,
    /// Number of all children.
    pub total: u64,
    /// Retained bytes of all children.
    pub retained_bytes: u64,
}

/// Finds the children of a node, or of the root, from the place `first` to the place `end`: one pass over two columns.
/// Resident memory: 16 bytes for each place up to `end`.
pub fn ask(asked: &Asked, subject: Option<Subject>, first: usize, end: usize) -> Result<Children, QueryError> {
    let table = asked.nodes();
    let above = match subject {
        Some(subject) => asked.find(subject)?,
        None => tree::root(asked)?,
    };
    let (mut largest, mut total, mut sum) = (Largest::new(end), 0, 0u64);
    let mut batches = Reader::open(&table)?.columns(&["retained_bytes", "dominator"])?;
    while let Some(batch) = batches.batch()? {
        let (retained, dominators) = (batch.sizes("retained_bytes")?, batch.u32s("dominator")?);
        for (row, &dominator) in dominators.values().iter().enumerate() {
            let node = (batch.first_row() + row as u64) as u32;
            if dominator == above && node != above {
                largest.add((Reverse(retained.value(row)), node));
                total += 1;
                sum = sum.saturating_add(retained.value(row));
            }
        }
    }
    let page: Vec<u32> = largest.from(first).into_iter().map(|entry| entry.1).collect();
    let rows = fetch(&table, page.iter().copied().chain([above]))?;
    let node = rows.get(&above).cloned().ok_or_else(|| damaged(&table, format!("node {above} is missing")))?;
    let children = page.iter().filter_map(|node| rows.get(node).cloned()).collect();
    Ok(Children { node, children, total, retained_bytes: sum })
}
