//! The results of a replay that rules read.

use super::old_objects::{self, OldObjects};
use crate::findings::{Found, shorten};
use heaplake_kit::text::{count, size};
use heaplake_kit::{BudgetVec, Job, Scratch, StageError, StringTable};
use heaplake_schemas::allocation_functions::FunctionRow;
use heaplake_schemas::allocation_types::TypeRow;
use heaplake_schemas::findings::{Finding, Scope};
use heaplake_schemas::object_lifetimes::{GENERATIONS, LifetimeRow};
use heaplake_schemas::replay::{
    ABSENT, CALLERS, COLLECTIONS, FUNCTIONS, LIFETIMES, METADATA, Metadata, SITES, STRINGS, TYPE_NAMES, TYPES,
};
use heaplake_schemas::scratch::Column;
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum characters of a name.
const NAME: usize = 120;

const NONE: u32 = u32::MAX;

/// Bytes of a pair of functions: a slot of the table, another one while it grows, and an entry of the sorted list.
const PAIR: u64 = 96;

/// The rows that rules read, and sums of the other tables.
pub(super) struct Trace {
    /// Bytes of all allocations, as far as known.
    pub bytes: u64,
    /// Types with at least one [`PART`]th of all bytes, the largest first.
    pub types: BudgetVec<TypeRow>,
    /// Functions that allocate at least as much themselves.
    pub functions: BudgetVec<FunctionRow>,
    /// Whether the trace contains live objects only, as V8's sampling profiler does.
    pub is_alive: bool,
    /// Whether objects were counted: traces that sample one allocation per number of bytes have no counts.
    pub is_counted: bool,
    /// Deaths of these types, by type and generation.
    lifetimes: FxHashMap<(u32, u32), LifetimeRow>,
    /// By type and generation: the function that allocates most of the objects that die there, and their bytes.
    makers: FxHashMap<(u32, u32), (u32, u64)>,
    /// By type: the function that allocates most of it.
    allocators: FxHashMap<u32, (u32, u64)>,
    /// By function: the type that it allocates most.
    products: FxHashMap<u32, (u32, u64)>,
    /// By function, allocators included: the caller for which it allocates most.
    callers: FxHashMap<u32, (u32, u64)>,
    /// Number of garbage collections, and of induced ones.
    pub collections: (u64, u64),
    /// Sampled objects of a recording that something retains.
    pub old_objects: OldObjects,
    names: RowNames,
}

/// Rules ignore rows with less than this fraction of all bytes.
const PART: u128 = 1000;

struct RowNames {
    types: StringTable,
    functions: StringTable,
    /// Position of the name of each function among the texts; [`NONE`] without a name.
    places: BudgetVec<u32>,
}

impl Trace {
    /// Reads the results of a replay.
    pub(super) fn read(job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let (bytes, is_counted) = whole(job)?;
        let (type_names, strings) = (StringTable::open(scratch, TYPE_NAMES)?, StringTable::open(scratch, STRINGS)?);
        let mut places = context.budget.growing("findings of a trace: names of functions");
        job.each_row(FUNCTIONS, |row| {
            while places.len() <= row.function_id as usize {
                places.push(NONE)?;
            }
            places[row.function_id as usize] = row.name;
            Ok(())
        })?;
        let heavy = |part: u64| u128::from(part) * PART >= u128::from(bytes);
        let mut trace = Self {
            bytes,
            types: some(job, TYPES, |row| heavy(bytes_of(row)))?,
            functions: some(job, FUNCTIONS, |row: &FunctionRow| heavy(row.exclusive_bytes))?,
            is_alive: is_alive(scratch)?,
            is_counted,
            lifetimes: FxHashMap::default(),
            makers: FxHashMap::default(),
            allocators: FxHashMap::default(),
            products: FxHashMap::default(),
            callers: FxHashMap::default(),
            collections: collections(job)?,
            old_objects: old_objects::read(job)?,
            names: RowNames { types: type_names, functions: strings, places },
        };
        trace.deaths(job)?;
        trace.calls(job)?;
        Ok(trace)
    }

    /// Reads deaths, if the trace has them.
    fn deaths(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        let types: FxHashSet<u32> = self.types.iter().map(|row| row.type_id).collect();
        job.each_row_if_any(LIFETIMES, |row| {
            if types.contains(&row.type_id) {
                self.lifetimes.insert((row.type_id, row.generation), row);
            }
            Ok(())
        })?;
        job.each_row_if_any(SITES, |row| {
            if types.contains(&row.type_id) {
                most(&mut self.makers, (row.type_id, row.generation), row.function_id, row.bytes);
            }
            Ok(())
        })
    }

    fn calls(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        let types: FxHashSet<u32> = self.types.iter().map(|row| row.type_id).collect();
        let mut functions: FxHashSet<u32> = self.functions.iter().map(|row| row.function_id).collect();
        job.each_row(CALLERS, |row| {
            if row.depth == 0 && types.contains(&row.type_id) {
                most(&mut self.allocators, row.type_id, row.function_id, row.estimated_bytes);
            }
            if row.depth == 0 && functions.contains(&row.function_id) {
                most(&mut self.products, row.function_id, row.type_id, row.estimated_bytes);
            }
            Ok(())
        })?;
        functions.extend(self.allocators.values().map(|&(function, _)| function));
        // The current top function, and bytes that a function allocates for a caller, by pair.
        let mut top = 0;
        let mut pairs: FxHashMap<(u32, u32), u64> = FxHashMap::default();
        let mut account = job.context.budget.reserve("callers of allocating functions", 0)?;
        job.each_row(CALLERS, |row| {
            if row.depth == 0 {
                top = row.function_id;
            } else if row.depth == 1 && row.function_id != top && functions.contains(&top) {
                if !pairs.contains_key(&(top, row.function_id)) && pairs.len().is_multiple_of(1 << 10) {
                    account.grow(PAIR << 10)?;
                }
                let sum = pairs.entry((top, row.function_id)).or_default();
                *sum = sum.saturating_add(row.estimated_bytes);
            }
            Ok(())
        })?;
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_unstable();
        for ((function, caller), bytes) in pairs {
            most(&mut self.callers, function, caller, bytes);
        }
        Ok(())
    }

    /// The deaths of a type in a generation, by its name in the table.
    pub(super) fn died(&self, type_id: u32, generation: &str) -> Option<&LifetimeRow> {
        self.lifetimes.get(&(type_id, code(generation)))
    }

    /// Text: the function that allocates most of the objects of a type that die in a generation.
    pub(super) fn made_by(&self, type_id: u32, generation: &str) -> String {
        let maker = self.makers.get(&(type_id, code(generation))).or_else(|| self.allocators.get(&type_id));
        maker.map_or_else(String::new, |&(function, _)| format!(", most of it from {}", self.function(function)))
    }

    /// Text: the function that allocates most of a type.
    pub(super) fn allocated_by(&self, type_id: u32) -> String {
        let Some(&(function, bytes)) = self.allocators.get(&type_id) else { return String::new() };
        let caller = self.called_by(function);
        format!(", {} of it in {}{caller}", size(bytes), self.function(function))
    }

    /// Text: the type that a function allocates most.
    pub(super) fn allocates(&self, function: u32) -> String {
        let product = self.products.get(&function);
        product
            .map_or_else(String::new, |&(type_id, bytes)| format!(", {} of it {}", size(bytes), self.type_of(type_id)))
    }

    /// Text: the main caller of a function that allocates.
    pub(super) fn called_by(&self, function: u32) -> String {
        let caller = self.callers.get(&function);
        caller.map_or_else(String::new, |&(caller, _)| format!(", called mostly from {}", self.function(caller)))
    }

    pub(super) fn type_of(&self, type_id: u32) -> String {
        shorten(&self.names.types.text(type_id as usize), NAME)
    }

    pub(super) fn function(&self, function: u32) -> String {
        let place = self.names.places.get(function as usize).filter(|&&at| at != NONE);
        place.map_or_else(|| "?".to_owned(), |&at| shorten(&self.names.functions.text(at as usize), NAME))
    }

    /// Text: bytes, and their percentage of all allocations.
    pub(super) fn share(&self, bytes: u64) -> String {
        let percent = if self.bytes == 0 { 0.0 } else { 100.0 * bytes as f64 / self.bytes as f64 };
        let all = if self.is_alive { "all that is alive" } else { "all that was allocated" };
        format!("{} ({percent:.1} % of {all})", size(bytes))
    }

    /// Text: a number of objects, if objects were counted.
    pub(super) fn objects(&self, number: u64) -> String {
        if number == ABSENT { String::new() } else { format!("{} × ", count(number)) }
    }
}

fn code(generation: &str) -> u32 {
    GENERATIONS.iter().zip(0..).find(|(name, _)| **name == generation).map_or(u32::MAX, |(_, code)| code)
}

/// Bytes of a type, as far as known.
pub(super) fn bytes_of(row: &TypeRow) -> u64 {
    if row.bytes == ABSENT { 0 } else { row.bytes }
}

impl Found<'_> {
    pub(super) fn about_type(self, type_id: u32, trace: &Trace) -> Finding {
        Finding { type_id: Some(type_id), ..self.about(Scope::Type, trace.type_of(type_id)) }
    }
}

/// Keeps the greatest entry; of equal ones the first.
fn most<K: std::hash::Hash + Eq>(table: &mut FxHashMap<K, (u32, u64)>, key: K, what: u32, bytes: u64) {
    let entry = table.entry(key).or_insert((what, bytes));
    if bytes > entry.1 {
        *entry = (what, bytes);
    }
}

fn is_alive(scratch: &Scratch) -> Result<bool, StageError> {
    let metadata: Metadata = scratch.read_document(METADATA)?;
    Ok(metadata.format == HEAP_PROFILE)
}

/// Format of V8's sampling profiler, which drops collected objects.
const HEAP_PROFILE: &str = "heapprofile";

/// Returns the bytes of all types, and whether objects were counted.
fn whole(job: &Job<'_>) -> Result<(u64, bool), StageError> {
    let (mut bytes, mut counted) = (0_u64, false);
    job.each_row(TYPES, |row| {
        bytes = bytes.saturating_add(bytes_of(&row));
        counted |= row.allocated_count != ABSENT;
        Ok(())
    })?;
    Ok((bytes, counted))
}

/// Returns the rows of a column that fulfil a condition.
fn some<T: bytemuck::Pod>(
    job: &Job<'_>,
    column: Column<T>,
    is: impl Fn(&T) -> bool,
) -> Result<BudgetVec<T>, StageError> {
    let mut rows = job.context.budget.growing("findings of a trace");
    job.each_row(column, |row| if is(&row) { rows.push(row) } else { Ok(()) })?;
    Ok(rows)
}

/// Codes of the runtime's events for induced collections.
const INDUCED: [u32; 3] = [1, 7, 10];

fn collections(job: &Job<'_>) -> Result<(u64, u64), StageError> {
    let (mut all, mut induced) = (0, 0);
    job.each_row(COLLECTIONS, |row| {
        let wish = if row.profiler_reason == 1 { row.reason == 1 } else { INDUCED.contains(&row.reason) };
        all += 1;
        induced += u64::from(wish);
        Ok(())
    })?;
    Ok((all, induced))
}
