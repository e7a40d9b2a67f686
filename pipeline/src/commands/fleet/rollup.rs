//! `heaplake fleet rollup`: sums over all runs of a lake.

use crate::commands::batch::stopped_by_signals;
use crate::commands::choices::Resources;
use crate::commands::lake::choosing::{Choosing, Period};
use crate::commands::missed::{self, Skipping};
use crate::commands::outputs;
use crate::diagnostic::{Diagnostic, Done};
use crate::engine::workplace;
use crate::metrics;
use crate::print::{self, rollup as text};
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_compare::rollup::{self, Request};
use heaplake_compare::sides::Key;
use heaplake_lake::mirror::Mirror;
use heaplake_lake::output_file;
use heaplake_schemas::rollup as schema;
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake fleet rollup lake
  heaplake fleet rollup lake --by release,label.region --out night
  heaplake fleet rollup lake --since 14d --label 'host=web*' --out web
  heaplake fleet rollup lake --json | jq '.clusters[] | {signature, hosts}'

Runs of one format are grouped by release, or by what --by names. For each group and each class, chain, owner, finding \
 and set of duplicates, known by its fingerprint, the tables rollup_*.parquet say how many runs and hosts have it, the sum \
 and the quantiles of its bytes and counts, the worst run, and when it was first and last seen. Clusters are runs in which \
 the same finding holds far more than it usually does: at least 5 % of the heap beyond its 10 % quantile over all runs.

A run that cannot be read is named, in rollup.json too, and the exit code is 1; the rollup has the others.

--since, --until, --release and --label choose the runs, as for heaplake ls; rollup.json records them. A rollup there of \
 other runs is replaced.

Only what changed is done: of a group with a new run, the new run is read; a group whose run was dropped or replaced is \
 made without it.";

/// Arguments of `fleet rollup`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake fleet rollup lake --by release,label.region", after_long_help = MORE)]
pub struct Arguments {
    /// The lake: the --out folder of analyze
    #[arg(value_name = "LAKE")]
    pub lake: PathBuf,
    /// Which runs
    #[command(flatten)]
    pub(crate) choosing: Choosing,
    /// When they were captured
    #[command(flatten)]
    pub(crate) period: Period,
    /// Group runs by: release, label.NAME
    ///
    /// Several are separated by commas. Runs of different formats are never in one group.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "release")]
    pub by: Vec<Key>,
    /// Folder of the rollup [default: LAKE/fleet]
    ///
    /// It may be in an object store.
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Unreadable runs
    #[command(flatten)]
    pub skipping: Skipping,
    /// Write metrics of the rollup to a file of OpenMetrics
    ///
    /// For the text-file collector of a scheduler or node exporter: runs and hosts by group, clusters with their runs
    /// and bytes. The file is replaced atomically.
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// Resources
    #[command(flatten)]
    pub resources: Resources,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
}

/// Sums up the lake. Fails without runs, or while another process does the same.
pub fn run(arguments: &Arguments) -> Done {
    let folder = arguments.out.clone().unwrap_or_else(|| arguments.lake.join(schema::FOLDER));
    let manifest = folder.join(schema::FILE);
    let written = [(outputs::FOLDER, Some(manifest.as_path())), ("--metrics", arguments.metrics.as_deref())];
    outputs::check(&written, Vec::new)?;
    arguments.metrics.iter().try_for_each(|file| output_file::check(file)).map_err(Diagnostic::of_usage)?;
    let cancel = stopped_by_signals();
    let display = Display::new(Mode::choose(arguments.quiet || arguments.json), "rollup");
    let context = arguments.resources.effort.context(&display, &cancel);
    let scratch = workplace::passing(arguments.resources.scratch.as_deref()).map_err(Diagnostic::of_usage)?;
    let mirror = Mirror::open(&folder, scratch.path(), schema::FILE, true)?;
    let choice = arguments.period.choice(&arguments.choosing);
    let request = Request {
        lake: &arguments.lake,
        choice: &choice,
        by: &arguments.by,
        skip_damaged: arguments.skipping.skip_damaged,
        folder: mirror.local(),
        scratch: scratch.path(),
    };
    let answer = rollup::roll(&request, &context)?;
    mirror.publish()?;
    if let Some(path) = &arguments.metrics {
        metrics::write(path, &cancel, |now| metrics::fleet::text(&answer.rollup, now))?;
    }
    let code = missed::tell(&answer.rollup.missed);
    if arguments.json {
        print::json(&answer)?;
        return Ok(code);
    }
    if !arguments.quiet {
        print::answer(&answer, false, text::text)?;
        print::text(&format!("\n{}\n", folder.display()));
    }
    Ok(code)
}
