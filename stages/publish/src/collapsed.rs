//! Stage `collapsed`: allocations as collapsed stacks, which flame graph tools read.
//!
//! * Computes: a line per stack, functions from the outermost one on with `;` between them, then a space and the bytes
//!   that it allocates itself; a last line for allocations without a stack.
//! * Resident memory: 16 bytes per function, 32 per level of the deepest stack.
//! * Passes over disk: two; the first computes the size of the file.
//! * Worst case: linear in the stacks, each of at most 1,024 functions: full stacks at every level would take the
//!   square of the depth. `…` replaces the middle of a deeper stack. Where the file would still be many times as large
//!   as the trace, stacks have fewer functions (`deep_stacks`).
//! * Fails when: the disk is full.
//! * Determinism: order of the call tree.
//! * Reference: `stackcollapse` of the FlameGraph tools.

use crate::deep_stacks::{Limit, NAMES, Sizes};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::fs::File;
use heaplake_kit::{BudgetVec, ColumnReader, Job, Stage, StageError, Stats, StringTable};
use heaplake_schemas::allocation_callees::CalleeRow;
use heaplake_schemas::replay::{
    ABSENT, CALLEES, COLLAPSED_CUT, DeepStacks, FUNCTIONS, METADATA, Metadata, STRINGS, TYPES,
};
use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::ops::Range;

/// File name inside a run.
pub(crate) const FILE: &str = "allocations.collapsed";

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "collapsed",
    version: 4,
    when: |setting| setting.replay(|options| options.recording.collapsed),
    reads: &[column(CALLEES), column(FUNCTIONS), column(TYPES), texts(STRINGS), document(METADATA)],
    writes: &[document(COLLAPSED_CUT)],
    fixed: 8 << 20,
    passes: "callees twice",
    run,
    ..Stage::NEW
};

/// Stack of objects without one.
const NONE: &str = "(no stack)";

/// Mark of an omission.
const CUT: &str = "…";

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let path = job.table(FILE);
    let failed = |error: io::Error| StageError::io(&path, "write", error);
    let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
    let mut out = BufWriter::new(file);
    let strings = StringTable::open(scratch, STRINGS)?;
    let names = positions(job)?;
    let trace: Metadata = scratch.read_document(METADATA)?;
    context.progress.begin(STAGE.name, 2 * ColumnReader::open(scratch, CALLEES)?.remaining());
    let limit = sizes(job, &names, &strings)?.choose(trace.content_bytes);
    let (mut rows, mut stacked, mut cut) = (0, 0_u64, 0);
    each(job, |path, row| {
        stacked = stacked.saturating_add(row.exclusive_bytes);
        if row.exclusive_bytes > 0 {
            let name = |function: u32| names.get(function as usize).map_or("?".into(), |&at| strings.text(at as usize));
            let written = line(&mut out, path, limit, name).and_then(|()| writeln!(out, " {}", row.exclusive_bytes));
            written.map_err(failed)?;
            (rows, cut) = (rows + 1, cut + u64::from(path.len() > limit.frames));
        }
        Ok(())
    })?;
    let rest = allocated(job)?.saturating_sub(stacked);
    if rest > 0 {
        writeln!(out, "{NONE} {rest}").map_err(failed)?;
        rows += 1;
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    let cut = DeepStacks { frames: limit.frames as u64, name: limit.name as u64, stacks: cut };
    scratch.write_document(COLLAPSED_CUT, &cut)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: 0 })
}

/// Passes each node of the tree with its path of functions to `visit`.
fn each(job: &Job<'_>, mut visit: impl FnMut(&[u32], &CalleeRow) -> Result<(), StageError>) -> Result<(), StageError> {
    let mut reader = ColumnReader::open(job.scratch, CALLEES)?;
    let mut path = job.context.budget.growing("the functions of a stack");
    while reader.remaining() > 0 {
        let row = reader.next()?;
        job.context.step(1)?;
        while path.len() > row.depth as usize {
            path.pop();
        }
        path.push(row.function_id)?;
        visit(&path, &row)?;
    }
    Ok(())
}

/// Computes the size of the file under each limit.
fn sizes(job: &Job<'_>, names: &[u32], strings: &StringTable) -> Result<Sizes, StageError> {
    let budget = &job.context.budget;
    let mut lengths = budget.filled("the lengths of names", names.len(), [0_u32; NAMES.len()])?;
    for (lengths, &at) in lengths.iter_mut().zip(names) {
        let text = strings.text(at as usize);
        *lengths = NAMES.map(|most| shortened(&text, most).map(char::len_utf8).sum::<usize>() as u32 + 1);
    }
    // Bytes of the functions down to each level, for each limit on names.
    let mut sums = budget.growing::<[u64; NAMES.len()]>("the lengths of a stack");
    let mut sizes = Sizes::default();
    each(job, |path, row| {
        while sums.len() >= path.len() {
            sums.pop();
        }
        let above = sums.last().copied().unwrap_or_default();
        let own = path.last().and_then(|&at| lengths.get(at as usize)).copied().unwrap_or([2; NAMES.len()]);
        sums.push(std::array::from_fn(|at| above[at].saturating_add(u64::from(own[at]))))?;
        if row.exclusive_bytes > 0 {
            sizes.add(|limit| {
                let of = NAMES.iter().position(|&name| name == limit.name).unwrap_or(0);
                let down_to = |level: usize| level.checked_sub(1).map_or(0, |at| sums[at][of]);
                let left_out = left_out(path.len(), limit);
                down_to(path.len()) - (down_to(left_out.end) - down_to(left_out.start)) + NUMBER
            });
        }
        Ok(())
    })?;
    Ok(sizes)
}

/// Maximum bytes of a number with its space and line end.
const NUMBER: u64 = 22;

/// Bytes of all types.
fn allocated(job: &Job<'_>) -> Result<u64, StageError> {
    let mut types = ColumnReader::open(job.scratch, TYPES)?;
    let mut sum = 0_u64;
    while types.remaining() > 0 {
        let bytes = types.next()?.bytes;
        sum = sum.saturating_add(if bytes == ABSENT { 0 } else { bytes });
    }
    Ok(sum)
}

/// Levels of a stack to omit.
fn left_out(depth: usize, limit: Limit) -> Range<usize> {
    if depth > limit.frames { limit.frames / 2..depth - limit.frames / 2 } else { depth..depth }
}

/// Characters of a name to write.
fn shortened(name: &str, most: usize) -> impl Iterator<Item = char> {
    let is_cut = name.chars().nth(most).is_some();
    name.chars().take(most).chain(CUT.chars().filter(move |_| is_cut))
}

/// Writes the functions of a stack.
fn line<'a>(out: &mut impl Write, path: &[u32], limit: Limit, name: impl Fn(u32) -> Cow<'a, str>) -> io::Result<()> {
    let left_out = left_out(path.len(), limit);
    let mut text = String::new();
    let mut add = |text: &mut String, function: u32| -> io::Result<()> {
        let name = name(function);
        text.extend(shortened(&name, limit.name).map(|c| if c == ';' || c.is_control() { ':' } else { c }));
        out.write_all(text.as_bytes())?;
        text.clear();
        text.push(';');
        Ok(())
    };
    path[..left_out.start].iter().try_for_each(|&function| add(&mut text, function))?;
    if !left_out.is_empty() {
        text.push_str(CUT);
        text.push(';');
    }
    path[left_out.end..].iter().try_for_each(|&function| add(&mut text, function))
}

/// Position of each function's name among the texts.
fn positions(job: &Job<'_>) -> Result<BudgetVec<u32>, StageError> {
    let mut reader = ColumnReader::open(job.scratch, FUNCTIONS)?;
    let mut names = job.context.budget.growing("the names of functions");
    while reader.remaining() > 0 {
        let row = reader.next()?;
        let at = row.function_id as usize;
        while at >= names.len() {
            names.push(0)?;
        }
        names[at] = row.name;
    }
    Ok(names)
}
