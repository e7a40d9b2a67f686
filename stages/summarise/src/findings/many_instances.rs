//! Rule `many-instances`: a class of the program whose objects together retain a large part of the heap.

use super::class_roles::role;
use super::heap::{Heap, about_class};
use super::leak_suspects;
use super::rule::{Detector, Rule, Tells, list_bytes, severity};
use heaplake_kit::StageError;
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::Finding;

/// The rule.
pub const RULE: Rule = Rule {
    names: &[NAME],
    candidates: list_bytes::<ClassRow>(CLASSES),
    tells: Tells::Mass,
    open: |_, _| Ok(Box::<ManyInstances>::default()),
    settle: leave_out_suspects,
    ..Rule::NEW
};

const NAME: &str = "many-instances";
/// Percent of the heap from which on a finding is high (never), medium, low.
const PERCENT: [u64; 3] = [101, 30, 15];
/// Objects from which on they are many.
const MANY: u64 = 1000;
/// Classes that are looked at.
const CLASSES: usize = 64;

#[derive(Default)]
struct ManyInstances {
    rows: Vec<ClassRow>,
}

impl Detector for ManyInstances {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        if self.rows.len() < CLASSES && row.count >= MANY && !heap.classes.has(row.class_id, role::COMMON) {
            self.rows.push(*row);
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let found = self.rows.iter().filter_map(|row| {
            let mut finding = about_class(NAME, severity(row.retained_bytes, heap.bytes, PERCENT)?, row.class_id, heap);
            finding.count = row.count;
            finding.bytes = row.retained_bytes;
            finding.message =
                format!("{} retain {}", heap.objects(row.count, row.class_id, None), heap.share(row.retained_bytes));
            finding.next_step = "See through which chains they are held, and whether so many are needed.".to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}

/// Leaves out what a leak suspect says with more evidence.
fn leave_out_suspects(findings: &mut Vec<Finding>) {
    let suspects: Vec<(Option<u32>, u64)> = findings
        .iter()
        .filter(|finding| finding.rule == leak_suspects::NAME)
        .map(|finding| (finding.class_id, finding.bytes))
        .collect();
    findings.retain(|finding| {
        let is_said = |&(class, bytes): &(Option<u32>, u64)| class == finding.class_id && bytes >= finding.bytes / 2;
        finding.rule != NAME || !suspects.iter().any(is_said)
    });
}
