//! Groups the rows of one table of many runs by fingerprint, out of core.
//!
//! * Computes: for each fingerprint the values of each measure, one per run. Rows of a run with equal fingerprints are
//!   added up; a run with the table but without the row counts as 0; a run that does not report the measure is left
//!   out.
//! * Resident memory: the rows of one run per thread; then two partitions, each a fifth of the budget or less.
//! * Passes over disk: the measures of each table once, written once and read once; those of known runs are read from
//!   the file that keeps them; texts of one example per fingerprint.
//! * Worst case: n log n in the rows of all runs.
//! * Determinism: groups come in the order of their keys, values in the order of the runs.

mod codec;
pub(crate) mod kept;
mod read;
pub(crate) mod signatures;
mod spill;
pub(crate) mod texts;

use crate::sides::{Sides, has_table, host};
use heaplake_kit::{Context, Reservation, StageError, threads};
use heaplake_lake::reader::Reader;
use heaplake_names::Normaliser;
use heaplake_schemas::diff::DiffTable;
use heaplake_schemas::run::Table;
use kept::Kept;
use read::{Buffers, HEAD, Reading, common_keys, place};
use rustc_hash::{FxHashMap, FxHashSet};
use signatures::{FINGERPRINT, Source};
use spill::{Loaded, Spill};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum groups per thread and round.
const CHUNK: usize = 1 << 10;

/// A run that has the table.
#[derive(Clone, Debug)]
pub(crate) struct OfTable {
    /// Run folder.
    pub folder: PathBuf,
    /// Index of its side.
    pub side: usize,
    /// Host number, if a label names the host.
    pub host: Option<u32>,
    /// Name of the host, or else of the run.
    pub name: String,
    /// Rows of its table.
    rows: u64,
    /// Bit set of the measures that it reports.
    tells: u64,
}

/// Rows of a table over all runs.
pub(crate) struct Gathered<'a> {
    /// Table.
    pub table: &'a DiffTable,
    /// Runs with the table.
    pub runs: Vec<OfTable>,
    /// Source of signatures.
    pub source: Source<'a>,
    /// By class fingerprint: runs that do not report rows of the class.
    pub untold: FxHashMap<u64, Vec<u32>>,
    /// Number of hosts; 0 if no label names them.
    hosts: usize,
    /// Subjects of the runs read now.
    pub subjects: Subjects,
    /// Rows of runs read earlier.
    kept: Option<&'a Kept<'a>>,
    /// Rows of the other runs.
    spill: Spill,
}

/// Distinct keys, and the fingerprints of the classes they lead to. Collected while runs are read, so that the number
/// of subjects is known before grouping.
#[derive(Default)]
pub(crate) struct Subjects {
    keys: FxHashSet<u64>,
    /// Class fingerprints; 0 if none.
    pub classes: FxHashSet<u64>,
    room: Option<Reservation>,
}

/// Bytes per key in a half-empty table.
const KEY: u64 = 24;

impl Subjects {
    /// Number of subjects.
    pub(crate) fn count(&self) -> usize {
        self.keys.len()
    }

    fn take(&mut self, records: &[u64], width: usize, context: &Context<'_>) -> Result<(), StageError> {
        for record in records.chunks_exact(width) {
            self.keys.insert(record[0]);
            self.classes.insert(record[3]);
        }
        let bytes = (self.keys.capacity() + self.classes.capacity()) as u64 * KEY;
        match &mut self.room {
            Some(room) => room.grow(bytes.saturating_sub(room.bytes())),
            None => {
                self.room = Some(context.budget.reserve("comparison: subjects", bytes)?);
                Ok(())
            }
        }
    }
}

/// Source of a table's signatures: its columns, if all runs have them and no other rules are given.
pub(crate) fn source<'a>(
    sides: &Sides,
    table: &DiffTable,
    names: &'a Normaliser,
    other_rules: bool,
) -> Result<Source<'a>, StageError> {
    for (_, found) in sides.runs().filter(|(_, found)| has_table(&found.run, table.compared.file)) {
        if other_rules || !Reader::open(&found.place.join(table.compared.file))?.has(FINGERPRINT) {
            return Ok(Source::Made(names));
        }
    }
    Ok(Source::Stored)
}

/// Gathers the rows of a table from all runs that have it; scratch files go to `folder`. With `by_key`, classes with
/// equal keys on both sides are matched by key, not by fingerprint.
pub(crate) fn gather<'a>(
    sides: &Sides,
    table: &'a DiffTable,
    source: Source<'a>,
    by_key: bool,
    folder: &Path,
    context: &Context<'_>,
) -> Result<Gathered<'a>, StageError> {
    let runs = of_table(sides, table);
    let keys = match by_key && table.keys.contains(&"class_key") && table.compared.name == "classes" {
        true => {
            let folders: Vec<&Path> = runs.iter().map(|run| run.folder.as_path()).collect();
            common_keys(&folders, table, context)?
        }
        false => FxHashSet::default(),
    };
    collect(runs, (table, source), &keys, None, folder, context)
}

/// Like [`gather`], for tables with signatures; rows of known runs come from `kept`.
pub(crate) fn gather_with<'a>(
    sides: &Sides,
    table: &'a DiffTable,
    kept: Option<&'a Kept<'a>>,
    folder: &Path,
    context: &Context<'_>,
) -> Result<Gathered<'a>, StageError> {
    collect(of_table(sides, table), (table, Source::Stored), &FxHashSet::default(), kept, folder, context)
}

fn collect<'a>(
    mut runs: Vec<OfTable>,
    (table, source): (&'a DiffTable, Source<'a>),
    keys: &FxHashSet<u64>,
    kept: Option<&'a Kept<'a>>,
    folder: &Path,
    context: &Context<'_>,
) -> Result<Gathered<'a>, StageError> {
    let reading = Reading { table, source, keys };
    let total = runs.iter().map(|run| run.rows).sum();
    let spill = Spill::create(folder, reading.width(), total, context)?;
    let unread: Vec<u32> = (0..runs.len() as u32).filter(|run| !kept.is_some_and(|kept| kept.has(*run))).collect();
    context.progress.begin(table.table.name, unread.len() as u64);
    // With kept rows, subjects are not needed.
    let subjects = if kept.is_none() { Some(Mutex::default()) } else { None };
    for (run, tells) in read_all(&runs, &unread, &reading, (&spill, subjects.as_ref()), context)? {
        runs[run as usize].tells = tells;
    }
    context.progress.end();
    let subjects = subjects.map(|subjects| subjects.into_inner().unwrap_or_else(PoisonError::into_inner));
    let subjects = subjects.unwrap_or_default();
    let hosts = runs.iter().filter_map(|run| run.host).max().map_or(0, |last| last as usize + 1);
    Ok(Gathered { table, runs, source, untold: FxHashMap::default(), hosts, subjects, kept, spill })
}

fn of_table(sides: &Sides, table: &DiffTable) -> Vec<OfTable> {
    let mut hosts = FxHashMap::default();
    let with_table = sides.runs().filter(|(_, found)| has_table(&found.run, table.compared.file));
    let run = |(side, found): (usize, &heaplake_lake::selection::FoundRun)| {
        let host = host(&found.run).map(|host| {
            let next = hosts.len() as u32;
            *hosts.entry(host.to_owned()).or_insert(next)
        });
        let of_file = |listed: &&Table| listed.file == table.compared.file;
        let rows = found.run.tables.iter().find(of_file).map_or(0, |listed| listed.rows);
        let name = crate::sides::host(&found.run).unwrap_or(&found.run.snapshot).to_owned();
        OfTable { folder: found.place.clone(), side, host, name, rows, tells: 0 }
    };
    with_table.map(run).collect()
}

/// Reads the tables of some runs into the spill; returns the measures that each reports.
fn read_all(
    runs: &[OfTable],
    unread: &[u32],
    reading: &Reading<'_>,
    (spill, subjects): (&Spill, Option<&Mutex<Subjects>>),
    context: &Context<'_>,
) -> Result<Vec<(u32, u64)>, StageError> {
    // Lowest failed run. Earlier runs are still read, so that the error does not depend on timing.
    let failed = AtomicU32::new(u32::MAX);
    let work = |buffers: &mut Buffers, run: u32| {
        if run > failed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let rows = reading.rows(&runs[run as usize].folder, run, buffers, context);
        let read = rows.and_then(|tells| {
            let records = &buffers.records;
            spill.append(records)?;
            if let Some(subjects) = subjects {
                let mut subjects = subjects.lock().unwrap_or_else(PoisonError::into_inner);
                subjects.take(records, reading.width(), context)?;
            }
            context.step(1)?;
            Ok(Some((run, tells)))
        });
        if read.is_err() {
            failed.fetch_min(run, Ordering::Relaxed);
        }
        read
    };
    let mut unread = unread.to_vec();
    let read = threads::map_with(context.threads, &mut unread, Buffers::default, |buffers, run| work(buffers, *run));
    read.into_iter().filter_map(Result::transpose).collect()
}

/// Rows of all runs with one key.
pub struct Group<'a> {
    gathered: &'a Gathered<'a>,
    records: Vec<&'a [u64]>,
}

/// Measures of a row.
#[derive(Clone, Copy)]
pub struct Measures<'a> {
    record: &'a [u64],
}

impl Measures<'_> {
    /// Returns a measure by position in the table; `None` if null.
    pub fn get(&self, measure: usize) -> Option<u64> {
        (self.record[HEAD - 1] >> measure & 1 == 0).then_some(self.record[HEAD + measure])
    }
}

impl Gathered<'_> {
    /// Calls `work` for each group, on all threads, and `take` with the results in the order of keys.
    pub(crate) fn each<R: Send>(
        &self,
        context: &Context<'_>,
        work: impl Fn(&Group<'_>) -> R + Sync,
        mut take: impl FnMut(R) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let mut kept = self.kept.map(|kept| kept.records(self.table)).transpose()?;
        let mut ahead: Option<Loaded<'_>> = None;
        for number in 0..self.spill.partitions() {
            let loaded = match ahead.take() {
                Some(loaded) => loaded,
                None => self.spill.load(number, kept.as_mut(), context)?,
            };
            // Read the next partition while the groups of this one are processed. If it does not fit or cannot be read,
            // the read is repeated afterwards and then reports the error.
            let has_next = self.kept.is_none() && context.threads > 1 && number + 1 < self.spill.partitions();
            let load = || self.spill.load(number + 1, None, context).ok();
            let (next, done) = threads::beside(has_next, load, || self.each_of(&loaded, context, &work, &mut take));
            done?;
            ahead = next.flatten();
        }
        self.spill.release();
        Ok(())
    }

    /// Processes the groups of one partition.
    fn each_of<R: Send>(
        &self,
        loaded: &Loaded<'_>,
        context: &Context<'_>,
        work: &(impl Fn(&Group<'_>) -> R + Sync),
        take: &mut impl FnMut(R) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let share = loaded.group_count().div_ceil(context.threads).clamp(1, CHUNK);
        let mut groups = loaded.groups().map(|records| Group { gathered: self, records }).peekable();
        while groups.peek().is_some() {
            let mut chunks: Vec<Vec<Group<'_>>> =
                (0..context.threads).map(|_| groups.by_ref().take(share).collect()).collect();
            context.check()?;
            let results = |chunk: &mut Vec<Group<'_>>| chunk.iter().map(work).collect::<Vec<R>>();
            for results in threads::map(context.threads, &mut chunks, results) {
                results.into_iter().try_for_each(&mut *take)?;
            }
        }
        Ok(())
    }

    /// Number of runs of a side with the table.
    pub(crate) fn runs_of(&self, side: usize) -> usize {
        self.runs.iter().filter(|run| run.side == side).count()
    }

    /// Number of hosts among the runs of a side with the table; `None` if no run of the table has a host.
    pub(crate) fn hosts_of(&self, side: usize) -> Option<usize> {
        self.hosts(self.runs.iter().filter(|run| run.side == side))
    }

    fn hosts<'r>(&self, runs: impl Iterator<Item = &'r OfTable>) -> Option<usize> {
        if self.runs.iter().all(|run| run.host.is_none()) {
            return None;
        }
        let mut hosts: Vec<u32> = runs.filter_map(|run| run.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        Some(hosts.len())
    }
}

impl Group<'_> {
    /// Key of its rows: fingerprint, or hash of the class key.
    pub fn key(&self) -> u64 {
        self.records[0][0]
    }

    /// Fingerprint of its rows.
    pub fn fingerprint(&self) -> u64 {
        self.records[0][2]
    }

    /// Fingerprint of the class that the rows lead to; 0 if none.
    pub fn class(&self) -> u64 {
        self.records[0][3]
    }

    /// Run and row of an example: in the last run of the last side with the row.
    pub fn example(&self) -> (u32, u32) {
        let side = |record: &&&[u64]| (self.run(record).side, place(record).0);
        self.records.iter().max_by_key(side).map_or((0, 0), |record| place(record))
    }

    /// Rows by run: run number, row number, measures.
    pub fn rows(&self) -> impl Iterator<Item = ((u32, u32), Measures<'_>)> {
        self.records.iter().map(|record| (place(record), Measures { record }))
    }

    /// Number of runs of a side with the row.
    pub fn runs_with(&self, side: usize) -> usize {
        self.records.iter().filter(|record| self.run(record).side == side).count()
    }

    /// Number of hosts of a side with the row; `None` if no run of the table has a host.
    pub fn hosts_with(&self, side: usize) -> Option<usize> {
        self.gathered.hosts(self.records.iter().map(|record| self.run(record)).filter(|run| run.side == side))
    }

    /// Number of hosts of some runs, or the number of runs if no label names hosts.
    pub fn hosts_of(&self, runs: impl Iterator<Item = u32> + Clone) -> usize {
        let of = |run: u32| &self.gathered.runs[run as usize];
        self.gathered.hosts(runs.clone().map(of)).unwrap_or_else(|| runs.count())
    }

    /// Calls `take` with run, side and value of a measure: 0 for a run without the row; skips runs that do not report
    /// it.
    pub fn each_value(&self, measure: usize, mut take: impl FnMut(u32, usize, i64)) {
        let untold = self.gathered.untold.get(&self.class()).map_or(&[][..], Vec::as_slice);
        let tells = |number: u32, run: &OfTable| run.tells >> measure & 1 == 1 && !untold.contains(&number);
        let mut rows = self.records.iter().peekable();
        for (number, run) in (0..).zip(&self.gathered.runs) {
            let record = rows.next_if(|record| place(record).0 == number);
            match record {
                Some(record) => {
                    if let Some(value) = (Measures { record }).get(measure) {
                        take(number, run.side, i64::try_from(value).unwrap_or(i64::MAX));
                    }
                }
                None if tells(number, run) => take(number, run.side, 0),
                None => {}
            }
        }
    }

    /// Calls `take` for each run, in order: number, side, host, measures of its row if any, and, for a run without the
    /// row, a bit set of the measures with value 0.
    pub fn each_run(&self, mut take: impl FnMut(u32, usize, Option<u32>, Option<Measures<'_>>, u64)) {
        let untold = self.gathered.untold.get(&self.class()).map_or(&[][..], Vec::as_slice);
        let mut rows = self.records.iter().map(|record| (place(record).0, record)).peekable();
        for (number, run) in (0..).zip(&self.gathered.runs) {
            match rows.next_if(|(of, _)| *of == number) {
                Some((_, record)) => take(number, run.side, run.host, Some(Measures { record }), 0),
                None if untold.contains(&number) => take(number, run.side, run.host, None, 0),
                None => take(number, run.side, run.host, None, run.tells),
            }
        }
    }

    /// Number of hosts (host numbers are below it); 0 if no label names them.
    pub fn all_hosts(&self) -> usize {
        self.gathered.hosts
    }

    /// Side of each run with the row, in the order of runs.
    pub fn sides(&self) -> impl Iterator<Item = usize> {
        self.records.iter().map(|record| self.run(record).side)
    }

    fn run(&self, record: &[u64]) -> &OfTable {
        &self.gathered.runs[place(record).0 as usize]
    }
}
