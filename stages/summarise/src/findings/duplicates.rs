//! Rules `duplicate-waste` and `possible-duplicates`: duplicate instances, if the run looked for duplicates. Only
//! sets that no other set holds count: a set inside a duplicate is freed together with it.

use super::heap::{Heap, blank};
use super::rule::{Detector, Rule, severity};
use heaplake_kit::access::column;
use heaplake_kit::text::{count, size};
use heaplake_kit::{ColumnReader, StageError};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::findings::{Finding, Scope};
use heaplake_schemas::scratch::{self as columns, limits};

/// The rule.
pub const RULE: Rule = Rule {
    names: &[EXACT_NAME, POSSIBLE_NAME],
    reads: &[column(columns::SET_ROW).if_any()],
    open: |_, _| Ok(Box::new(Duplicates)),
    ..Rule::NEW
};

const EXACT_NAME: &str = "duplicate-waste";
const POSSIBLE_NAME: &str = "possible-duplicates";
/// Percent of the heap from which on a finding is high, medium, low.
const EXACT: [u64; 3] = [25, 5, 1];
const POSSIBLE: [u64; 3] = [101, 101, 5];

struct Duplicates;

impl Detector for Duplicates {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        if !heap.job.scratch.has(columns::SET_ROW) {
            return Ok(Vec::new());
        }
        let mut rows = ColumnReader::open(heap.job.scratch, columns::SET_ROW)?;
        let mut found = Vec::new();
        for set in 0..rows.remaining() as u32 {
            let row = rows.next()?;
            if set.is_multiple_of(1 << 16) {
                heap.job.context.check()?;
            }
            // Undecided sets prove little.
            let is_open = row.reasons & (limits::MODE | limits::WORK) != 0;
            if row.held_by.0 == u32::MAX && !is_open {
                found.extend(judge(set, &row, heap));
            }
        }
        Ok(found)
    }
}

fn judge(set: u32, row: &SetRow, heap: &Heap) -> Option<Finding> {
    let exact = row.reasons == 0;
    let (rule, percent) = if exact { (EXACT_NAME, EXACT) } else { (POSSIBLE_NAME, POSSIBLE) };
    let severity = severity(row.additional_bytes, heap.bytes, percent)?;
    let class = heap.nodes.class[row.example.index()].0;
    let mut finding = blank(rule, severity, Scope::Set, heap.shown_class(class));
    finding.class_id = Some(class);
    finding.set = Some(set);
    finding.node = Some(row.example.0);
    finding.count = u64::from(row.members);
    finding.bytes = row.additional_bytes;
    let (members, label) = (count(finding.count), heap.nodes.label(row.example));
    let least = if row.exact == 1 { "" } else { "at least " };
    let (are, next) = if exact {
        ("are the same", "Share one: intern it where it is made, or keep it in a table by its content.")
    } else {
        (
            "look the same as far as this snapshot tells",
            "See the reason in duplicate_sets, and look at two of them in the program.",
        )
    };
    finding.message = format!(
        "{members} × {label} of {} {are}; {least}{} would go if there was one. One of them: {}",
        size(row.instance_bytes),
        heap.share(row.additional_bytes),
        heap.chain(row.example.0),
    );
    finding.next_step = next.to_owned();
    Some(finding)
}
