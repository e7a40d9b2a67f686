//! References of an object in both directions.

use crate::asked::Asked;
use crate::error::QueryError;
use crate::rows::{NodeRow, fetch};
use heaplake_lake::reader::{Reader, value};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;

/// References of an object, those to and from large objects first.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct References {
    /// References of the object.
    pub holds: Vec<Reference>,
    /// Number of all of them.
    pub holds_total: u64,
    /// References to the object.
    pub held_by: Vec<Reference>,
    /// Number of all of them.
    pub held_by_total: u64,
}

/// A reference.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reference {
    /// Label, as `.name` or `[index]`.
    pub edge: String,
    /// Type of the edge, as the format names it.
    pub kind: String,
    /// Whether it keeps its target alive.
    pub essential: bool,
    /// The object at its other end.
    #[serde(flatten)]
    pub node: NodeRow,
}

/// References that are looked at, of each direction; others are only counted.
const LOOKED_AT: usize = 4096;

/// Finds the references of a node, at most `most` of each direction; `None` if the run has no table of edges. One pass
/// over two columns of that table.
pub fn ask(asked: &Asked, node: u32, most: usize) -> Result<Option<References>, QueryError> {
    let Some(table) = asked.edges() else { return Ok(None) };
    let mut found = References::default();
    let mut rows = Vec::new();
    let (mut from_it, mut to_it) = (0, 0);
    let mut batches = Reader::open(&table)?.columns(&["from", "to"])?;
    while let Some(batch) = batches.batch()? {
        let ends = batch.u32s("from")?.values().iter().zip(batch.u32s("to")?.values());
        for (row, (&from, &to)) in (batch.first_row()..).zip(ends) {
            let (leaves, comes) = (from == node, to == node);
            found.holds_total += u64::from(leaves);
            found.held_by_total += u64::from(comes);
            let wanted = (leaves && from_it < LOOKED_AT) || (comes && to_it < LOOKED_AT);
            if let Some(row) = u32::try_from(row).ok().filter(|_| wanted) {
                rows.push(row);
                (from_it, to_it) = (from_it + usize::from(leaves), to_it + usize::from(comes));
            }
        }
    }
    let (holds, held_by) = split(asked, node, &rows)?;
    (found.holds, found.held_by) = (largest(holds, most), largest(held_by, most));
    Ok(Some(found))
}

/// A direction of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// References of the object.
    Holds,
    /// References to the object.
    HeldBy,
}

/// Some references of one direction.
#[derive(Debug, Default, Serialize)]
pub struct Listed {
    /// Those of a page.
    pub rows: Vec<Reference>,
    /// Number of all.
    pub total: u64,
    /// Whether they are in the order of [`References`]; else there are too many, and the order is that of the table.
    pub sorted: bool,
}

/// Finds the references of a node in one direction, from the place `first` to the place `end`; `None` if the run has no
/// table of edges. One pass over two columns of that table. Resident memory grows with the page, not with the place.
pub fn page(
    asked: &Asked,
    node: u32,
    direction: Direction,
    (first, end): (usize, usize),
) -> Result<Option<Listed>, QueryError> {
    let Some(table) = asked.edges() else { return Ok(None) };
    let (mut beginning, mut wanted, mut total) = (Vec::new(), Vec::new(), 0);
    let mut batches = Reader::open(&table)?.columns(&["from", "to"])?;
    while let Some(batch) = batches.batch()? {
        let near = match direction {
            Direction::Holds => batch.u32s("from")?,
            Direction::HeldBy => batch.u32s("to")?,
        };
        for (row, _) in (batch.first_row()..).zip(near.values()).filter(|(_, at)| **at == node) {
            let row = u32::try_from(row).unwrap_or(u32::MAX);
            if total < LOOKED_AT {
                beginning.push(row);
            }
            if (first..end).contains(&total) {
                wanted.push(row);
            }
            total += 1;
        }
    }
    let sorted = total <= LOOKED_AT;
    let (holds, held_by) = split(asked, node, if sorted { &beginning } else { &wanted })?;
    let mut rows = if direction == Direction::Holds { holds } else { held_by };
    if sorted {
        rows = largest(rows, end);
        rows.drain(..first.min(rows.len()));
    }
    Ok(Some(Listed { rows, total: total as u64, sorted }))
}

/// Reads the outgoing and incoming edges of a node.
fn split(asked: &Asked, node: u32, rows: &[u32]) -> Result<(Vec<Reference>, Vec<Reference>), QueryError> {
    let Some(table) = asked.edges() else { return Ok(Default::default()) };
    let mut edges = Vec::with_capacity(rows.len());
    let columns = ["from", "to", "kind", "name", "index", "essential"];
    let mut batches = Reader::open(&table)?.only(rows)?.columns(&columns)?;
    while let Some(batch) = batches.batch()? {
        let (from, to) = (batch.u32s("from")?, batch.u32s("to")?);
        let (kinds, names, indices) = (batch.texts("kind")?, batch.texts("name")?, batch.u32s("index")?);
        let essential = batch.flags("essential")?;
        for row in 0..batch.len() {
            let edge = match (value(names, row), value(indices, row)) {
                (Some(name), _) => format!(".{name}"),
                (None, Some(index)) => format!("[{index}]"),
                (None, None) => String::new(),
            };
            edges.push((from.value(row), to.value(row), edge, kinds.value(row).to_owned(), essential.value(row)));
        }
    }
    let nodes = fetch(&asked.nodes(), edges.iter().flat_map(|edge| [edge.0, edge.1]))?;
    let (mut holds, mut held_by) = (Vec::new(), Vec::new());
    for (from, to, edge, kind, essential) in edges {
        let of = |other: u32| {
            let node = nodes.get(&other)?.clone();
            Some(Reference { edge: edge.clone(), kind: kind.clone(), essential, node })
        };
        if from == node {
            holds.extend(of(to));
        }
        if to == node {
            held_by.extend(of(from));
        }
    }
    Ok((holds, held_by))
}

fn largest(mut references: Vec<Reference>, most: usize) -> Vec<Reference> {
    references.sort_by_key(|one| (!one.essential, Reverse(one.node.retained_bytes), one.node.node));
    references.truncate(most);
    references
}
