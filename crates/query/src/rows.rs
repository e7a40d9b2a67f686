//! Reads rows of the table of nodes that several queries show.

use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, damaged, value};
use heaplake_schemas::ids::NO_ID;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A node as shown. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeRow {
    /// Row in the table.
    pub node: u32,
    /// Id in the format; `None` for a root that the input lacks.
    pub id: Option<u64>,
    /// Class name.
    pub class: String,
    /// The node's own name, if it differs from the class.
    pub name: Option<String>,
    /// Shallow size.
    pub shallow_bytes: u64,
    /// Retained size.
    pub retained_bytes: u64,
    /// Distance from a root; [`SYSTEM_DISTANCE`](heaplake_schemas::scratch::SYSTEM_DISTANCE) or more if only the
    /// runtime leads there.
    pub distance: Option<i32>,
}

/// Reads the rows of nodes.
pub fn fetch(table: &Path, nodes: impl IntoIterator<Item = u32>) -> Result<BTreeMap<u32, NodeRow>, StageError> {
    const COLUMNS: [&str; 7] = ["node", "id", "class", "name", "shallow_bytes", "retained_bytes", "distance"];
    let mut wanted: Vec<u32> = nodes.into_iter().collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut batches = Reader::open(table)?.only(&wanted)?.columns(&COLUMNS)?;
    let mut found = BTreeMap::new();
    while let Some(batch) = batches.batch()? {
        let (nodes, ids, distances) = (batch.u32s("node")?, batch.u64s("id")?, batch.i32s("distance")?);
        let (classes, names) = (batch.texts("class")?, batch.texts("name")?);
        let (shallow, retained) = (batch.sizes("shallow_bytes")?, batch.sizes("retained_bytes")?);
        for row in 0..batch.len() {
            let (node, class) = (nodes.value(row), classes.value(row));
            let name = value(names, row).filter(|name| !name.is_empty() && *name != class);
            found.insert(
                node,
                NodeRow {
                    node,
                    id: value(ids, row).filter(|&id| id != NO_ID),
                    class: class.to_owned(),
                    name: name.map(str::to_owned),
                    shallow_bytes: shallow.value(row),
                    retained_bytes: retained.value(row),
                    distance: value(distances, row),
                },
            );
        }
    }
    Ok(found)
}

/// Reads the dominator of every node.
pub fn dominators(table: &Path) -> Result<Vec<u32>, StageError> {
    let mut batches = Reader::open(table)?.columns(&["dominator"])?;
    let mut dominators = Vec::new();
    while let Some(batch) = batches.batch()? {
        dominators.extend_from_slice(batch.u32s("dominator")?.values());
    }
    let count = dominators.len();
    match dominators.iter().position(|&dominator| dominator as usize >= count) {
        None => Ok(dominators),
        Some(row) => {
            let problem =
                format!("column dominator, row {row}: expected a node below {count}, found {}", dominators[row]);
            Err(damaged(table, problem))
        }
    }
}
