//! The rows of one table of many runs, brought together by fingerprint, out of core.
//!
//! * Computes: for each fingerprint the values of each measure, one per run. Rows of a run with one fingerprint are
//!   added up; a run that has the table and no such row counts as 0; a run that cannot tell is left out.
//! * Resident memory: the rows of one run per thread; then one partition, a quarter of the budget or less.
//! * Passes over disk: the measures of each table once, written once and read once; texts of one example per
//!   fingerprint.
//! * Worst case: n log n in the rows of all runs.
//! * Determinism: groups come in the order of their keys, values in the order of the runs.

mod read;
pub mod signatures;
mod spill;
pub mod texts;

use crate::sides::{Sides, has_table, host};
use heaplake_kit::{Context, StageError};
use heaplake_lake::reader::Reader;
use heaplake_names::Names;
use heaplake_schemas::diff::DiffTable;
use read::{HEAD, Reading, Rows, class_keys, place};
use rustc_hash::{FxHashMap, FxHashSet};
use signatures::{FINGERPRINT, Source};
use spill::Spill;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Groups that a thread works on at a time.
const CHUNK: usize = 1 << 10;

/// A run that has the table.
#[derive(Clone, Debug)]
pub struct OfTable {
    /// Its folder.
    pub folder: PathBuf,
    /// Number of its side.
    pub side: usize,
    /// Number of its host, where a label names it.
    pub host: Option<u32>,
    /// A bit for each measure that it tells.
    tells: u64,
}

/// The rows of a table of all runs.
pub struct Gathered<'a> {
    /// The table.
    pub table: &'a DiffTable,
    /// The runs that have it.
    pub runs: Vec<OfTable>,
    /// Where signatures come from.
    pub source: Source<'a>,
    /// For fingerprints of classes: the runs that cannot tell rows of the class.
    pub untold: FxHashMap<u64, Vec<u32>>,
    spill: Spill,
}

/// Where signatures of a table come from: its columns, if all runs have them and no other rules are given.
///
/// # Errors
/// As [`Reader`].
pub fn source<'a>(
    sides: &Sides,
    table: &DiffTable,
    names: &'a Names,
    other_rules: bool,
) -> Result<Source<'a>, StageError> {
    for (_, found) in sides.runs().filter(|(_, found)| has_table(&found.run, table.compared.file)) {
        if other_rules || !Reader::open(&found.place.join(table.compared.file))?.has(FINGERPRINT) {
            return Ok(Source::Made(names));
        }
    }
    Ok(Source::Stored)
}

/// Gathers the rows of a table of all runs that have it; scratch files lie in `folder`. With `by_key`, classes whose
/// keys are equal on both sides are compared by them, not by fingerprint.
///
/// # Errors
/// As [`Reader`], and [`StageError::Budget`].
pub fn gather<'a>(
    sides: &Sides,
    table: &'a DiffTable,
    source: Source<'a>,
    by_key: bool,
    folder: &Path,
    context: &Context<'_>,
) -> Result<Gathered<'a>, StageError> {
    let mut runs = of_table(sides, table);
    let keys = match by_key && table.keys.contains(&"class_key") && table.compared.name == "classes" {
        true => common_keys(&runs, table, context)?,
        false => FxHashSet::default(),
    };
    let reading = Reading { table, source, keys: &keys };
    let total = runs.iter().map(|run| Ok(Reader::open(&run.folder.join(table.compared.file))?.rows()));
    let total = total.sum::<Result<u64, StageError>>()?;
    let spill = Spill::create(folder, reading.width(), total, context)?;
    context.progress.begin(table.table.name, runs.len() as u64);
    let tells = read_all(&runs, &reading, &spill, context)?;
    runs.iter_mut().zip(tells).for_each(|(run, tells)| run.tells = tells);
    context.progress.end();
    Ok(Gathered { table, runs, source, untold: FxHashMap::default(), spill })
}

fn of_table(sides: &Sides, table: &DiffTable) -> Vec<OfTable> {
    let mut hosts = FxHashMap::default();
    let with_table = sides.runs().filter(|(_, found)| has_table(&found.run, table.compared.file));
    let run = |(side, found): (usize, &heaplake_lake::selection::Found)| {
        let host = host(&found.run).map(|host| {
            let next = hosts.len() as u32;
            *hosts.entry(host.to_owned()).or_insert(next)
        });
        OfTable { folder: found.place.clone(), side, host, tells: 0 }
    };
    with_table.map(run).collect()
}

/// Hashes of the class keys that both of two runs have.
fn common_keys(runs: &[OfTable], table: &DiffTable, context: &Context<'_>) -> Result<FxHashSet<u64>, StageError> {
    let [base, target] = runs else { return Ok(FxHashSet::default()) };
    let base = class_keys(&base.folder, table.compared.file, context)?;
    let target = class_keys(&target.folder, table.compared.file, context)?;
    Ok(base.into_iter().filter(|key| target.contains(key)).collect())
}

/// Reads the tables of all runs into the spill; what each run tells.
fn read_all(
    runs: &[OfTable],
    reading: &Reading<'_>,
    spill: &Spill,
    context: &Context<'_>,
) -> Result<Vec<u64>, StageError> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<u64, StageError>)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let run = next.fetch_add(1, Ordering::Relaxed);
            let Some(of_table) = runs.get(run) else { return };
            let read = reading.rows(&of_table.folder, run as u32, context).and_then(|Rows { records, tells }| {
                spill.append(&records)?;
                context.step(1)?;
                Ok(tells)
            });
            if read.is_err() {
                next.store(runs.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((run, read));
        }
    };
    thread::scope(|scope| {
        for _ in 1..context.threads.min(runs.len()) {
            // A thread that cannot be started is left out.
            drop(thread::Builder::new().spawn_scoped(scope, work));
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(run, _)| *run);
    done.into_iter().map(|(_, read)| read).collect()
}

/// The rows of all runs with one key.
pub struct Group<'a> {
    gathered: &'a Gathered<'a>,
    records: Vec<&'a [u64]>,
}

impl Gathered<'_> {
    /// Calls `work` for each group, on all threads, and `take` with its results in the order of the keys.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`], and those of `take`.
    pub fn each<R: Send>(
        &self,
        context: &Context<'_>,
        work: impl Fn(&Group<'_>) -> R + Sync,
        mut take: impl FnMut(R) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        for number in 0..self.spill.partitions() {
            let loaded = self.spill.load(number, &context.budget)?;
            let mut groups = loaded.groups().map(|records| Group { gathered: self, records }).peekable();
            while groups.peek().is_some() {
                let chunks: Vec<Vec<Group<'_>>> =
                    (0..context.threads).map(|_| groups.by_ref().take(CHUNK).collect()).collect();
                context.check()?;
                for results in on_threads(&chunks, &work) {
                    results.into_iter().try_for_each(&mut take)?;
                }
            }
        }
        Ok(())
    }

    /// How many runs of a side have the table.
    #[must_use]
    pub fn runs_of(&self, side: usize) -> usize {
        self.runs.iter().filter(|run| run.side == side).count()
    }
}

/// The results for the groups of each chunk, each chunk on a thread of its own.
fn on_threads<'a, R: Send>(chunks: &[Vec<Group<'a>>], work: &(impl Fn(&Group<'a>) -> R + Sync)) -> Vec<Vec<R>> {
    let results = |chunk: &Vec<Group<'a>>| chunk.iter().map(work).collect::<Vec<R>>();
    let Some((own, others)) = chunks.split_first() else { return Vec::new() };
    thread::scope(|scope| {
        // What no thread can be started for is done by this one.
        let started: Vec<_> = others
            .iter()
            .map(|chunk| (chunk, thread::Builder::new().spawn_scoped(scope, move || results(chunk)).ok()))
            .collect();
        let mut all = vec![results(own)];
        for (chunk, started) in started {
            let joined = started.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            all.push(joined.unwrap_or_else(|| results(chunk)));
        }
        all
    })
}

impl Group<'_> {
    /// The key of its rows: their fingerprint, or the hash of their class key.
    #[must_use]
    pub fn key(&self) -> u64 {
        self.records[0][0]
    }

    /// The fingerprint of its rows.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.records[0][2]
    }

    /// The fingerprint of the class that the rows lead to; 0 for none.
    #[must_use]
    pub fn class(&self) -> u64 {
        self.records[0][3]
    }

    /// Run and row of an example: in the last run of the last side that has the row.
    #[must_use]
    pub fn example(&self) -> (u32, u32) {
        let side = |record: &&&[u64]| (self.run(record).side, place(record).0);
        self.records.iter().max_by_key(side).map_or((0, 0), |record| place(record))
    }

    /// How many runs of a side have the row.
    #[must_use]
    pub fn runs_with(&self, side: usize) -> usize {
        self.records.iter().filter(|record| self.run(record).side == side).count()
    }

    /// How many hosts among the runs of a side have the row; nothing if no run of the table has a host.
    #[must_use]
    pub fn hosts_with(&self, side: usize) -> Option<usize> {
        if self.gathered.runs.iter().all(|run| run.host.is_none()) {
            return None;
        }
        let of_side = self.records.iter().map(|record| self.run(record)).filter(|run| run.side == side);
        let mut hosts: Vec<u32> = of_side.filter_map(|run| run.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        Some(hosts.len())
    }

    /// The values of a measure in the runs of a side, into `values`, see [`Self::each_value`].
    pub fn values(&self, side: usize, measure: usize, values: &mut Vec<i64>) {
        values.clear();
        self.each_value(measure, |of, value| {
            if of == side {
                values.push(value);
            }
        });
    }

    /// Calls `take` with the side of each run and its value of a measure: 0 for a run without the row, nothing for a run
    /// that cannot tell.
    pub fn each_value(&self, measure: usize, mut take: impl FnMut(usize, i64)) {
        let untold = self.gathered.untold.get(&self.class()).map_or(&[][..], Vec::as_slice);
        let tells = |number: u32, run: &OfTable| run.tells >> measure & 1 == 1 && !untold.contains(&number);
        let mut rows = self.records.iter().peekable();
        for (number, run) in (0..).zip(&self.gathered.runs) {
            let record = rows.next_if(|record| place(record).0 == number);
            match record {
                Some(record) if record[HEAD - 1] >> measure & 1 == 0 => {
                    take(run.side, i64::try_from(record[HEAD + measure]).unwrap_or(i64::MAX));
                }
                Some(_) => {}
                None if tells(number, run) => take(run.side, 0),
                None => {}
            }
        }
    }

    /// The side of each run that has the row, in the order of the runs.
    pub fn sides(&self) -> impl Iterator<Item = usize> {
        self.records.iter().map(|record| self.run(record).side)
    }

    fn run(&self, record: &[u64]) -> &OfTable {
        &self.gathered.runs[place(record).0 as usize]
    }
}
