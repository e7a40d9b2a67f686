//! Stage `intern`: equal strings get equal ids.
//!
//! * Computes: for every string that occurs twice in the file's table, its first position; V8 itself writes each string
//!   once, other writers need not.
//! * Reads: `string.hash`; the strings whose hashes agree.
//! * Writes: where there are such strings, all columns of string ids anew, with first positions only.
//! * Resident memory: 16 bytes per string, or less in several passes.
//! * Passes over disk: one over the hashes per slice of their range that fits the memory; one over the id columns.
//! * Worst case: all strings equal: every one is compared with the first.
//! * Fails when: scratch cannot be read or written.
//! * Determinism: hashes only propose; content decides.
//! * Reference: none needed.

use super::Snapshot;
use super::read::{EPHEMERON_STRING, TAG_STRING};
use super::rows::is_indexed;
use bytemuck::Pod;
use heaplake_kit::{
    BudgetVec, ColumnReader, ColumnWriter, Context, Scratch, StageError, StageInfo, Stats, StringTable,
};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{self as columns, Column, STRING_HASH, STRINGS};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "intern",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "string hashes once for each slice that fits",
};

/// Makes the string ids canonical.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let edge_types = Snapshot::load(scratch)?.header.edge_types;
    let strings = ColumnReader::open(scratch, STRING_HASH)?.remaining();
    context.progress.begin(STAGE.name, strings);
    let firsts = repeated(scratch, context)?;
    if !firsts.is_empty() {
        let first = |id: StringId| match firsts.binary_search_by_key(&id, |&(repeated, _)| repeated) {
            Ok(at) => firsts[at].1,
            Err(_) => id,
        };
        let named: Vec<bool> = edge_types.iter().map(|name| !is_indexed(name)).collect();
        let mut kinds = ColumnReader::open(scratch, columns::EDGE_KIND)?;
        rewrite(scratch, columns::EDGE_NAME, columns::EDGE_NAME, |name: u32| {
            Ok(if named[kinds.next()? as usize] { first(StringId(name)).0 } else { name })
        })?;
        for column in
            [columns::NODE_NAME, columns::FUNCTION_NAME, columns::FUNCTION_SCRIPT_NAME, TAG_STRING, EPHEMERON_STRING]
        {
            if scratch.has(column) {
                rewrite(scratch, column, column, |id| Ok(first(id)))?;
            }
        }
    }
    context.progress.end();
    Ok(Stats { rows: strings, spilled_bytes: 0 })
}

/// Strings that occurred before, ascending, each with its first position.
fn repeated(scratch: &Scratch, context: &Context<'_>) -> Result<BudgetVec<(StringId, StringId)>, StageError> {
    let table = StringTable::open(scratch, STRINGS)?;
    let room = (context.budget.free() / 4).max(1 << 20);
    let slices = (table.len() as u64 * 16).div_ceil(room).next_power_of_two();
    let mut repeated = context.budget.growing("repeated strings");
    for slice in 0..slices {
        let mut entries = context.budget.growing::<(u64, u32)>("string hashes");
        let mut hashes = ColumnReader::open(scratch, STRING_HASH)?;
        for id in 0..table.len() as u32 {
            let hash = hashes.next()?;
            // The high bits choose the slice; there may be only one.
            if (u128::from(hash) * u128::from(slices)) >> 64 == u128::from(slice) {
                entries.push((hash, id))?;
            }
        }
        context.step(table.len() as u64 / slices)?;
        entries.sort_unstable();
        for group in entries.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            for (i, &(_, id)) in group.iter().enumerate() {
                let text = table.get(id as usize);
                let first = group[..i].iter().find(|&&(_, other)| table.get(other as usize) == text);
                if let Some(&(_, first)) = first {
                    repeated.push((StringId(id), StringId(first)))?;
                }
            }
        }
    }
    repeated.sort_unstable();
    Ok(repeated)
}

/// Puts a column with every element of another one changed into a place, which may be that other one's own.
pub(super) fn rewrite<T: Pod>(
    scratch: &Scratch,
    from: Column<T>,
    to: Column<T>,
    mut change: impl FnMut(T) -> Result<T, StageError>,
) -> Result<(), StageError> {
    let new = Column::new("v8.rewritten");
    let mut reader = ColumnReader::open(scratch, from)?;
    let mut writer = ColumnWriter::create(scratch, new)?;
    while reader.remaining() > 0 {
        writer.push(change(reader.next()?)?)?;
    }
    writer.finish()?;
    scratch.replace(to, new)
}
