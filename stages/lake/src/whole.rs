//! Whether the tables of many runs are those that their descriptions list, several at a time.
//!
//! * Cost: a pass over the tables at the speed of memory, on all threads. Whoever reads them next finds them in memory.
//! * Runs in an object store are not looked at: it takes a request to read what a reader reads anyway.

use crate::found::Found;
use crate::listed::BUFFER_BYTES;
use heaplake_kit::ordered_pool::OrderedPool;
use heaplake_kit::{Context, StageError, storage};

/// Tables that are read at a time, at most.
const AT_ONCE: usize = 64;

/// A table to check, and what came of it.
#[derive(Default)]
struct Check<'a> {
    of: usize,
    table: Option<(&'a Found, &'a str)>,
    outcome: Option<Result<Option<String>, StageError>>,
}

/// What is wrong with the tables of runs that are `wanted`, a line for each run; nothing for one whose tables are those of
/// its description. Tables that are not there count as right: see [`Found::missing`].
///
/// # Errors
/// [`StageError::Cancelled`], [`StageError::Budget`].
pub fn problems<'a>(
    runs: &[&'a Found],
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
