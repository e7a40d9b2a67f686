//! Stage `replay`: a trace of allocations and collections to the rows of all its tables.
//!
//! * Computes: exact counts by type; sizes and stacks of a sample; call trees and reverse call graphs; what each
//!   collection moved and reclaimed; how long objects live, by type and by allocating function.
//! * Reads: the trace, once, front to back.
//! * Writes: `replay.*`.
//! * Resident memory: 48 bytes per object that is alive or not yet found dead, up to twice that where lists grow, and as
//!   much for those that one collection moves; 80 bytes per distinct frame of a stack, 200 per distinct pair of stack and
//!   type, 2,000 per type, 600 per method; at the end some 150 per node of the call tree; what a format holds back to bring
//!   events into order.
//! * Passes over disk: one read of the trace.
//! * Worst case: linear in the events, times the logarithm of the pages of the heap for allocations, times the depth of
//!   stacks at the end.
//! * Fails when: the trace is not of its format, or what is alive at once does not fit the budget.
//! * Determinism: rows are in an order of their own; sampling is seeded.
//! * Reference: object identity as in "Object tracking in the profiling API"; sampling as in "Semi-statistical data
//!   collection in memory profiling"; inclusive and exclusive as in "Understand memory allocation and object lifetime data
//!   values".

use crate::blocks::{Blocks, Bytes};
use crate::heapprofile;
use crate::log;
use crate::nettrace;
use crate::output;
use crate::replay::{Anomalies, Options, Replay};
use crate::tracetree;
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::replay::{Coverage, FACTS, Facts};
use std::collections::BTreeMap;

/// What the plan knows of this stage. It has no nodes and edges: what it needs beyond the least depends on what is alive
/// at once.
pub const STAGE: StageInfo = StageInfo {
    name: "replay",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: 16 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "the trace once",
};

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The profiler log.
    Log,
    /// `.nettrace`.
    Nettrace,
    /// `.heapprofile`.
    HeapProfile,
    /// The allocation tree of a `.heapsnapshot`.
    AllocationTree,
}

impl Format {
    /// That of a content which begins so; nothing where it is none of them.
    #[must_use]
    pub fn of(beginning: &[u8]) -> Option<Self> {
        let begins =
            |with: &[u8]| beginning.iter().filter(|byte| !byte.is_ascii_whitespace()).take(with.len()).eq(with);
        if beginning.starts_with(log::MAGIC) {
            Some(Self::Log)
        } else if beginning.starts_with(nettrace::MAGIC) {
            Some(Self::Nettrace)
        } else if begins(heapprofile::BEGINNING) {
            Some(Self::HeapProfile)
        } else if begins(tracetree::BEGINNING) {
            Some(Self::AllocationTree)
        } else {
            None
        }
    }

    /// Name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "profiler-log",
            Self::Nettrace => "nettrace",
            Self::HeapProfile => "heapprofile",
            Self::AllocationTree => "heapsnapshot",
        }
    }
}

/// Replays a trace. What is only known of the input itself (its size and hash) is left open in the document of facts that
/// this writes.
///
/// # Errors
/// [`StageError::Input`], [`StageError::Budget`], [`StageError::Io`], [`StageError::Cancelled`].
pub fn run(
    format: Format,
    blocks: &mut dyn Blocks,
    options: Options,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(Facts, Stats), StageError> {
    context.progress.begin(STAGE.name, 0);
    let mut replay = Replay::new(options, scratch, &context.budget)?;
    let mut bytes = Bytes::new(blocks);
    let version = match format {
        Format::Log => log::read(&mut bytes, &mut replay, &context.budget)?,
        Format::Nettrace => nettrace::read(&mut bytes, &mut replay, &context.budget)?,
        Format::HeapProfile => heapprofile::read(&mut bytes, &mut replay, &context.budget)?,
        Format::AllocationTree => tracetree::read(&mut bytes, &mut replay, &context.budget)?,
    };
    bytes.drain()?;
    replay.finish()?;
    let totals = output::write(&mut replay, scratch, context)?;
    let facts = Facts { format_version: version, content_bytes: bytes.offset(), ..facts(format, &replay, &totals) };
    replay.close()?;
    scratch.write_document(FACTS, &facts)?;
    context.progress.end();
    let stats = Stats { rows: facts.allocated_count, spilled_bytes: 0 };
    Ok((facts, stats))
}

fn facts(format: Format, replay: &Replay, totals: &output::Totals) -> Facts {
    let sum = |of: fn(&crate::replay::TypeCounts) -> u64| replay.counts.iter().map(of).fold(0, u64::saturating_add);
    let (live_count, live_bytes) = if replay.tracks() { replay.objects.alive() } else { (0, 0) };
    Facts {
        format: format.name().to_owned(),
        coverage: replay.coverage,
        has_stacks: replay.has_stacks,
        has_moves: replay.has_moves,
        has_type_names: replay.types.any_named(),
        has_times: replay.clock.frequency > 0.0,
        interval: if replay.coverage == Coverage::Every { replay.interval() } else { 1 },
        tracked: replay.tracks(),
        allocated_count: sum(|counts| counts.allocated),
        allocated_bytes: sum(|counts| counts.bytes),
        sampled_count: totals.sampled,
        stackless_count: totals.stackless,
        collection_count: u64::from(replay.ended),
        live_count,
        live_bytes,
        anomalies: anomalies(replay, totals),
        ..Facts::default()
    }
}

/// What did not fit together, by name; what never happened is left out.
fn anomalies(replay: &Replay, totals: &output::Totals) -> BTreeMap<String, u64> {
    let Anomalies {
        overlapping_ranges,
        overrun_objects,
        ends_without_start,
        starts_without_end,
        outside_collections,
        unknown_stacks,
        unknown_objects,
        lost_events,
        without_end,
    } = replay.anomalies;
    // Where the trace has not every allocation, most objects of a walk are unknown, and that says nothing.
    let unknown_objects = if replay.coverage == Coverage::Every { unknown_objects } else { 0 };
    [
        ("overlapping_ranges", overlapping_ranges),
        ("overrun_objects", overrun_objects),
        ("replaced_objects", replay.objects.replaced),
        ("ends_without_start", ends_without_start),
        ("starts_without_end", starts_without_end),
        ("events_outside_collections", outside_collections),
        ("unknown_stacks", unknown_stacks),
        ("unknown_objects", unknown_objects),
        ("lost_events", lost_events),
        ("traces_without_end", without_end),
        ("unresolved_frames", totals.unresolved_frames),
        ("redefined_types", replay.types.redefined),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| (name.to_owned(), count))
    .collect()
}
