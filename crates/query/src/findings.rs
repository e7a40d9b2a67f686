//! Findings of a run.

use crate::asked::Asked;
use crate::error::QueryError;
use heaplake_lake::findings::Findings;
use heaplake_schemas::findings::{Finding, TABLE};

/// All findings, the most severe first; those of the summary if the run has no table of them.
pub fn all(asked: &Asked) -> Result<Vec<Finding>, QueryError> {
    let mut rows = Vec::new();
    if asked.has(TABLE.file)
        && let Some(mut findings) = Findings::open(&asked.folder)?
    {
        while let Some(some) = findings.batch()? {
            rows.extend(some);
        }
        return Ok(rows);
    }
    Ok(asked.run.summary.findings.clone())
}
