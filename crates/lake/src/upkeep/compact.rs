//! Compacts a lake: packs the small tables of the runs of a release and night ([`packs`]).
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
//!   time, see `pack_files.rs`; in a store, of two that write one pack one fails.
//! * Cost: four passes over the tables that are packed, a sync of the file system per 256 runs. In a store, a request per
//!   table and three per run, many at a time, and two per pack; memory of the largest pack, as a file.

use super::choice::Choice;
use super::pack_files::PackFiles;
use super::packed::{self, Outcome};
use super::prune::{self, Live};
use super::states::{self, State};
use crate::captured::captured_at;
use crate::catalogue::Wanted;
use crate::entry::TableEntry;
use crate::packing::{self, Part, Rows};
use crate::packs::{self, FOLDER, Member, NO_NIGHT, Pack};
use crate::place::{self, Place};
use crate::reader::Reader;
use crate::selection::{self, FoundRun, Selection};
use crate::{listed, moment, stored};
use heaplake_kit::{Context, StageError, fs, threads};
use heaplake_schemas::run::Packed;
use heaplake_schemas::table::TableSchema;
use heaplake_schemas::{SCHEMA_VERSION, tables};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fewest runs of a release and night that are worth a pack.
const FEWEST: usize = 2;
/// Runs whose descriptions are replaced together.
const AT_ONCE: usize = 256;

/// Result of a compaction.
#[derive(Debug, Default, Serialize, JsonSchema)]
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
            packed::remove(&leftovers)?;
        }
        Ok(())
    }
}

/// Tables, with their packs of a night.
type Opened = Vec<(&'static TableSchema, Option<Arc<Pack>>)>;
/// Runs of a release and night, by name.
type Groups = BTreeMap<(String, String), Vec<Candidate>>;

/// Packs the chosen runs of a lake, and removes rows of runs that are gone. `scratch` is a local folder for the tables of
/// a store.
///
/// # Errors
/// [`StageError::Refused`] if another process compacts the lake. Those of writing: packs and runs that are done stay so.
pub fn compact(
    (lake, scratch): (&Path, &Path),
    choice: &Choice,
    context: &Context<'_>,
) -> Result<Compacted, StageError> {
    let files = PackFiles::take(lake, scratch)?;
    let wanted = Wanted { tables: &|_| true, details: false };
    let selection::Runs { found: runs, damaged, .. } = selection::runs_like(lake, &Selection::default(), wanted)?;
    let mut compacted = Compacted::default();
    compacted.kept.extend(damaged.into_iter().filter(|(path, _)| choice.may_take(path)));
    refuse_part(lake, &runs)?;
    let mut groups = groups(runs, choice, &mut compacted)?;
    let is_wanted = |runs: &[Candidate]| runs.len() >= FEWEST && runs.iter().any(|run| run.is_new);
    let mut live = Live::default();
    for Candidate { found, .. } in groups.values().flatten() {
        live.is(&found.place, found.run.packed.clone(), found.run.identity.to_string());
    }
    groups.values().flatten().try_for_each(Candidate::remove_leftovers)?;
    groups.retain(|_, runs| is_wanted(runs));
    context.progress.begin("compact", groups.values().flatten().map(Candidate::steps).sum());
    let mut written = BTreeSet::new();
    for ((release, night), runs) in groups {
        context.check()?;
        written.insert((release.clone(), night.clone()));
        let done = Group { files: &files, release, night, runs }.compact(&mut compacted, &mut live, context);
        files.remove_copies()?;
        match done {
            // A pack of this night is damaged, or no pack: the other nights do not depend on it.
            Err(StageError::Table { path, problem }) => compacted.kept.push((path, problem)),
            done => done?,
        }
    }
    prune::all(&files, &written, &mut live, context)?;
    context.progress.end();
    if !files.is_shared() {
        // Empty if nothing was packed.
        let _ = fs::remove_dir(lake.join(FOLDER));
    }
    Ok(compacted)
}

/// Refuses a folder of runs that is not the lake: readers look for packs in the lake.
fn refuse_part(lake: &Path, runs: &[FoundRun]) -> Result<(), StageError> {
    let is_elsewhere = |found: &&FoundRun| place::parts(&found.place).is_none_or(|parts| parts.lake != lake);
    match runs.iter().find(is_elsewhere) {
        None => Ok(()),
        Some(found) => Err(StageError::Refused {
            problem: format!("{}: {} is no run of a release in it", lake.display(), found.place.display()),
            advice: "name the lake, the folder with the folders release=…".to_owned(),
        }),
    }
}

/// True if the folder of a run or of its release is a symbolic link, which may lead into another lake.
fn is_linked(place: &Path) -> bool {
    place.ancestors().take(2).any(Path::is_symlink)
}

/// Groups packed runs and candidates by release and night.
fn groups(runs: Vec<FoundRun>, choice: &Choice, compacted: &mut Compacted) -> Result<Groups, StageError> {
    let mut groups = Groups::new();
    for found in runs {
        let Some(parts) = place::parts(&found.place) else { continue };
        if is_linked(&found.place) {
            if found.run.packed.is_none() && choice.takes(&found.place, &found.run)? {
                compacted.kept.push((found.place, "it is reached by a symbolic link".to_owned()));
            }
            continue;
        }
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
    table.runs.have_it() && packs::may_have(table.file, Some(0))
}

/// Runs of a release and night.
struct Group<'a> {
    files: &'a PackFiles,
    release: String,
    night: String,
    runs: Vec<Candidate>,
}

impl Group<'_> {
    /// Writes the packs, then the descriptions.
    fn compact(&mut self, compacted: &mut Compacted, live: &mut Live, context: &Context<'_>) -> Result<(), StageError> {
        self.copy(compacted)?;
        self.leave_damaged(compacted, context)?;
        if self.runs.len() < FEWEST || !self.runs.iter().any(|run| run.is_new) {
            return Ok(());
        }
        let mut files: BTreeMap<PathBuf, Vec<TableEntry>> = BTreeMap::new();
        let mut packs = Vec::new();
        let opened = self.open()?;
        self.leave_replaced(&opened, compacted)?;
        for (table, pack) in opened {
            let parts = self.parts(table, pack, &mut files);
            packs.extend((!parts.is_empty()).then_some((table, parts)));
        }
        // A pack of a store is in memory while it is put.
        let threads = if self.files.is_shared() { 1 } else { context.threads };
        let write = |(table, parts): &mut (&TableSchema, Vec<Part>)| self.write(table, parts, context);
        for bytes in threads::map(threads, &mut packs, write) {
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

    /// Copies the tables of new runs in a store; leaves out runs that are gone.
    fn copy(&mut self, compacted: &mut Compacted) -> Result<(), StageError> {
        let mut wanted = Vec::new();
        for Candidate { found, .. } in self.runs.iter().filter(|run| run.is_new) {
            let small = tables::ALL.iter().filter(|table| is_packable(table)).filter_map(|table| small(found, table));
            wanted.extend(small.map(|entry| (&*found.place, &*entry.file, entry.bytes)));
        }
        let gone = self.files.copy(&wanted)?;
        self.runs.retain(|run| !gone.contains(&run.found.place));
        compacted.kept.extend(gone.into_iter().map(|place| (place, "another command changed this run".to_owned())));
        Ok(())
    }

    /// Leaves out new runs with a table that is not the one of their description, or has other columns.
    fn leave_damaged(&mut self, compacted: &mut Compacted, context: &Context<'_>) -> Result<(), StageError> {
        let mut kept = Vec::with_capacity(self.runs.len());
        let check = |run: &mut Candidate| {
            context.check()?;
            let folder = self.files.folder_of(&run.found.place);
            if run.is_new { problem(&run.found, &folder, context) } else { Ok(None) }
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

    /// Opens the packs of all tables, as far as there are some.
    fn open(&self) -> Result<Opened, StageError> {
        let mut opened = Vec::new();
        for table in tables::ALL.iter().filter(|table| is_packable(table)) {
            let path = self.path(table);
            let pack = match self.files.open(&path) {
                Ok(pack) => Some(pack),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(StageError::Table { path, problem: error.to_string() }),
            };
            opened.push((table, pack));
        }
        Ok(opened)
    }

    /// In a store, leaves out new runs that were packed, or replaced, since they were listed: a pack may have their
    /// newer rows, which must stay. The packs are open by now, so a later change of them lets our puts fail.
    fn leave_replaced(&mut self, opened: &Opened, compacted: &mut Compacted) -> Result<(), StageError> {
        if !self.files.is_shared() {
            return Ok(());
        }
        let is_other = |run: &&Candidate| {
            let seal = &*run.found.run.identity;
            let of_run = |member: &&Member| member.snapshot == run.snapshot && member.seal != seal;
            let packs = opened.iter().filter_map(|(_, pack)| pack.as_ref());
            run.is_new && packs.into_iter().any(|pack| pack.members().iter().any(|member| of_run(&member)))
        };
        let asked: Vec<PathBuf> = self.runs.iter().filter(is_other).map(|run| run.found.place.clone()).collect();
        let states: BTreeMap<PathBuf, State> = asked.iter().cloned().zip(states::read(&asked, self.files)?).collect();
        let (kept, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.runs).into_iter().partition(|run| {
            let unpacked = State::Unpacked(run.found.run.identity.to_string());
            states.get(&run.found.place).is_none_or(|state| *state == unpacked)
        });
        self.runs = kept;
        let changed = |run: Candidate| (run.found.place, "another command changed this run".to_owned());
        compacted.kept.extend(left.into_iter().map(changed));
        Ok(())
    }

    /// The rows of a table: all that the pack has, and those of new runs. Empty if no run is new.
    fn parts(
        &self,
        table: &TableSchema,
        pack: Option<Arc<Pack>>,
        files: &mut BTreeMap<PathBuf, Vec<TableEntry>>,
    ) -> Vec<Part> {
        let new = self.runs.iter().filter(|run| run.is_new);
        let new: Vec<_> = new.filter_map(|run| Some((run, small(&run.found, table)?))).collect();
        if new.is_empty() {
            return Vec::new();
        }
        // Which of its runs are gone is not decided here.
        let mut parts = pack.map(|pack| self.packed(&pack)).unwrap_or_default();
        for (run, entry) in new {
            let place = &run.found.place;
            files.entry(place.clone()).or_default().push(entry.clone());
            let (snapshot, release) = (run.snapshot.clone(), self.release.clone());
            let rows = Rows::File(self.files.folder_of(place).join(table.file));
            let seal = run.found.run.identity.to_string();
            parts.insert(run.snapshot.clone(), Part { snapshot, release, seal, rows });
        }
        parts.into_values().collect()
    }

    /// The parts of a pack, by name of the run.
    fn packed(&self, pack: &Arc<Pack>) -> BTreeMap<String, Part> {
        let part = |member: &Member| {
            let rows = Rows::Pack(pack.slice(&member.snapshot, &member.seal)?);
            let (snapshot, seal) = (member.snapshot.clone(), member.seal.clone());
            Some((snapshot.clone(), Part { snapshot, release: self.release.clone(), seal, rows }))
        };
        pack.members().iter().filter_map(part).collect()
    }

    /// Writes a pack and renames it over the old one; returns its bytes.
    fn write(&self, table: &TableSchema, parts: &[Part], context: &Context<'_>) -> Result<u64, StageError> {
        let write = |folder: &Path| packing::write(folder, (table.file, &packing::schema_of(table)), parts, context);
        self.files.write_over(&self.path(table), write)
    }

    /// Path of the pack of a table.
    fn path(&self, table: &TableSchema) -> PathBuf {
        packs::path(self.files.lake(), table.file, (&self.release, &self.night), SCHEMA_VERSION)
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
        for (found, packed) in &wished {
            assert_packed(&found.place, packed, files.get(&found.place).map_or(&[][..], Vec::as_slice))?;
        }
        let (mut done, mut gone) = (Vec::new(), Vec::new());
        for ((found, packed), outcome) in wished.iter().zip(packed::switch(self.files.lake(), &wished)?) {
            let place = &found.place;
            match outcome {
                Outcome::Packed(held) => {
                    for table in files.get(place).map_or(&[][..], Vec::as_slice) {
                        gone.push(place.join(&*table.file));
                        compacted.files += 1;
                        compacted.file_bytes += table.bytes;
                    }
                    done.push((held, place, packed));
                }
                Outcome::Busy => compacted.kept.push((place.clone(), "another heaplake is making this run".to_owned())),
                Outcome::Changed => compacted.kept.push((place.clone(), "another command changed this run".to_owned())),
            }
        }
        packed::remove(&gone)?;
        for (_, place, packed) in &done {
            compacted.runs += 1;
            compacted.places.push((*place).clone());
            live.is(place, Some((*packed).clone()), String::new());
        }
        Ok(())
    }
}

/// Fails unless a reader finds the rows of these tables in their packs.
fn assert_packed(place: &Path, packed: &Packed, tables: &[TableEntry]) -> Result<(), StageError> {
    for table in tables {
        let path = place.join(&*table.file);
        let slice = packs::of(place, &table.file, packed, SCHEMA_VERSION);
        let slice = slice.map_err(|error| StageError::io(&path, "find in its pack", error))?;
        if slice.is_none_or(|slice| slice.rows().end - slice.rows().start != table.rows) {
            let problem = format!("expected {} rows in the pack of its night, found others or none", table.rows);
            return Err(StageError::Table { path, problem });
        }
    }
    Ok(())
}

/// The table of a run, if the run has it and it is small.
fn small<'r>(found: &'r FoundRun, table: &TableSchema) -> Option<&'r TableEntry> {
    found.run.table(table.file).filter(|entry| packs::may_have(table.file, Some(entry.bytes)))
}

/// Why a run, with its tables in `folder`, is not packed.
fn problem(found: &FoundRun, folder: &Path, context: &Context<'_>) -> Result<Option<String>, StageError> {
    for table in tables::ALL.iter().filter(|table| is_packable(table)) {
        let Some(entry) = small(found, table) else { continue };
        let path = folder.join(table.file);
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
