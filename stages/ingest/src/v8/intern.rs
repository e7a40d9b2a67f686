//! Stage `intern`: gives equal strings one id.
//!
//! * Computes: the first position of every string that is repeated in the file's table; V8 itself writes each string
//!   once, other writers may not. If there are repeated strings, all columns of string ids are rewritten to first
//!   positions.
//! * Resident memory: four to eight bytes per string; 16 bytes per string with repeated low bits of its hash, or less
//!   in several passes.
//! * Passes over disk: two over the hashes, and one per slice of their range that fits the memory; one over the id
//!   columns.
//! * Worst case: all strings equal: each is compared with the first.
//! * Fails when: scratch cannot be read or written.
//! * Determinism: hashes only select; the contents are compared.
//! * Reference: none needed.

use super::header::is_indexed;
use super::snapshot::{DOCUMENT, EPHEMERON_STRING, Snapshot, TAG_STRING};
use bytemuck::Pod;
use heaplake_kit::access::{column, document, per_edge, texts};
use heaplake_kit::column::BLOCK;
use heaplake_kit::{
    Bitset, BudgetVec, ColumnReader, ColumnWriter, Context, Job, Scratch, Stage, StageError, Stats, StringTable,
};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{self as columns, Column, STRING_HASH, STRINGS};

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "intern",
    reads: &[document(DOCUMENT), texts(STRINGS), column(STRING_HASH), column(columns::EDGE_KIND)],
    updates: &[
        column(columns::EDGE_NAME),
        column(columns::NODE_NAME),
        column(columns::FUNCTION_NAME).if_any(),
        column(columns::FUNCTION_SCRIPT_NAME).if_any(),
        column(TAG_STRING),
        column(EPHEMERON_STRING),
    ],
    fixed: 8 << 20,
    temporary: &[per_edge::<u32>()],
    passes: "string hashes twice, and once for each slice that fits",
    run,
    ..Stage::NEW
};

/// A column that is about to replace another.
const REWRITTEN: &str = "v8.rewritten";

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = Snapshot::load(scratch)?;
    let edge_types = &snapshot.header.edge_types;
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
        update(scratch, columns::EDGE_NAME, |name: u32| {
            Ok(if named[kinds.next()? as usize] { first(StringId(name)).0 } else { name })
        })?;
        for column in
            [columns::NODE_NAME, columns::FUNCTION_NAME, columns::FUNCTION_SCRIPT_NAME, TAG_STRING, EPHEMERON_STRING]
        {
            if scratch.has(column) {
                update(scratch, column, |id| Ok(first(id)))?;
            }
        }
    }
    Ok(Stats { rows: strings, spilled_bytes: 0 })
}

/// Returns the repeated strings, ascending, each with its first position.
fn repeated(scratch: &Scratch, context: &Context<'_>) -> Result<BudgetVec<(StringId, StringId)>, StageError> {
    let table = StringTable::open(scratch, STRINGS)?;
    let maybe = Maybe::new(table.len(), scratch, context)?;
    let room = (context.budget.free() / 4).max(1 << 20);
    let slices = (maybe.count * size_of::<(u64, u32)>() as u64).div_ceil(room).max(1).next_power_of_two();
    let mut repeated = context.budget.growing("repeated strings");
    for slice in 0..slices {
        let mut entries = context.budget.growing::<(u64, u32)>("string hashes");
        let mut id = 0;
        each_hash(scratch, context, |hash| {
            // The high bits select the slice; there may be only one.
            if maybe.has(hash) && (u128::from(hash) * u128::from(slices)) >> 64 == u128::from(slice) {
                entries.push((hash, id))?;
            }
            id += 1;
            Ok(())
        })?;
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

/// Calls `each` with the hash of every string, in order.
fn each_hash(
    scratch: &Scratch,
    context: &Context<'_>,
    mut each: impl FnMut(u64) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let mut hashes = ColumnReader::open(scratch, STRING_HASH)?;
    while hashes.remaining() > 0 {
        hashes.next_slice(BLOCK)?.iter().try_for_each(|&hash| each(hash))?;
        context.check()?;
    }
    Ok(())
}

/// Filter of strings that may be repeated: those with repeated low bits of the hash. Nearly all strings occur once, so
/// sorting them all would take longer.
struct Maybe {
    twice: Bitset,
    mask: u64,
    /// Number of candidate strings.
    count: u64,
}

/// Bits per string: about one in this many distinct strings collides.
const BITS_PER_STRING: u64 = 16;

impl Maybe {
    fn new(strings: usize, scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        // With less memory more strings are sorted, with the same result.
        let bits = (strings as u64 * BITS_PER_STRING).next_power_of_two().max(64);
        let most = 1 << (context.budget.free() * 8 / 4).max(1 << 20).ilog2();
        let mask = bits.min(most) - 1;
        let bitset = |who| Bitset::new(&context.budget, who, mask as usize + 1);
        let (mut once, twice) = (bitset("strings: low bits of hashes")?, bitset("strings: repeated low bits")?);
        let mut maybe = Self { twice, mask, count: 0 };
        each_hash(scratch, context, |hash| {
            let bits = (hash & mask) as usize;
            if !once.insert(bits) {
                maybe.twice.insert(bits);
            }
            Ok(())
        })?;
        drop(once);
        let mut count = 0;
        each_hash(scratch, context, |hash| {
            count += u64::from(maybe.has(hash));
            Ok(())
        })?;
        maybe.count = count;
        Ok(maybe)
    }

    #[inline]
    fn has(&self, hash: u64) -> bool {
        self.twice.contains((hash & self.mask) as usize)
    }
}

/// Maps every element of a column, which is replaced only at the end.
fn update<T: Pod>(
    scratch: &Scratch,
    column: Column<T>,
    mut change: impl FnMut(T) -> Result<T, StageError>,
) -> Result<(), StageError> {
    let new = Column::of(REWRITTEN, column.per);
    let mut reader = ColumnReader::open(scratch, column)?;
    let mut writer = ColumnWriter::create(scratch, new)?;
    while reader.remaining() > 0 {
        writer.push(change(reader.next()?)?)?;
    }
    writer.finish()?;
    scratch.replace(column, new)
}
