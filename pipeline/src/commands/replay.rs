//! `heaplake replay`: traces of allocations and garbage collections into the lake.

use super::batch::Batch;
use super::choices::{Naming, Placement, Resources, Telling, Trust, one_of};
use super::outputs;
use crate::diagnostic::Done;
use crate::inputs::{self, Wanted};
use crate::log;
use crate::symbol_files::SymbolFiles;
use clap::Args;
use heaplake_input::source::Input;
use heaplake_schemas::options::{Options, Recording, ReplayOptions, SampleMode, SampleStart, TraceTable};
use std::collections::{BTreeMap, BTreeSet};

const REPLAY_EXAMPLES: &str = "\
Examples:
  heaplake replay app.nettrace --out lake
  heaplake replay app.nettrace.zst --out lake --sample-interval 1
  heaplake replay agent.log --out lake --release 2.4.1 --label host=web7

Formats: .nettrace of .NET, .jfr of Java, .heapprofile of V8, the allocations of a V8 .heapsnapshot, and heaplake's \
 own event and profiler logs; the content tells which.
Exit codes: as those of analyze.";

/// Help heading of sampling options.
const SAMPLING: &str = "Sampling";

#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake replay app.nettrace --out lake --report\n\nMore examples: heaplake replay --help", after_long_help = REPLAY_EXAMPLES)]
pub(crate) struct Arguments {
    /// Traces: files, folders, glob patterns, or - for standard input
    ///
    /// Folders are searched for traces. Files that end in .gz or .zst are decompressed while read.
    #[arg(required = true, value_name = "TRACE")]
    inputs: Vec<String>,
    #[command(flatten)]
    placement: Placement,
    /// Take size and stack of one object in N; 1: of all
    #[arg(long, help_heading = SAMPLING, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    sample_interval: u32,
    /// Objects to sample: random, or nth [default: random]
    ///
    /// `random`: random objects, the first of a type more densely, and all that are large for their type; `nth`: the
    /// Nth of a type first, then about every Nth.
    #[arg(long, help_heading = SAMPLING, value_name = "START", default_value = "random", value_parser = one_of([SampleStart::Random, SampleStart::Nth], SampleStart::name), hide_possible_values = true, hide_default_value = true)]
    sample_start: SampleStart,
    /// creation, or creation-and-collection [default: the second]
    ///
    /// Whether to record only the creation of objects, or also their death in a garbage collection.
    #[arg(long, value_name = "MODE", default_value = "creation-and-collection", help_heading = SAMPLING, value_parser = one_of([SampleMode::Creation, SampleMode::CreationAndCollection], SampleMode::name), hide_possible_values = true, hide_default_value = true)]
    sample_mode: SampleMode,
    /// Seed of the sampling: another seed takes other objects
    #[arg(long, help_heading = SAMPLING, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    tables: Chosen,
    /// Also write a profile for pprof: allocations.pb.gz
    #[arg(long)]
    pprof: bool,
    /// Also write stacks for flame graphs: allocations.collapsed
    #[arg(long)]
    collapsed: bool,
    #[command(flatten)]
    naming: Naming,
    #[command(flatten)]
    symbols: SymbolFiles,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    trust: Trust,
    #[command(flatten)]
    telling: Telling,
}

/// Tables to write.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Tables")]
pub(crate) struct Chosen {
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = one_of(TraceTable::ALL, TraceTable::name),
        hide_possible_values = true,
        help = "Tables to write, separated by commas [default: most]",
        long_help = format!(
            "Tables to write, separated by commas, of those for which the trace tells enough: {} [default: all but the \
             last six]",
            TraceTable::NAMES,
        )
    )]
    tables: Vec<TraceTable>,
    /// Also write the life of each object; `track` needs it
    ///
    /// These are the tables object_tracks, moved_ranges, walk_objects, which joins walks of the heap by object,
    /// object_generations, generation_bounds and collection_roots.
    #[arg(long)]
    tracks: bool,
}

impl Chosen {
    /// All tables to write.
    pub(crate) fn all(&self) -> BTreeSet<TraceTable> {
        let tables = if self.tables.is_empty() { TraceTable::most() } else { self.tables.iter().copied().collect() };
        let tracks: &[TraceTable] = if self.tracks { &TraceTable::TRACKS } else { &[] };
        tables.into_iter().chain(tracks.iter().copied()).collect()
    }
}

/// Replays the traces. Failures of single traces are reported, not returned.
pub(crate) fn run(arguments: &Arguments) -> Done {
    let recording = Recording {
        sample_interval: arguments.sample_interval,
        sample_start: arguments.sample_start,
        sample_mode: arguments.sample_mode,
        seed: arguments.seed,
        tables: arguments.tables.all(),
        pprof: arguments.pprof,
        collapsed: arguments.collapsed,
    };
    let Arguments { placement, resources, trust, telling, .. } = arguments;
    let inputs = inputs::resolve(&arguments.inputs, Wanted::Traces);
    if !telling.ending.quiet {
        inputs::left_out(&arguments.inputs, Wanted::Traces, &placement.options())
            .iter()
            .for_each(|line| log::note(line));
    }
    let given = arguments.symbols.find(&[], resources.effort.memory(), telling.ending.quiet)?;
    let options = ReplayOptions {
        labels: BTreeMap::new(),
        recording,
        names: arguments.naming.rules()?,
        symbols: None,
        source_maps: given.source_maps.clone(),
    };
    let of = |input: &Input| {
        let (labels, symbols) = (placement.labels(input), given.symbols_of(input));
        Options::Replay(ReplayOptions { labels, symbols, ..options.clone() })
    };
    let read = [
        outputs::of_option("--names", arguments.naming.file()),
        outputs::of_option("--symbols", &arguments.symbols.symbols),
    ];
    Batch { inputs, placement, resources, trust: *trust, telling, read: read.concat() }.run(of)
}
