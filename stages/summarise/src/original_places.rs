//! Stage `original places`: maps source locations in scripts to the files from which the scripts were made.
//!
//! * Computes: for each source location of a node file, line, column and name from the source map of its script;
//!   nothing without a map.
//! * Resident memory: 4 bytes per location, paged where they do not fit; 512 per distinct location of one script; 16
//!   per distinct location; 8 times the largest map.
//! * Passes over disk: locations once, sorted by place on disk if they do not fit; each map once.
//! * Worst case: n log n in locations, linear in the maps.
//! * Fails when: a source map has changed or is damaged, or does not fit the budget.
//! * Determinism: order of scripts and places.
//! * Reference: ECMA-426, Source map format specification.

use crate::call_originals::originals;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::access::{column, per_node, texts};
use heaplake_kit::array_plan::filled;
use heaplake_kit::memory_account::{MemoryAccount, allocated};
use heaplake_kit::sorter::Sorter;
use heaplake_kit::{
    Array, ArrayPlan, BudgetVec, ColumnMap, ColumnPoints, ColumnReader, ColumnWriter, Job, ReadAt, Stage, StageError,
    Stats, StringTable, StringWriter, WriteAt,
};
use heaplake_names::source_maps::{Original, Place, of_script};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::options::{SourceMap, SourceMaps};
use heaplake_schemas::scratch::{self as columns, Column, STRINGS};
use heaplake_schemas::symbols::{ORIGINAL_PLACE, ORIGINAL_TEXTS, OriginalPlace};
use rustc_hash::FxHashMap;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "original places",
    when: |setting| setting.analysis(|options| options.source_maps.is_some()),
    reads: &[
        column(columns::LOCATION_NODE),
        column(columns::LOCATION_SCRIPT),
        column(columns::LOCATION_LINE),
        column(columns::LOCATION_COLUMN),
        column(columns::NODE_NAME),
        column(columns::SCRIPT_ID),
        column(columns::SCRIPT_URL),
        texts(STRINGS),
    ],
    writes: &[column(ORIGINAL_PLACE), texts(ORIGINAL_TEXTS)],
    fixed: 16 << 20,
    arrays: &[&[per_node::<u32>()]],
    temporary: &[per_node::<Location>(), per_node::<Location>()],
    passes: "locations once, in order of places",
    run,
    ..Stage::NEW
};

const SORTED: [Column<Location>; 2] = [Column::new("original.sorted.a"), Column::new("original.sorted.b")];

const WHO: &str = "original places";

/// Number of locations sorted in memory; more are merged from disk.
const AT_ONCE: u64 = 1 << 18;

/// Bytes of a distinct location of one script.
const PLACE: u64 = 512;

/// Maximum characters of the name of a class or function in a lookup.
const LONGEST: usize = 200;

const NONE: u32 = u32::MAX;

/// A source location, in order of scripts and places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Location {
    script: u32,
    line: u32,
    column: u32,
    /// Its row among all.
    row: u32,
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let budget = &context.budget;
    let default = SourceMaps { maps: Vec::new(), hash: String::new() };
    let maps = job.setting.options.source_maps().unwrap_or(&default);
    let nodes: ColumnMap<NodeId> = ColumnMap::uncounted(scratch, columns::LOCATION_NODE)?;
    let count = nodes.len();
    context.progress.begin(STAGE.name, count as u64);
    let mut sorter = Sorter::new("source locations", (count as u64).min(AT_ONCE) as usize, SORTED, budget, scratch)?;
    let mut parts = (
        ColumnReader::open(scratch, columns::LOCATION_SCRIPT)?,
        ColumnReader::open(scratch, columns::LOCATION_LINE)?,
        ColumnReader::open(scratch, columns::LOCATION_COLUMN)?,
    );
    for row in 0..count as u32 {
        sorter.push(Location { script: parts.0.next()?, line: parts.1.next()?, column: parts.2.next()?, row })?;
    }
    let mut sorted = sorter.finish()?;
    let mut found = OriginalRows::create(job, count)?;
    let names = LocationNames::open(job, nodes)?;
    let mut of_script: Option<Script<'_>> = None;
    while let Some(location) = sorted.pop()? {
        context.check_every(1 << 12, location.row)?;
        if of_script.as_ref().is_none_or(|script| script.number != location.script) {
            if let Some(script) = of_script.take() {
                script.finish(&mut found, job)?;
            }
            of_script = Some(Script::new(location.script, &names, maps, job)?);
        }
        if let Some(script) = &mut of_script {
            script.add(location, &names, &mut found)?;
        }
    }
    if let Some(script) = of_script {
        script.finish(&mut found, job)?;
    }
    let rows = found.write(job, count)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: 0 })
}

/// Names and scripts of locations.
struct LocationNames {
    nodes: ColumnMap<NodeId>,
    of_nodes: ColumnPoints<StringId>,
    scripts: ColumnMap<u32>,
    urls: ColumnMap<StringId>,
    strings: StringTable,
}

impl LocationNames {
    fn open(job: &Job<'_>, nodes: ColumnMap<NodeId>) -> Result<Self, StageError> {
        Ok(Self {
            nodes,
            of_nodes: ColumnPoints::open(job.scratch, columns::NODE_NAME)?,
            scripts: ColumnMap::uncounted(job.scratch, columns::SCRIPT_ID)?,
            urls: ColumnMap::uncounted(job.scratch, columns::SCRIPT_URL)?,
            strings: StringTable::open(job.scratch, STRINGS)?,
        })
    }

    fn of_row(&self, row: u32) -> String {
        let name = self.of_nodes.at(self.nodes[row as usize].0 as usize).get();
        name.map(|name| self.strings.text(name as usize).chars().take(LONGEST).collect()).unwrap_or_default()
    }

    fn map<'m>(&self, script: u32, maps: &'m SourceMaps) -> Option<&'m SourceMap> {
        let row = self.scripts.binary_search(&script).ok()?;
        of_script(maps, &self.strings.text(self.urls[row].get()? as usize))
    }
}

struct Script<'a> {
    number: u32,
    map: Option<&'a SourceMap>,
    places: Vec<Place>,
    /// Position of the first place among all distinct locations.
    first: u32,
    account: MemoryAccount,
}

impl<'a> Script<'a> {
    fn new(number: u32, names: &LocationNames, maps: &'a SourceMaps, job: &Job<'_>) -> Result<Self, StageError> {
        let account = MemoryAccount::new(&job.context.budget, "places in a script")?;
        Ok(Self { number, map: names.map(number, maps), places: Vec::new(), first: NONE, account })
    }

    fn add(&mut self, location: Location, names: &LocationNames, found: &mut OriginalRows) -> Result<(), StageError> {
        if self.map.is_none() {
            return Ok(());
        }
        if self.first == NONE {
            self.first = found.places.len() as u32;
        }
        let Location { line, column, row, .. } = location;
        if self.places.last().is_none_or(|last| (last.line, last.column) != (line, column)) {
            self.account.add(PLACE)?;
            self.places.push(Place { line, column, name: names.of_row(row) });
        }
        found.of_row.set(row as usize, self.first + self.places.len() as u32 - 1)?;
        Ok(())
    }

    /// Looks the places up in the map.
    fn finish(self, found: &mut OriginalRows, job: &Job<'_>) -> Result<(), StageError> {
        let Some(map) = self.map.filter(|_| !self.places.is_empty()) else { return Ok(()) };
        originals(map, &self.places, job)?.iter().try_for_each(|original| found.add(original))
    }
}

struct OriginalRows {
    /// The distinct location of each row.
    of_row: Array<u32>,
    places: BudgetVec<OriginalPlace>,
    texts: StringWriter,
    positions: FxHashMap<String, u32>,
    account: MemoryAccount,
}

impl OriginalRows {
    fn create(job: &Job<'_>, count: usize) -> Result<Self, StageError> {
        let budget = &job.context.budget;
        Ok(Self {
            of_row: ArrayPlan::of(job, WHO).one(filled(count, NONE))?,
            places: budget.growing(WHO),
            texts: StringWriter::create(job.scratch, ORIGINAL_TEXTS)?,
            positions: FxHashMap::default(),
            account: MemoryAccount::new(budget, WHO)?,
        })
    }

    fn add(&mut self, original: &Original) -> Result<(), StageError> {
        let place = match (&original.source, original.line, original.column) {
            (Some(source), Some(line), Some(column)) => {
                let file = self.text(source)?;
                let name = original.name.as_deref().map_or(Ok(NONE), |name| self.text(name))?;
                OriginalPlace { file, line, column, name }
            }
            _ => OriginalPlace::NONE,
        };
        self.places.push(place)
    }

    fn text(&mut self, text: &str) -> Result<u32, StageError> {
        const ENTRY: u64 = 96;
        if let Some(&position) = self.positions.get(text) {
            return Ok(position);
        }
        self.account.add(ENTRY + allocated(text.len()))?;
        let position = self.positions.len() as u32;
        self.texts.push(text.as_bytes())?;
        self.positions.insert(text.to_owned(), position);
        Ok(position)
    }

    fn write(self, job: &Job<'_>, count: usize) -> Result<u64, StageError> {
        let Self { mut of_row, places, texts, .. } = self;
        texts.finish()?;
        let mut writer = ColumnWriter::create(job.scratch, ORIGINAL_PLACE)?;
        for row in 0..count {
            let place = of_row.get(row)?;
            writer.push(if place == NONE { OriginalPlace::NONE } else { places[place as usize] })?;
        }
        writer.finish()
    }
}
