//! Stage `pprof`: allocations as a profile that `pprof` and its relatives read.
//!
//! * Computes: a sample for each stack that allocates something itself, with objects and bytes, and the type as a
//!   label. In the reverse call graphs that is the difference between a node and the sum of its callers. For each type,
//!   allocations without a stack are one more sample, so that the samples of a type sum to its allocations.
//! * Resident memory: 80 bytes per level of the deepest stack, 16 per type.
//! * Passes over disk: two; the first computes the size of the profile.
//! * Worst case: linear in the samples, each of at most 1,024 functions: full stacks at every level would take the
//!   square of the depth. A marked function replaces the outermost callers of a deeper stack. Where the profile would
//!   still be many times as large as the trace, samples have fewer functions (`deep_stacks`).
//! * Fails when: the disk is full.
//! * Determinism: order of the rows; there is no time in it.
//! * Reference: `profile.proto` of google/pprof.

use crate::deep_stacks::{Limit, NAMES, Sizes};
use flate2::Compression;
use flate2::write::GzEncoder;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::fs::File;
use heaplake_kit::{ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_schemas::allocation_callers::CallerRow;
use heaplake_schemas::allocation_functions::FunctionRow;
use heaplake_schemas::replay::{
    ABSENT, CALLERS, DeepStacks, FUNCTIONS, METADATA, Metadata, PPROF_CUT, STRINGS, TYPE_NAMES, TYPES,
};
use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

/// File name inside a run.
pub(crate) const FILE: &str = "allocations.pb.gz";

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "pprof",
    version: 4,
    when: |setting| setting.replay(|options| options.recording.pprof),
    reads: &[column(CALLERS), column(FUNCTIONS), column(TYPES), texts(STRINGS), texts(TYPE_NAMES), document(METADATA)],
    writes: &[document(PPROF_CUT)],
    fixed: 8 << 20,
    passes: "callers twice",
    run,
    ..Stage::NEW
};

/// Strings before the names: their position is their number.
const WORDS: [&str; 6] = ["", "alloc_objects", "count", "alloc_space", "bytes", "type"];

/// Replaces the omitted callers of a stack.
const CUT: &str = "(callers left out)";

/// Stack of objects without one.
const NONE: &str = "(no stack)";

/// Field numbers of the messages.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING: u32 = 6;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
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
    let trace: Metadata = scratch.read_document(METADATA)?;
    context.progress.begin(STAGE.name, 2 * ColumnReader::open(scratch, CALLERS)?.remaining());
    let limit = sizes(job)?.choose(trace.content_bytes);
    let at = SampleIds { type_at, cut_id, limit };
    let (mut rows, cut) = samples(&mut out, job, (at, &mut stacked), &failed)?;
    // Names occur once, in full.
    let cut = DeepStacks { frames: limit.frames as u64, name: NAMES[0] as u64, stacks: cut };
    scratch.write_document(PPROF_CUT, &cut)?;
    context.progress.end();
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

/// Writes the value types.
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

/// Writes a function of the table. Ids are shifted by one, since 0 means none.
fn function(out: &mut impl Write, row: &FunctionRow, name_at: u64) -> io::Result<()> {
    let text = |position: u32| if position == u32::MAX { 0 } else { name_at + u64::from(position) };
    let file = || if row.file == u32::MAX { row.module } else { row.file };
    let (file, line) = row.told_place().unwrap_or_else(|| (file(), 0));
    named(out, u64::from(row.function_id) + 1, [text(row.told_name()), text(file)], u64::from(line))
}

/// Writes a function with its name, file and line, and a location for it.
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

/// String positions and ids that samples refer to.
#[derive(Clone, Copy)]
struct SampleIds {
    /// Position of the type names.
    type_at: u64,
    /// Location that replaces omitted callers.
    cut_id: u64,
    /// Limit on stacks.
    limit: Limit,
}

/// A node with unread callers.
struct Open {
    row: CallerRow,
    /// Its values minus those of its callers so far.
    count: u64,
    bytes: u64,
    /// Bytes of the locations of the stack down to it.
    locations: u64,
}

impl Open {
    /// Id of its location.
    fn location(&self) -> u64 {
        u64::from(self.row.function_id) + 1
    }

    /// Whether it allocates without a further caller.
    fn allocates(&self) -> bool {
        self.count > 0 || self.bytes > 0
    }
}

/// Writes the samples; returns their number, and the number of those without some callers. Adds up the stacks of each
/// type.
fn samples(
    out: &mut impl Write,
    job: &Job<'_>,
    (names, stacked): (SampleIds, &mut [(u64, u64)]),
    failed: &impl Fn(io::Error) -> StageError,
) -> Result<(u64, u64), StageError> {
    let (mut written, mut cut) = (0, 0);
    each(job, |stack, last| {
        if let ([], Some((count, bytes))) = (stack, stacked.get_mut(last.row.type_id as usize)) {
            *count = count.saturating_add(last.row.estimated_count);
            *bytes = bytes.saturating_add(last.row.estimated_bytes);
        }
        if last.allocates() {
            sample(out, stack, last, names).map_err(failed)?;
            (written, cut) = (written + 1, cut + u64::from(stack.len() >= names.limit.frames));
        }
        Ok(())
    })?;
    Ok((written, cut))
}

/// Passes each node of the call graphs to `visit` after its callers: the functions it calls, the allocating one first,
/// and itself.
fn each(job: &Job<'_>, mut visit: impl FnMut(&[Open], &Open) -> Result<(), StageError>) -> Result<(), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut reader = ColumnReader::open(scratch, CALLERS)?;
    // The allocating function first, as profiles require.
    let mut stack = context.budget.growing::<Open>("the functions of a stack");
    loop {
        let next = if reader.remaining() > 0 { Some(reader.next()?) } else { None };
        let depth = next.map_or(0, |row| row.depth as usize);
        while stack.len() > depth {
            if let Some(last) = stack.pop() {
                visit(&stack, &last)?;
            }
        }
        let Some(row) = next else { break };
        context.step(1)?;
        if let Some(above) = stack.last_mut() {
            above.count = above.count.saturating_sub(row.estimated_count);
            above.bytes = above.bytes.saturating_sub(row.estimated_bytes);
        }
        let mut open = Open { row, count: row.estimated_count, bytes: row.estimated_bytes, locations: 0 };
        open.locations = stack.last().map_or(0, |above| above.locations) + varint_bytes(open.location());
        stack.push(open)?;
    }
    Ok(())
}

/// Computes the size of the profile before compression, under each limit.
fn sizes(job: &Job<'_>) -> Result<Sizes, StageError> {
    let mut sizes = Sizes::default();
    each(job, |stack, last| {
        if last.allocates() {
            sizes.add(|limit| SAMPLE + stack.get(limit.frames - 1).unwrap_or(last).locations);
        }
        Ok(())
    })?;
    Ok(sizes)
}

/// Maximum bytes of a sample besides its locations.
const SAMPLE: u64 = 64;

/// Writes the allocations of each type without a stack; returns the number of samples.
fn without_stack(
    out: &mut impl Write,
    scratch: &Scratch,
    (names, stacked): (SampleIds, &[(u64, u64)]),
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

/// Writes the allocations of a stack's last node without a further caller.
fn sample(out: &mut impl Write, stack: &[Open], last: &Open, names: SampleIds) -> io::Result<()> {
    let mut locations = Vec::new();
    let innermost = stack.iter().chain([last]).take(names.limit.frames);
    innermost.for_each(|open| varint(&mut locations, open.location()));
    if stack.len() >= names.limit.frames {
        varint(&mut locations, names.cut_id);
    }
    message(out, &locations, [last.count, last.bytes], names.type_at + u64::from(last.row.type_id))
}

/// Writes a sample: locations, objects and bytes, and the position of its type's name.
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

/// Appends a number field; 0 is omitted, as the format requires.
fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    if value != 0 {
        varint(out, u64::from(field) << 3);
        varint(out, value);
    }
}

/// Writes a bytes field.
fn bytes(out: &mut impl Write, field: u32, content: &[u8]) -> io::Result<()> {
    let mut head = Vec::with_capacity(12);
    varint(&mut head, u64::from(field) << 3 | 2);
    varint(&mut head, content.len() as u64);
    out.write_all(&head)?;
    out.write_all(content)
}

/// Encoded bytes of a number.
fn varint_bytes(value: u64) -> u64 {
    u64::from((64 - (value | 1).leading_zeros()).div_ceil(7))
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
