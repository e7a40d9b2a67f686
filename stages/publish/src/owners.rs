//! Stage `owners table`: the rows of owners as a table.
//!
//! * Computes: nothing.
//! * Reads: `owner.row`, names of owners.
//! * Writes: `owners.parquet`.
//! * Resident memory: one batch of rows.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: the contract of [`heaplake_schemas::owners`].

use crate::rows::Rows;
use crate::source::{Source, read};
use crate::table::Table;
use crate::text::Texts;
use heaplake_kit::{ColumnReader, Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::owners::{FILE, schema};
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::run::{self, NamedOwner};
use heaplake_schemas::scratch::{Facts, OWNER_NAMES, OWNER_ROW};
use std::path::Path;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "owners table",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "owner rows once",
};

/// Owners that the summary shows.
const SHOWN: u64 = 5;

/// The largest owners with their names.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Scratch`].
pub fn largest(scratch: &Scratch) -> Result<Vec<NamedOwner>, StageError> {
    let names = StringTable::open(scratch, OWNER_NAMES)?;
    let mut reader = ColumnReader::open(scratch, OWNER_ROW)?;
    let count = reader.remaining().min(SHOWN) as usize;
    let rows = if count == 0 { Vec::new() } else { read(&mut reader, count)? };
    let shown = rows.iter().enumerate().map(|(at, row)| NamedOwner {
        owner: names.text(at).into_owned(),
        count: row.count,
        shallow_bytes: row.shallow_bytes,
        retained_bytes: row.retained_bytes,
        freed_bytes: Some(row.freed_bytes).filter(|&bytes| bytes != ABSENT),
    });
    Ok(shown.collect())
}

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Scratch`], [`StageError::Cancelled`].
pub fn run(
    facts: &Facts,
    scratch: &Scratch,
    folder: &Path,
    context: &Context<'_>,
) -> Result<(run::Table, Stats), StageError> {
    let names = StringTable::open(scratch, OWNER_NAMES)?;
    let rows = Rows::of(scratch, OWNER_ROW);
    let count = rows.count()?;
    let mut next = 0;
    let sources = vec![
        Source::texts(Texts::Table(&names), move |count| {
            let first = next;
            next += count as u32;
            Ok((first..next).collect())
        }),
        rows.u64s(|row| row.count)?,
        rows.u64s(|row| row.shallow_bytes)?,
        rows.u64s(|row| row.retained_bytes)?,
        rows.optional(|row| row.freed_bytes)?,
        rows.optional(|row| row.allocated_bytes)?,
    ];
    context.progress.begin(STAGE.name, count);
    let mut table = Table::create(folder, FILE, schema(), &facts.input_hash)?;
    table.fill(sources, count, context)?;
    let table = table.finish()?;
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, stats))
}
