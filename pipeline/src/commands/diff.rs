//! `heaplake diff`: growth between two sides.

use super::batch::stopped_by_signals;
use super::choices::{Naming, Resources};
use super::gates::GateArguments;
use super::missed::{self, Skipping};
use super::outputs;
use crate::diagnostic::{Diagnostic, Done, Exit};
use crate::engine::workplace;
use crate::print::terminal::Look;
use crate::print::{self, comparison as text};
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_compare::diff::{self, Answer, Rules};
use heaplake_compare::gates::{Gates, Verdicts};
use heaplake_compare::objects::{self, Question};
use heaplake_compare::sides::{Formats, Sides, steadily};
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, StageError, fs};
use heaplake_lake::files::NewFiles;
use heaplake_lake::hidden::Hidden;
use heaplake_lake::output_file;
use heaplake_names::Normaliser;
use heaplake_schemas::comparison;
use serde::Serialize;
use std::path::{Path, PathBuf};

const MORE: &str = "\
Examples:
  heaplake diff lake/release=7.1/snapshot=web1 lake/release=7.2/snapshot=web1
  heaplake diff release=7.1 'release=7.2,label.host=web*' --lake lake --out diff
  heaplake diff release=7.1 release=7.2 --lake lake --fail-if 'retained_bytes.delta_percent > 5 and q < 0.05'
  heaplake diff first second --objects --final third --out diff

A side is the folder of a run, a folder of runs, or a selection of the runs of --lake: FIELD=PATTERN, separated by \
 commas, where a field is release, snapshot, format, status (whole or partial) or label.NAME and a pattern is a glob \
 pattern. Several patterns of one field are alternatives. since=2026-11-22 and until=... bound when runs were captured, \
 and last=1d takes the last day before the newest of them.

Rows of both sides are compared by fingerprint, so classes and chains are found again though script numbers, lambda \
 numbers and addresses differ. With one run a side, differences are those of the two runs. With several, tests ask \
 whether all runs have more, whether more runs have it at all, whether some runs have far more, and whether the same \
 hosts have more; q is their p together, corrected for the number of rows. Rows with q below 0.05 have changed, on all \
 runs or on some, which are named; the others are within_noise. With two to four runs a side no test can tell: a row has \
 changed if all runs of one side lie far above all of the other. Rows are ranked by what all runs together have more.

Ends with 4 if a gate fails, and with 1 if a run that a side names cannot be read.";

/// Arguments of `diff`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: heaplake diff release=7.1 release=7.2 --lake lake --out diff",
    after_long_help = MORE
)]
pub struct Arguments {
    /// Base: a run, a folder of runs, or a selection
    #[arg(value_name = "BASE")]
    pub base: String,
    /// Target to compare with it: likewise
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// The lake of the selections
    #[arg(long, value_name = "LAKE")]
    pub lake: Option<PathBuf>,
    /// Unreadable runs
    #[command(flatten)]
    pub skipping: Skipping,
    /// Folder for the tables diff_*.parquet; created if missing
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Also compare two snapshots of one process by object
    ///
    /// Writes the tables diff_object_classes and diff_objects. Objects are matched by id: in V8; in walks of .NET with
    /// --tracks; in Java if the virtual machine numbers objects (--stable-ids).
    #[arg(long, requires = "out", help_heading = "Objects")]
    pub objects: bool,
    /// Also write objects that are in both snapshots
    #[arg(long, requires = "objects", help_heading = "Objects")]
    pub kept: bool,
    /// A third snapshot of the process, for leak candidates
    ///
    /// The table diff_leak_candidates gets the objects that are new in TARGET and still in this one.
    #[arg(long = "final", value_name = "RUN", requires = "objects", help_heading = "Objects")]
    pub last: Option<PathBuf>,
    /// Replay with --tracks of the trace of both walks of .NET
    #[arg(long, value_name = "RUN", requires = "objects", help_heading = "Objects")]
    pub tracks: Option<PathBuf>,
    /// Ids in these dumps of Java are no addresses
    #[arg(long, requires = "objects", help_heading = "Objects")]
    pub stable_ids: bool,
    /// Label that names hosts, to pair them; or none
    ///
    /// A host in both sides is compared with itself: its difference is more precise than the values of all hosts. Runs
    /// without the label, and hosts of one side only, are compared unpaired.
    #[arg(long, value_name = "label.NAME", default_value = "label.host", value_parser = pairing)]
    pub pair: Pairing,
    /// Gates
    #[command(flatten)]
    pub gates: GateArguments,
    /// Make the HTML page of the comparison
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
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

/// Label that names hosts; `None` to disable pairing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing(Option<String>);

fn pairing(text: &str) -> Result<Pairing, String> {
    match text.strip_prefix("label.") {
        Some(name) if !name.is_empty() => Ok(Pairing(Some(name.to_owned()))),
        _ if text == "none" => Ok(Pairing(None)),
        _ => Err("use label.NAME or none".to_owned()),
    }
}

impl Arguments {
    fn check_outputs(&self) -> Result<(), Diagnostic> {
        let GateArguments { gates, junit, markdown, .. } = &self.gates;
        let manifest = self.out.as_ref().map(|folder| folder.join(comparison::FILE));
        let written = [
            (outputs::FOLDER, manifest.as_deref()),
            ("--junit", junit.as_deref()),
            ("--markdown", markdown.as_deref()),
            ("--report", self.report.as_deref()),
        ];
        let read = || [outputs::of_option("--gates", gates), outputs::of_option("--names", self.naming.file())];
        outputs::check(&written, || read().concat())
    }

    fn sides(&self, context: &Context<'_>) -> Result<Sides, Diagnostic> {
        let named = [self.base.clone(), self.target.clone()];
        let sides = Sides::find(&named, self.lake.as_deref(), self.skipping.skip_damaged, context)?;
        // Refuses incomparable sides before any folder is made.
        sides.by_format(diff::BOTH)?;
        Ok(sides)
    }
}

/// Result of the command.
#[derive(Serialize)]
struct Told {
    #[serde(flatten)]
    answer: Answer,
    /// Objects, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<objects::Answer>,
    /// Verdicts, if there are gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    gates: Option<Verdicts>,
}

/// Compares the two sides.
pub fn run(arguments: &Arguments) -> Done {
    arguments.check_outputs()?;
    let gates = arguments.gates.parse()?;
    let cancel = stopped_by_signals();
    let display = Display::new(Mode::choose(arguments.quiet || arguments.json), "diff");
    let context = arguments.resources.effort.context(&display, &cancel);
    let told = compared(arguments, &gates, &context).inspect_err(|failure| {
        arguments.gates.write_failure([&arguments.base, &arguments.target], failure, &cancel);
    })?;
    tell(arguments, &told)
}

/// Compares, and writes the tables if requested.
fn compared(arguments: &Arguments, gates: &Gates, context: &Context<'_>) -> Result<Told, Diagnostic> {
    let sides = arguments.sides(context)?;
    let scratch = scratch(arguments)?;
    let Some(folder) = &arguments.out else {
        return work(arguments, (&sides, gates), (scratch.path(), scratch.path()), context);
    };
    let new = NewFiles::create(folder, comparison::FILE, is_table).map_err(Diagnostic::of_usage)?;
    let told = work(arguments, (&sides, gates), (new.hidden(), scratch.path()), context)?;
    new.commit()?;
    Ok(told)
}

/// Executes the request in `folder`.
fn work(
    arguments: &Arguments,
    (sides, gates): (&Sides, &Gates),
    (folder, scratch): (&Path, &Path),
    context: &Context<'_>,
) -> Result<Told, Diagnostic> {
    arguments.gates.check_files()?;
    arguments.report.iter().try_for_each(|page| output_file::check(page)).map_err(Diagnostic::of_usage)?;
    let mut answer = steadily(
        sides,
        || arguments.sides(context),
        |sides| {
            clear(folder, "diff_")?;
            compare(arguments, sides, folder, scratch, context)
        },
    )?;
    let objects = arguments.objects.then(|| objects_of(arguments, sides, folder, context)).transpose()?;
    if let Some(objects) = &objects {
        answer.comparison.tables.extend(objects.tables.iter().cloned());
        answer.comparison.remarks.extend(objects.remarks.iter().cloned());
    }
    describe(&answer, folder)?;
    if let Some(page) = &arguments.report {
        heaplake_report::diff_page(folder, page, context)?;
    }
    let gates = arguments.gates.wants_verdicts().then(|| arguments.gates.check(gates, folder, context)).transpose()?;
    Ok(Told { answer, objects, gates })
}

fn objects_of(
    arguments: &Arguments,
    sides: &Sides,
    folder: &Path,
    context: &Context<'_>,
) -> Result<objects::Answer, Diagnostic> {
    let [base, target] = sides.sides.as_slice() else { return Ok(objects::Answer::default()) };
    let ([base], [target]) = (base.runs.as_slice(), target.runs.as_slice()) else {
        let cause = "--objects compares two snapshots of one process, but a side has several runs";
        return Err(Diagnostic::usage(cause, "name one run a side"));
    };
    let question = Question {
        base: &base.place,
        target: &target.place,
        last: arguments.last.as_deref(),
        tracks: arguments.tracks.as_deref(),
        stable_ids: arguments.stable_ids,
        kept: arguments.kept,
    };
    Ok(objects::compare(&question, folder, context)?)
}

/// Prints the result; returns the exit code.
fn tell(arguments: &Arguments, told: &Told) -> Done {
    let failed = told.gates.as_ref().is_some_and(Verdicts::fail);
    let code = missed::tell(&told.answer.comparison.missed).max(if failed { Exit::Gate as u8 } else { 0 });
    if arguments.json {
        print::json(told)?;
        return Ok(code);
    }
    let look = Look::stdout();
    if !arguments.quiet {
        print::text(&text::text(&told.answer, told.objects.as_ref(), &look));
    }
    // A failed gate is reported even with --quiet.
    let wanted = |verdicts: &&Verdicts| !verdicts.gates.is_empty() && (!verdicts.pass() || !arguments.quiet);
    if let Some(verdicts) = told.gates.as_ref().filter(wanted) {
        print::text(&format!("\n{}", print::gates::verdicts(verdicts, &look)));
    }
    if let Some(folder) = arguments.out.as_ref().filter(|_| !arguments.quiet) {
        print::text(&format!("\n{}\n", folder.display()));
    }
    Ok(code)
}

fn compare(
    arguments: &Arguments,
    sides: &Sides,
    folder: &Path,
    scratch: &Path,
    context: &Context<'_>,
) -> Result<Answer, Diagnostic> {
    let formats = sides.by_format(diff::BOTH)?;
    let names = names_of(&formats, &arguments.naming)?;
    let pair = arguments.pair.0.as_deref();
    let rules = names.iter().map(|(names, own_names)| Rules { names, own_names: *own_names, pair, scratch });
    let output = Output { folder: folder.to_owned(), ..Output::default() };
    Ok(diff::compare(sides, &formats, &rules.collect::<Vec<_>>(), &output, context)?)
}

/// Rules of names for each format, and whether they include the user's.
pub fn names_of(formats: &Formats, naming: &Naming) -> Result<Vec<(Normaliser, bool)>, Diagnostic> {
    formats.parts.iter().map(|part| naming.names(&part.format)).collect()
}

/// Whether a name matches the tables of comparisons.
fn is_table(name: &str) -> bool {
    name.starts_with("diff_") && name.ends_with(".parquet")
}

/// Removes the tables that an attempt left in a folder of this command's own.
pub fn clear(folder: &Path, prefix: &str) -> Result<(), StageError> {
    let io = |error| StageError::io(folder, "clear", error);
    for entry in fs::read_dir(folder).map_err(io)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            fs::remove_file(entry.path()).map_err(io)?;
        }
    }
    Ok(())
}

/// Folder for files that are removed when the command ends.
fn scratch(arguments: &Arguments) -> Result<Hidden, Diagnostic> {
    workplace::passing(arguments.resources.scratch.as_deref()).map_err(Diagnostic::of_usage)
}

/// Writes the description of the comparison.
fn describe(answer: &Answer, folder: &Path) -> Result<(), Diagnostic> {
    let path = folder.join(comparison::FILE);
    let text = serde_json::to_vec_pretty(&answer.comparison)
        .map_err(|error| Diagnostic::failed(error.to_string(), "report this as a bug"))?;
    fs::write(&path, text).map_err(|error| StageError::io(&path, "write", error).into())
}
