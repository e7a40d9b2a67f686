//! Rule `duplicate-waste`: duplicate instances, if the run searched for duplicates. Only exact sets that no other set
//! dominates count: a set inside a duplicate is freed together with it.

use super::heap::{Found, Heap, shorten};
use super::rule::{Detector, Rule, Tells, severity};
use heaplake_kit::access::{column, texts};
use heaplake_kit::text::size;
use heaplake_kit::{StageError, StringTable};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::findings::{Finding, Scope, Severity};
use heaplake_schemas::scratch::{self as columns, SET_PREVIEWS};

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    reads: &[column(columns::SET_ROW).if_any(), texts(SET_PREVIEWS).if_any()],
    tells: Tells::Copies,
    open: |_, _| Ok(Box::new(Duplicates)),
    ..Rule::NEW
};

const NAME: &str = "duplicate-waste";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [25, 5, 1];

/// Minimum number of equal elements of a fill.
const FILL: usize = 4;

struct Duplicates;

impl Detector for Duplicates {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let previews = Previews::open(heap)?;
        let mut found = Vec::new();
        each_set(heap, |set, row| {
            if row.held_by.is_none() && row.reasons == 0 {
                found.extend(judge(set, row, &previews, heap));
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Passes each set with its number to `visit`, none if the run did not search for duplicates.
pub(super) fn each_set(
    heap: &Heap,
    mut visit: impl FnMut(u32, &SetRow) -> Result<(), StageError>,
) -> Result<(), StageError> {
    let mut set = 0;
    heap.job.each_row_if_any(columns::SET_ROW, |row| {
        set += 1;
        visit(set - 1, &row)
    })
}

/// Previews of the members of sets, if the run has them.
pub(super) struct Previews(Option<StringTable>);

impl Previews {
    pub(super) fn open(heap: &Heap) -> Result<Self, StageError> {
        let scratch = heap.job.scratch;
        let all = scratch.has(SET_PREVIEWS.start).then(|| StringTable::open(scratch, SET_PREVIEWS));
        all.transpose().map(Self)
    }

    /// The text of a set, at most `most` characters long.
    pub(super) fn text(&self, set: u32, most: usize) -> String {
        self.0.as_ref().map_or_else(String::new, |all| shorten(&all.text(set as usize), most))
    }

    /// Whether each member is filled with one value: an unused buffer, or a dump with its values removed, in which
    /// different objects look equal.
    pub(super) fn is_filled(&self, set: u32) -> bool {
        self.0.as_ref().is_some_and(|all| is_fill(&all.text(set as usize)))
    }
}

/// Whether a preview shows an array of equal elements, or a text of equal characters.
fn is_fill(preview: &str) -> bool {
    let inner = preview.split_once('{').and_then(|(_, rest)| rest.strip_suffix('}'));
    match inner {
        Some(elements) => {
            let mut elements = elements.split(", ").filter(|&element| element != "…");
            let first = elements.next();
            elements.clone().count() + 1 >= FILL && elements.all(|element| Some(element) == first)
        }
        None => {
            let text = preview.trim_matches('"').trim_end_matches('…');
            let first = text.chars().next();
            text.chars().count() >= 2 * FILL && text.chars().all(|c| Some(c) == first)
        }
    }
}

fn judge(set: u32, row: &SetRow, previews: &Previews, heap: &Heap) -> Option<Finding> {
    let is_filled = previews.is_filled(set);
    let severity = match severity(row.additional_bytes, heap.bytes, PERCENT)? {
        _ if is_filled => Severity::Low,
        severity => severity,
    };
    let class = heap.nodes.class.at(row.example.index()).0;
    let found = Found { rule: NAME, severity, count: row.members.into(), bytes: row.additional_bytes };
    let mut finding = found.about_node(row.example.0, heap);
    (finding.scope, finding.set) = (Scope::Set, Some(set));
    let to = if row.most_bytes > row.least_bytes { format!(" to {}", size(row.most_bytes)) } else { String::new() };
    let same = if is_filled { "are filled with one value, so they look the same" } else { "are the same" };
    finding.message = format!(
        "{} {same}; sharing one saves {}{to}. Each has {}. One of them: {}",
        heap.objects(finding.count, class, Some(row.example.0)),
        heap.share(row.additional_bytes),
        size(row.instance_bytes),
        heap.chain(row.example.0),
    );
    if !is_filled {
        "Share one: keep it in a table by its content where it is made.".clone_into(&mut finding.next_step);
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::is_fill;

    #[test]
    fn fills_are_told_from_values() {
        for fill in ["byte[3000]{0, 0, 0, 0, 0, 0, 0, 0, …}", "long[4]{-1, -1, -1, -1}", "\"********\"", "xxxxxxxxxx…"]
        {
            assert!(is_fill(fill), "{fill}");
        }
        for value in
            ["byte[3]{0, 0, 0}", "byte[9]{0, 0, 0, 0, 1, 0, …}", "\"aaaa\"", "\"a session\"", "", "Point{x: 0, y: 0}"]
        {
            assert!(!is_fill(value), "{value}");
        }
    }
}
