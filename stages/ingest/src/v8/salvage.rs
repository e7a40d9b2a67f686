//! Rules for a damaged snapshot: the data that is used, and the data that is omitted.
//!
//! If a section is cut off or cannot be parsed, its rows before that offset remain, and reading continues with the next
//! section after it. Invalid references are dropped: an edge without a target is no edge, a node without a type gets
//! the type [`UNKNOWN`], an invalid count becomes 0. The rest is a normal graph, once [`repair`](super::repair) has
//! made its parts consistent.

use super::snapshot::HINT;
use heaplake_input::chunks::Place;
use heaplake_kit::{InputError, StageError};
use heaplake_schemas::scratch as columns;

/// Name of the type of nodes with an invalid type.
pub const UNKNOWN: &str = "(unknown)";

/// Number of bad references that are reported with their offsets.
pub const TOLD: usize = 10;

/// Advice of errors if nothing can be salvaged.
const HOPELESS: &str = "too little of the file can be read: write or copy the snapshot again";

/// Returns the columns of an allocation trace's section: a partial section is useless.
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

/// Invalid references of rows: their number and the first ones.
#[derive(Debug, Default)]
pub struct BadReferences {
    count: u64,
    /// The first ones, a sentence each.
    pub first: Vec<String>,
}

impl BadReferences {
    /// Records the invalid number with this index in the rows at `place`.
    pub fn note(&mut self, place: &Place<'_>, index: usize, number: u64, expected: &str) {
        self.count += 1;
        if self.first.len() < TOLD {
            let (offset, found) = place.of(index, number);
            self.first.push(format!("bad reference at byte {offset}: expected {expected}, found {found}"));
        }
    }

    /// Records a name outside the string table.
    pub fn note_name(&mut self, row: u64, section: &str, index: u32, strings: u64) {
        self.count += 1;
        if self.first.len() < TOLD {
            let expected = format!("a string index below {strings}");
            self.first.push(format!("bad reference in row {row} of {section}: expected {expected}, found {index}"));
        }
    }

    /// Appends those of later rows, and empties `later`.
    pub fn append(&mut self, later: &mut Self) {
        self.count += std::mem::take(&mut later.count);
        let room = TOLD - self.first.len();
        self.first.extend(later.first.drain(..).take(room));
    }
}

/// The damage of a snapshot, if it is tolerated.
#[derive(Debug, Default)]
pub struct Damage {
    /// Errors that ended sections, each with its section.
    cuts: Vec<(InputError, String)>,
    /// Missing sections.
    pub missing: Vec<&'static str>,
    /// Wrong statements of the header.
    pub lies: Vec<String>,
    /// Dropped references.
    pub bad: BadReferences,
    /// Edges that nodes announce but the file lacks, and edges that no node announces.
    pub unmatched: [u64; 2],
    /// Nodes and edges with a missing name.
    pub nameless: u64,
}

impl Damage {
    /// Records that a section ends early, after `rows` rows.
    pub fn cut(&mut self, error: InputError, section: &str, rows: Option<u64>) {
        let within = match (section, rows) {
            ("", _) => String::new(),
            (_, None) => format!(" in {section}"),
            (_, Some(rows)) => format!(" in {section}, after {rows} rows"),
        };
        self.cuts.push((error, within));
    }

    /// Whether there is any damage.
    pub fn is_any(&self) -> bool {
        self.left_out().is_some()
    }

    /// Whether strings may be missing because their section is cut or missing.
    pub fn lost_strings(&self) -> bool {
        self.missing.contains(&"strings") || self.cuts.iter().any(|(_, within)| within.contains("strings"))
    }

    /// Returns the error of an unusable snapshot: the first one, or else `error`.
    pub fn hopeless(self, error: StageError) -> StageError {
        // Errors without damage have their own advice.
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

    /// Returns the message about the omitted data; `None` without damage.
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
}
