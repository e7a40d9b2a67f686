//! `heaplake analyze`: snapshots into the lake.

use super::batch::{Batch, Told};
use super::choices::{Big, Chosen, DuplicateOptions, Resources, label, name};
use crate::complaint::Done;
use crate::engine::request::Request;
use crate::inputs::{self, Wanted};
use crate::owner_rules;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use heaplake_input::source::Input;
use heaplake_schemas::options::{AnalysisOptions, Options, Referents};
use heaplake_schemas::owners::OwnerRules;
use std::path::PathBuf;

const ANALYZE_EXAMPLES: &str = "\
Examples:
  heaplake analyze Heap.heapsnapshot --out lake
  heaplake analyze nightly/ --out lake --release 2.4.1 --label host=web7
  heaplake analyze 'snapshots/*.heapsnapshot.zst' --out lake --memory 2GiB
  heaplake analyze service.nettrace --out lake --walk 2
  zcat big.heapsnapshot.gz | heaplake analyze - --out lake --snapshot big
  heaplake analyze Heap.heapsnapshot --out lake --owners owners.toml

Rules of owners, of which the first that fits counts; patterns are globs, and * is any text:
  [[owner]]
  name = \"payments\"
  package = [\"com.acme.pay*\", \"@acme/pay-*\"]
  [[owner]]
  name = \"checkout\"
  script = \"*/src/checkout/*\"
  class = \"Cart*\"

Exit codes:
  0  all inputs are in the lake
  1  some inputs failed; the others are in the lake
  2  the command line or the output folder cannot be used
  3  memory budget or disk space did not suffice
  130  interrupted";

/// Arguments of `analyze`.
#[derive(Args, Clone, Debug)]
#[command(after_help = ANALYZE_EXAMPLES)]
pub struct Arguments {
    /// Snapshots: files, folders (searched for snapshots), glob patterns, or - for standard input; .gz and .zst as they
    /// are
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<String>,
    /// The lake: runs go to LAKE/release=RELEASE/snapshot=NAME/
    #[arg(long, value_name = "LAKE")]
    pub out: PathBuf,
    /// Release that the snapshots belong to
    #[arg(long, value_name = "RELEASE", default_value = "none", value_parser = name)]
    pub release: String,
    /// Name of the snapshot, for a single input [default: the file's name and a hash of its content]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub snapshot: Option<String>,
    /// A label for the run; may be given again
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
    /// What it may take
    #[command(flatten)]
    pub resources: Resources,
    /// The tables
    #[command(flatten)]
    pub tables: Chosen,
    /// Which classes are big: their chains of references go into the table of chains
    #[command(flatten)]
    pub big: Big,
    /// What to do about duplicates
    #[command(flatten)]
    pub duplicates: DuplicateOptions,
    /// Rules that say to whom objects belong, by class, script, package and class loader [default: each to its package]
    #[arg(long, value_name = "FILE")]
    pub owners: Option<PathBuf>,
    /// In Java heaps, whether weak, soft and phantom references hold what they refer to
    #[arg(long, value_name = "POLICY", default_value = "hold", value_parser = referents())]
    pub referents: Referents,
    /// Analyse what can be read of a damaged dump of a Java heap, and mark the run as partial
    #[arg(long)]
    pub salvage: bool,
    /// Which of the walks of the heap in a .nettrace, counted from 1
    #[arg(long, value_name = "N|last", default_value = "last", value_parser = walk)]
    pub walk: WhichWalk,
    /// Make the HTML page of each run too: report.html in its folder
    #[arg(long)]
    pub report: bool,
    /// Write the findings of all inputs to a file, as JSON
    #[arg(long, value_name = "FILE")]
    pub findings_json: Option<PathBuf>,
    /// Replace runs that are in the lake already
    #[arg(long)]
    pub force: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the outcome as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// A walk of a trace by its number, or the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhichWalk(pub Option<u32>);

/// Analyses the inputs.
///
/// # Errors
/// A [`Complaint`](crate::complaint::Complaint) where the command cannot be carried out; what fails of single inputs is told.
pub fn run(arguments: &Arguments) -> Done {
    let owners = arguments.owners.as_deref().map(owner_rules::read).transpose()?;
    let batch = Batch {
        inputs: inputs::resolve(&arguments.inputs, Wanted::Snapshots),
        lake: &arguments.out,
        named: arguments.snapshot.is_some(),
        told: Told {
            report: arguments.report,
            findings: arguments.findings_json.as_deref(),
            quiet: arguments.quiet,
            json: arguments.json,
        },
    };
    batch.run(|input| request(arguments, owners.as_ref(), input))
}

fn request(arguments: &Arguments, owners: Option<&OwnerRules>, input: Input) -> Request {
    let options = AnalysisOptions {
        tables: arguments.tables.all(),
        labels: arguments.labels.iter().cloned().collect(),
        referents: arguments.referents,
        salvage: arguments.salvage,
        walk: arguments.walk.0,
        big: arguments.big.options(),
        owners: owners.cloned(),
        ..arguments.duplicates.options()
    };
    Request {
        input,
        lake: arguments.out.clone(),
        release: arguments.release.clone(),
        snapshot: arguments.snapshot.clone(),
        options: Options::Analysis(options),
        memory: arguments.resources.memory(),
        threads: arguments.resources.threads(),
        scratch: arguments.resources.scratch.clone(),
        force: arguments.force,
    }
}

fn referents() -> impl TypedValueParser<Value = Referents> {
    let policies = [Referents::Hold, Referents::Skip];
    PossibleValuesParser::new(policies.map(Referents::name))
        .map(move |name| policies.into_iter().find(|policy| policy.name() == name).unwrap_or_default())
}

fn walk(text: &str) -> Result<WhichWalk, String> {
    match text.parse() {
        _ if text == "last" => Ok(WhichWalk(None)),
        Ok(number) if number > 0 => Ok(WhichWalk(Some(number))),
        _ => Err("a number from 1 on, or last".to_owned()),
    }
}
