//! Sets of duplicates of a run, and their members, in pages.

use crate::asked::Asked;
use crate::error::QueryError;
use crate::rows::{NodeRow, fetch};
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::{duplicate_members, duplicate_sets};
use serde::Serialize;

/// A set of duplicates. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetRow {
    /// Number.
    pub set: u32,
    /// Class of the members.
    pub class_id: u32,
    /// Its name.
    pub class: String,
    /// `exact` or `possible`.
    pub status: String,
    /// Why it is only possible.
    pub reason: Option<String>,
    /// Members.
    pub members: u64,
    /// Size of one member.
    pub instance_bytes: u64,
    /// Freed by merging all members.
    pub additional_bytes: u64,
    /// Whether that is exact, if all members are duplicates.
    pub additional_exact: bool,
    /// Freed in any case.
    pub additional_bytes_least: u64,
    /// Freed at most; `None` if references were not compared.
    pub additional_bytes_most: Option<u64>,
    /// Nearest set that dominates this one.
    pub held_by: Option<u32>,
    /// A member.
    pub example_node: u32,
    /// Content of a member.
    pub preview: Option<String>,
}

/// Sets from the place `first` to the place `end` in the order of the table, most additional bytes first, and the number of
/// all.
///
/// # Errors
/// [`QueryError`] also if the run has no table of sets.
pub fn sets(asked: &Asked, first: usize, end: usize) -> Result<(Vec<SetRow>, u64), QueryError> {
    const SIZES: [&str; 5] =
        ["members", "instance_bytes", "additional_bytes", "additional_bytes_least", "additional_bytes_most"];
    const OTHERS: [&str; 8] =
        ["set", "class_id", "class", "status", "reason", "additional_exact", "held_by", "example_node"];
    let reader = Reader::open(&need(asked, &duplicate_sets::TABLE)?)?;
    let total = reader.rows();
    let columns = [&SIZES[..], &OTHERS[..], &["preview"]].concat();
    let mut batches = reader.from_row(first as u64, end.saturating_sub(first) as u64).columns(&columns)?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.batch()? {
        let [members, instance, additional, least, most] = SIZES.map(|name| batch.sizes(name));
        let (members, instance, additional, least, most) = (members?, instance?, additional?, least?, most?);
        let (sets, classes) = (batch.u32s("set")?, batch.u32s("class_id")?);
        let (held_by, examples) = (batch.u32s("held_by")?, batch.u32s("example_node")?);
        let (names, statuses, reasons) = (batch.texts("class")?, batch.texts("status")?, batch.texts("reason")?);
        let (previews, exact) = (batch.texts("preview")?, batch.flags("additional_exact")?);
        rows.extend((0..batch.len()).map(|row| SetRow {
            set: sets.value(row),
            class_id: classes.value(row),
            class: names.value(row).to_owned(),
            status: statuses.value(row).to_owned(),
            reason: value(reasons, row).map(str::to_owned),
            members: members.value(row),
            instance_bytes: instance.value(row),
            additional_bytes: additional.value(row),
            additional_exact: exact.value(row),
            additional_bytes_least: least.value(row),
            additional_bytes_most: value(&most, row),
            held_by: value(held_by, row),
            example_node: examples.value(row),
            preview: value(previews, row).map(str::to_owned),
        }));
    }
    Ok((rows, total))
}

/// A set by its number.
///
/// # Errors
/// [`QueryError`] also if there is no such set.
pub fn set(asked: &Asked, number: u32) -> Result<SetRow, QueryError> {
    let mut batches = Reader::open(&need(asked, &duplicate_sets::TABLE)?)?.columns(&["set"])?;
    while let Some(batch) = batches.batch()? {
        if let Some(row) = batch.u32s("set")?.values().iter().position(|&other| other == number) {
            let place = batch.first_row() as usize + row;
            return sets(asked, place, place + 1)?.0.pop().ok_or_else(|| no_set(asked, number));
        }
    }
    Err(no_set(asked, number))
}

fn no_set(asked: &Asked, number: u32) -> QueryError {
    let cause = format!("{}: there is no set {number}", asked.folder.display());
    QueryError::usage(cause, "take a number from the column set of duplicate_sets")
}

/// Members of a set from the place `first` to the place `end`, by node. One pass over one column.
///
/// # Errors
/// [`QueryError`] also if the run has no table of members.
pub fn members(asked: &Asked, number: u32, first: usize, end: usize) -> Result<Vec<NodeRow>, QueryError> {
    let table = need(asked, &duplicate_members::TABLE)?;
    let mut batches = Reader::open(&table)?.columns(&["set"])?;
    let (mut rows, mut seen) = (Vec::new(), 0);
    'all: while let Some(batch) = batches.batch()? {
        for (row, _) in (batch.first_row()..).zip(batch.u32s("set")?.values()).filter(|(_, set)| **set == number) {
            if seen >= first {
                rows.push(u32::try_from(row).unwrap_or(u32::MAX));
            }
            seen += 1;
            if seen >= end {
                break 'all;
            }
        }
    }
    let mut nodes = Vec::with_capacity(rows.len());
    let mut batches = Reader::open(&table)?.only(&rows)?.columns(&["node"])?;
    while let Some(batch) = batches.batch()? {
        nodes.extend_from_slice(batch.u32s("node")?.values());
    }
    let found = fetch(&asked.nodes(), nodes.iter().copied())?;
    Ok(nodes.iter().filter_map(|node| found.get(node).cloned()).collect())
}

fn need(asked: &Asked, table: &heaplake_schemas::table::TableSchema) -> Result<std::path::PathBuf, QueryError> {
    if asked.has(table.file) {
        return Ok(asked.folder.join(table.file));
    }
    let cause = format!("{}: duplicates were not looked for in this run", asked.folder.display());
    let advice = format!("look for them first: heaplake duplicates {}", asked.folder.display());
    Err(QueryError::usage(cause, &advice))
}
