//! Rule `many-instances`: a class of the program whose objects together retain a large part of the heap.

use super::heap::{Heap, about_class};
use super::{Rule, severity};
use heaplake_kit::text::count;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::Finding;

/// Name of the rule.
const RULE: &str = "many-instances";
/// Percent of the heap from which on a finding is high (never), medium, low.
const PERCENT: [u64; 3] = [101, 30, 15];
/// Objects from which on they are many.
const MANY: u64 = 1000;
/// Classes that are looked at.
const CLASSES: usize = 64;

#[derive(Default)]
pub struct ManyInstances {
    rows: Vec<ClassRow>,
}

impl Rule for ManyInstances {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        if self.rows.len() < CLASSES && row.count >= MANY && is_own(&heap.class_name(row.class_id)) {
            self.rows.push(*row);
        }
    }

    fn report(&mut self, heap: &Heap, _context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let found = self.rows.iter().filter_map(|row| {
            let mut finding = about_class(RULE, severity(row.retained_bytes, heap.bytes, PERCENT)?, row.class_id, heap);
            finding.count = row.count;
            finding.bytes = row.retained_bytes;
            finding.message =
                format!("{} × {} retain {}", count(row.count), finding.subject, heap.share(row.retained_bytes));
            finding.next_step = "See through which chains they are held, and whether so many are needed.".to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}

/// Leaves out what a leak suspect says with more evidence.
pub fn leave_out_suspects(findings: &mut Vec<Finding>) {
    let suspects: Vec<(Option<u32>, u64)> = findings
        .iter()
        .filter(|finding| finding.rule == super::leak_suspects::RULE)
        .map(|finding| (finding.class_id, finding.bytes))
        .collect();
    findings.retain(|finding| {
        let is_said = |&(class, bytes): &(Option<u32>, u64)| class == finding.class_id && bytes >= finding.bytes / 2;
        finding.rule != RULE || !suspects.iter().any(is_said)
    });
}

/// Whether a name is that of a class somebody wrote, rather than one that every program has plenty of.
fn is_own(class: &str) -> bool {
    const COMMON: [&str; 7] = ["Object", "Array", "Function", "Map", "Set", "Promise", "global"];
    const RUNTIME: [&str; 9] = ["(", "{", "system / ", "Node / ", "java.", "javax.", "jdk.", "sun.", "kotlin."];
    !COMMON.contains(&class) && !class.ends_with("[]") && !RUNTIME.iter().any(|prefix| class.starts_with(prefix))
}
