//! The paths that a run stores with its findings: what there is without the table of edges.

use crate::asked::Asked;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::findings::FILE;
use serde::Serialize;

/// The path of a finding.
#[derive(Debug, Serialize)]
pub struct StoredPath {
    /// The steps from a root, each as `Holder.field`.
    pub steps: Vec<String>,
    /// Where it ends, if that is not the object asked for: the object holds what the finding is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<u32>,
}

/// The path of the first finding about a node, or else of the first whose holder it is.
pub(crate) fn stored_path(asked: &Asked, node: u32) -> Result<Option<StoredPath>, StageError> {
    if !asked.has(FILE) {
        return Ok(None);
    }
    let reader = Reader::open(&asked.folder.join(FILE))?;
    // Runs of older versions have no holders.
    if !reader.has("holder_node") {
        return Ok(None);
    }
    let mut of_holder = None;
    let mut batches = reader.columns(&["node", "holder_node", "path"])?;
    while let Some(batch) = batches.batch()? {
        for row in 0..batch.len() {
            let (end, holder) = (value(batch.u32s("node")?, row), value(batch.u32s("holder_node")?, row));
            if end == Some(node) {
                return Ok(Some(StoredPath { steps: batch.list_of_texts("path", row)?, ends_at: None }));
            }
            if holder == Some(node) && of_holder.is_none() {
                of_holder = Some(StoredPath { steps: batch.list_of_texts("path", row)?, ends_at: end });
            }
        }
    }
    Ok(of_holder)
}
