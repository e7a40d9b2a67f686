//! From the counts at the end of a trace to the rows of the tables.

use crate::binomial;
use crate::callers;
use crate::calls::{Amount, NONE};
use crate::functions::{self, Functions};
use crate::ordered::Space;
use crate::paths;
use crate::posterior::{Estimate, Pool, Population};
use crate::replay::{Replay, TypeCounts};
use crate::sample::Sample;
use crate::sampling::scale;
use crate::sites;
use crate::stacks::EMPTY;
use crate::symbolize::{self, Sources};
use crate::tree;
use heaplake_kit::array_plan::filled;
use heaplake_kit::{ArrayPlan, ColumnWriter, Context, ReadAt, Scratch, StageError, StringWriter, WriteAt};
use heaplake_schemas::allocation_types::TypeRow;
use heaplake_schemas::replay::{self as columns, ABSENT, Coverage};
use std::cmp::Reverse;

/// Totals of a replay, besides its rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Sampled objects.
    pub sampled: u64,
    /// Those without a stack.
    pub stackless: u64,
    /// Frames of unknown functions.
    pub unresolved_frames: u64,
    /// Stacks whose deepest callers are left out.
    pub cut_stacks: u64,
    /// Spilled bytes.
    pub spilled_bytes: u64,
}

/// Writes all rows; first releases the memory that only reading the trace needs.
pub(crate) fn write(
    replay: &mut Replay,
    sources: &mut Sources<'_>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<Totals, StageError> {
    let space = Space { scratch, context };
    let tracks = replay.tracks.take();
    let frames = replay.begin_end();
    symbolize::types(replay, &mut sources.library, &context.budget)?;
    let replay = &*replay;
    types(replay, space)?;
    lifetimes(replay, scratch)?;
    let mut functions = Functions::new(replay, space)?;
    let mut calls = tree::merge(&frames, |frame| functions.of(frame), space)?;
    drop(frames);
    let mut totals = Totals { unresolved_frames: functions.unresolved, ..Totals::default() };
    let mut amounts = ArrayPlan::new(&context.budget, scratch, "a call tree")
        .make((filled(calls.tree.count, Amount::default()), filled(calls.tree.count, Amount::default())))?;
    for (at, cell) in replay.cells.all().iter().enumerate() {
        space.check(at)?;
        let amount = replay.cells.amount(at);
        totals.sampled = totals.sampled.saturating_add(amount.samples);
        let node = calls.nodes.get(cell.stack as usize)?;
        if node == EMPTY {
            totals.stackless = totals.stackless.saturating_add(amount.samples);
        } else {
            amounts.0.change(node as usize, |sum| sum.add(&amount))?;
            amounts.1.change(node as usize, |sum| sum.add(&amount))?;
        }
    }
    calls.tree.sum(&mut amounts.1, space)?;
    let (mut positions, by_function) = functions::callees(&mut calls.tree, &mut amounts, functions.list.len(), space)?;
    drop(amounts);
    let names = functions.write(replay, by_function, sources, space)?;
    let callers = callers::write(&replay.cells, &mut calls, space)?;
    (totals.cut_stacks, totals.spilled_bytes) = (callers.cut, callers.spilled);
    if replay.tracks() && replay.has_stacks {
        sites::write(replay, &mut calls, &names, space)?;
        totals.spilled_bytes += paths::write(replay, &mut calls, &mut positions, &names, space)?;
    }
    let Some(tracks) = tracks else { return Ok(totals) };
    if !replay.tracks() {
        tracks.discard(scratch)?;
        return Ok(totals);
    }
    let stack = |cell: u32| {
        let Some(cell) = replay.cells.all().get(cell as usize) else { return Ok(None) };
        let position = positions.get(calls.nodes.get(cell.stack as usize)? as usize)?;
        Ok(Some(position).filter(|&position| position != NONE))
    };
    totals.spilled_bytes += tracks.finish(space, stack)?;
    Ok(totals)
}

/// Ratio that scales a sample of the runtime: allocated to represented objects of a type.
fn ratio(replay: &Replay, counts: &TypeCounts) -> (u64, u64) {
    match replay.coverage {
        // The number of objects is unknown: ticks count as the bytes that they report.
        Coverage::Ticks | Coverage::Weighted => (1, 1),
        _ => (counts.allocated, counts.represented),
    }
}

/// Whether the trace has count and bytes of each type.
fn is_exact(replay: &Replay) -> bool {
    matches!(replay.coverage, Coverage::Every | Coverage::Sampled)
}

fn types(replay: &Replay, space: Space<'_>) -> Result<(), StageError> {
    let (scratch, budget) = (space.scratch, space.budget());
    let mut names = StringWriter::create(scratch, columns::TYPE_NAMES)?;
    for type_id in 0..replay.types.len() as u32 {
        space.check(type_id as usize)?;
        names.push(replay.types.text(type_id).as_bytes())?;
    }
    names.finish()?;
    let exact = is_exact(replay);
    let every = replay.coverage == Coverage::Every;
    let live = |of: u64| if replay.tracks() { of } else { ABSENT };
    let pool = Pool::new(budget, (0..replay.counts.len() as u32).map(|type_id| population(replay, type_id)))?;
    let mut rows = budget.with_room("the rows of types", replay.counts.len())?;
    let ticks = all_ticks(replay);
    for (counts, type_id) in replay.counts.iter().zip(0..) {
        // An interval takes time.
        space.context.check()?;
        let sample = &counts.sample;
        if counts.allocated == 0 && sample.count == 0 {
            continue;
        }
        let estimate = match &replay.weights {
            Some(weights) => weights.estimate(type_id),
            None if every => pool.estimate(&population(replay, type_id)),
            None => whole(sample, ratio(replay, counts), ticks),
        };
        let interval = estimate.and_then(|estimate| estimate.interval);
        let (live_count, live_bytes) = replay.lifetimes.alive(type_id);
        let estimated_bytes = estimate.map_or(ABSENT, |estimate| estimate.bytes);
        rows.push(TypeRow {
            type_id,
            interval: if every { replay.interval() } else { u32::MAX },
            allocated_count: if exact { counts.allocated } else { ABSENT },
            sampled_count: sample.count,
            sampled_bytes: sample.bytes,
            bytes: if exact { counts.bytes } else { estimated_bytes },
            estimated_bytes,
            low_bytes: interval.map_or(ABSENT, |(low, _)| low),
            high_bytes: interval.map_or(ABSENT, |(_, high)| high),
            exact_bytes: if exact { counts.bytes } else { ABSENT },
            live_count: live(live_count),
            live_bytes: live(live_bytes),
        })?;
    }
    rows.sort_unstable_by_key(|row| (Reverse(if row.bytes == ABSENT { 0 } else { row.bytes }), row.type_id));
    let mut writer = ColumnWriter::create(scratch, columns::TYPES)?;
    writer.extend(&rows)?;
    writer.finish().map(drop)
}

fn population(replay: &Replay, type_id: u32) -> Population<'_> {
    let counts = &replay.counts[type_id as usize];
    Population {
        total: counts.allocated,
        sample: &counts.sample,
        varies: replay.types.varies(type_id),
        took_large: counts.counter.took_large(),
        seed: replay.seed_of(type_id),
    }
}

/// Returns count and bytes of all ticks, if there is one per fixed number of bytes.
fn all_ticks(replay: &Replay) -> Option<(u64, u64)> {
    let add = |sum: (u64, u64), of: &TypeCounts| {
        (sum.0.saturating_add(of.sample.count), sum.1.saturating_add(of.sample.bytes))
    };
    let ticks = replay.coverage == Coverage::Ticks && replay.in_steps;
    ticks.then(|| replay.counts.iter().fold((0, 0), add))
}

/// Estimates a type from a sample of the runtime. There is an interval only for ticks at fixed numbers of bytes: a
/// type's share of them is its share of the bytes.
fn whole(sample: &Sample, (total, represented): (u64, u64), ticks: Option<(u64, u64)>) -> Option<Estimate> {
    let bytes = if represented > 0 { scale(sample.bytes, total, represented) } else { return None };
    let interval = ticks.map(|(count, all)| {
        let (low, high) = binomial::interval(sample.count, count);
        ((low * all as f64).floor() as u64, (high * all as f64).ceil() as u64)
    });
    Some(Estimate { bytes, interval: interval.map(|(low, high)| (low.min(bytes), high.max(bytes))) })
}

/// Writes lifetimes, if objects were tracked to their deaths.
fn lifetimes(replay: &Replay, scratch: &Scratch) -> Result<(), StageError> {
    if !replay.tracks() {
        return Ok(());
    }
    let mut writer = ColumnWriter::create(scratch, columns::LIFETIMES)?;
    let frequency = Some(replay.clock.frequency).filter(|&frequency| frequency > 0.0);
    replay.lifetimes.rows(frequency).try_for_each(|row| writer.push(row))?;
    writer.finish().map(drop)
}
