//! The options of the search for duplicates.

use glob::{MatchOptions, Pattern};
use heaplake_kit::{ColumnReader, Job, Setting, StageError, StringTable};
use heaplake_schemas::options::Duplicates;
use heaplake_schemas::scratch::{self as columns, STRINGS};

/// Which references are compared, and the allowed work.
pub(crate) struct Choices {
    /// Whether references of all classes are compared.
    all: bool,
    /// By `ClassId`, whether the references of the class are compared in any case; empty if the user named no class.
    classes: Vec<bool>,
    /// Maximum number of slot pairs to compare for node pairs that nothing faster decides.
    pub work: u64,
}

/// Default of [`Choices::work`] per node.
const WORK_PER_NODE: u64 = 4;

/// Minimum of the default.
const LEAST_WORK: u64 = 10_000_000;

impl Choices {
    /// Reads the options for the classes of the input.
    pub(crate) fn load(job: &Job<'_>) -> Result<Self, StageError> {
        let options = job.analysis();
        let nodes = ColumnReader::open(job.scratch, columns::EQUAL_DEGREE)?.remaining();
        let work = options.duplicate_work.unwrap_or_else(|| nodes.saturating_mul(WORK_PER_NODE).max(LEAST_WORK));
        Ok(Self { all: options.duplicates == Duplicates::All, classes: named(&options.duplicates_of, job)?, work })
    }

    /// Whether references of a class are compared.
    pub(crate) fn looks_into(&self, class: usize) -> bool {
        self.all || self.classes.get(class).copied().unwrap_or(false)
    }
}

pub(crate) fn looks_into_references(setting: &Setting<'_>) -> bool {
    setting.looks_into_references()
}

/// Whether the user names classes whose references are compared in any case.
pub(crate) fn names_classes(setting: &Setting<'_>) -> bool {
    setting.analysis(|options| options.has_contents() && !options.duplicates_of.is_empty())
}

/// Returns for each class whether one of the patterns matches its name.
fn named(patterns: &[String], job: &Job<'_>) -> Result<Vec<bool>, StageError> {
    let patterns: Vec<Pattern> = patterns.iter().filter_map(|pattern| Pattern::new(pattern).ok()).collect();
    let mut classes = Vec::new();
    if !patterns.is_empty() {
        let strings = StringTable::open(job.scratch, STRINGS)?;
        let mut names = ColumnReader::open(job.scratch, columns::CLASS_NAME)?;
        while names.remaining() > 0 {
            let name = strings.text(names.next()?.index());
            // Class names may contain slashes.
            let rules = MatchOptions { require_literal_separator: false, ..MatchOptions::new() };
            classes.push(patterns.iter().any(|pattern| pattern.matches_with(&name, rules)));
        }
    }
    Ok(classes)
}
