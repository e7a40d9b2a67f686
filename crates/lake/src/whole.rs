//! Verifies the tables of many runs in parallel.
//!
//! * Cost: one pass over the tables on all threads; they stay in the page cache for later readers.
//! * Runs in an object store are skipped: reading their tables would cost as many requests as their use.

use crate::found::FoundRun;
use crate::listed::BUFFER_BYTES;
use heaplake_kit::ordered_pool::OrderedPool;
use heaplake_kit::{Context, StageError, storage};

/// Maximum tables verified at a time.
const AT_ONCE: usize = 64;

/// A table to verify, and the result.
#[derive(Default)]
struct Check<'a> {
    of: usize,
    table: Option<(&'a FoundRun, &'a str)>,
    outcome: Option<Result<Option<String>, StageError>>,
}

/// Verifies the `wanted` tables of runs; returns the first defect per run, if any. Missing tables are no defect: see
/// [`FoundRun::missing`].
pub fn problems<'a>(
    runs: &[&'a FoundRun],
    wanted: &dyn Fn(&str) -> bool,
    context: &Context<'_>,
) -> Result<Vec<Option<String>>, StageError> {
    let pool = OrderedPool::plan(context, "checking tables", AT_ONCE, BUFFER_BYTES as u64)?;
    let mut problems: Vec<Option<String>> = vec![None; runs.len()];
    let local = runs.iter().copied().enumerate().filter(|(_, found)| !storage::is_url(&found.place));
    let tables = local.flat_map(|(of, found)| found.run.tables.iter().map(move |table| (of, found, &*table.file)));
    let mut waiting = tables.filter(|(.., file)| wanted(file));
    let fill = |job: &mut Check<'a>| -> Result<bool, StageError> {
        let Some((of, found, file)) = waiting.next() else { return Ok(false) };
        *job = Check { of, table: Some((found, file)), outcome: None };
        Ok(true)
    };
    let worker = || |job: &mut Check<'a>| job.outcome = job.table.map(|(found, file)| found.check(file, context));
    let finish = |job: &mut Check<'a>| {
        let problem = job.outcome.take().unwrap_or(Ok(None))?;
        if problems[job.of].is_none() {
            problems[job.of] = problem;
        }
        Ok(())
    };
    pool.run(context, fill, worker, finish)?;
    Ok(problems)
}
