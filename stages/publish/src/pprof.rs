//! Stage `pprof`: allocations as a profile that `pprof` and its relatives read.
//!
//! * Computes: a sample for each stack that allocates something itself, with objects and bytes, and the type as a
//!   label. In the reverse call graphs that is the difference between a node and the sum of its callers. Of each type,
//!   what no stack has is a sample of its own, so that the samples of a type sum to what was allocated of it.
//! * Resident memory: 72 bytes per level of the deepest stack, 16 per type.
//! * Passes over disk: one.
//! * Worst case: linear in the samples, each of at most [`MOST_FRAMES`] functions: a stack in full for each of its levels
//!   would be the square of its depth. Of a deeper one the outermost callers are left out, and a function says so.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows; there is no time in it.
//! * Reference: `profile.proto` of google/pprof.

use flate2::Compression;
use flate2::write::GzEncoder;
use heaplake_kit::access::{column, texts};
use heaplake_kit::fs::File;
use heaplake_kit::{ColumnReader, Context, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_schemas::allocation_callers::CallerRow;
use heaplake_schemas::allocation_functions::FunctionRow;
use heaplake_schemas::replay::{ABSENT, CALLERS, FUNCTIONS, STRINGS, TYPE_NAMES, TYPES};
use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

/// File name inside a run.
pub const FILE: &str = "allocations.pb.gz";

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "pprof",
    version: 3,
    when: |setting| setting.replay(|options| options.recording.pprof),
    reads: &[column(CALLERS), column(FUNCTIONS), column(TYPES), texts(STRINGS), texts(TYPE_NAMES)],
    fixed: 8 << 20,
    passes: "callers once",
    run,
    ..Stage::NEW
};

/// Strings that come before names: their position is their number.
const WORDS: [&str; 6] = ["", "alloc_objects", "count", "alloc_space", "bytes", "type"];

/// Functions of a stack that are written, at most: as deep as profilers look.
const MOST_FRAMES: usize = 1024;

/// Stands for the callers of a stack that are left out.
const CUT: &str = "(callers left out)";

/// Stands for the stack of objects that have none.
const NONE: &str = "(no stack)";

/// Fields of the messages.
mod field {
    pub const SAMPLE_TYPE: u32 = 1;
    pub const SAMPLE: u32 = 2;
    pub const LOCATION: u32 = 4;
    pub const FUNCTION: u32 = 5;
    pub const STRING: u32 = 6;
    pub const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let path = job.table(FILE);
    let failed = |error: io::Error| StageError::io(&path, "write", error);
    let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
    let mut out = GzEncoder::new(BufWriter::new(file), Compression::default());
    let (names, types) = (StringTable::open(scratch, STRINGS)?, StringTable::open(scratch, TYPE_NAMES)?);
    let type_at = WORDS.len() as u64;
    let name_at = type_at + types.len() as u64;

    head(&mut out).map_err(failed)?;
    let mut functions = ColumnReader::open(scratch, FUNCTIONS)?;
    let mut cut_id = 1;
    while functions.remaining() > 0 {
        context.check()?;
        let row = functions.next()?;
        cut_id = cut_id.max(u64::from(row.function_id) + 2);
        function(&mut out, &row, name_at).map_err(failed)?;
    }
    let mut stacked = context.budget.filled("bytes of types with a stack", types.len(), (0_u64, 0_u64))?;
    let at = Names { type_at, cut_id };
    let mut rows = samples(&mut out, scratch, (at, &mut stacked), context, &failed)?;
    rows += without_stack(&mut out, scratch, (at, &stacked), &failed)?;
    let last = name_at + names.len() as u64;
    named(&mut out, cut_id, [last, 0], 0).map_err(failed)?;
    named(&mut out, cut_id + 1, [last + 1, 0], 0).map_err(failed)?;
    let words = WORDS.into_iter().map(Cow::Borrowed);
    let texts = (0..types.len()).map(|at| types.text(at)).chain((0..names.len()).map(|at| names.text(at)));
    words
        .chain(texts)
        .chain([CUT, NONE].map(Cow::Borrowed))
        .try_for_each(|text| bytes(&mut out, field::STRING, text.as_bytes()))
        .map_err(failed)?;
    let file = out.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
    file.and_then(|file| file.sync_all()).map_err(failed)?;
    Ok(Stats { rows, spilled_bytes: 0 })
}

/// Value types.
fn head(out: &mut impl Write) -> io::Result<()> {
    for (kind, unit) in [(1, 2), (3, 4)] {
        let mut value = Vec::new();
        number(&mut value, 1, kind);
        number(&mut value, 2, unit);
        bytes(out, field::SAMPLE_TYPE, &value)?;
    }
    let mut default = Vec::new();
    number(&mut default, field::DEFAULT_SAMPLE_TYPE, 3);
    out.write_all(&default)
}

/// A function of the table. Ids are one more than there, since 0 means none.
fn function(out: &mut impl Write, row: &FunctionRow, name_at: u64) -> io::Result<()> {
    let text = |position: u32| if position == u32::MAX { 0 } else { name_at + u64::from(position) };
    let file = || if row.file == u32::MAX { row.module } else { row.file };
    let (file, line) = row.told_place().unwrap_or_else(|| (file(), 0));
    named(out, u64::from(row.function_id) + 1, [text(row.told_name()), text(file)], u64::from(line))
}

/// A function with its name, file and line, and a location for it.
fn named(out: &mut impl Write, id: u64, [name, file]: [u64; 2], line: u64) -> io::Result<()> {
    let mut function = Vec::new();
    number(&mut function, 1, id);
    number(&mut function, 2, name);
    number(&mut function, 3, name);
    number(&mut function, 4, file);
    number(&mut function, 5, line);
    bytes(out, field::FUNCTION, &function)?;
    let mut place = Vec::new();
    number(&mut place, 1, id);
    number(&mut place, 2, line);
    let mut location = Vec::new();
    number(&mut location, 1, id);
    bytes(&mut location, 4, &place)?;
    bytes(out, field::LOCATION, &location)
}

/// What samples name.
#[derive(Clone, Copy)]
struct Names {
    /// Where the names of types are.
    type_at: u64,
    /// The location that stands for callers that are left out.
    cut_id: u64,
}

/// A node whose callers have not all been seen.
struct Open {
    row: CallerRow,
    /// Its values minus those of its callers so far.
    count: u64,
    bytes: u64,
}

fn samples(
    out: &mut impl Write,
    scratch: &Scratch,
    (names, stacked): (Names, &mut [(u64, u64)]),
    context: &Context<'_>,
    failed: &impl Fn(io::Error) -> StageError,
) -> Result<u64, StageError> {
    let mut reader = ColumnReader::open(scratch, CALLERS)?;
    context.progress.begin(STAGE.name, reader.remaining());
    // The allocating function first, as profiles want it.
    let mut stack = context.budget.growing::<Open>("the functions of a stack");
    let mut written = 0;
    loop {
        let next = if reader.remaining() > 0 { Some(reader.next()?) } else { None };
        let depth = next.map_or(0, |row| row.depth as usize);
        while stack.len() > depth {
            if sample(out, &stack, names).map_err(failed)? {
                written += 1;
            }
            stack.pop();
        }
        let Some(row) = next else { break };
        context.step(1)?;
        if row.depth == 0
            && let Some((count, bytes)) = stacked.get_mut(row.type_id as usize)
        {
            *count = count.saturating_add(row.estimated_count);
            *bytes = bytes.saturating_add(row.estimated_bytes);
        }
        if let Some(above) = stack.last_mut() {
            above.count = above.count.saturating_sub(row.estimated_count);
            above.bytes = above.bytes.saturating_sub(row.estimated_bytes);
        }
        stack.push(Open { row, count: row.estimated_count, bytes: row.estimated_bytes })?;
    }
    context.progress.end();
    Ok(written)
}

/// Writes what was allocated of each type without a stack; how many samples that are.
fn without_stack(
    out: &mut impl Write,
    scratch: &Scratch,
    (names, stacked): (Names, &[(u64, u64)]),
    failed: &impl Fn(io::Error) -> StageError,
) -> Result<u64, StageError> {
    let mut reader = ColumnReader::open(scratch, TYPES)?;
    let mut written = 0;
    while reader.remaining() > 0 {
        let row = reader.next()?;
        let (count, bytes) = stacked.get(row.type_id as usize).copied().unwrap_or_default();
        let all = if row.allocated_count == ABSENT { row.sampled_count } else { row.allocated_count };
        let all_bytes = if row.bytes == ABSENT { 0 } else { row.bytes };
        let rest = [all.saturating_sub(count), all_bytes.saturating_sub(bytes)];
        if rest != [0, 0] {
            let mut location = Vec::new();
            varint(&mut location, names.cut_id + 1);
            message(out, &location, rest, names.type_at + u64::from(row.type_id)).map_err(failed)?;
            written += 1;
        }
    }
    Ok(written)
}

/// Writes what the last node of a stack allocates when nobody calls it; whether that is anything.
fn sample(out: &mut impl Write, stack: &[Open], names: Names) -> io::Result<bool> {
    let Some(last) = stack.last().filter(|last| last.count > 0 || last.bytes > 0) else { return Ok(false) };
    let mut locations = Vec::new();
    let innermost = stack.iter().take(MOST_FRAMES);
    innermost.for_each(|open| varint(&mut locations, u64::from(open.row.function_id) + 1));
    if stack.len() > MOST_FRAMES {
        varint(&mut locations, names.cut_id);
    }
    message(out, &locations, [last.count, last.bytes], names.type_at + u64::from(last.row.type_id))?;
    Ok(true)
}

/// Writes a sample: its locations, objects and bytes, and where the name of its type is.
fn message(out: &mut impl Write, locations: &[u8], amounts: [u64; 2], type_at: u64) -> io::Result<()> {
    let (mut values, mut label, mut message) = (Vec::new(), Vec::new(), Vec::new());
    amounts.into_iter().for_each(|amount| varint(&mut values, amount));
    number(&mut label, 1, 5);
    number(&mut label, 2, type_at);
    bytes(&mut message, 1, locations)?;
    bytes(&mut message, 2, &values)?;
    bytes(&mut message, 3, &label)?;
    bytes(out, field::SAMPLE, &message)
}

/// A field that is a number; 0 is left out, as the format has it.
fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    if value != 0 {
        varint(out, u64::from(field) << 3);
        varint(out, value);
    }
}

/// A field that is bytes.
fn bytes(out: &mut impl Write, field: u32, content: &[u8]) -> io::Result<()> {
    let mut head = Vec::with_capacity(12);
    varint(&mut head, u64::from(field) << 3 | 2);
    varint(&mut head, content.len() as u64);
    out.write_all(&head)?;
    out.write_all(content)
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
