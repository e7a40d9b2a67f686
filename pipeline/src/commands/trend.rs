//! `heaplake trend`: growth along a series of runs.

use super::batch::stopped_by_signals;
use super::choices::{Naming, Resources};
use super::comparing::{Files, Folders, rules};
use super::missed::{self, Skipping};
use crate::diagnostic::{Diagnostic, Done};
use crate::print::{self, trend as text};
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_compare::sides::{Sides, steadily};
use heaplake_compare::trend::steps::{self, By, FEWEST};
use heaplake_compare::trend::{self, Answer};
use heaplake_kit::Context;
use heaplake_kit::stage::Output;
use heaplake_schemas::series;
use std::path::PathBuf;

const MORE: &str = "\
Examples:
  heaplake trend lake/release=7.1 --by captured
  heaplake trend 'label.host=web1' --lake lake --by release --out trend
  heaplake trend release=7.0 release=7.1 release=7.2 --lake lake
  heaplake trend first second third fourth --json

Each SELECTION is a step, in the order in which they are named: the folder of a run, a folder of runs, or a selection \
 of the runs of --lake, as for heaplake diff. A single one is divided into steps: each run by the time at which it was \
 captured, or the runs of each release, or of each value of a label. There are at least three steps.

A row is what has the same fingerprint in every run. It is growing if it rises at each of its last steps, up to the end; \
 a plateau if it has grown and its last steps are flat; a sawtooth if it climbs and falls again and again. Where steps \
 have several runs, their medians count, and differences within the noise of the runs do not. Its slope is the growth per \
 step, of Theil and Sen, with its 95 % interval.";

/// Files of a trend.
const FILES: Files =
    Files { description: series::FILE, is_table: |name| name.starts_with("trend_") && name.ends_with(".parquet") };

/// Arguments of `trend`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: heaplake trend label.host=web1 --lake lake --by captured", after_long_help = MORE)]
pub struct Arguments {
    /// The steps: runs, folders of runs, or selections
    #[arg(required = true, value_name = "SELECTION")]
    pub selections: Vec<String>,
    /// The lake of the selections
    #[arg(long, value_name = "LAKE")]
    pub lake: Option<PathBuf>,
    /// Unreadable runs
    #[command(flatten)]
    pub skipping: Skipping,
    /// Steps of a single selection: captured, release or label.NAME
    ///
    /// With captured, the default, each run is a step, ordered by capture time; else a step has all runs of a release
    /// or of a value of the label, in version order: 7.9, 7.10.
    #[arg(long, value_name = "WHAT")]
    pub by: Option<By>,
    /// Folder for the tables trend_*.parquet; created if missing
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Rules for names
    #[command(flatten)]
    pub naming: Naming,
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

/// Follows the series; fails if the runs are no series.
pub fn run(arguments: &Arguments) -> Done {
    let cancel = stopped_by_signals();
    let display = Display::new(Mode::choose(arguments.quiet || arguments.json), "trend");
    let context = arguments.resources.effort.context(&display, &cancel);
    let by = By::of(&arguments.selections, arguments.by.clone())?;
    let sides = arguments.steps(&by, &context)?;
    let work = |folders: Folders<'_>| follow(arguments, &by, &sides, folders, &context);
    let answer = FILES.make(arguments.out.as_ref(), &arguments.resources, work)?;
    let code = missed::tell(&answer.series.missed);
    if arguments.json {
        print::json(&answer)?;
        return Ok(code);
    }
    if !arguments.quiet {
        print::answer(&answer, false, text::text)?;
    }
    if let Some(folder) = arguments.out.as_ref().filter(|_| !arguments.quiet) {
        print::text(&format!("\n{}\n", folder.display()));
    }
    Ok(code)
}

impl Arguments {
    fn steps(&self, by: &By, context: &Context<'_>) -> Result<Sides, Diagnostic> {
        let sides = steps::find(&self.selections, self.lake.as_deref(), by, self.skipping.skip_damaged, context)?;
        // Refuses an unusable series before any folder is made.
        sides.by_format(FEWEST)?;
        Ok(sides)
    }
}

/// Writes the tables, and the description of the series.
fn follow(
    arguments: &Arguments,
    by: &By,
    sides: &Sides,
    folders: Folders<'_>,
    context: &Context<'_>,
) -> Result<Answer, Diagnostic> {
    let output = Output { folder: folders.tables.to_owned(), ..Output::default() };
    let work = |sides: &Sides| {
        FILES.clear(folders.tables)?;
        let formats = sides.by_format(FEWEST)?;
        let rules = rules(&formats, &arguments.naming, None, folders.scratch)?;
        Ok::<_, Diagnostic>(trend::follow(sides, by, &formats, &rules, &output, context)?)
    };
    let answer = steadily(sides, || arguments.steps(by, context), work)?;
    FILES.describe(&answer.series, folders.tables)?;
    Ok(answer)
}
