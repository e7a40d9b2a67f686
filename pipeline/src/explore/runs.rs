//! Question `runs`: the releases and runs of the lake, as `overview` has them, in long pages.

use super::pages::{long, of_list};
use crate::mcp::asking::Ask;
use crate::mcp::overview;
use heaplake_mcp::failure::Failure;
use serde_json::Value;

/// Answers it.
pub(super) fn call(ask: &Ask<'_>) -> Result<Value, Failure> {
    let (answer, page) = overview::of_lake(ask, "runs", of_list)?;
    Ok(long(answer, &page))
}
