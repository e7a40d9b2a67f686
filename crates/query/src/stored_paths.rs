//! Paths stored with findings, as a substitute for the table of edges.

use crate::asked::Asked;
use heaplake_kit::StageError;
use heaplake_lake::findings::Findings;
use heaplake_schemas::findings::TABLE;
use schemars::JsonSchema;
use serde::Serialize;

/// Path of a finding.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StoredPath {
    /// Steps from a root, each as `Holder.field`.
    pub steps: Vec<String>,
    /// End of the path, if not the queried object, which then holds the subject of the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<u32>,
}

/// Returns the path of the first finding about a node, or else of the first finding that names it as holder.
pub(crate) fn stored_path(asked: &Asked, node: u32) -> Result<Option<StoredPath>, StageError> {
    if !asked.has(TABLE.file) {
        return Ok(None);
    }
    let Some(mut findings) = Findings::open(&asked.folder)? else { return Ok(None) };
    if !findings.have_holders {
        return Ok(None);
    }
    let mut of_holder = None;
    while let Some(rows) = findings.batch()? {
        for finding in rows {
            if finding.node == Some(node) {
                return Ok(Some(StoredPath { steps: finding.path, ends_at: None }));
            }
            if finding.holder_node == Some(node) && of_holder.is_none() {
                of_holder = Some(StoredPath { steps: finding.path, ends_at: finding.node });
            }
        }
    }
    Ok(of_holder)
}
