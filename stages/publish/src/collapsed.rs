//! Stage `collapsed`: allocations as collapsed stacks, which flame graph tools read.
//!
//! * Computes: a line per stack, functions from the outermost one on with `;` between them, then a space and the
//!   bytes that it allocates itself; a last line for what no stack has.
//! * Resident memory: 4 bytes per function, 8 per level of the deepest stack.
//! * Passes over disk: one.
//! * Worst case: linear in the stacks, each of at most [`MOST_FRAMES`] functions: a stack in full for each of its levels
//!   would be the square of its depth. Of a deeper one the middle is left out, and `…` stands for it.
//! * Fails when: the disk is full.
//! * Determinism: order of the call tree.
//! * Reference: `stackcollapse` of the FlameGraph tools.

use heaplake_kit::access::{column, texts};
use heaplake_kit::fs::File;
use heaplake_kit::{BudgetVec, ColumnReader, Job, Stage, StageError, Stats, StringTable};
use heaplake_schemas::replay::{ABSENT, CALLEES, FUNCTIONS, STRINGS, TYPES};
use std::borrow::Cow;

use std::io::{self, BufWriter, Write};

/// File name inside a run.
pub const FILE: &str = "allocations.collapsed";

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "collapsed",
    version: 3,
    when: |setting| setting.replay(|options| options.recording.collapsed),
    reads: &[column(CALLEES), column(FUNCTIONS), column(TYPES), texts(STRINGS)],
    fixed: 8 << 20,
    passes: "callees once",
    run,
    ..Stage::NEW
};

/// Functions of a stack that are written, at most: as deep as profilers look.
const MOST_FRAMES: usize = 1024;

/// Stands for the stack of objects that have none.
const NONE: &str = "(no stack)";

/// Characters of a name that are written, at most.
const MOST_NAME: usize = 4096;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let path = job.table(FILE);
    let failed = |error: io::Error| StageError::io(&path, "write", error);
    let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
    let mut out = BufWriter::new(file);
    let strings = StringTable::open(scratch, STRINGS)?;
    let names = positions(job)?;
    let mut reader = ColumnReader::open(scratch, CALLEES)?;
    context.progress.begin(STAGE.name, reader.remaining());
    let mut path = context.budget.growing("the functions of a stack");
    let (mut rows, mut stacked) = (0, 0_u64);
    while reader.remaining() > 0 {
        let row = reader.next()?;
        context.step(1)?;
        while path.len() > row.depth as usize {
            path.pop();
        }
        path.push(row.function_id)?;
        stacked = stacked.saturating_add(row.exclusive_bytes);
        if row.exclusive_bytes > 0 {
            let name = |function: u32| names.get(function as usize).map_or("?".into(), |&at| strings.text(at as usize));
            line(&mut out, &path, name).and_then(|()| writeln!(out, " {}", row.exclusive_bytes)).map_err(failed)?;
            rows += 1;
        }
    }
    let rest = allocated(job)?.saturating_sub(stacked);
    if rest > 0 {
        writeln!(out, "{NONE} {rest}").map_err(failed)?;
        rows += 1;
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: 0 })
}

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

/// Writes the functions of a stack.
fn line<'a>(out: &mut impl Write, path: &[u32], name: impl Fn(u32) -> Cow<'a, str>) -> io::Result<()> {
    let left_out = match path.len() {
        length if length > MOST_FRAMES => MOST_FRAMES / 2..length - MOST_FRAMES / 2,
        length => length..length,
    };
    let mut text = String::new();
    let mut add = |text: &mut String, function: u32| -> io::Result<()> {
        let name = name(function);
        text.extend(name.chars().take(MOST_NAME).map(|c| if c == ';' || c.is_control() { ':' } else { c }));
        out.write_all(text.as_bytes())?;
        text.clear();
        text.push(';');
        Ok(())
    };
    path[..left_out.start].iter().try_for_each(|&function| add(&mut text, function))?;
    if !left_out.is_empty() {
        text.push_str("…;");
    }
    path[left_out.end..].iter().try_for_each(|&function| add(&mut text, function))
}

/// The position of each function's name among the texts.
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
