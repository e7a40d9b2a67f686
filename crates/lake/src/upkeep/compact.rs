//! Compacts a lake: packs the small tables of the runs of a release and night ([`packs`](crate::packs)).
//!
//! ```text
//! each release and night:   new pack per table -> compared with its sources -> renamed over the old one
//! then each run of them:    run.json names the night -> files of the packed tables are removed
//! ```
//!
//! * Kills: before `run.json` is replaced, the run has its files, and the rows in the pack count for no run; afterwards,
//!   its files are leftovers. The next compaction does the rest of both.
//! * Readers: a file that is open stays readable; a reader that finds no file looks into the pack. Tables of a pack are
//!   read as those of a file.
//! * Writers: a run that is being made or has been replaced since it was packed stays as it is. One compaction at a
//!   time: it holds the lock of the folder of the packs.
//! * Cost: four passes over the tables that are packed, a sync of the file system per 256 runs.

use super::choice::Choice;
use super::pack_files;
use super::packed::{self, Outcome};
use super::prune::{self, Live};
use crate::captured::captured_at;
use crate::catalogue::Wanted;
use crate::entry::TableEntry;
use crate::packing::{self, Part, Rows};
use crate::packs::{self, FOLDER, NO_NIGHT};
use crate::place::{self, Place};
use crate::reader::Reader;
use crate::selection::{self, FoundRun, Selection};
use crate::{listed, moment, stored};
use heaplake_kit::{Context, StageError, fs, storage, threads};
use heaplake_schemas::run::Packed;
use heaplake_schemas::table::TableSchema;
use heaplake_schemas::{SCHEMA_VERSION, edges, nodes, tables};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Tables above this size stay in the folder of their run.
const MOST_BYTES: u64 = 4 << 20;
/// Fewest runs of a release and night that are worth a pack.
const FEWEST: usize = 2;
/// Runs whose descriptions are replaced together.
const AT_ONCE: usize = 256;

/// Result of a compaction.
#[derive(Debug, Default, Serialize)]
pub struct Compacted {
    /// Runs that were packed now.
    pub runs: usize,
    /// Runs that were packed before.
    pub packed_before: usize,
    /// Packs written.
    pub packs: usize,
    /// Bytes of the packs written.
    pub pack_bytes: u64,
    /// Files of runs that were removed, and their bytes.
    pub files: usize,
    /// Bytes of these files.
    pub file_bytes: u64,
    /// Chosen runs that stay as they are, with the reason.
    pub kept: Vec<(PathBuf, String)>,
    /// Paths of the runs that were packed now.
    #[serde(skip)]
    pub places: Vec<PathBuf>,
}

/// A run that may be packed.
struct Candidate {
    found: FoundRun,
    snapshot: String,
    /// Its night is new, and it is chosen.
    is_new: bool,
}

impl Candidate {
    /// Steps of the progress: each table is written and compared.
    fn steps(&self) -> u64 {
        let small = tables::ALL.iter().filter(|table| is_packable(table) && small(&self.found, table).is_some());
        2 * small.count() as u64
    }

    /// Removes the files of packed tables that a killed compaction left in the folder of a run.
    fn remove_leftovers(&self) -> Result<(), StageError> {
        let (place, run) = (&self.found.place, &self.found.run);
        if self.is_new {
            return Ok(());
        }
        let files = stored::files(place);
        let is_there = |table: &&TableSchema| files.iter().any(|(name, _)| name == table.file);
        let mut leftovers = Vec::new();
        for table in tables::ALL.iter().filter(|table| is_packable(table)).filter(is_there) {
            let path = place.join(table.file);
            let slice = packs::slice(place, run, table.file);
            leftovers.extend(slice.map_err(|error| StageError::io(&path, "read", error))?.map(|_| path));
        }
        let Some(parts) = place::parts(place).filter(|_| !leftovers.is_empty()) else { return Ok(()) };
        let held = Place::take_if_free(&parts.lake, &parts.release, &parts.snapshot)?;
        if held.is_some() && self.found.is_current() {
            for path in leftovers {
                fs::remove_file_if_any(&path).map_err(|error| StageError::io(&path, "remove", error))?;
            }
        }
        Ok(())
    }
}

/// Runs of a release and night, by name.
type Groups = BTreeMap<(String, String), Vec<Candidate>>;

/// Packs the chosen runs of a lake, and removes rows of runs that are gone.
///
/// # Errors
/// [`StageError::Refused`] for a lake in a store, or if another process compacts it. Those of writing: packs and runs
/// that are done stay so.
pub fn compact(lake: &Path, choice: &Choice, context: &Context<'_>) -> Result<Compacted, StageError> {
    if storage::is_url(lake) {
        let problem = format!("{}: a lake in an object store is not compacted", lake.display());
        let advice = "compact a lake on a disk, then merge it into the store".to_owned();
        return Err(StageError::Refused { problem, advice });
    }
    let folder = lake.join(FOLDER);
    let _lock = pack_files::lock(&folder)?;
    let wanted = Wanted { tables: &|_| true, details: false };
    let runs = selection::runs_like(lake, &Selection::default(), wanted)?.found;
    let mut compacted = Compacted::default();
    let mut groups = groups(runs, choice, &mut compacted)?;
    let is_wanted = |runs: &[Candidate]| runs.len() >= FEWEST && runs.iter().any(|run| run.is_new);
    let mut live = Live::default();
    groups.values().flatten().for_each(|run| live.is(&run.found.place, run.found.run.packed.clone()));
    groups.values().flatten().try_for_each(Candidate::remove_leftovers)?;
    groups.retain(|_, runs| is_wanted(runs));
    context.progress.begin("compact", groups.values().flatten().map(Candidate::steps).sum());
    for ((release, night), runs) in groups {
        context.check()?;
        Group { lake, release, night, runs }.compact(&mut compacted, &mut live, context)?;
    }
    prune::all(lake, &mut live, context)?;
    context.progress.end();
    // Empty if nothing was packed.
    let _ = fs::remove_dir(&folder);
    Ok(compacted)
}

/// Groups the runs that are packed, and those that may be.
fn groups(runs: Vec<FoundRun>, choice: &Choice, compacted: &mut Compacted) -> Result<Groups, StageError> {
    let mut groups = Groups::new();
    for found in runs {
        let Some(parts) = place::parts(&found.place) else { continue };
        let (night, is_new) = match &found.run.packed {
            Some(packed) => {
                compacted.packed_before += 1;
                (packed.night.clone(), false)
            }
            None if !choice.takes(&found.place, &found.run)? => continue,
            None => (night(captured_at(&found.place, &found.run)?), true),
        };
        if is_new && (found.run.schema_version != SCHEMA_VERSION || !found.run.is_sealed) {
            compacted.kept.push((found.place, "another version of heaplake made this run".to_owned()));
            continue;
        }
        let group = groups.entry((parts.release, night)).or_default();
        group.push(Candidate { found, snapshot: parts.snapshot, is_new });
    }
    groups.values_mut().for_each(|runs| runs.sort_by(|a, b| a.snapshot.cmp(&b.snapshot)));
    Ok(groups)
}

/// The night of a run: its day in UTC.
fn night(captured_at_us: Option<i64>) -> String {
    captured_at_us.map_or_else(|| NO_NIGHT.to_owned(), |at| moment::text(at).chars().take("2026-11-22".len()).collect())
}

/// True for a table that is packed if it is small.
fn is_packable(table: &TableSchema) -> bool {
    table.runs.have_it() && ![nodes::TABLE.file, edges::TABLE.file].contains(&table.file)
}

/// Runs of a release and night.
struct Group<'a> {
    lake: &'a Path,
    release: String,
    night: String,
    runs: Vec<Candidate>,
}

impl Group<'_> {
    /// Writes the packs, then the descriptions.
    fn compact(&mut self, compacted: &mut Compacted, live: &mut Live, context: &Context<'_>) -> Result<(), StageError> {
        self.leave_damaged(compacted, context)?;
        if self.runs.len() < FEWEST || !self.runs.iter().any(|run| run.is_new) {
            return Ok(());
        }
        let mut files: BTreeMap<PathBuf, Vec<TableEntry>> = BTreeMap::new();
        let mut packs = Vec::new();
        for table in tables::ALL.iter().filter(|table| is_packable(table)) {
            let parts = self.parts(table, &mut files)?;
            packs.extend((!parts.is_empty()).then_some((table, parts)));
        }
        let write = |(table, parts): &mut (&TableSchema, Vec<Part>)| self.write(table, parts, context);
        for bytes in threads::map(context.threads, &mut packs, write) {
            compacted.packs += 1;
            compacted.pack_bytes += bytes?;
        }
        let new: Vec<&Candidate> = self.runs.iter().filter(|run| run.is_new).collect();
        for runs in new.chunks(AT_ONCE) {
            context.check()?;
            self.switch(runs, &files, compacted, live)?;
        }
        Ok(())
    }

    /// Leaves out new runs with a table that is not the one of their description, or has other columns.
    fn leave_damaged(&mut self, compacted: &mut Compacted, context: &Context<'_>) -> Result<(), StageError> {
        let mut kept = Vec::with_capacity(self.runs.len());
        let check = |run: &mut Candidate| {
            context.check()?;
            if run.is_new { problem(&run.found, context) } else { Ok(None) }
        };
        let problems = threads::map(context.threads, &mut self.runs, check);
        for (run, problem) in std::mem::take(&mut self.runs).into_iter().zip(problems) {
            match problem? {
                Some(problem) => compacted.kept.push((run.found.place, problem)),
                None => kept.push(run),
            }
        }
        self.runs = kept;
        Ok(())
    }

    /// The rows of a table: of runs that are in the pack, and of new ones. Empty if no run is new.
    fn parts(
        &self,
        table: &TableSchema,
        files: &mut BTreeMap<PathBuf, Vec<TableEntry>>,
    ) -> Result<Vec<Part>, StageError> {
        let (mut parts, mut is_new) = (Vec::new(), false);
        for run in &self.runs {
            let place = &run.found.place;
            let path = place.join(table.file);
            let rows = match small(&run.found, table) {
                Some(entry) if run.is_new => {
                    is_new = true;
                    files.entry(place.clone()).or_default().push(entry.clone());
                    Some((Rows::File(path), run.found.run.identity.to_string()))
                }
                Some(_) => {
                    let slice = packs::slice(place, &run.found.run, table.file);
                    let slice = slice.map_err(|error| StageError::io(&path, "read", error))?;
                    let seal = run.found.run.packed.as_ref().map(|packed| packed.seal.clone());
                    slice.zip(seal).map(|(slice, seal)| (Rows::Pack(slice), seal))
                }
                None => None,
            };
            parts.extend(rows.map(|(rows, seal)| {
                let (snapshot, release) = (run.snapshot.clone(), run.found.run.release.to_string());
                Part { snapshot, release, seal, rows }
            }));
        }
        Ok(if is_new { parts } else { Vec::new() })
    }

    /// Writes a pack and renames it over the old one; returns its bytes.
    fn write(&self, table: &TableSchema, parts: &[Part], context: &Context<'_>) -> Result<u64, StageError> {
        let path = packs::path(self.lake, table.file, (&self.release, &self.night), SCHEMA_VERSION);
        pack_files::write_over(self.lake, &path, |folder| {
            packing::write(folder, (table.file, &packing::schema_of(table)), parts, context)
        })
    }

    /// Lets the descriptions of new runs name the night, and removes the files of their packed tables.
    fn switch(
        &self,
        runs: &[&Candidate],
        files: &BTreeMap<PathBuf, Vec<TableEntry>>,
        compacted: &mut Compacted,
        live: &mut Live,
    ) -> Result<(), StageError> {
        let packed = |run: &Candidate| Packed { night: self.night.clone(), seal: run.found.run.identity.to_string() };
        let wished: Vec<(&FoundRun, Packed)> = runs.iter().map(|run| (&run.found, packed(run))).collect();
        for ((found, packed), outcome) in wished.iter().zip(packed::switch(self.lake, &wished)?) {
            let place = &found.place;
            match outcome {
                Outcome::Packed(held) => {
                    let of_run = files.get(place).map_or(&[][..], Vec::as_slice);
                    for table in of_run {
                        let path = place.join(&*table.file);
                        fs::remove_file_if_any(&path).map_err(|error| StageError::io(&path, "remove", error))?;
                        compacted.files += 1;
                        compacted.file_bytes += table.bytes;
                    }
                    drop(held);
                    compacted.runs += 1;
                    compacted.places.push(place.clone());
                    live.is(place, Some(packed.clone()));
                }
                Outcome::Busy => compacted.kept.push((place.clone(), "another heaplake is making this run".to_owned())),
                Outcome::Changed => compacted.kept.push((place.clone(), "another command changed this run".to_owned())),
            }
        }
        Ok(())
    }
}

/// The table of a run, if the run has it and it is small.
fn small<'r>(found: &'r FoundRun, table: &TableSchema) -> Option<&'r TableEntry> {
    found.run.table(table.file).filter(|entry| entry.bytes <= MOST_BYTES)
}

/// Why a run is not packed.
fn problem(found: &FoundRun, context: &Context<'_>) -> Result<Option<String>, StageError> {
    for table in tables::ALL.iter().filter(|table| is_packable(table)) {
        let Some(entry) = small(found, table) else { continue };
        let path = found.place.join(table.file);
        if let Some(problem) = listed::problem(&path, entry, context)? {
            return Ok(Some(format!("{}: {problem}", table.file)));
        }
        let reader = match Reader::open(&path) {
            Ok(reader) => reader,
            Err(StageError::Table { problem, .. }) => return Ok(Some(format!("{}: {problem}", table.file))),
            Err(error) => return Err(error),
        };
        if !packing::is_like(reader.schema(), &table.schema()) {
            return Ok(Some(format!("{}: expected the columns of this version, found others", table.file)));
        }
    }
    Ok(None)
}
