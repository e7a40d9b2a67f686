//! Paths stored with findings, as a substitute for the table of edges.

use crate::asked::Asked;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::findings::FILE;
use serde::Serialize;

/// Path of a finding.
#[derive(Debug, Serialize)]
pub struct StoredPath {
    /// Steps from a root, each as `Holder.field`.
    pub steps: Vec<String>,
    /// End of the path, if not the queried object, which then holds the subject of the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<u32>,
}

/// Returns the path of the first finding about a node, or else of the first finding that names it as holder.
pub(crate) fn stored_path(asked: &Asked, node: u32) -> Result<Option<StoredPath>, StageError> {
    if !asked.has(FILE) {
        return Ok(None);
    }
    let reader = Reader::open(&asked.folder.join(FILE))?;
    // Older runs lack holders.
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
