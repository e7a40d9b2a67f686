//! Verifies the tables of many runs in parallel.
//!
//! * Cost: one pass over the tables on all threads; they stay in the page cache for later readers.
//! * Tables in an object store are not read here, since a reader gets a whole one with one request anyway: the runs are
//!   announced to it, so that the tables of the next ones are under way.

use crate::checksum::BUFFER_BYTES;
use crate::found::FoundRun;
use crate::stored;
use heaplake_kit::ordered_pool::OrderedPool;
use heaplake_kit::{Context, StageError, storage};

/// Maximum tables verified at a time.
const AT_ONCE: usize = 64;

/// Verifies the `wanted` tables of runs; returns the first defect per run, if any. Missing tables are no defect: see
/// [`FoundRun::missing`].
pub fn problems(
    runs: &[&FoundRun],
    wanted: &dyn Fn(&str) -> bool,
    context: &Context<'_>,
) -> Result<Vec<Option<String>>, StageError> {
    stored::will_read(runs.iter().map(|found| &*found.place));
    let local = runs.iter().copied().enumerate().filter(|(_, found)| !storage::is_url(&found.place));
    let tables = local.flat_map(|(of, found)| found.run.tables.iter().map(move |table| (of, (found, &*table.file))));
    let wanted = tables.filter(|(_, (_, file))| wanted(file));
    let check = |&(found, file): &(&FoundRun, &str), _: &mut Vec<u8>| found.check(file, context);
    let all = each(runs.len(), wanted, BUFFER_BYTES as u64, check, context)?;
    Ok(all.into_iter().map(|problems| problems.into_iter().next()).collect())
}

/// A table with the number of its run, and its problem.
struct Job<T, P> {
    table: Option<(usize, T)>,
    found: Result<Option<P>, StageError>,
}

impl<T, P> Default for Job<T, P> {
    fn default() -> Self {
        Self { table: None, found: Ok(None) }
    }
}

/// Checks the tables of `runs` runs on all threads; each table comes with the number of its run. `check` gets a buffer
/// of its thread and takes `bytes` of memory at most. Returns the problems of each run, in the order of its tables.
pub(crate) fn each<T: Send, P: Send>(
    runs: usize,
    mut tables: impl Iterator<Item = (usize, T)>,
    bytes: u64,
    check: impl Fn(&T, &mut Vec<u8>) -> Result<Option<P>, StageError> + Sync,
    context: &Context<'_>,
) -> Result<Vec<Vec<P>>, StageError> {
    let pool = OrderedPool::plan(context, "checking tables", AT_ONCE, bytes)?;
    let mut problems: Vec<Vec<P>> = (0..runs).map(|_| Vec::new()).collect();
    let fill = |job: &mut Job<T, P>| -> Result<bool, StageError> {
        *job = Job { table: tables.next(), found: Ok(None) };
        Ok(job.table.is_some())
    };
    let check = &check;
    let worker = || {
        let mut buffer = Vec::new();
        move |Job { table, found }: &mut Job<T, P>| {
            *found = table.as_ref().map_or(Ok(None), |(_, table)| check(table, &mut buffer));
        }
    };
    let finish = |job: &mut Job<T, P>| {
        let Job { table, found } = std::mem::take(job);
        if let (Some((run, _)), Some(problem)) = (table, found?) {
            problems[run].push(problem);
        }
        Ok(())
    };
    pool.run(context, fill, worker, finish)?;
    Ok(problems)
}
