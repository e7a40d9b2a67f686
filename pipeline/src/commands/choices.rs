//! Arguments that several commands share.

use super::templates;
use crate::diagnostic::Diagnostic;
use crate::engine::request::Resume;
use crate::memory::{Size, default_budget};
use crate::name_rules;
use clap::Args;
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use heaplake_input::source::Input;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::text::quoted;
use heaplake_kit::{Budget, Context, Progress, storage, threads};
use heaplake_lake::{named, output_file};
use heaplake_names::{Normaliser, Runtime};
use heaplake_schemas::names::NameRules;
use heaplake_schemas::options::{AnalysisOptions, BigClasses, Duplicates, TableName, Tables};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Rules for names.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Names")]
pub struct Naming {
    /// Rules that rewrite names the same way in every run
    ///
    /// A TOML file with tables `rule`, each with a regular expression `pattern` and its `replace`. Signatures use the
    /// new names.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
}

impl Naming {
    /// The file of rules.
    pub fn file(&self) -> Option<&Path> {
        self.names.as_deref()
    }

    /// Reads the rules, if given.
    pub fn rules(&self) -> Result<Option<NameRules>, Diagnostic> {
        self.names.as_deref().map(name_rules::read).transpose()
    }

    /// Rules of names for runs of a format, and whether they include the user's.
    pub fn names(&self, format: &str) -> Result<(Normaliser, bool), Diagnostic> {
        let names = Normaliser::of(Runtime::of_format(format));
        Ok(match self.rules()? {
            Some(rules) => (names.with_rules(&rules), true),
            None => (names, false),
        })
    }
}

/// Placement of runs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Runs")]
pub(crate) struct Placement {
    /// The lake, a folder of runs; created if missing
    ///
    /// Each run goes to LAKE/release=RELEASE/snapshot=NAME/.
    #[arg(long, value_name = "LAKE")]
    pub out: PathBuf,
    /// Release of the inputs
    ///
    /// Placeholders are filled as in --label: --release '{folder}' for files such as 2.4.1/web7.heapsnapshot.
    #[arg(long, value_name = "RELEASE", default_value = "none", value_parser = release)]
    release: String,
    /// Name of the run [default: file name and hash]
    ///
    /// Only for a single input. By default, the name is the file name with the first digits of a hash of the content.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub snapshot: Option<String>,
    /// Label of the run, such as host=web7; may be given again
    ///
    /// In the value, {stem} is the name of the input without its endings, and {folder} (or {parent}) the name of its
    /// folder: host={folder} for files such as web7/monday.heapsnapshot.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label_template)]
    labels: Vec<(String, String)>,
    /// Replace existing runs in the lake
    #[arg(long)]
    pub force: bool,
    /// Whether a killed run can resume: auto, always, never
    ///
    /// A resumable run goes on after its last finished stage, and writes its columns to the scratch folder. Others keep
    /// them in memory as far as the budget allows, which takes less time. By default inputs of more than 4GiB are
    /// resumable.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, hide_possible_values = true)]
    pub resume: Resume,
}

impl Placement {
    /// Labels of the run of an input, by key.
    pub(crate) fn labels(&self, input: &Input) -> BTreeMap<String, String> {
        self.labels.iter().map(|(key, value)| (key.clone(), templates::filled(value, input))).collect()
    }

    /// Release of the run of an input. Fails if it is no name of a folder.
    pub(crate) fn release(&self, input: &Input) -> Result<String, Diagnostic> {
        let filled = templates::filled(&self.release, input);
        name(&filled).map_err(|problem| {
            let cause = format!("{}: the release {filled:?} of --release {}: {problem}", input.name(), self.release);
            Diagnostic::failed(cause, "name the release, or rename the file or its folder")
        })
    }

    /// Options of another command that puts its runs into the same lake, with the same release and labels.
    pub(crate) fn options(&self) -> String {
        let release = (self.release != "none").then(|| ["--release".to_owned(), quoted(&self.release)]);
        let label = |(key, value): &(String, String)| ["--label".to_owned(), quoted(&format!("{key}={value}"))];
        let out = ["--out".to_owned(), quoted(&self.out.to_string_lossy())];
        let words = [out].into_iter().chain(release).chain(self.labels.iter().map(label));
        words.flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Output besides tables.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct Telling {
    /// Also make the HTML page of each run, report.html in its folder
    #[arg(long)]
    pub report: bool,
    /// Write the findings of all inputs to one JSON file
    #[arg(long, value_name = "FILE")]
    pub findings_json: Option<PathBuf>,
    /// Output of the batch
    #[command(flatten)]
    pub ending: Ending,
}

/// Output of a batch as a whole.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct Ending {
    /// Write metrics of the batch to a file of OpenMetrics
    ///
    /// Inputs by outcome, failures by kind, findings by severity, seconds by stage, memory, scratch: gauges for the
    /// collector of a scheduler. The file is replaced atomically when the last input is done.
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// With several inputs: print the summary of each, not a line
    #[arg(long)]
    pub summary: bool,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    pub json: bool,
}

impl Ending {
    /// Refuses, as a usage error, a file that cannot be written.
    pub(crate) fn check(&self) -> Result<(), Diagnostic> {
        self.metrics.iter().try_for_each(|file| output_file::check(file)).map_err(Diagnostic::of_usage)
    }
}

/// Trust in inputs.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Reading of some formats")]
pub(crate) struct Trust {
    /// Read compressed files that grow more than 1,000 times
    ///
    /// By default they are refused, since they may fill the disk; the first 64MiB are always read.
    #[arg(long)]
    pub allow_bomb: bool,
}

/// Resources of a command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Resources")]
pub struct Effort {
    /// Memory budget, such as 512MiB [default: a quarter]
    ///
    /// The default is a quarter of the memory of the machine or cgroup, at least 256MiB. With less memory a run takes
    /// longer; its tables are the same to the byte.
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Effort {
    /// Context for stages.
    pub fn context<'a>(&self, progress: &'a dyn Progress, cancel: &'a AtomicBool) -> Context<'a> {
        let budget = Budget::new(self.memory().saturating_sub(FIXED_OVERHEAD));
        Context { budget, threads: self.threads(), progress, cancel }
    }

    /// Memory budget, bytes.
    pub fn memory(&self) -> u64 {
        budget(self.memory)
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        let threads =
            self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        threads::limit(threads);
        threads
    }
}

/// Resources of a run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Resources")]
pub struct Resources {
    /// Memory and threads
    #[command(flatten)]
    pub effort: Effort,
    /// Folder for intermediate files [default: inside the lake]
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
}

/// Returns the given budget, or the default one, bytes.
pub(super) fn budget(told: Option<Size>) -> u64 {
    told.map_or_else(default_budget, |size| size.0)
}

/// Tables to write.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Tables")]
pub(crate) struct Chosen {
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = one_of(TableName::ALL, TableName::name),
        hide_possible_values = true,
        help = "Tables to write, separated by commas [default: all]",
        long_help = format!(
            "Tables to write, separated by commas, of those that the format has: {} [default: all but values, edges \
             for files up to 256MiB]",
            TableName::NAMES
        )
    )]
    tables: Vec<TableName>,
    /// Write the table of edges, whatever the size of the file
    ///
    /// `why` needs it for shortest paths.
    #[arg(long, conflicts_with = "no_edges")]
    edges: bool,
    /// Omit the table of edges
    #[arg(long)]
    no_edges: bool,
    /// Write the table of values: fields, elements, texts
    ///
    /// `object` needs it. It has about as many rows as the table of edges.
    #[arg(long)]
    values: bool,
}

/// Maximum size of a file that gets the table of edges by default, bytes. The table has about a tenth of the size of an
/// uncompressed file, and costs up to a quarter more processor time: benches/RESULTS.md has figures.
const EDGES_UP_TO: u64 = 256 << 20;

impl Chosen {
    /// Tables for this input.
    pub(crate) fn of(&self, input: &Input) -> Tables {
        let tables = if self.tables.is_empty() { Tables::default() } else { self.tables.iter().copied().collect() };
        let by_default = self.tables.is_empty() && !self.no_edges && is_small(input);
        let tables = if self.edges || by_default { tables.with(TableName::Edges) } else { tables };
        if self.values { tables.with(TableName::Values) } else { tables }
    }
}

/// Whether an input is a file that gets the table of edges by default.
fn is_small(input: &Input) -> bool {
    match input {
        Input::File(path) => storage::input(path).is_ok_and(|file| file.bytes <= EDGES_UP_TO),
        Input::Stdin => false,
    }
}

/// Big classes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Big classes (those that get chains)")]
pub(crate) struct Big {
    /// Retained size that makes a class big [default: 1% of the heap]
    ///
    /// The default is 1% of the heap, at least 64KiB.
    #[arg(long, value_name = "SIZE")]
    min_retained: Option<Size>,
    /// Instances that make a class big [default: 1% of all]
    ///
    /// The default is 1% of all instances, at least 1000.
    #[arg(long, value_name = "N")]
    min_count: Option<u64>,
    /// Only classes that match a glob pattern are big; may be given again
    #[arg(long = "class", value_name = "GLOB", value_parser = pattern)]
    classes: Vec<String>,
}

impl Big {
    /// Options of a run.
    pub(crate) fn options(&self) -> BigClasses {
        let min_retained = self.min_retained.as_ref().map(|size| size.0);
        BigClasses { min_retained, min_count: self.min_count, classes: self.classes.clone() }
    }
}

/// Search for duplicate instances.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Duplicates")]
pub(crate) struct DuplicateOptions {
    /// Look for duplicates: none, trivial or all
    ///
    /// `trivial` finds equal objects without references, such as strings; `all` compares whole graphs of objects,
    /// including cycles.
    #[arg(long, value_name = "MODE", default_value = "trivial", value_parser = duplicate_mode(), hide_possible_values = true)]
    pub duplicates: Duplicates,
    /// Look for all duplicates of such classes: a glob; may be given again
    ///
    /// The search for these classes has no limit of work, whatever --duplicates says.
    #[arg(long, value_name = "CLASS", value_parser = pattern)]
    pub duplicates_of: Vec<String>,
    /// Pairs of references to compare at most [default: 4 per node]
    ///
    /// Pairs are compared where nothing quicker decides. The rest counts as possible duplicates. The default is 4 per
    /// node, at least 10 million.
    #[arg(long, value_name = "N")]
    pub duplicate_work: Option<u64>,
}

impl DuplicateOptions {
    /// Options of a run.
    pub(crate) fn options(&self) -> AnalysisOptions {
        AnalysisOptions {
            duplicates: self.duplicates,
            duplicates_of: self.duplicates_of.clone(),
            duplicate_work: self.duplicate_work,
            ..AnalysisOptions::default()
        }
    }
}

/// Parses a name that becomes part of a folder's name.
pub(super) fn name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('.') || text.len() > 200 {
        return Err("a name has 1 to 200 bytes and does not begin with a dot".to_owned());
    }
    match text.chars().find(|c| matches!(c, '/' | '\\' | '=') || c.is_control()) {
        Some(bad) => Err(format!("a name cannot hold {bad:?}, for it becomes part of a folder's name")),
        None => Ok(text.to_owned()),
    }
}

/// Parses one of some values by its name.
pub(super) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    values: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let value = move |text: String| values.into_iter().find(|value| name(*value) == text).ok_or("no such name");
    PossibleValuesParser::new(values.map(name)).try_map(value)
}

/// Parses a mode of the search for duplicates.
pub(super) fn duplicate_mode() -> impl TypedValueParser<Value = Duplicates> {
    one_of([Duplicates::None, Duplicates::Trivial, Duplicates::All], Duplicates::name)
}

/// Parses the folder of a run, or its name in a lake.
pub(super) fn run_named() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| named::run(&path))
}

/// Parses a glob pattern.
pub(super) fn pattern(text: &str) -> Result<String, String> {
    glob::Pattern::new(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Parses a release, a name that may have placeholders.
fn release(text: &str) -> Result<String, String> {
    templates::check(text).and_then(|()| name(text))
}

/// Parses a label whose value may have placeholders.
fn label_template(text: &str) -> Result<(String, String), String> {
    let (key, value) = label(text)?;
    templates::check(&value).map(|()| (key, value))
}

/// Parses a label.
pub(super) fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("a label has the form KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_lake() {
        for bad in ["", ".", "..", "a/b", "a=b", "a\\b", "a\nb"] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(name("2.4.1-rc 1"), Ok("2.4.1-rc 1".to_owned()));
    }
}
