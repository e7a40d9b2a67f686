//! Rules `duplicate-strings` and `duplicate-arrays`: texts, and arrays of plain data, of which there are several that say
//! the same, all together. Such sets have no references, so no two of them have a byte in common.

use super::heap::{Heap, about_class, shorten};
use super::{Finding, Rule, severity};
use heaplake_kit::text::{count, size};
use heaplake_kit::{ColumnReader, Context, StageError, StringTable};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::scratch::{self as columns, SET_PREVIEWS};
use std::collections::BTreeMap;

/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [40, 10, 2];
/// Characters of the example that are shown.
const SHOWN: usize = 60;
/// Classes that are told apart.
const CLASSES: usize = 1 << 12;

pub struct DuplicateValues;

/// Sets of one class.
#[derive(Default)]
struct Tally {
    sets: u64,
    members: u64,
    bytes: u64,
    largest: Option<(u32, SetRow)>,
}

/// The rule for a kind of nodes.
fn rule(kind: &str) -> Option<&'static str> {
    match kind {
        "string" => Some("duplicate-strings"),
        "primitive array" => Some("duplicate-arrays"),
        _ => None,
    }
}

impl Rule for DuplicateValues {
    fn report(&mut self, heap: &Heap, context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        if !heap.scratch.has(columns::SET_ROW) {
            return Ok(Vec::new());
        }
        let mut rows = ColumnReader::open(heap.scratch, columns::SET_ROW)?;
        let mut classes: BTreeMap<u32, Tally> = BTreeMap::new();
        for set in 0..rows.remaining() as u32 {
            let row = rows.next()?;
            if set.is_multiple_of(1 << 16) {
                context.check()?;
            }
            let (kind, class) = (heap.nodes.kind[row.example.index()], heap.nodes.class[row.example.index()].0);
            if row.trivial == 0
                || rule(heap.kind(kind)).is_none()
                || (classes.len() == CLASSES && !classes.contains_key(&class))
            {
                continue;
            }
            let tally = classes.entry(class).or_default();
            tally.sets += 1;
            tally.members += u64::from(row.members);
            tally.bytes = tally.bytes.saturating_add(row.additional_bytes);
            if tally.largest.is_none_or(|(_, largest)| row.additional_bytes > largest.additional_bytes) {
                tally.largest = Some((set, row));
            }
        }
        let previews = match heap.scratch.has(SET_PREVIEWS.start) {
            true => Some(StringTable::open(heap.scratch, SET_PREVIEWS)?),
            false => None,
        };
        let preview =
            |set: u32| previews.as_ref().map_or_else(String::new, |all| shorten(&all.text(set as usize), SHOWN));
        Ok(classes.iter().filter_map(|(&class, tally)| found(class, tally, preview, heap)).collect())
    }
}

fn found(class: u32, tally: &Tally, preview: impl Fn(u32) -> String, heap: &Heap) -> Option<Finding> {
    let (set, largest) = tally.largest?;
    // One set alone has a finding of its own.
    let severity = severity(tally.bytes, heap.bytes, PERCENT).filter(|_| tally.sets > 1)?;
    let rule = rule(heap.kind(heap.nodes.kind[largest.example.index()]))?;
    let mut finding = about_class(rule, severity, class, heap);
    finding.set = Some(set);
    finding.node = Some(largest.example.0);
    finding.count = tally.members;
    finding.bytes = tally.bytes;
    finding.message = format!(
        "{} × {} say one of {} things; {} would go if each was there once, above all {} × {} ({})",
        count(tally.members),
        finding.subject,
        count(tally.sets),
        heap.share(tally.bytes),
        count(largest.members.into()),
        preview(set),
        size(largest.additional_bytes),
    );
    finding.next_step =
        "Intern values where they are made or read, or let the collector do it (Java: -XX:+UseStringDeduplication)."
            .to_owned();
    if rule == "duplicate-strings" {
        finding.next_step = "Keep one of each in a table by its content, where they are made or read.".to_owned();
    }
    Some(finding)
}
