//! Stage `members table`: which nodes are in which set of duplicates.
//!
//! * Computes: nothing.
//! * Reads: `set.{row,member}`.
//! * Writes: `duplicate_members.parquet`.
//! * Resident memory: a batch of a column for each thread, and what a row group holds.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the columns.
//! * Reference: the contract of [`heaplake_schemas::duplicate_members`].

use crate::source::{Source, array};
use crate::table::Table;
use arrow::datatypes::UInt32Type;
use heaplake_kit::{ColumnReader, Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::duplicate_members::{FILE, schema};
use heaplake_schemas::run;
use heaplake_schemas::scratch::{self as columns, Facts};
use std::path::Path;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "members table",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: BYTES,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "members once",
};

/// Bytes that the writer of two narrow columns needs, at most.
const BYTES: u64 = 16 << 20;

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(
    facts: &Facts,
    scratch: &Scratch,
    folder: &Path,
    context: &Context<'_>,
) -> Result<(run::Table, Stats), StageError> {
    let count = ColumnReader::open(scratch, columns::SET_MEMBER)?.remaining();
    context.progress.begin(STAGE.name, count);
    let _writer = context.budget.reserve("members: Parquet writer", BYTES)?;
    let mut table = Table::create(folder, FILE, schema(), &facts.input_hash)?;
    let mut rows = ColumnReader::open(scratch, columns::SET_ROW)?;
    let (mut next, mut left) = (0u32, 0u32);
    let sets = Source::values(move |count| {
        let mut sets = Vec::with_capacity(count);
        while sets.len() < count {
            if left == 0 {
                left = rows.next()?.members;
                next += 1;
            }
            let many = (left as usize).min(count - sets.len());
            sets.resize(sets.len() + many, next - 1);
            left -= many as u32;
        }
        Ok(array::<UInt32Type>(sets))
    });
    table.fill(vec![sets, Source::column::<_, UInt32Type>(scratch, columns::SET_MEMBER)?], count, context)?;
    let table = table.finish()?;
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, stats))
}
