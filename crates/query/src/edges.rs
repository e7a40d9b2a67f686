//! The essential edges of a run, one after the other.

use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, damaged, value};
use std::path::Path;

/// An essential edge as read.
pub(crate) struct Edge<'a> {
    pub from: u32,
    pub to: u32,
    pub name: Option<&'a str>,
    pub index: Option<u32>,
    pub kind: &'a str,
}

impl Edge<'_> {
    /// Whether it leads from an object to the description of its class, as from every object. A field may be named `map`.
    pub(crate) fn is_to_class(&self) -> bool {
        match self.name {
            Some("<class>" | "__proto__") => true,
            Some("map") => ["internal", "hidden"].contains(&self.kind),
            _ => false,
        }
    }

    /// Its label; `[]` for an element.
    pub(crate) fn label(&self) -> Option<&str> {
        let is_number = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        match self.name {
            Some(name) if is_number(&name) => Some("[]"),
            Some(name) => Some(name),
            None => self.index.map(|_| "[]"),
        }
    }
}

/// Calls `work` with every essential edge between two nodes, in the order of the table. Without `labelled`, names, indices
/// and kinds are not read.
pub(crate) fn each(
    table: &Path,
    nodes: usize,
    labelled: bool,
    mut work: impl FnMut(&Edge<'_>) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let columns = ["from", "to", "essential", "name", "index", "kind"];
    let mut batches = Reader::open(table)?.columns(if labelled { &columns } else { &columns[..3] })?;
    while let Some(batch) = batches.batch()? {
        let (from, to, essential) = (batch.u32s("from")?, batch.u32s("to")?, batch.flags("essential")?);
        let labels = match labelled {
            true => Some((batch.texts("name")?, batch.u32s("index")?, batch.texts("kind")?)),
            false => None,
        };
        for row in 0..batch.len() {
            let (from, to) = (from.value(row), to.value(row));
            if from.max(to) as usize >= nodes {
                return Err(damaged(table, format!("an edge from {from} to {to} in a graph of {nodes} nodes")));
            }
            if essential.value(row) && from != to {
                let (name, index, kind) = match &labels {
                    Some((names, indices, kinds)) => (value(*names, row), value(*indices, row), kinds.value(row)),
                    None => (None, None, ""),
                };
                work(&Edge { from, to, name, index, kind })?;
            }
        }
    }
    Ok(())
}
