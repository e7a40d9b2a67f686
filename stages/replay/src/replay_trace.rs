//! Stage `replay`: from a trace of allocations and garbage collections to the rows of all its tables.
//!
//! * Computes: exact counts and sizes by type and stack; a sample of objects; call trees and reverse call graphs;
//!   effects of each collection; lifetimes of objects, by type and by allocating function.
//! * Optional columns: those of tracked objects (lifetimes, sites, tracks, moves, walks) exist only if the trace has
//!   deaths, and sites only if it has stacks.
//! * Resident memory: 56 bytes per object that is alive or not yet found dead, up to twice that where lists grow, and
//!   up to three times as much for those that one collection moves; 48 bytes per range that a collection reports; 32 to
//!   64 bytes per distinct frame of a stack; 36 to 72 per distinct pair of stack and type, 16 to 32 more if not all is
//!   sampled, 8 to 16 more if an event represents several objects, 24 to 48 more per generation in which its objects
//!   died; 600 to 900 per type and 16 per distinct size in its sample; 500 and its texts per function; the events that
//!   a format buffers to sort them. The memory released after reading the trace suffices for the end: call trees and
//!   orders, some 150 bytes per node and row, 40 per pair, page or are sorted on disk if they do not fit. 32 bytes per
//!   object if tracks are wanted, paged if they do not fit. All of it depends on the trace and is unknown beforehand,
//!   so `STAGE` declares only the fixed part; if it does not fit, the stage refuses while it reads the trace and names
//!   a budget for the whole.
//! * Passes over disk: one read of the trace; births and deaths once each if tracks are wanted.
//! * Worst case: n log n in events, frames, functions and types, and in steps from functions to their callers; a
//!   collection takes time linear in the objects it condemns. The chains of callers of n stacks of n functions would be
//!   n²: beyond a multiple of the trace, callers of the deepest stacks are left out ([`callers`](crate::callers)),
//!   which the anomaly `stacks_with_callers_left_out` counts. Intervals of varying types take some 20,000 draws each. A
//!   Java recording takes a chunk, or pieces of one in scratch, and some 100 bytes per constant of it.
//! * Fails when: the trace is not of its format, or its live objects do not fit the budget.
//! * Determinism: rows have a total order; sampling is seeded.
//! * Reference: object identity as in "Object tracking in the profiling API"; sampling as in "Semi-statistical data
//!   collection in memory profiling" with `--sample-start nth`, else as in [`sampling`](crate::sampling); inclusive and
//!   exclusive as in "Understand memory allocation and object lifetime data values".

use crate::eventlog;
use crate::format::Format;
use crate::heapprofile;
use crate::jfr;
use crate::log;
use crate::nettrace;
use crate::output;
use crate::replay::{Anomalies, Replay};
use crate::symbolize::Sources;
use crate::tracetree;
use heaplake_input::bytes::Bytes;
use heaplake_input::source::{Identity, Input, Opened, Source};
use heaplake_kit::Setting;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::storage::Stored;
use heaplake_kit::{Context, InputError, Job, Scratch, Stage, StageError, Stats};
use heaplake_schemas::replay::{self as columns, Coverage, Metadata};
use heaplake_symbols::Library;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "replay",
    version: 8,
    when: |setting| setting.replay(|_| true),
    writes: &[
        document(columns::METADATA),
        texts(columns::TYPE_NAMES),
        texts(columns::STRINGS),
        column(columns::TYPES),
        column(columns::FUNCTIONS),
        column(columns::CALLERS),
        column(columns::CALLEES),
        column(columns::COLLECTIONS),
        column(columns::LIFETIMES).if_any(),
        column(columns::SITES).if_any(),
        column(columns::COLLECTION_DETAILS).if_any(),
        column(columns::OLD_OBJECTS).if_any(),
        column(columns::OLD_OBJECT_CHAINS).if_any(),
        column(columns::OBJECT_COUNTS).if_any(),
        column(columns::RECORDED_EVENTS).if_any(),
        texts(columns::RECORDING_TEXTS).if_any(),
        column(columns::PATHS).if_any(),
        column(columns::TRACKS).when(tracks).if_any(),
        column(columns::MOVES).when(tracks).if_any(),
        column(columns::WALK_OBJECTS).when(tracks).if_any(),
        column(columns::OBJECT_GENERATIONS).when(tracks).if_any(),
        column(columns::BOUNDS).when(tracks),
        column(columns::ROOTS).when(tracks),
    ],
    fixed: 16 << 20,
    passes: "the trace once",
    run,
    ..Stage::NEW
};

/// Whether the addresses of each object are recorded.
fn tracks(setting: &Setting<'_>) -> bool {
    setting.replay(|options| options.recording.tracks())
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let Opened { input, mut source } = opened(job)?;
    let format = recognised(&mut source, context)?;
    context.progress.begin(STAGE.name, size(&input, source.peek(context)?));
    let recording = job.setting.options.replay().map(|options| options.recording.clone()).unwrap_or_default();
    let mut replay = Replay::new(&recording, scratch, &context.budget)?;
    let (content, recorded) = read(format, source, &mut replay, scratch, context)?;
    replay.finish()?;
    let options = job.setting.options;
    let mut sources =
        Sources { library: Library::new(options.symbols(), &context.budget), maps: options.source_maps() };
    let totals = output::write(&mut replay, &mut sources, scratch, context)?;
    let metadata = Metadata {
        format_version: content.version,
        content_bytes: content.bytes,
        input_bytes: content.identity.bytes,
        input_hash: content.identity.hash,
        remarks: sources.library.remarks(),
        ..metadata(format, &replay, &totals, recorded)
    };
    replay.close()?;
    scratch.write_document(columns::METADATA, &metadata)?;
    context.progress.end();
    Ok(Stats { rows: metadata.allocated_count, spilled_bytes: totals.spilled_bytes })
}

/// Takes the input, which the engine passes once.
fn opened(job: &Job<'_>) -> Result<Opened, StageError> {
    let none = || StageError::io(Path::new("the input"), "read", io::ErrorKind::NotFound.into());
    job.input.take().ok_or_else(none)
}

/// Returns the bytes of the content, for progress; 0 if unknown until its end: compressed, or not a file.
fn size(input: &Input, beginning: &[u8]) -> u64 {
    let Input::File(path) = input else { return 0 };
    let mut stored = vec![0; beginning.len().min(64)];
    let plain = Stored::open(path).and_then(|mut file| {
        file.read_exact(&mut stored)?;
        file.length()
    });
    plain.ok().filter(|_| beginning.starts_with(&stored)).unwrap_or(0)
}

/// Returns the format of a trace, or a refusal.
fn recognised(source: &mut Source, context: &Context<'_>) -> Result<Format, StageError> {
    let beginning = source.peek(context)?;
    if let Some(format) = Format::of(beginning) {
        return Ok(format);
    }
    let shown = String::from_utf8_lossy(&beginning[..beginning.len().min(16)]).into_owned();
    let (file, expected) = (
        source.name().to_owned(),
        "a trace (.nettrace, .heapprofile, .jfr, a .heapsnapshot with allocations, an event log, or a profiler log)"
            .to_owned(),
    );
    let found = format!("{shown:?}");
    Err(InputError { file, offset: 0, expected, found, hint: "name a trace of allocations" }.into())
}

/// Totals of the content.
struct Content {
    /// Version of the format.
    version: Option<String>,
    /// Bytes, decompressed.
    bytes: u64,
    identity: Identity,
}

/// Reads a trace to its end.
fn read(
    format: Format,
    source: Source,
    replay: &mut Replay,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(Content, jfr::Outcome), StageError> {
    let (budget, mut recorded) = (&context.budget, jfr::Outcome::default());
    let mut bytes = Bytes::new(source, context);
    let version = match format {
        Format::HeapProfile => heapprofile::read(&mut bytes, replay, budget)?,
        Format::AllocationTree => tracetree::read(&mut bytes, replay, budget)?,
        Format::Log => log::read(&mut bytes, replay, budget)?,
        Format::Nettrace => nettrace::read(&mut bytes, replay, budget)?,
        Format::JavaEvents | Format::Events => {
            let found = eventlog::read(&mut bytes, replay, budget)?;
            (recorded.left_out, recorded.kept.truncated_stacks) = (found.left_out, found.cut_stacks);
            found.version
        }
        _ => {
            recorded = jfr::read(&mut bytes, replay, scratch, context)?;
            recorded.version.take()
        }
    };
    bytes.drain()?;
    let Some(identity) = bytes.identity().filter(|identity| !identity.hash.is_empty()).cloned() else {
        return Err(bytes.error(bytes.offset(), "the end of the trace", "more"));
    };
    Ok((Content { version, bytes: bytes.offset(), identity }, recorded))
}

fn metadata(format: Format, replay: &Replay, totals: &output::Totals, recorded: jfr::Outcome) -> Metadata {
    let sum = |of: fn(&crate::replay::TypeCounts) -> u64| replay.counts.iter().map(of).fold(0, u64::saturating_add);
    let (live_count, live_bytes) = if replay.tracks() { replay.alive() } else { (0, 0) };
    Metadata {
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
        doubtful_count: if replay.tracks() { replay.doubtful } else { 0 },
        estimated_bytes: if replay.coverage == Coverage::Weighted { sum(|counts| counts.sample.bytes) } else { 0 },
        old_object_count: recorded.kept.old_objects,
        anomalies: anomalies(replay, totals, &recorded.kept),
        held: recorded.kept.held,
        left_out: recorded.left_out,
        ..Metadata::default()
    }
}

/// Returns the anomalies that occurred, by name.
fn anomalies(replay: &Replay, totals: &output::Totals, recorded: &jfr::recording::Kept) -> BTreeMap<String, u64> {
    let Anomalies {
        overlapping_ranges,
        overrun_objects,
        moved_and_surviving,
        ends_without_start,
        starts_without_end,
        outside_collections,
        unknown_stacks,
        unknown_objects,
        lost_events,
        untracked_samples,
        recorder_errors,
        without_end,
    } = replay.anomalies;
    // Without every allocation, most objects of a heap walk are unknown, which is no anomaly.
    let unknown_objects = if replay.coverage == Coverage::Every { unknown_objects } else { 0 };
    [
        ("overlapping_ranges", overlapping_ranges),
        ("overrun_objects", overrun_objects),
        ("generations_moved_and_surviving", moved_and_surviving),
        ("replaced_objects", replay.objects.replaced),
        ("ends_without_start", ends_without_start),
        ("starts_without_end", starts_without_end),
        ("events_outside_collections", outside_collections),
        ("unknown_stacks", unknown_stacks),
        ("unknown_objects", unknown_objects),
        ("lost_events", lost_events),
        ("untracked_samples", untracked_samples),
        ("recorder_errors", recorder_errors),
        ("traces_without_end", without_end),
        ("unresolved_frames", totals.unresolved_frames),
        ("stacks_with_callers_left_out", totals.cut_stacks),
        ("redefined_types", replay.types.redefined),
        ("truncated_stacks", recorded.truncated_stacks),
        ("chains_that_go_on", recorded.cut_chains),
        ("bytes_of_lost_events", recorded.lost_bytes),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| (name.to_owned(), count))
    .collect()
}
