//! `heaplake diff`: growth between two sides.

use super::batch::stopped_by_signals;
use super::choices::{Naming, Resources};
use super::comparing::{Files, Folders, rules};
use super::gates::GateArguments;
use super::missed::{self, Skipping};
use super::outputs;
use crate::diagnostic::{Diagnostic, Done, Exit};
use crate::print::terminal::Look;
use crate::print::{self, comparison as text};
use crate::progress::{Display, Mode};
use clap::Args;
use heaplake_compare::diff::{self, Answer};
use heaplake_compare::gates::{Gates, Verdicts};
use heaplake_compare::objects::{self, Question};
use heaplake_compare::sides::{Sides, steadily};
use heaplake_kit::Context;
use heaplake_kit::stage::Output;
use heaplake_lake::output_file;
use heaplake_schemas::comparison;
use schemars::JsonSchema;
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

/// Files of a comparison.
const FILES: Files =
    Files { description: comparison::FILE, is_table: |name| name.starts_with("diff_") && name.ends_with(".parquet") };

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
#[derive(Serialize, JsonSchema)]
pub(super) struct Compared {
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
    let compared = compared(arguments, &gates, &context).inspect_err(|failure| {
        arguments.gates.write_failure([&arguments.base, &arguments.target], failure, &cancel);
    })?;
    report(arguments, &compared)
}

/// Compares, and writes the tables if requested.
fn compared(arguments: &Arguments, gates: &Gates, context: &Context<'_>) -> Result<Compared, Diagnostic> {
    let sides = arguments.sides(context)?;
    FILES.make(arguments.out.as_ref(), &arguments.resources, |folders| work(arguments, &sides, gates, folders, context))
}

/// Executes the request in `folders`.
fn work(
    arguments: &Arguments,
    sides: &Sides,
    gates: &Gates,
    folders: Folders<'_>,
    context: &Context<'_>,
) -> Result<Compared, Diagnostic> {
    arguments.gates.check_files()?;
    arguments.report.iter().try_for_each(|page| output_file::check(page)).map_err(Diagnostic::of_usage)?;
    let folder = folders.tables;
    let mut answer = steadily(sides, || arguments.sides(context), |sides| compare(arguments, sides, folders, context))?;
    let objects = arguments.objects.then(|| objects_of(arguments, sides, folder, context)).transpose()?;
    if let Some(objects) = &objects {
        answer.comparison.tables.extend(objects.tables.iter().cloned());
        answer.comparison.remarks.extend(objects.remarks.iter().cloned());
    }
    FILES.describe(&answer.comparison, folder)?;
    if let Some(page) = &arguments.report {
        heaplake_report::diff_page(folder, page, context)?;
    }
    let gates = arguments.gates.wants_verdicts().then(|| arguments.gates.check(gates, folder, context)).transpose()?;
    Ok(Compared { answer, objects, gates })
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
fn report(arguments: &Arguments, compared: &Compared) -> Done {
    let failed = compared.gates.as_ref().is_some_and(Verdicts::fail);
    let code = missed::tell(&compared.answer.comparison.missed).max(if failed { Exit::Gate as u8 } else { 0 });
    if arguments.json {
        print::json(compared)?;
        return Ok(code);
    }
    let look = Look::stdout();
    if !arguments.quiet {
        print::text(&text::text(&compared.answer, compared.objects.as_ref(), &look));
    }
    // A failed gate is reported even with --quiet.
    let wanted = |verdicts: &&Verdicts| !verdicts.gates.is_empty() && (!verdicts.pass() || !arguments.quiet);
    if let Some(verdicts) = compared.gates.as_ref().filter(wanted) {
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
    folders: Folders<'_>,
    context: &Context<'_>,
) -> Result<Answer, Diagnostic> {
    FILES.clear(folders.tables)?;
    let formats = sides.by_format(diff::BOTH)?;
    let rules = rules(&formats, &arguments.naming, arguments.pair.0.as_deref(), folders.scratch)?;
    let output = Output { folder: folders.tables.to_owned(), ..Output::default() };
    Ok(diff::compare(sides, &formats, &rules, &output, context)?)
}
