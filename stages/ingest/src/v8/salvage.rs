//! What is used of a damaged snapshot, and what is left out.
//!
//! Where a section is cut off or cannot be understood, its rows before that place stay, and reading goes on with the
//! next section that begins anywhere behind it. A reference that leads nowhere is passed over: an edge to no node is no
//! edge, a node of no type is of the type [`UNKNOWN`], a count that cannot be is 0. What is left is a graph like any
//! other, once [`repair`](super::repair) has made its parts agree.

use super::snapshot::HINT;
use heaplake_input::chunks::Place;
use heaplake_kit::{InputError, StageError};
use heaplake_schemas::scratch as columns;

/// Name of the type of nodes whose type is none of the file's.
pub const UNKNOWN: &str = "(unknown)";

/// References that are told with their places.
pub const TOLD: usize = 10;

/// What errors advise where nothing can be saved.
const HOPELESS: &str = "too little of the file can be read: write or copy the snapshot again";

/// The columns that a section of an allocation trace has for itself: half of them are of no use.
#[must_use]
pub fn columns_of(section: &str) -> &'static [&'static str] {
    match section {
        "trace_tree" => &[
            columns::TRACE_ID.name,
            columns::TRACE_PARENT.name,
            columns::TRACE_FUNCTION.name,
            columns::TRACE_COUNT.name,
            columns::TRACE_SIZE.name,
        ],
        "trace_function_infos" => &[
            columns::FUNCTION_ID.name,
            columns::FUNCTION_NAME.name,
            columns::FUNCTION_SCRIPT_NAME.name,
            columns::FUNCTION_SCRIPT.name,
            columns::FUNCTION_LINE.name,
            columns::FUNCTION_COLUMN.name,
        ],
        "samples" => &[columns::SAMPLE_TIME.name, columns::SAMPLE_LAST_ID.name],
        _ => &[],
    }
}

/// References of rows that lead nowhere: how many, and the first of them.
#[derive(Debug, Default)]
pub struct BadReferences {
    count: u64,
    first: Vec<String>,
}

impl BadReferences {
    /// Notes the number with this index in the rows at `place`, which is not what is expected.
    pub fn note(&mut self, place: &Place<'_>, index: usize, number: u64, expected: &str) {
        self.count += 1;
        if self.first.len() < TOLD {
            let (offset, found) = place.of(index, number);
            self.first.push(format!("bad reference at byte {offset}: expected {expected}, found {found}"));
        }
    }

    /// Notes a name that is none of the file's strings.
    pub fn note_name(&mut self, row: u64, section: &str, index: u32, strings: u64) {
        self.count += 1;
        if self.first.len() < TOLD {
            let expected = format!("a string index below {strings}");
            self.first.push(format!("bad reference in row {row} of {section}: expected {expected}, found {index}"));
        }
    }

    /// Appends those of later rows, and leaves `later` empty.
    pub fn append(&mut self, later: &mut Self) {
        self.count += std::mem::take(&mut later.count);
        let room = TOLD - self.first.len();
        self.first.extend(later.first.drain(..).take(room));
    }
}

/// What is wrong with a snapshot whose damage is tolerated.
#[derive(Debug, Default)]
pub struct Damage {
    /// Where reading stopped, and in which section.
    cuts: Vec<(InputError, String)>,
    /// Sections that do not come.
    missing: Vec<&'static str>,
    /// What the header promises and is not so.
    lies: Vec<String>,
    /// References that are passed over.
    pub bad: BadReferences,
    /// Edges that nodes announce and that are not there, and edges that no node announces.
    pub unmatched: [u64; 2],
    /// Nodes and edges whose name is missing with its string.
    pub nameless: u64,
}

impl Damage {
    /// The rest of a section is left out, after so many rows of it.
    pub fn cut(&mut self, error: InputError, section: &str, rows: Option<u64>) {
        let within = match (section, rows) {
            ("", _) => String::new(),
            (_, None) => format!(" in {section}"),
            (_, Some(rows)) => format!(" in {section}, after {rows} rows"),
        };
        self.cuts.push((error, within));
    }

    /// A section does not come.
    pub fn missing(&mut self, section: &'static str) {
        self.missing.push(section);
    }

    /// The header says something that is not so.
    pub fn lie(&mut self, what: String) {
        self.lies.push(what);
    }

    /// Whether anything was wrong.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.left_out().is_some()
    }

    /// Whether strings may be missing because their section is cut or does not come.
    pub fn lost_strings(&self) -> bool {
        self.missing.contains(&"strings") || self.cuts.iter().any(|(_, within)| within.contains("strings"))
    }

    /// The error of a snapshot of which nothing can be used: the first one that was met, or else `error`.
    pub fn hopeless(self, error: StageError) -> StageError {
        // What is not damaged has advice of its own.
        let with_advice = |error: InputError| {
            let hint = if error.hint == HINT { HOPELESS } else { error.hint };
            InputError { hint, ..error }.into()
        };
        let first = self.cuts.into_iter().next().map(|(error, _)| error);
        match (first, error) {
            (Some(error), _) => with_advice(error),
            (None, StageError::Input(error)) => with_advice(*error),
            (None, error) => error,
        }
    }

    /// What the analysis leaves out; nothing where nothing was wrong.
    #[must_use]
    pub fn left_out(&self) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        for (InputError { offset, expected, found, .. }, within) in &self.cuts {
            parts.push(format!("what follows byte {offset}{within}: expected {expected}, found {found}"));
        }
        match &self.missing[..] {
            [] => {}
            [section] => parts.push(format!("the section {section}, which is missing")),
            sections => parts.push(format!("the sections {}, which are missing", sections.join(" and "))),
        }
        let counted = [
            (self.bad.count, "bad references"),
            (self.nameless, "names, whose strings are missing"),
            (self.unmatched[0], "edges that nodes announce and that are missing"),
            (self.unmatched[1], "edges that no node announces"),
        ];
        parts.extend(counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
        parts.extend(self.lies.iter().cloned());
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The first bad references, a sentence each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        self.bad.first.clone()
    }
}
