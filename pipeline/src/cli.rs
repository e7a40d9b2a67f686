//! The command line.

use crate::inspect::Subject;
use crate::memory::Size;
use crate::replay_cli::{Replay, Track};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use heaplake_schemas::run::{BigClasses, Duplicates, Options, Referents, TableName, Tables};
use std::path::PathBuf;

/// The batch engine for heap snapshots: streams snapshots of any size through a fixed memory budget into Parquet.
#[derive(Debug, Parser)]
#[command(name = "heaplake", version, about, long_about = None, arg_required_else_help = true)]
#[command(after_help = "Example:\n  heaplake analyze Heap.heapsnapshot --out lake\n\nMore: heaplake analyze --help")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What heaplake can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Analyse snapshots and add each to a lake as one run
    Analyze(Box<Analyze>),
    /// Look for duplicate instances in runs that are in a lake already, or in snapshots
    Duplicates(Box<DuplicatesOf>),
    /// Replay traces of allocations and collections and add each to a lake as one run
    Replay(Box<Replay>),
    /// Say which object was at an address at some moment of a replayed trace, and what became of it
    Track(Track),
    /// Print what an analysis would take, stage by stage, without running it
    Plan(Plan),
    /// Print the summary of a run again
    Show(Show),
    /// Make the HTML page of a run: one file that opens offline
    Report(Report),
    /// Print what holds an object: a shortest path from a root, and its dominators
    Why(WhyOptions),
    /// Print the objects that retain most
    Top(TopOptions),
    /// Print what an object alone keeps alive, as a tree
    Dominators(TreeOptions),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  heaplake completions bash > ~/.local/share/bash-completion/completions/heaplake"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of heaplake or of one of its commands
    #[command(after_help = "Examples:\n  heaplake man | man -l -\n  heaplake man analyze > heaplake-analyze.1")]
    Man {
        /// The command
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
}

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

/// Options of `analyze`.
#[derive(Args, Clone, Debug)]
#[command(after_help = ANALYZE_EXAMPLES)]
pub struct Analyze {
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
    /// Memory that the analysis may allocate [default: a quarter of what the machine or cgroup has, at least 256MiB]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Folder for intermediate columns [default: inside the lake]
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
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

const DUPLICATES_EXAMPLES: &str = "\
Examples:
  heaplake duplicates lake/release=none/snapshot=Heap-1f0c9a77
  heaplake duplicates lake/release=none/snapshot=Heap-1f0c9a77 --duplicates-of 'java.util.*Map'
  heaplake duplicates lake/release=*/snapshot=* --memory 2GiB
  heaplake duplicates Heap.heapsnapshot --out lake --duplicate-work 1000000000

Of a run, the snapshot that it was made from is read again, so it must be there and unchanged. The new run takes the
place of the old one in one step.";

/// Options of `duplicates`.
#[derive(Args, Clone, Debug)]
#[command(after_help = DUPLICATES_EXAMPLES)]
pub struct DuplicatesOf {
    /// Folders of runs, or snapshots, which need --out
    #[arg(required = true, value_name = "RUN|FILE")]
    pub targets: Vec<PathBuf>,
    /// The lake for snapshots that are named
    #[arg(long, value_name = "LAKE")]
    pub out: Option<PathBuf>,
    /// The snapshot that the run was made from, where it lies elsewhere now; for a single run
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Look for duplicate instances: those without references, or all [default: all, or with --duplicates-of as the run]
    #[arg(long, value_name = "MODE", value_parser = duplicates())]
    pub duplicates: Option<Duplicates>,
    /// Look for all duplicates of these classes only; a glob pattern, may be given again
    #[arg(long, value_name = "CLASS", value_parser = pattern)]
    pub duplicates_of: Vec<String>,
    /// Pairs of references that may be compared where nothing quicker decides [default: as in analyze]
    #[arg(long, value_name = "N")]
    pub duplicate_work: Option<u64>,
    /// Memory that the analysis may allocate [default: as in analyze]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Folder for intermediate columns [default: inside the lake]
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the outcome as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Which tables are written.
#[derive(Args, Clone, Debug)]
pub struct Chosen {
    /// Tables to write, of those that the format has: nodes, edges, classes, chains, duplicate_sets, duplicate_members,
    /// findings, owners, threads, snapshot [default: all but edges]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = table(), hide_possible_values = true)]
    tables: Vec<TableName>,
    /// Write the table of edges too
    #[arg(long)]
    edges: bool,
}

impl Chosen {
    /// As one choice.
    #[must_use]
    pub fn all(&self) -> Tables {
        let tables = if self.tables.is_empty() { Tables::default() } else { self.tables.iter().copied().collect() };
        if self.edges { tables.with(TableName::Edges) } else { tables }
    }
}

/// Which classes are big.
#[derive(Args, Clone, Debug)]
pub struct Big {
    /// Retained size from which on a class is big [default: 1% of the heap, at least 64KiB]
    #[arg(long, value_name = "SIZE")]
    min_retained: Option<Size>,
    /// Number of instances from which on a class is big [default: 1% of all, at least 1000]
    #[arg(long, value_name = "N")]
    min_count: Option<u64>,
    /// Only classes with such a name are big; a glob pattern, may be given again
    #[arg(long = "class", value_name = "GLOB", value_parser = pattern)]
    classes: Vec<String>,
}

impl Big {
    /// As options of a run.
    #[must_use]
    pub fn options(&self) -> BigClasses {
        let min_retained = self.min_retained.as_ref().map(|size| size.0);
        BigClasses { min_retained, min_count: self.min_count, classes: self.classes.clone() }
    }
}

/// Options of `plan`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  heaplake plan Heap.heapsnapshot\n  heaplake plan Heap.heapsnapshot.zst --memory 512MiB --edges"
)]
pub struct Plan {
    /// The snapshot, or - for standard input; only its beginning is read
    #[arg(value_name = "FILE")]
    pub input: String,
    /// Memory that the analysis may allocate [default: as in analyze]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// The tables
    #[command(flatten)]
    pub tables: Chosen,
    /// What to do about duplicates
    #[command(flatten)]
    pub duplicates: DuplicateOptions,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// How far to look for duplicate instances.
#[derive(Args, Clone, Debug)]
pub struct DuplicateOptions {
    /// Look for duplicate instances: not at all, those without references, or all
    #[arg(long, value_name = "MODE", default_value = "trivial", value_parser = duplicates())]
    pub duplicates: Duplicates,
    /// Look for all duplicates of these classes in any case; a glob pattern, may be given again
    #[arg(long, value_name = "CLASS", value_parser = pattern)]
    pub duplicates_of: Vec<String>,
    /// Pairs of references that may be compared where nothing quicker decides; what is left over counts as possible
    /// duplicates [default: 4 per node, at least 10 million]
    #[arg(long, value_name = "N")]
    pub duplicate_work: Option<u64>,
}

impl DuplicateOptions {
    /// As options of a run.
    #[must_use]
    pub fn options(&self) -> Options {
        Options {
            duplicates: self.duplicates,
            duplicates_of: self.duplicates_of.clone(),
            duplicate_work: self.duplicate_work,
            ..Options::default()
        }
    }
}

/// Options of `show`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  heaplake show lake/release=none/snapshot=Heap-1f0c9a77")]
pub struct Show {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `report`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  heaplake report lake/release=none/snapshot=Heap-1f0c9a77 -o heap.html\n\nThe page shows what the run has: findings, the dominator tree, classes, chains, duplicates, times of stages."
)]
pub struct Report {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The page [default: report.html in the run's folder]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Memory that this may allocate [default: as in analyze]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Options of `why`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "A shortest path needs a run with the table of edges (analyze --edges).\n\nExample:\n  heaplake why lake/release=none/snapshot=Heap-1f0c9a77 @70125"
)]
pub struct WhyOptions {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The object: its number in the table of nodes, or @ and its id
    #[arg(value_name = "NODE|@ID")]
    pub subject: Subject,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `top`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  heaplake top lake/release=none/snapshot=Heap-1f0c9a77 --class 'Session*'")]
pub struct TopOptions {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Only objects of classes with such a name; a glob pattern, may be given again
    #[arg(long = "class", value_name = "GLOB", value_parser = pattern)]
    pub classes: Vec<String>,
    /// How many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    pub count: u16,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `dominators`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  heaplake dominators lake/release=none/snapshot=Heap-1f0c9a77 @70125 --depth 4")]
pub struct TreeOptions {
    /// Folder of a run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The object: its number in the table of nodes, or @ and its id [default: the root]
    #[arg(value_name = "NODE|@ID")]
    pub subject: Option<Subject>,
    /// Levels of the tree
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=50))]
    pub depth: u8,
    /// Children of each object that are shown
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub children: u8,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// A name that becomes part of a folder's name.
pub(crate) fn name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('.') || text.len() > 200 {
        return Err("a name has 1 to 200 bytes and does not begin with a dot".to_owned());
    }
    match text.chars().find(|c| matches!(c, '/' | '\\' | '=') || c.is_control()) {
        Some(bad) => Err(format!("a name cannot hold {bad:?}, for it becomes part of a folder's name")),
        None => Ok(text.to_owned()),
    }
}

fn table() -> impl TypedValueParser<Value = TableName> {
    PossibleValuesParser::new(TableName::ALL.map(TableName::name))
        .map(|name| TableName::ALL.into_iter().find(|table| table.name() == name).unwrap_or(TableName::Snapshot))
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

fn duplicates() -> impl TypedValueParser<Value = Duplicates> {
    let modes = [Duplicates::None, Duplicates::Trivial, Duplicates::All];
    PossibleValuesParser::new(modes.map(Duplicates::name))
        .map(move |name| modes.into_iter().find(|mode| mode.name() == name).unwrap_or_default())
}

fn pattern(text: &str) -> Result<String, String> {
    glob::Pattern::new(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

pub(crate) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("a label has the form KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn names_stay_inside_the_lake() {
        for bad in ["", ".", "..", "a/b", "a=b", "a\\b", "a\nb"] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(name("2.4.1-rc 1"), Ok("2.4.1-rc 1".to_owned()));
    }
}
