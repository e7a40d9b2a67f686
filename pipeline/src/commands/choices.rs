//! Arguments that several verbs have.

use crate::complaint::Complaint;
use crate::engine::request::Resume;
use crate::inputs;
use crate::memory::{Size, default_budget};
use crate::name_rules;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use heaplake_input::source::Input;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::{Budget, Context, Progress, storage};
use heaplake_lake::output_file;
use heaplake_names::{Names, Runtime};
use heaplake_schemas::names::NameRules;
use heaplake_schemas::options::{AnalysisOptions, BigClasses, Duplicates, TableName, Tables};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What names are in every run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Names")]
pub struct Naming {
    /// Rules that say what names are in every run
    ///
    /// A TOML file with tables `rule`, each with pattern, a regular expression, and replace. Signatures follow them.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
}

impl Naming {
    /// The file with the rules.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.names.as_deref()
    }

    /// The rules that are given.
    ///
    /// # Errors
    /// A [`Complaint`] about the file.
    pub fn rules(&self) -> Result<Option<NameRules>, Complaint> {
        self.names.as_deref().map(name_rules::read).transpose()
    }

    /// The rules of names for runs of a format, and whether they have rules of the user.
    ///
    /// # Errors
    /// As [`Self::rules`].
    pub fn names(&self, format: &str) -> Result<(Names, bool), Complaint> {
        let names = Names::of(Runtime::of_format(format));
        Ok(match self.rules()? {
            Some(rules) => (names.with_rules(&rules), true),
            None => (names, false),
        })
    }
}

/// Where runs go.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Runs")]
pub struct Placement {
    /// The lake, a folder of runs; made where there is none
    ///
    /// Each run goes to LAKE/release=RELEASE/snapshot=NAME/.
    #[arg(long, value_name = "LAKE")]
    pub out: PathBuf,
    /// The release that the inputs come from
    #[arg(long, value_name = "RELEASE", default_value = "none", value_parser = name)]
    pub release: String,
    /// The name of the run [default: file name and hash]
    ///
    /// Only for a single input. Without it, the name is that of the file with the first digits of a hash of its
    /// content.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub snapshot: Option<String>,
    /// A label of the run, such as host=web7; may be given again
    ///
    /// In the value, {stem} is the name of the input without its endings, and {folder} that of the folder that it is in:
    /// host={folder} for files such as web7/monday.heapsnapshot.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Replace runs that the lake already has
    #[arg(long)]
    pub force: bool,
    /// Whether a killed run can go on: auto, always, never
    ///
    /// A run that can go on after its last finished stage writes its columns to the scratch folder. One that cannot
    /// keeps them in memory, as far as the budget has room, which takes less time. By default inputs of more than 4GiB
    /// can.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, hide_possible_values = true)]
    pub resume: Resume,
}

impl Placement {
    /// The labels of the run of an input, by their keys.
    #[must_use]
    pub fn labels(&self, input: &Input) -> BTreeMap<String, String> {
        let filled = |value: &str| value.replace("{stem}", &inputs::stem(input)).replace("{folder}", &folder(input));
        self.labels.iter().map(|(key, value)| (key.clone(), filled(value))).collect()
    }
}

/// The name of the folder that an input is in; nothing for standard input.
fn folder(input: &Input) -> String {
    let Input::File(path) = input else { return String::new() };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let folder = path.parent().and_then(Path::file_name);
    folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// What is told of runs besides their tables.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct Telling {
    /// Make the HTML page of each run too, report.html in its folder
    #[arg(long)]
    pub report: bool,
    /// Write the findings of all inputs to one JSON file
    #[arg(long, value_name = "FILE")]
    pub findings_json: Option<PathBuf>,
    /// What is told of all runs
    #[command(flatten)]
    pub ending: Ending,
}

/// What is told of a batch as a whole.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct Ending {
    /// Write what the batch did to a file of OpenMetrics
    ///
    /// Inputs by outcome, failures by kind, findings by severity, seconds by stage, memory, scratch: gauges for the
    /// collector of a scheduler. The file is replaced in one step when the last input is done.
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    pub json: bool,
}

impl Ending {
    /// Refuses a file that cannot be written to.
    ///
    /// # Errors
    /// A [`Complaint`], of usage.
    pub fn check(&self) -> Result<(), Complaint> {
        self.metrics.iter().try_for_each(|file| output_file::check(file)).map_err(Complaint::of_usage)
    }
}

/// What is believed of inputs.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Reading of some formats")]
pub struct Trust {
    /// Read compressed files that grow more than 1,000 times
    ///
    /// Without it they are refused, since they may fill the disk; the first 64MiB are always read.
    #[arg(long)]
    pub allow_bomb: bool,
}

/// What a command may take.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Resources")]
pub struct Effort {
    /// Memory that it may allocate, such as 512MiB [default: a quarter]
    ///
    /// The default is a quarter of what the machine or the cgroup has, at least 256MiB. With less memory a run takes
    /// longer; its tables are the same to the byte.
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Effort {
    /// As stages take it.
    #[must_use]
    pub fn context<'a>(&self, progress: &'a dyn Progress, cancel: &'a AtomicBool) -> Context<'a> {
        let budget = Budget::new(self.memory().saturating_sub(FIXED_OVERHEAD));
        Context { budget, threads: self.threads(), progress, cancel }
    }

    /// Bytes as told, or as many as the machine offers.
    #[must_use]
    pub fn memory(&self) -> u64 {
        budget(self.memory)
    }

    /// Threads as told, or one per core.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }
}

/// What a run may take.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Resources")]
pub struct Resources {
    /// Memory and threads
    #[command(flatten)]
    effort: Effort,
    /// Folder for intermediate files [default: inside the lake]
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
}

impl Resources {
    /// As stages take it.
    #[must_use]
    pub fn context<'a>(&self, progress: &'a dyn Progress, cancel: &'a AtomicBool) -> Context<'a> {
        self.effort.context(progress, cancel)
    }

    /// Bytes as told, or as many as the machine offers.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.effort.memory()
    }

    /// Threads as told, or one per core.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.effort.threads()
    }
}

/// Bytes as told, or as many as the machine offers.
#[must_use]
pub fn budget(told: Option<Size>) -> u64 {
    told.map_or_else(default_budget, |size| size.0)
}

/// Which tables are written.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Tables")]
pub struct Chosen {
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = table(),
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
    /// Leave the table of edges out
    #[arg(long)]
    no_edges: bool,
    /// Write the table of values: fields, elements, texts
    ///
    /// `object` needs it. It has about as many rows as the table of edges.
    #[arg(long)]
    values: bool,
}

/// Size up to which a file gets the table of edges by default, bytes. The table has about a tenth of the size of a file
/// that is not compressed, and costs up to a quarter more processor time: benches/RESULTS.md has figures.
const EDGES_UP_TO: u64 = 256 << 20;

impl Chosen {
    /// As one choice, for this input.
    #[must_use]
    pub fn of(&self, input: &Input) -> Tables {
        let tables = if self.tables.is_empty() { Tables::default() } else { self.tables.iter().copied().collect() };
        let by_default = self.tables.is_empty() && !self.no_edges && is_small(input);
        let tables = if self.edges || by_default { tables.with(TableName::Edges) } else { tables };
        if self.values { tables.with(TableName::Values) } else { tables }
    }
}

/// Whether an input is a file that gets the table of edges by default.
fn is_small(input: &Input) -> bool {
    match input {
        Input::File(path) => storage::about(path).is_ok_and(|file| file.bytes <= EDGES_UP_TO),
        Input::Stdin => false,
    }
}

/// Which classes are big.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Big classes (those that get chains)")]
pub struct Big {
    /// A class that retains so much is big [default: 1% of the heap]
    ///
    /// The default is 1% of the heap, at least 64KiB.
    #[arg(long, value_name = "SIZE")]
    min_retained: Option<Size>,
    /// A class of so many instances is big [default: 1% of all]
    ///
    /// The default is 1% of all instances, at least 1000.
    #[arg(long, value_name = "N")]
    min_count: Option<u64>,
    /// Only such classes are big: a glob pattern; may be given again
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

/// How far to look for duplicate instances.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Duplicates")]
pub struct DuplicateOptions {
    /// Look for duplicates: none, trivial or all
    ///
    /// `trivial` finds equal objects that refer to nothing, such as strings; `all` compares whole graphs of objects,
    /// cycles included.
    #[arg(long, value_name = "MODE", default_value = "trivial", value_parser = duplicate_mode(), hide_possible_values = true)]
    pub duplicates: Duplicates,
    /// Look for all duplicates of such classes: a glob; may be given again
    ///
    /// The search for these classes has no limit of work, whatever --duplicates says.
    #[arg(long, value_name = "CLASS", value_parser = pattern)]
    pub duplicates_of: Vec<String>,
    /// Pairs of references that may be compared [default: 4 per node]
    ///
    /// They are compared where nothing quicker decides. What is left over counts as possible duplicates. The default is
    /// 4 per node, at least 10 million.
    #[arg(long, value_name = "N")]
    pub duplicate_work: Option<u64>,
}

impl DuplicateOptions {
    /// As options of a run.
    #[must_use]
    pub fn options(&self) -> AnalysisOptions {
        AnalysisOptions {
            duplicates: self.duplicates,
            duplicates_of: self.duplicates_of.clone(),
            duplicate_work: self.duplicate_work,
            ..AnalysisOptions::default()
        }
    }
}

/// Takes a name that becomes part of a folder's name.
///
/// # Errors
/// What a name looks like.
pub fn name(text: &str) -> Result<String, String> {
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

/// Takes a mode of looking for duplicates.
pub fn duplicate_mode() -> impl TypedValueParser<Value = Duplicates> {
    let modes = [Duplicates::None, Duplicates::Trivial, Duplicates::All];
    PossibleValuesParser::new(modes.map(Duplicates::name))
        .map(move |name| modes.into_iter().find(|mode| mode.name() == name).unwrap_or_default())
}

/// Takes a glob pattern.
///
/// # Errors
/// What is wrong with it.
pub fn pattern(text: &str) -> Result<String, String> {
    glob::Pattern::new(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Takes a label.
///
/// # Errors
/// What a label looks like.
pub fn label(text: &str) -> Result<(String, String), String> {
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
