//! `heaplake diff`: what grew between two sides.

use super::batch::{log, stopped_by_signals};
use super::choices::Resources;
use crate::complaint::{Complaint, Done};
use crate::print::progress::{Display, Mode};
use crate::print::{self, comparison as text};
use clap::Args;
use heaplake_compare::diff::{self, Answer, Rules};
use heaplake_compare::error::CompareError;
use heaplake_compare::sides::Sides;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::stage::Output;
use heaplake_kit::{Budget, Context, StageError};
use heaplake_lake::files::NewFiles;
use heaplake_names::{Names, Runtime};
use heaplake_schemas::comparison;
use std::fs;
use std::path::{Path, PathBuf};

const MORE: &str = "\
Examples:
  heaplake diff lake/release=7.1/snapshot=web1 lake/release=7.2/snapshot=web1
  heaplake diff release=7.1 'release=7.2,label.host=web*' --lake lake --out diff

A side is the folder of a run, a folder of runs, or a selection of the runs of --lake: FIELD=PATTERN, separated by \
 commas, where a field is release, snapshot or label.NAME and a pattern is a glob pattern. Several patterns of one \
 field are alternatives.

Rows of both sides are compared by fingerprint, so classes and chains are found again though script numbers, lambda \
 numbers and addresses differ. With one run a side, differences are those of the two runs. With several, they are \
 differences of medians, with the shift of Hodges and Lehmann and its 95 % interval, p of the Mann-Whitney test, and q, \
 which is p corrected for the number of rows: rows with q below 0.05 are significant, and the others within_noise.";

/// Arguments of `diff`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake diff release=7.1 release=7.2 --lake lake --out diff",
    after_long_help = MORE
)]
pub struct Arguments {
    /// What to compare with: a run, a folder of runs, or a selection
    #[arg(value_name = "BASE")]
    pub base: String,
    /// What to compare: likewise
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// The lake that selections choose from
    #[arg(long, value_name = "LAKE")]
    pub lake: Option<PathBuf>,
    /// Folder for the tables diff_*.parquet; made where there is none
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// What it may take
    #[command(flatten)]
    pub resources: Resources,
    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
}

/// Compares.
///
/// # Errors
/// A [`Complaint`] where the sides cannot be compared.
pub fn run(arguments: &Arguments) -> Done {
    log();
    let cancel = stopped_by_signals();
    let display = Display::new(Mode::choose(true), "diff");
    let memory = arguments.resources.memory().saturating_sub(FIXED_OVERHEAD);
    let context = Context {
        budget: Budget::new(memory),
        threads: arguments.resources.threads(),
        progress: &display,
        cancel: &cancel,
    };
    let sides = Sides::find(&[arguments.base.clone(), arguments.target.clone()], arguments.lake.as_deref())?;
    let scratch = scratch(arguments)?;
    let answer = match &arguments.out {
        Some(folder) => {
            let new = NewFiles::create(folder).map_err(Complaint::of_usage)?;
            let answer = compare(&sides, new.hidden(), scratch.path(), &context)?;
            describe(&answer, new.hidden())?;
            new.commit(comparison::FILE, "diff_")?;
            answer
        }
        None => compare(&sides, scratch.path(), scratch.path(), &context)?,
    };
    match arguments.quiet {
        true => Ok(0),
        false => {
            print::answer(&answer, arguments.json, |answer, look| text::text(answer, arguments.out.as_deref(), look))
        }
    }
}

fn compare(sides: &Sides, folder: &Path, scratch: &Path, context: &Context<'_>) -> Result<Answer, CompareError> {
    let names = Names::of(Runtime::of_format(&sides.format));
    let rules = Rules { names: &names, own_names: false, scratch };
    let output = Output { folder: folder.to_owned(), ..Output::default() };
    diff::compare(sides, rules, &output, context)
}

/// A folder for files that go when the command ends.
fn scratch(arguments: &Arguments) -> Result<tempfile::TempDir, Complaint> {
    let place = arguments.resources.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let folder = fs::create_dir_all(&place).and_then(|()| tempfile::tempdir_in(&place));
    folder.map_err(|error| Complaint::of_usage(StageError::io(&place, "create a folder in", error)))
}

/// Writes what was compared.
fn describe(answer: &Answer, folder: &Path) -> Result<(), Complaint> {
    let path = folder.join(comparison::FILE);
    let text = serde_json::to_vec_pretty(&answer.comparison)
        .map_err(|error| Complaint::failed(error.to_string(), "report this as a bug"))?;
    fs::write(&path, text).map_err(|error| StageError::io(&path, "write", error).into())
}
