//! What the user can choose.

use glob::{MatchOptions, Pattern};
use heaplake_kit::{ColumnReader, Scratch, StageError, StringTable};
use heaplake_schemas::run::{Duplicates, Options};
use heaplake_schemas::scratch::{self as columns, STRINGS};

/// How far to go, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Whether references are looked into, of all classes.
    pub all: bool,
    /// Classes (by `ClassId`) of which they are looked into in any case; one flag for each class, or none at all.
    pub classes: Vec<bool>,
    /// How many pairs of slots may be compared where nothing quicker decides.
    pub work: u64,
}

/// Pairs of slots per node that may be compared, unless the user says otherwise.
const WORK_PER_NODE: u64 = 4;

/// The same for small inputs.
const LEAST_WORK: u64 = 10_000_000;

impl Choices {
    /// What the options in a scratch folder say of the classes there.
    ///
    /// # Errors
    /// [`StageError::Io`] or [`StageError::Scratch`].
    pub fn load(scratch: &Scratch) -> Result<Self, StageError> {
        let options: Options = scratch.read_document(columns::documents::OPTIONS)?;
        let nodes = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?.remaining();
        let patterns: Vec<Pattern> =
            options.duplicates_of.iter().filter_map(|pattern| Pattern::new(pattern).ok()).collect();
        let mut classes = Vec::new();
        if !patterns.is_empty() {
            let strings = StringTable::open(scratch, STRINGS)?;
            let mut names = ColumnReader::open(scratch, columns::CLASS_NAME)?;
            while names.remaining() > 0 {
                let name = strings.text(names.next()?.index());
                // Names of classes have slashes, too.
                let rules = MatchOptions { require_literal_separator: false, ..MatchOptions::new() };
                classes.push(patterns.iter().any(|pattern| pattern.matches_with(&name, rules)));
            }
        }
        let work = options.duplicate_work.unwrap_or_else(|| nodes.saturating_mul(WORK_PER_NODE).max(LEAST_WORK));
        Ok(Self { all: options.duplicates == Duplicates::All, classes, work })
    }

    /// Whether references of a class are looked into.
    #[must_use]
    pub fn looks_into(&self, class: usize) -> bool {
        self.all || self.classes.get(class).copied().unwrap_or(false)
    }

    /// Whether those of any class may be: then the graph as a whole was looked at.
    #[must_use]
    pub fn looks_into_any(&self) -> bool {
        self.all || !self.classes.is_empty()
    }
}
