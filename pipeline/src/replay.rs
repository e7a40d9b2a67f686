//! One trace through its replay, into the lake.

use crate::analyze::{Failure, Outcome, Request, clocked, same_or_taken, standing};
use crate::inputs;
use crate::memory::{self, peak_rss};
use crate::progress::{Display, Mode};
use crate::workplace::Workplace;
use heaplake_ingest::source::{Feed, Source};
use heaplake_kit::budget::FIXED_OVERHEAD;
use heaplake_kit::{Budget, ColumnReader, Context, InputError, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_publish::commit::{self, NewRun};
use heaplake_publish::rows::Job;
use heaplake_publish::{
    allocation_callees, allocation_callers, allocation_functions, allocation_types, collapsed, collections,
    findings as finding_table, lifetime_sites, moved_ranges, object_lifetimes, object_tracks, pprof,
};
use heaplake_replay::blocks::HINT;
use heaplake_replay::replay::{Mode as Recorded, Options};
use heaplake_replay::stage::{self, Format};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::replay::{ABSENT, FUNCTIONS, Facts, STRINGS, TYPE_NAMES, TYPES};
use heaplake_schemas::run::{NamedAmount, Replay, ReplayOptions, Run, SampleMode, Summary, Table, TraceTable};
use heaplake_schemas::scratch::documents;
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use heaplake_summarise::allocations;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Types and functions that the summary shows.
const SHOWN: usize = 10;

/// Replays one trace and commits its run.
///
/// # Errors
/// [`Failure`]; then the lake is as it was.
pub fn replay(request: &Request, mode: Mode, cancel: &AtomicBool) -> Result<Outcome, Failure> {
    let started = Instant::now();
    memory::reset_peak();
    if !request.force
        && let Some(outcome) = standing(request)?
    {
        return Ok(outcome);
    }
    let workplace = Workplace::take(request)?;
    let display = Display::new(mode, &inputs::stem(&request.input));
    let context = Context {
        budget: Budget::new(request.memory.saturating_sub(FIXED_OVERHEAD)),
        threads: request.threads,
        progress: &display,
        cancel,
    };
    let scratch = &workplace.scratch;
    let (facts, stats, seconds) = read(request, scratch, &context)?;
    display.finished(stage::STAGE.name, stats, seconds);
    scratch.measure();

    let name = match &request.snapshot {
        Some(name) => name.clone(),
        // The analysis of a snapshot has the plain name.
        None if facts.format == Format::AllocationTree.name() => {
            format!("{}-{}-allocations", inputs::stem(&request.input), &facts.input_hash[..8])
        }
        None => format!("{}-{}", inputs::stem(&request.input), &facts.input_hash[..8]),
    };
    let place = commit::place(&request.lake, &request.release, &name);
    // Standard input has no size to look for beforehand, and a name may belong to another run.
    if let Some(run) = commit::read(&place)?.filter(|_| !request.force) {
        if run.input_hash == facts.input_hash {
            return same_or_taken(request, place, run);
        }
        return Err(Failure::Taken { place, difference: "its input".to_owned() });
    }
    let new = NewRun::create(&place)?;
    let options = request.options.replay.clone().unwrap_or_default();
    let job = Job { facts: &facts, scratch, folder: new.folder(), context: &context };
    let mut tables = tables(&job, &options, &display)?;
    let mut found = Vec::new();
    if options.tables.contains(&TraceTable::Findings) {
        let (findings, table) = findings(&job, &display)?;
        found = findings;
        tables.push(table);
    }
    let run = Run {
        heaplake_version: HEAPLAKE_VERSION.to_owned(),
        schema_version: SCHEMA_VERSION,
        snapshot: name,
        release: request.release.clone(),
        source: request.input.name(),
        input_bytes: facts.input_bytes,
        input_hash: facts.input_hash.clone(),
        options: request.options.clone(),
        tables,
        summary: Summary {
            format: facts.format.clone(),
            wall_seconds: started.elapsed().as_secs_f64(),
            peak_rss_bytes: peak_rss(),
            scratch_bytes: scratch.fullest(),
            findings: found,
            ..Summary::default()
        },
        replay: Some(Replay { types: most_allocated(scratch)?, functions: most_allocating(scratch)?, facts }),
    };
    new.commit(&run)?;
    Ok(Outcome { place, run, unchanged: false })
}

fn read(request: &Request, scratch: &Scratch, context: &Context<'_>) -> Result<(Facts, Stats, f64), StageError> {
    let mut source = Source::open(&request.input)?;
    let beginning = source.peek(context)?;
    let Some(format) = Format::of(beginning) else {
        let shown = String::from_utf8_lossy(&beginning[..beginning.len().min(16)]).into_owned();
        let (file, expected) = (
            source.name().to_owned(),
            "a trace (.nettrace, .heapprofile, a .heapsnapshot with allocations, or a profiler log)".to_owned(),
        );
        let found = format!("{shown:?}");
        return Err(InputError { file, offset: 0, expected, found, hint: "name a trace of allocations" }.into());
    };
    let chosen = request.options.replay.clone().unwrap_or_default();
    let options = Options {
        interval: chosen.sample_interval,
        seed: chosen.seed,
        tracks: chosen.tracks(),
        mode: match chosen.sample_mode {
            SampleMode::Creation => Recorded::Creation,
            SampleMode::CreationAndCollection => Recorded::CreationAndCollection,
        },
    };
    let mut input = Feed::new(source, context);
    let ((mut facts, stats), seconds) = clocked(|| stage::run(format, &mut input, options, scratch, context))?;
    let identity = input.source.identity().cloned().unwrap_or_default();
    if identity.hash.is_empty() {
        let (file, offset) = (input.source.name().to_owned(), facts.content_bytes);
        let (expected, found) = ("the end of the trace".to_owned(), "more".to_owned());
        return Err(InputError { file, offset, expected, found, hint: HINT }.into());
    }
    (facts.input_bytes, facts.input_hash) = (identity.bytes, identity.hash);
    Ok((facts, stats, seconds))
}

type Writer = fn(&Job<'_>) -> Result<(Table, Stats), StageError>;

/// What is written, and where: tables that were chosen, exports that were asked for.
fn tables(job: &Job<'_>, options: &ReplayOptions, display: &Display) -> Result<Vec<Table>, StageError> {
    use TraceTable as Name;
    let Facts { tracked, has_stacks, .. } = *job.facts;
    let chosen = |table| options.tables.contains(&table);
    // Tables of lifetimes there are only where objects were followed to their deaths.
    let all: [(&StageInfo, Writer, bool); 11] = [
        (&allocation_types::STAGE, allocation_types::run, chosen(Name::AllocationTypes)),
        (&allocation_functions::STAGE, allocation_functions::run, chosen(Name::AllocationFunctions)),
        (&allocation_callers::STAGE, allocation_callers::run, chosen(Name::AllocationCallers)),
        (&allocation_callees::STAGE, allocation_callees::run, chosen(Name::AllocationCallees)),
        (&object_lifetimes::STAGE, object_lifetimes::run, chosen(Name::ObjectLifetimes) && tracked),
        (&lifetime_sites::STAGE, lifetime_sites::run, chosen(Name::LifetimeSites) && tracked && has_stacks),
        (&collections::STAGE, collections::run, chosen(Name::Collections)),
        (&object_tracks::STAGE, object_tracks::run, chosen(Name::ObjectTracks) && tracked),
        (&moved_ranges::STAGE, moved_ranges::run, chosen(Name::MovedRanges) && tracked),
        (&pprof::STAGE, pprof::run, options.pprof),
        (&collapsed::STAGE, collapsed::run, options.collapsed),
    ];
    let mut tables = Vec::new();
    for (stage, write, _) in all.iter().filter(|(_, _, wanted)| *wanted) {
        let ((table, stats), seconds) = clocked(|| write(job))?;
        display.finished(stage.name, stats, seconds);
        tables.push(table);
    }
    Ok(tables)
}

/// What is worth a look, and its table.
fn findings(job: &Job<'_>, display: &Display) -> Result<(Vec<Finding>, Table), StageError> {
    let (stats, seconds) = clocked(|| allocations::run(job.scratch, job.context))?;
    display.finished(allocations::STAGE.name, stats, seconds);
    let Job { facts, scratch, folder, context } = *job;
    let ((table, stats), seconds) = clocked(|| finding_table::run(&facts.input_hash, scratch, folder, context))?;
    display.finished(finding_table::STAGE.name, stats, seconds);
    Ok((scratch.read_document(documents::FINDINGS)?, table))
}

fn most_allocated(scratch: &Scratch) -> Result<Vec<NamedAmount>, StageError> {
    let names = StringTable::open(scratch, TYPE_NAMES)?;
    let mut rows = ColumnReader::open(scratch, TYPES)?;
    let known = |number: u64| (number != ABSENT).then_some(number);
    (0..rows.remaining().min(SHOWN as u64))
        .map(|_| {
            let row = rows.next()?;
            let name = names.text(row.type_id as usize).into_owned();
            Ok(NamedAmount { name, count: known(row.allocated_count), bytes: known(row.estimated_bytes) })
        })
        .collect()
}

fn most_allocating(scratch: &Scratch) -> Result<Vec<NamedAmount>, StageError> {
    let names = StringTable::open(scratch, STRINGS)?;
    let mut rows = ColumnReader::open(scratch, FUNCTIONS)?;
    (0..rows.remaining().min(SHOWN as u64))
        .map(|_| {
            let row = rows.next()?;
            let name = names.text(row.name as usize).into_owned();
            Ok(NamedAmount { name, count: Some(row.inclusive_count), bytes: Some(row.inclusive_bytes) })
        })
        .collect()
}
