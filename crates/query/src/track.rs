//! `heaplake track`: finds the object at an address and time, and its fate.
//!
//! The address is followed forwards through the ranges that later collections moved, and backwards through those of
//! earlier ones. That gives the object's address after each collection; the object is the one allocated at the right
//! address before the given time and not yet dead.

use crate::error::QueryError;
use crate::moves;
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use heaplake_lake::selection;
use heaplake_schemas::{allocation_types, collections, moved_ranges, object_tracks};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

/// An address and a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    address: u64,
    time: Time,
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Time {
    /// After this collection; 0 is before the first.
    After(u32),
    /// Seconds after the start of the first collection.
    Seconds(f64),
}

impl FromStr for Spot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, time) = text.split_once('@').ok_or("the form is ADDRESS@TIME, as in 7f47b6800498@3")?;
        let digits = address.strip_prefix("0x").unwrap_or(address);
        let address = u64::from_str_radix(digits, 16).map_err(|_| "an address is a hexadecimal number")?;
        let time = match time.strip_suffix('s') {
            Some(seconds) => seconds.parse().ok().filter(|time: &f64| time.is_finite()).map(Time::Seconds),
            None => time.parse().ok().map(Time::After),
        };
        let time = time.ok_or("a time is the number of a collection (3), or seconds (12.5s)")?;
        Ok(Self { address, time })
    }
}

/// An object and its fate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrackedObject {
    /// Row of `object_tracks`.
    pub object: u32,
    /// Type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// The last collection before its allocation.
    pub allocated_at_gc: u32,
    /// Address at allocation.
    pub first_address: u64,
    /// Address at the given time.
    pub address: u64,
    /// Last known address: at the end, or at death.
    pub last_address: Option<u64>,
    /// Number of address changes.
    pub moves: u64,
    /// The collection that reclaimed it.
    pub died_at_gc: Option<u32>,
    /// Its generation at death.
    pub died_in_generation: Option<String>,
}

/// Required tables.
const NEEDED: [&str; 4] =
    [allocation_types::TABLE.file, collections::TABLE.file, moved_ranges::TABLE.file, object_tracks::TABLE.file];

/// Finds the object at a spot.
pub fn find(run: &Path, at: Spot) -> Result<TrackedObject, QueryError> {
    // Held until the answer is complete.
    let held = selection::hold(run)?;
    if held.is_none() && !run.is_dir() {
        return Err(QueryError::no_run(run));
    }
    let tables = held.as_ref().map(|found| found.run.tables.clone()).unwrap_or_default();
    if !NEEDED.iter().all(|file| tables.iter().any(|table| table.file == *file)) {
        let cause = format!("{}: no run of a trace that was replayed with --tracks", run.display());
        return Err(QueryError::usage(cause, "replay the trace again, with --tracks and without --tables"));
    }
    let numbers = numbers(run)?;
    let ended = ended(run, &numbers, at.time)?;
    let places = places(run, &numbers, ended, at.address)?;
    object(run, &numbers, ended, &places)?.ok_or_else(|| QueryError {
        cause: format!("no object that the trace knows was at {:x} then", at.address),
        advice: "it may have been free, or allocated before the trace began".to_owned(),
        usage: false,
    })
}

/// Numbers of the collections, in order.
fn numbers(run: &Path) -> Result<Vec<u32>, StageError> {
    let mut batches = Reader::open(&run.join(collections::TABLE.file))?.columns(&["gc"])?;
    let mut numbers = Vec::new();
    while let Some(batch) = batches.batch()? {
        numbers.extend(batch.u32s("gc")?.iter().flatten());
    }
    Ok(numbers)
}

/// Number of collections that had ended at a time.
fn ended(run: &Path, numbers: &[u32], time: Time) -> Result<usize, QueryError> {
    let usage = |cause| QueryError::usage(cause, "see the table collections");
    match time {
        Time::After(0) => Ok(0),
        Time::After(number) => {
            let at = numbers.iter().position(|&gc| gc == number);
            at.map(|at| at + 1).ok_or_else(|| usage(format!("the trace has no collection {number}")))
        }
        Time::Seconds(seconds) => {
            let mut batches = Reader::open(&run.join(collections::TABLE.file))?.columns(&["started_at"])?;
            let mut started = Vec::new();
            while let Some(batch) = batches.batch()? {
                started.extend(batch.times("started_at")?);
            }
            let Some(&Some(first)) = started.first() else {
                return Err(usage("the trace has no times".to_owned()));
            };
            let moment = first.saturating_add((seconds * 1e6) as i64);
            Ok(started.iter().filter(|started| started.is_some_and(|started| started < moment)).count())
        }
    }
}

/// Address of the object after 0, 1, ... all collections.
fn places(run: &Path, numbers: &[u32], ended: usize, address: u64) -> Result<Vec<u64>, StageError> {
    let file = run.join(moved_ranges::TABLE.file);
    let mut moves = moves::open(&file, numbers)?;
    let mut places = vec![address; numbers.len() + 1];
    for gc in ended..numbers.len() {
        places[gc + 1] = moves.after(gc, places[gc])?;
    }
    for gc in (0..ended).rev() {
        places[gc] = moves.before(gc, places[gc + 1])?;
    }
    Ok(places)
}

/// Columns of `object_tracks` to read.
const COLUMNS: [&str; 9] = [
    "object",
    "type_id",
    "bytes",
    "first_address",
    "last_address",
    "allocated_at_gc",
    "died_at_gc",
    "moves",
    "died_in_generation",
];

/// Finds the object allocated at the right address and alive at the time.
fn object(run: &Path, numbers: &[u32], ended: usize, places: &[u64]) -> Result<Option<TrackedObject>, StageError> {
    let mut ends: BTreeMap<u32, usize> = BTreeMap::new();
    for (&number, ended) in numbers.iter().zip(1..) {
        ends.entry(number).or_insert(ended);
    }
    let index = |gc: u32| if gc == 0 { Some(0) } else { ends.get(&gc).copied() };
    let mut batches = Reader::open(&run.join(object_tracks::TABLE.file))?.columns(&COLUMNS)?;
    let mut found = None;
    while let Some(batch) = batches.batch()? {
        let (objects, types) = (batch.u32s("object")?, batch.u32s("type_id")?);
        let (bytes, first, last) = (batch.sizes("bytes")?, batch.u64s("first_address")?, batch.u64s("last_address")?);
        let (born, died, moves) = (batch.u32s("allocated_at_gc")?, batch.u32s("died_at_gc")?, batch.sizes("moves")?);
        let generations = batch.texts("died_in_generation")?;
        for row in 0..batch.len() {
            let known = (value(born, row), value(first, row), value(&bytes, row));
            let (Some(born), Some(first), Some(bytes)) = known else { continue };
            let Some(birth) = index(born).filter(|&birth| birth <= ended) else { continue };
            let inside = places[birth].wrapping_sub(first);
            let died = value(died, row);
            let dead = died.and_then(index).is_some_and(|death| death <= ended);
            if inside >= bytes.max(1) || dead {
                continue;
            }
            // A later object at the same address supersedes an earlier one.
            found = Some((
                value(types, row),
                TrackedObject {
                    object: value(objects, row).unwrap_or_default(),
                    type_name: String::new(),
                    bytes,
                    allocated_at_gc: born,
                    first_address: first,
                    address: places[ended].wrapping_sub(inside),
                    last_address: value(last, row),
                    moves: value(&moves, row).unwrap_or_default(),
                    died_at_gc: died,
                    died_in_generation: value(generations, row).map(str::to_owned),
                },
            ));
        }
    }
    let Some((type_id, mut found)) = found else { return Ok(None) };
    found.type_name = type_id.map_or(Ok(None), |type_id| type_name(run, type_id))?.unwrap_or_default();
    Ok(Some(found))
}

fn type_name(run: &Path, type_id: u32) -> Result<Option<String>, StageError> {
    let mut batches = Reader::open(&run.join(allocation_types::TABLE.file))?.columns(&["type_id", "type"])?;
    while let Some(batch) = batches.batch()? {
        if let Some(row) = batch.u32s("type_id")?.iter().position(|id| id == Some(type_id)) {
            return Ok(value(batch.texts("type")?, row).map(str::to_owned));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spots_as_people_write_them() {
        let spot = |text: &str| text.parse::<Spot>();
        assert_eq!(spot("7f00@3"), Ok(Spot { address: 0x7f00, time: Time::After(3) }));
        assert_eq!(spot("0x10@1.5s"), Ok(Spot { address: 0x10, time: Time::Seconds(1.5) }));
        for bad in ["7f00", "x@3", "10@", "10@-1", "10@infs", "@3"] {
            assert!(spot(bad).is_err(), "{bad}");
        }
    }
}
