//! Measures replays of traces in several settings against the floor, and checks the answers.

use crate::contest::{self, Entry, Outcome};
use crate::end_to_end;
use crate::files::{self, Snapshot};
use crate::goals::{self, Goal, goal};
use crate::measure;
use crate::report::{Section, megabytes, number, ratio};
use crate::settings::{FLOOR, Measuring};
use anyhow::{Context, Result, ensure};
use clap::Args;
use heaplake::memory::Size;
use heaplake_generator::trace::{self, Answers, Plan};
use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::{allocation_types, collections};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

/// Row names: the options measured.
const EVERY: &str = "heaplake --sample-interval 1";
const TENTH: &str = "heaplake --sample-interval 10";
/// Call trees only, without the tables written at the end and without objects.
const CREATION: &str = "heaplake --sample-interval 1 --sample-mode creation --tables collections";
const SMALL_MEMORY: &str = "heaplake --sample-interval 1 --memory 512MiB";

/// Traces from this size on count as the goal's 10 GB.
const LARGE: u64 = 9_800_000_000;

/// Bytes per allocation in a generated trace.
const BYTES_OF_ONE: u64 = 42;

const GOALS: [Goal; 2] = [
    goal(
        "processor seconds for a million allocations at most 1/3, each with its stack, followed to its death",
        1.0 / 3.0,
        |on| ratio(on.of(EVERY, Outcome::cpu), on.of(EVERY, millions)),
    ),
    goal("peak memory in MB at most 640 on 10 GB with `--memory 512MiB`", 640.0, |on| {
        on.of(SMALL_MEMORY, Outcome::rss).filter(|_| on.bytes >= LARGE).map(|bytes| bytes / 1e6)
    }),
];

/// Options of `replay`.
#[derive(Args)]
#[command(after_help = "Examples:
  heaplake-bench replay --save
  heaplake-bench replay --sizes 200MB,10GB --runs 1")]
pub(crate) struct Options {
    /// Sizes of generated traces
    #[arg(long, value_name = "SIZE,...", default_value = "200MB,1GB", value_delimiter = ',')]
    sizes: Vec<Size>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures and reports; wrong answers are an error.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut section = options.measuring.section("replay")?;
    let mut results = Vec::new();
    let narrow = options.sizes.iter().map(|size| (size.0, Plan::default().types_of_stack));
    let wide = options.sizes.first().map(|size| (size.0, Plan::default().types));
    for (size, types_of_stack) in narrow.chain(wide) {
        let (trace, answers) = generated(size, types_of_stack)?;
        eprintln!("{}", trace.name);
        check(options, &trace, &answers)?;
        let outcomes = contest::hold(&entries(options, &trace)?, options.measuring.runs.into(), None)?;
        let (size, events) = (megabytes(Some(trace.bytes as f64)), answers.types.values().map(|of| of.0).sum::<u64>());
        section.say(&format!("### {} ({size} MB, {events} allocations)", trace.name));
        costs(&mut section, &outcomes);
        section.say("Types, objects that live and die in each collection: all as planted.");
        results.push((trace, outcomes));
    }
    goals::report(&mut section, &GOALS, &goals::measured(results.iter().map(|(trace, outcomes)| (trace, outcomes))));
    section.end(options.measuring.engine.save)
}

/// The generated trace of about this size and its planted answers.
fn generated(size: u64, types_of_stack: u32) -> Result<(Snapshot, Answers)> {
    let plan = Plan { allocations: (size / BYTES_OF_ONE).max(1), types_of_stack, ..Plan::default() };
    let wide = if types_of_stack == Plan::default().types_of_stack { "" } else { "-wide" };
    let path = files::work()?.join(format!("generated-{}{wide}.nettrace", crate::report::size(size)));
    if path.exists() {
        return Ok((Snapshot::given(&path)?, trace::write(&plan, std::io::sink())?));
    }
    eprintln!("writing {}", path.display());
    // Written under another name and renamed, so that an interrupted run leaves no partial file.
    let part = path.with_extension("part");
    let write = || {
        let answers = trace::write(&plan, BufWriter::new(File::create(&part)?))?;
        fs::rename(&part, &path).map(|()| answers)
    };
    let answers = write().with_context(|| path.display().to_string())?;
    Ok((Snapshot::given(&path)?, answers))
}

fn entries(options: &Options, trace: &Snapshot) -> Result<Vec<Entry>> {
    let mut entries = vec![Entry::floor(&trace.path)?];
    for name in [EVERY, TENTH, CREATION, SMALL_MEMORY] {
        entries.push(entry(options, trace, name)?);
    }
    Ok(entries)
}

/// A replay into an empty lake.
fn entry(options: &Options, trace: &Snapshot, name: &str) -> Result<Entry> {
    let lake = files::work()?.join("lake");
    let line = format!("@ replay @ -v --out @ --snapshot bench{}", name.trim_start_matches("heaplake"));
    Ok(Entry::new(name, &line, &[&options.measuring.engine.heaplake, &trace.path, &lake], Some(&lake)))
}

/// Replays once and checks the answers.
fn check(options: &Options, trace: &Snapshot, answers: &Answers) -> Result<()> {
    let entry = entry(options, trace, EVERY)?;
    let run = measure::command(None, &entry.command)?;
    ensure!(run.cost.exit_code == 0, "{}", contest::failure(&run));
    let lake = entry.leaves.context("a replay leaves a lake")?;
    let right = is_right(&lake.join("release=none/snapshot=bench"), answers);
    // A leftover makes the next run fail with a clear error.
    let _ = fs::remove_dir_all(&lake);
    ensure!(right?, "{}: answers are wrong", trace.name);
    Ok(())
}

fn is_right(run: &Path, answers: &Answers) -> Result<bool, StageError> {
    let (mut types, mut live, mut dead) = (BTreeMap::new(), Vec::new(), Vec::new());
    let columns = ["type", "allocated_count", "exact_bytes"];
    let mut rows = Reader::open(&run.join(allocation_types::TABLE.file))?.columns(&columns)?;
    while let Some(batch) = rows.batch()? {
        let (counts, bytes) = (batch.sizes("allocated_count")?, batch.sizes("exact_bytes")?);
        for (at, name) in batch.texts("type")?.iter().enumerate() {
            let number = name.unwrap_or_default().trim_start_matches("Generated.Type").parse().unwrap_or(u64::MAX);
            types.insert(number, (value(&counts, at).unwrap_or(0), value(&bytes, at).unwrap_or(0)));
        }
    }
    let mut rows = Reader::open(&run.join(collections::TABLE.file))?.columns(&["live_objects", "dead_objects"])?;
    while let Some(batch) = rows.batch()? {
        live.extend(batch.sizes("live_objects")?.iter().flatten());
        dead.extend(batch.sizes("dead_objects")?.iter().flatten());
    }
    Ok(types == answers.types && live == answers.live && dead == answers.dead)
}

/// Adds a table of each setting's costs.
fn costs(section: &mut Section, outcomes: &[Outcome]) {
    let of = |name: &str| outcomes.iter().find(|outcome| outcome.name == name).and_then(Outcome::cpu);
    let rows: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            [
                outcome.name.clone(),
                number(outcome.cpu()),
                number(outcome.wall()),
                megabytes(outcome.rss()),
                number(ratio(millions(outcome), outcome.cpu())),
                number(ratio(outcome.cpu(), of(EVERY))),
                number(ratio(outcome.cpu(), of(FLOOR))),
            ]
        })
        .collect();
    let head = ["program", "CPU s", "wall s", "RSS MB", "million allocations / CPU s", "CPU / each", "CPU / floor"];
    section.table(head, &rows);
    for outcome in outcomes {
        if let Err(why) = &outcome.runs {
            section.say(&format!("{}: no result ({why})", outcome.name));
        }
    }
}

/// Millions of replayed allocations.
fn millions(outcome: &Outcome) -> Option<f64> {
    let log = &outcome.runs.as_ref().ok()?.first()?.log;
    let replayed = log.lines().filter_map(end_to_end::stage).find(|(name, ..)| *name == "replay");
    replayed.map(|(_, rows, _)| rows as f64 / 1e6)
}
