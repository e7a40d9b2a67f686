//! Allocation data of a replay: types with lifetimes, functions, call trees, garbage collections.

use crate::calls;
use crate::lifetimes;
use crate::tables::{Shown, shown};
use crate::texts::Texts;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::object_lifetimes::GENERATIONS;
use heaplake_schemas::{allocation_functions, allocation_types, collections, object_lifetimes};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::path::Path;

/// Maximum types and functions shown.
const TYPES: u64 = 1500;
const FUNCTIONS: u64 = 1500;
/// Maximum bars of garbage collections; consecutive ones share a bar.
const BARS: u64 = 400;

/// Allocation data; `None` for missing tables.
#[derive(Serialize)]
pub struct Allocations {
    types: Option<Shown<Type>>,
    /// Names of the generations in `ends`.
    generations: [&'static str; GENERATIONS.len()],
    functions: Option<Shown<Function>>,
    callees: Option<Shown<calls::Call>>,
    callers: Option<Shown<calls::Call>>,
    collections: Option<Shown<Bar>>,
    paths: Option<Shown<lifetimes::Ended>>,
}

/// Reads the allocation data; `None` if the run has none of the tables.
pub fn read(folder: &Path, texts: &mut Texts) -> Result<Option<Allocations>, StageError> {
    let all = Allocations {
        types: types(folder, texts)?,
        generations: GENERATIONS,
        functions: functions(folder, texts)?,
        callees: calls::callees(folder, texts)?,
        callers: calls::callers(folder, texts)?,
        collections: bars(folder)?,
        paths: lifetimes::paths(folder, texts)?,
    };
    let Allocations { types, functions, callees, callers, collections, .. } = &all;
    let none =
        types.is_none() && functions.is_none() && callees.is_none() && callers.is_none() && collections.is_none();
    Ok((!none).then_some(all))
}

/// A type.
#[derive(Serialize)]
struct Type {
    id: u32,
    name: u32,
    count: Option<u64>,
    samples: u64,
    /// Best known value.
    bytes: Option<u64>,
    /// Confidence interval, if the bytes are estimated.
    low: Option<u64>,
    high: Option<u64>,
    /// Bytes and objects that died in each generation, or live.
    ends: Option<[(u64, u64); GENERATIONS.len()]>,
}

fn types(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Type>>, StageError> {
    let columns = [
        "type_id",
        "type",
        "allocated_count",
        "sampled_count",
        "estimated_bytes",
        "estimated_low_bytes",
        "estimated_high_bytes",
        "exact_bytes",
    ];
    let ends = ends(folder)?;
    shown(folder, allocation_types::TABLE.file, &columns, TYPES, |rows, at| {
        let id = rows.u32s("type_id")?.value(at);
        let number = |name: &str| rows.sizes(name).map(|column| value(&column, at));
        let (exact, estimated) = (number("exact_bytes")?, number("estimated_bytes")?);
        let interval = if exact.is_none() {
            (number("estimated_low_bytes")?, number("estimated_high_bytes")?)
        } else {
            (None, None)
        };
        Ok(Type {
            id,
            name: texts.add(rows.texts("type")?.value(at)),
            count: number("allocated_count")?,
            samples: number("sampled_count")?.unwrap_or(0),
            bytes: exact.or(estimated),
            low: interval.0,
            high: interval.1,
            ends: ends.as_ref().map(|ends| ends.get(&id).copied().unwrap_or_default()),
        })
    })
}

type Ends = FxHashMap<u32, [(u64, u64); GENERATIONS.len()]>;

/// Deaths of each type's objects, by generation.
fn ends(folder: &Path) -> Result<Option<Ends>, StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(object_lifetimes::TABLE.file))? else { return Ok(None) };
    let mut batches = reader.columns(&["type_id", "generation", "count", "bytes"])?;
    let mut ends = Ends::default();
    while let Some(rows) = batches.batch()? {
        let generations = rows.texts("generation")?;
        for at in 0..rows.len() {
            let Some(generation) = GENERATIONS.iter().position(|&name| name == generations.value(at)) else { continue };
            let of_type = ends.entry(rows.u32s("type_id")?.value(at)).or_default();
            let (bytes, count) = (rows.sizes("bytes")?, rows.sizes("count")?);
            of_type[generation] = (bytes.value(at), count.value(at));
        }
    }
    Ok(Some(ends))
}

/// A function.
#[derive(Serialize)]
struct Function {
    id: u32,
    name: u32,
    /// Module or file.
    module: Option<u32>,
    bytes: u64,
    count: u64,
    own_bytes: u64,
    own_count: u64,
    /// Live bytes that it allocated: inclusive and exclusive.
    live: Option<(u64, u64)>,
}

fn functions(folder: &Path, texts: &mut Texts) -> Result<Option<Shown<Function>>, StageError> {
    const LIVE: [&str; 2] = ["inclusive_live_bytes", "exclusive_live_bytes"];
    let mut columns = vec![
        "function_id",
        "function",
        "module",
        "file",
        "inclusive_bytes",
        "inclusive_count",
        "exclusive_bytes",
        "exclusive_count",
    ];
    // Older runs lack these.
    let reader = Reader::open_if_present(&folder.join(allocation_functions::TABLE.file))?;
    let has_live = reader.is_some_and(|reader| LIVE.iter().all(|name| reader.has(name)));
    columns.extend(has_live.then_some(LIVE).into_iter().flatten());
    shown(folder, allocation_functions::TABLE.file, &columns, FUNCTIONS, |rows, at| {
        let number = |name: &str| rows.sizes(name).map(|column| column.value(at));
        let alive = |name: &str| rows.sizes(name).map(|column| value(&column, at));
        let live = if has_live { alive(LIVE[0])?.zip(alive(LIVE[1])?) } else { None };
        let module = value(rows.texts("module")?, at).or(value(rows.texts("file")?, at));
        Ok(Function {
            id: rows.u32s("function_id")?.value(at),
            name: texts.add(rows.texts("function")?.value(at)),
            module: module.map(|module| texts.add(module)),
            bytes: number("inclusive_bytes")?,
            count: number("inclusive_count")?,
            own_bytes: number("exclusive_bytes")?,
            own_count: number("exclusive_count")?,
            live,
        })
    })
}

/// A group of consecutive garbage collections.
#[derive(Default, Serialize)]
struct Bar {
    first: u32,
    last: u32,
    /// Oldest generation condemned.
    generation: u8,
    dead: Option<u64>,
    moved: Option<u64>,
    /// After the last collection.
    live: Option<u64>,
    pause: Option<f64>,
}

fn bars(folder: &Path) -> Result<Option<Shown<Bar>>, StageError> {
    let Some(reader) = Reader::open_if_present(&folder.join(collections::TABLE.file))? else { return Ok(None) };
    let of = reader.rows();
    let together = of.div_ceil(BARS).max(1);
    let columns = ["gc", "generation", "dead_bytes", "moved_bytes", "live_bytes", "pause_seconds"];
    let mut batches = reader.columns(&columns)?;
    let mut bars: Vec<Bar> = Vec::new();
    let mut seen = 0_u64;
    while let Some(rows) = batches.batch()? {
        let number = |name: &str, at| rows.sizes(name).map(|column| value(&column, at));
        for at in 0..rows.len() {
            let gc = rows.u32s("gc")?.value(at);
            if seen.is_multiple_of(together) {
                bars.push(Bar { first: gc, ..Bar::default() });
            }
            seen += 1;
            let Some(bar) = bars.last_mut() else { continue };
            bar.last = gc;
            bar.generation = bar.generation.max(rows.u8s("generation")?.value(at));
            bar.dead = plus(bar.dead, number("dead_bytes", at)?);
            bar.moved = plus(bar.moved, number("moved_bytes", at)?);
            bar.live = number("live_bytes", at)?;
            let pause = value(rows.f64s("pause_seconds")?, at);
            bar.pause = pause.map_or(bar.pause, |pause| Some(bar.pause.unwrap_or(0.0) + pause));
        }
    }
    Ok(Some(Shown { of, rows: bars }))
}

fn plus(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    more.map_or(sum, |more| Some(sum.unwrap_or(0).saturating_add(more)))
}
