//! What the user can choose.

use glob::{MatchOptions, Pattern};
use heaplake_kit::{ColumnReader, Job, Setting, StageError, StringTable};
use heaplake_schemas::options::Duplicates;
use heaplake_schemas::scratch::{self as columns, STRINGS};

/// How far to go, and where.
pub struct Choices {
    /// Whether references are looked into, of all classes.
    all: bool,
    /// By `ClassId`, whether the references of a class are looked into in any case; empty where no class was named.
    classes: Vec<bool>,
    /// How many pairs of slots may be compared where nothing quicker decides.
    pub work: u64,
}

/// Pairs of slots per node that may be compared, unless the user says otherwise.
const WORK_PER_NODE: u64 = 4;

/// The same for small inputs.
const LEAST_WORK: u64 = 10_000_000;

impl Choices {
    /// What the options say of the classes of the input.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn load(job: &Job<'_>) -> Result<Self, StageError> {
        let options = job.analysis();
        let nodes = ColumnReader::open(job.scratch, columns::EQUAL_DEGREE)?.remaining();
        let work = options.duplicate_work.unwrap_or_else(|| nodes.saturating_mul(WORK_PER_NODE).max(LEAST_WORK));
        Ok(Self { all: options.duplicates == Duplicates::All, classes: named(&options.duplicates_of, job)?, work })
    }

    /// Whether references of a class are looked into.
    pub fn looks_into(&self, class: usize) -> bool {
        self.all || self.classes.get(class).copied().unwrap_or(false)
    }
}

/// Whether references are looked into, of any class.
pub fn looks_into_references(setting: &Setting<'_>) -> bool {
    setting.looks_into_references()
}

/// Whether the user names classes of which references are looked into in any case.
pub fn names_classes(setting: &Setting<'_>) -> bool {
    setting.analysis(|options| !options.duplicates_of.is_empty())
}

/// Which classes have a name that one of the patterns matches.
fn named(patterns: &[String], job: &Job<'_>) -> Result<Vec<bool>, StageError> {
    let patterns: Vec<Pattern> = patterns.iter().filter_map(|pattern| Pattern::new(pattern).ok()).collect();
    let mut classes = Vec::new();
    if !patterns.is_empty() {
        let strings = StringTable::open(job.scratch, STRINGS)?;
        let mut names = ColumnReader::open(job.scratch, columns::CLASS_NAME)?;
        while names.remaining() > 0 {
            let name = strings.text(names.next()?.index());
            // Names of classes have slashes, too.
            let rules = MatchOptions { require_literal_separator: false, ..MatchOptions::new() };
            classes.push(patterns.iter().any(|pattern| pattern.matches_with(&name, rules)));
        }
    }
    Ok(classes)
}
