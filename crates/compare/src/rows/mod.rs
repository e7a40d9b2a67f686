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
pub(crate) mod labels;
mod read;
pub(crate) mod record;
pub(crate) mod signatures;
mod spill;
pub(crate) mod unreported;

use crate::sides::{Sides, has_table, host};
use heaplake_kit::threads::locked;
use heaplake_kit::{Context, Reservation, StageError, threads};
use heaplake_lake::reader::Reader;
use heaplake_lake::selection::FoundRun;
use heaplake_names::Normaliser;
use heaplake_schemas::diff::DiffTable;
use kept::Kept;
use read::{Buffers, Reading, common_keys};
use record::{Head, Record};
use rustc_hash::{FxHashMap, FxHashSet};
use signatures::{FINGERPRINT, Source};
use spill::{Loaded, Spill};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum groups per thread and round.
const CHUNK: usize = 1 << 10;
/// Null sentinel for numbers of hosts and runs.
pub(crate) const NO_ONE: u32 = u32::MAX;

/// Options of a comparison of tables.
pub struct Rules<'a> {
    /// Name rules, for runs without signatures in their tables.
    pub names: Normaliser,
    /// Whether the user gave name rules, so that signatures of tables are ignored.
    pub own_names: bool,
    /// Label that names hosts, for pairing; `None` disables pairing.
    pub pair: Option<&'a str>,
    /// Folder for scratch files.
    pub scratch: &'a Path,
}

impl Rules<'_> {
    /// Source of a table's signatures: its columns, if all runs have them and the user gave no rules.
    fn source(&self, sides: &Sides, table: &DiffTable) -> Result<Source<'_>, StageError> {
        for (_, found) in sides.runs().filter(|(_, found)| has_table(&found.run, table.compared.file)) {
            if self.own_names || !Reader::open(&found.place.join(table.compared.file))?.has(FINGERPRINT) {
                return Ok(Source::Made(&self.names));
            }
        }
        Ok(Source::Stored)
    }
}

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
    reports: u64,
}

/// Number of runs and hosts of a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfSide {
    /// Runs.
    pub runs: usize,
    /// Hosts; `None` if no run has a host.
    pub hosts: Option<usize>,
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
    pub unreported: FxHashMap<u64, Vec<u32>>,
    /// Number of sides.
    sides: usize,
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
    /// Keys.
    pub keys: FxHashSet<u64>,
    /// Class fingerprints; 0 if none.
    pub classes: FxHashSet<u64>,
    grant: Option<Reservation>,
}

/// Bytes per key in a half-empty table.
const KEY: u64 = 24;

impl Subjects {
    fn take(&mut self, records: &[u64], width: usize, context: &Context<'_>) -> Result<(), StageError> {
        for Record { head, .. } in Record::all(records, width) {
            self.keys.insert(head.key);
            self.classes.insert(head.class);
        }
        let bytes = (self.keys.capacity() + self.classes.capacity()) as u64 * KEY;
        match &mut self.grant {
            Some(grant) => grant.grow(bytes.saturating_sub(grant.bytes())),
            None => {
                self.grant = Some(context.budget.reserve("comparison: subjects", bytes)?);
                Ok(())
            }
        }
    }
}

/// Gathers the rows of a table from all runs that have it. With `by_key`, classes with equal keys on both sides are
/// matched by key, not by fingerprint.
pub(crate) fn gather<'a>(
    sides: &Sides,
    table: &'a DiffTable,
    rules: &'a Rules<'_>,
    by_key: bool,
    context: &Context<'_>,
) -> Result<Gathered<'a>, StageError> {
    let runs = of_table(sides, table);
    let source = rules.source(sides, table)?;
    let keys = match by_key && table.compared.name == "classes" {
        true => {
            let folders: Vec<&Path> = runs.iter().map(|run| run.folder.as_path()).collect();
            common_keys(&folders, table, context)?
        }
        false => FxHashSet::default(),
    };
    collect(runs, sides.sides.len(), &Reading { table, source, keys: &keys }, None, rules.scratch, context)
}

/// Like [`gather`], for tables with signatures; rows of known runs come from `kept`.
pub(crate) fn gather_with<'a>(
    sides: &Sides,
    table: &'a DiffTable,
    kept: Option<&'a Kept<'a>>,
    scratch: &Path,
    context: &Context<'_>,
) -> Result<Gathered<'a>, StageError> {
    let reading = Reading { table, source: Source::Stored, keys: &FxHashSet::default() };
    collect(of_table(sides, table), sides.sides.len(), &reading, kept, scratch, context)
}

fn collect<'a>(
    mut runs: Vec<OfTable>,
    sides: usize,
    reading: &Reading<'a, '_>,
    kept: Option<&'a Kept<'a>>,
    scratch: &Path,
    context: &Context<'_>,
) -> Result<Gathered<'a>, StageError> {
    let total = runs.iter().map(|run| run.rows).sum();
    let spill = Spill::create(scratch, reading.width(), total, context)?;
    let unread: Vec<u32> = (0..runs.len() as u32).filter(|run| !kept.is_some_and(|kept| kept.has(*run))).collect();
    context.progress.begin(reading.table.table.name, unread.len() as u64);
    // With kept rows, subjects are not needed.
    let subjects = if kept.is_none() { Some(Mutex::default()) } else { None };
    for (run, reports) in read_all(&runs, &unread, reading, (&spill, subjects.as_ref()), context)? {
        runs[run as usize].reports = reports;
    }
    context.progress.end();
    let subjects = subjects.map(|subjects| subjects.into_inner().unwrap_or_else(PoisonError::into_inner));
    let subjects = subjects.unwrap_or_default();
    let hosts = runs.iter().filter_map(|run| run.host).max().map_or(0, |last| last as usize + 1);
    let Reading { table, source, .. } = *reading;
    Ok(Gathered { table, runs, source, unreported: FxHashMap::default(), sides, hosts, subjects, kept, spill })
}

fn of_table(sides: &Sides, table: &DiffTable) -> Vec<OfTable> {
    let mut hosts = FxHashMap::default();
    let with_table = sides.runs().filter(|(_, found)| has_table(&found.run, table.compared.file));
    let run = |(side, found): (usize, &FoundRun)| {
        let named = host(&found.run);
        let host = named.map(|host| {
            let next = hosts.len() as u32;
            *hosts.entry(host.to_owned()).or_insert(next)
        });
        let rows = found.run.table(table.compared.file).map_or(0, |listed| listed.rows);
        let name = named.unwrap_or(&found.run.snapshot).to_owned();
        OfTable { folder: found.place.clone(), side, host, name, rows, reports: 0 }
    };
    with_table.map(run).collect()
}

/// Reads the tables of some runs into the spill; returns the measures that each reports.
fn read_all(
    runs: &[OfTable],
    unread: &[u32],
    reading: &Reading<'_, '_>,
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
        let read = rows.and_then(|reports| {
            let records = &buffers.records;
            spill.append(records)?;
            if let Some(subjects) = subjects {
                let mut subjects = locked(subjects);
                subjects.take(records, reading.width(), context)?;
            }
            context.step(1)?;
            Ok(Some((run, reports)))
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
pub(crate) struct Group<'a> {
    gathered: &'a Gathered<'a>,
    /// Records in the order of the runs.
    pub records: Vec<Record<'a>>,
}

/// A run of the table, with its record in the group, if any.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// Run number.
    pub run: u32,
    /// Side of the run.
    pub side: usize,
    record: Option<Record<'a>>,
    /// Bit set of the measures that are 0 if the run has no record.
    zeros: u64,
}

impl Seen<'_> {
    /// Value of a measure: 0 for a run without the row; `None` if the run does not report it.
    pub(crate) fn value(&self, measure: usize) -> Option<i64> {
        match self.record {
            Some(record) => record.value(measure),
            None => (self.zeros >> measure & 1 == 1).then_some(0),
        }
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

    /// Folder of its scratch files.
    pub(crate) fn scratch(&self) -> &Path {
        &self.spill.folder
    }

    /// Number of runs and hosts of each side with the table.
    pub(crate) fn of_sides(&self) -> Vec<OfSide> {
        let with = self.with(self.runs.iter());
        let of_side = |[runs, hosts]: [u32; 2]| OfSide {
            runs: runs as usize,
            hosts: Some(hosts as usize).filter(|_| hosts != NO_ONE),
        };
        with.into_iter().map(of_side).collect()
    }

    /// Number of runs and hosts of each side, among some runs; [`NO_ONE`] hosts if no run of the table has a host.
    fn with<'r>(&self, runs: impl Iterator<Item = &'r OfTable>) -> Vec<[u32; 2]> {
        let mut with = vec![[0, if self.hosts == 0 { NO_ONE } else { 0 }]; self.sides];
        let mut seen = vec![false; self.hosts * self.sides];
        for run in runs {
            with[run.side][0] += 1;
            let Some(host) = run.host else { continue };
            let seen = &mut seen[run.side * self.hosts + host as usize];
            with[run.side][1] += u32::from(!*seen);
            *seen = true;
        }
        with
    }
}

impl Group<'_> {
    /// Its first record.
    pub(crate) fn head(&self) -> &Head {
        self.records[0].head
    }

    /// Run and row of an example: in the last run of the last side with the row.
    pub(crate) fn example(&self) -> [u32; 2] {
        let last = self.records.iter().map(|record| record.head).max_by_key(|head| (self.run(head.run).side, head.run));
        last.map_or([0, 0], |head| [head.run, head.row])
    }

    /// Number of runs and hosts with the row, per side; [`NO_ONE`] hosts if no run of the table has a host.
    pub(crate) fn with(&self) -> Vec<[u32; 2]> {
        self.gathered.with(self.records.iter().map(|record| self.run(record.head.run)))
    }

    /// Number of hosts of some runs, or the number of runs if no label names hosts.
    pub(crate) fn hosts_of(&self, runs: impl ExactSizeIterator<Item = u32>) -> usize {
        if self.gathered.hosts == 0 {
            return runs.len();
        }
        let mut seen = vec![false; self.gathered.hosts];
        runs.filter_map(|run| self.run(run).host).for_each(|host| seen[host as usize] = true);
        seen.into_iter().filter(|seen| *seen).count()
    }

    /// All runs with the table, in order.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Seen<'_>> {
        let unreported = self.gathered.unreported.get(&self.head().class).map_or(&[][..], Vec::as_slice);
        let mut records = self.records.iter().map(|record| (record.head.run, *record)).peekable();
        (0..).zip(&self.gathered.runs).map(move |(run, of)| {
            let record = records.next_if(|(number, _)| *number == run).map(|(_, record)| record);
            let zeros = if record.is_none() && unreported.contains(&run) { 0 } else { of.reports };
            Seen { run, side: of.side, record, zeros }
        })
    }

    fn run(&self, run: u32) -> &OfTable {
        &self.gathered.runs[run as usize]
    }
}
