//! Stage `collapsed`: allocations as collapsed stacks, which flame graph tools read.
//!
//! * Computes: a line per stack, functions from the outermost one on with `;` between them, then a space and the
//!   bytes that it allocates itself.
//! * Resident memory: 4 bytes per function, the longest stack.
//! * Passes over disk: one.
//! * Worst case: linear in the stacks times their depth.
//! * Fails when: the disk is full.
//! * Determinism: order of the call tree.
//! * Reference: `stackcollapse` of the FlameGraph tools.

use heaplake_kit::access::{column, texts};
use heaplake_kit::fs::File;
use heaplake_kit::{ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_schemas::replay::{CALLEES, FUNCTIONS, STRINGS};
use std::io::{self, BufWriter, Write};

/// File name inside a run.
pub const FILE: &str = "allocations.collapsed";

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "collapsed",
    when: |setting| setting.replay(|options| options.recording.collapsed),
    reads: &[column(CALLEES), column(FUNCTIONS), texts(STRINGS)],
    fixed: 8 << 20,
    passes: "callees once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let path = job.table(FILE);
    let failed = |error: io::Error| StageError::io(&path, "write", error);
    let file = File::create(&path).map_err(|error| StageError::io(&path, "create", error))?;
    let mut out = BufWriter::new(file);
    let strings = StringTable::open(scratch, STRINGS)?;
    let names = positions(scratch)?;
    let mut reader = ColumnReader::open(scratch, CALLEES)?;
    context.progress.begin(STAGE.name, reader.remaining());
    // The line so far, and where the name of each of its functions ends.
    let (mut line, mut ends) = (String::new(), Vec::<usize>::new());
    let mut rows = 0;
    while reader.remaining() > 0 {
        let row = reader.next()?;
        context.step(1)?;
        ends.truncate(row.depth as usize);
        line.truncate(ends.last().copied().unwrap_or(0));
        if !line.is_empty() {
            line.push(';');
        }
        let name = names.get(row.function_id as usize).map_or("?".into(), |&at| strings.text(at as usize));
        line.extend(name.chars().map(|c| if c == ';' || c.is_control() { ':' } else { c }));
        ends.push(line.len());
        if row.exclusive_bytes > 0 {
            writeln!(out, "{line} {}", row.exclusive_bytes).map_err(failed)?;
            rows += 1;
        }
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: 0 })
}

/// The position of each function's name among the texts.
fn positions(scratch: &Scratch) -> Result<Vec<u32>, StageError> {
    let mut reader = ColumnReader::open(scratch, FUNCTIONS)?;
    let mut names = Vec::new();
    while reader.remaining() > 0 {
        let row = reader.next()?;
        let at = row.function_id as usize;
        if at >= names.len() {
            names.resize(at + 1, 0);
        }
        names[at] = row.name;
    }
    Ok(names)
}
