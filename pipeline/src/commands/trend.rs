//! `heaplake trend`: growth along a series of runs.

use super::batch::stopped_by_signals;
use super::choices::{Naming, Resources};
use super::diff::{clear, names_of};
use super::missed::{self, Skipping};
use crate::diagnostic::{Diagnostic, Done};
use crate::engine::workplace;
use crate::print::{self, trend as text};
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_compare::diff::Rules;
use heaplake_compare::sides::steadily;
use heaplake_compare::trend::steps::{By, FEWEST, Steps};
use heaplake_compare::trend::{self, Answer};
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, StageError, fs};
use heaplake_lake::files::NewFiles;
use heaplake_schemas::series;
use std::path::{Path, PathBuf};

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
    let steps = arguments.steps(&context)?;
    let scratch = workplace::passing(arguments.resources.scratch.as_deref()).map_err(Diagnostic::of_usage)?;
    let answer = match &arguments.out {
        Some(folder) => {
            let new = NewFiles::create(folder, series::FILE, is_table).map_err(Diagnostic::of_usage)?;
            let answer = follow(arguments, &steps, new.hidden(), scratch.path(), &context)?;
            new.commit()?;
            answer
        }
        None => follow(arguments, &steps, scratch.path(), scratch.path(), &context)?,
    };
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
    fn steps(&self, context: &Context<'_>) -> Result<Steps, Diagnostic> {
        let (lake, by) = (self.lake.as_deref(), self.by.clone());
        let steps = Steps::find(&self.selections, lake, by, self.skipping.skip_damaged, context)?;
        // Refuses an unusable series before any folder is made.
        steps.sides.by_format(FEWEST)?;
        Ok(steps)
    }
}

/// Whether a name matches the tables of trends.
fn is_table(name: &str) -> bool {
    name.starts_with("trend_") && name.ends_with(".parquet")
}

/// Writes the tables, and the description of the series, into `folder`.
fn follow(
    arguments: &Arguments,
    steps: &Steps,
    folder: &Path,
    scratch: &Path,
    context: &Context<'_>,
) -> Result<Answer, Diagnostic> {
    let output = Output { folder: folder.to_owned(), ..Output::default() };
    let answer = steadily(
        steps,
        || arguments.steps(context),
        |steps| {
            clear(folder, "trend_")?;
            let formats = steps.sides.by_format(FEWEST)?;
            let names = names_of(&formats, &arguments.naming)?;
            let rules =
                names.iter().map(|(names, own_names)| Rules { names, own_names: *own_names, pair: None, scratch });
            Ok::<_, Diagnostic>(trend::follow(steps, &formats, &rules.collect::<Vec<_>>(), &output, context)?)
        },
    )?;
    let path = folder.join(series::FILE);
    let text = serde_json::to_vec_pretty(&answer.series)
        .map_err(|error| Diagnostic::failed(error.to_string(), "report this as a bug"))?;
    fs::write(&path, text).map_err(|error| StageError::io(&path, "write", error))?;
    Ok(answer)
}
