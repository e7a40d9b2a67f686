//! Columns of the table of nodes about one object, other than its sizes.

use crate::asked::Asked;
use crate::error::QueryError;
use heaplake_lake::reader::{Reader, value};
use schemars::JsonSchema;
use serde::Serialize;

/// Further columns of a node; `None` where they are null, or where an older run lacks them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Details {
    /// Type, as the format names it.
    pub kind: Option<String>,
    /// Class, as in the table of classes.
    pub class_id: Option<u32>,
    /// Immediate dominator.
    pub dominator: Option<u32>,
    /// Owner that its bytes count for.
    pub owner: Option<String>,
    /// Source location, as `file:line`, lines from 1; of the original file where a source map has it.
    pub place: Option<String>,
    /// Set of duplicates.
    pub duplicate_set: Option<u32>,
}

/// Reads the details of a node.
pub fn ask(asked: &Asked, node: u32) -> Result<Details, QueryError> {
    const COLUMNS: [&str; 9] =
        ["kind", "class_id", "dominator", "owner", "script", "line", "original_file", "original_line", "duplicate_set"];
    let reader = Reader::open(&asked.nodes())?;
    let columns: Vec<&str> = COLUMNS.into_iter().filter(|column| reader.has(column)).collect();
    let mut batches = reader.only(&[node])?.columns(&columns)?;
    let Some(batch) = batches.batch()?.filter(|batch| !batch.is_empty()) else { return Ok(Details::default()) };
    let text = |name: &str| -> Result<Option<String>, QueryError> {
        Ok(if batch.has(name) { value(batch.texts(name)?, 0).map(str::to_owned) } else { None })
    };
    let number = |name: &str| -> Result<Option<u32>, QueryError> {
        Ok(if batch.has(name) { value(batch.u32s(name)?, 0) } else { None })
    };
    let place = |file: Option<String>, line: Option<u32>| {
        let file = file?;
        Some(line.map_or_else(|| file.clone(), |line| format!("{file}:{}", u64::from(line) + 1)))
    };
    let original = place(text("original_file")?, number("original_line")?);
    Ok(Details {
        kind: text("kind")?,
        class_id: number("class_id")?,
        dominator: number("dominator")?.filter(|&above| above != node),
        owner: text("owner")?,
        place: original.or(place(text("script")?, number("line")?)),
        duplicate_set: number("duplicate_set")?,
    })
}
