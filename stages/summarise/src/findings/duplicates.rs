//! Rule `duplicate-waste`: duplicate instances, if the run looked for duplicates. Only exact sets that no other set
//! holds count: a set inside a duplicate is freed together with it.

use super::heap::{Heap, blank};
use super::rule::{Detector, Rule, Tells, severity};
use heaplake_kit::access::column;
use heaplake_kit::text::size;
use heaplake_kit::{ColumnReader, StageError};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::findings::{Finding, Scope};
use heaplake_schemas::scratch as columns;

/// The rule.
pub const RULE: Rule = Rule {
    names: &[NAME],
    reads: &[column(columns::SET_ROW).if_any()],
    tells: Tells::Copies,
    open: |_, _| Ok(Box::new(Duplicates)),
    ..Rule::NEW
};

const NAME: &str = "duplicate-waste";
/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [25, 5, 1];

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
            if row.held_by.is_none() && row.reasons == 0 {
                found.extend(judge(set, &row, heap));
            }
        }
        Ok(found)
    }
}

fn judge(set: u32, row: &SetRow, heap: &Heap) -> Option<Finding> {
    let severity = severity(row.additional_bytes, heap.bytes, PERCENT)?;
    let class = heap.nodes.class.at(row.example.index()).0;
    let mut finding = blank(NAME, severity, Scope::Set, heap.shown_class(class));
    finding.class_id = Some(class);
    finding.set = Some(set);
    finding.node = Some(row.example.0);
    finding.count = u64::from(row.members);
    finding.bytes = row.additional_bytes;
    let to = if row.most_bytes > row.least_bytes { format!(" to {}", size(row.most_bytes)) } else { String::new() };
    finding.message = format!(
        "{} are the same; sharing one saves {}{to}. Each has {}. One of them: {}",
        heap.objects(finding.count, class, Some(row.example.0)),
        heap.share(row.additional_bytes),
        size(row.instance_bytes),
        heap.chain(row.example.0),
    );
    "Share one: keep it in a table by its content where it is made.".clone_into(&mut finding.next_step);
    Some(finding)
}
