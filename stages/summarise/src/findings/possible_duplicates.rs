//! Rule `possible-duplicates`: instances that look alike but are unproved duplicates, because the snapshot is
//! incomplete, or because their references were not fully compared. One finding for the whole snapshot, always of low
//! severity; the table of findings also has one for each class.

use super::duplicates::each_set;
use super::heap::{Found, Heap};
use super::rule::{Detector, Rule, Tells};
use heaplake_kit::access::{column, per_node};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::text::{class_option, count, size};
use heaplake_kit::{ArrayPlan, ReadAt, StageError};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::findings::{Finding, Scope, Severity};
use heaplake_schemas::ids::ClassId;
use heaplake_schemas::scratch::{self as columns, limits};
use std::cmp::Reverse;

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    reads: &[column(columns::SET_ROW).if_any()],
    arrays: &[per_node::<ClassId>()],
    tells: Tells::Copies,
    open: |_, _| Ok(Box::new(PossibleDuplicates)),
    ..Rule::NEW
};

const NAME: &str = "possible-duplicates";

struct PossibleDuplicates;

/// Sets that are not exact.
#[derive(Clone, Copy, Default)]
struct Open {
    members: u64,
    /// Bytes saved if all members were duplicates.
    bytes: u64,
}

impl Open {
    fn add(&mut self, row: &SetRow, bytes: u64) {
        self.members += u64::from(row.members);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Undecided sets by reason.
#[derive(Default)]
struct Unknown {
    /// Data is missing in the snapshot.
    untold: Open,
    /// References were not fully compared.
    uncompared: Open,
}

impl Unknown {
    fn bytes(&self) -> u64 {
        self.untold.bytes.saturating_add(self.uncompared.bytes)
    }

    /// Adds the sets of a run; uncompared ones also to those of their class.
    fn add_up(&mut self, classes: &mut [Open], heap: &Heap) -> Result<(), StageError> {
        let mut class_of = ArrayPlan::of(&heap.job, "possible duplicates").one(lookup(columns::NODE_CLASS))?;
        each_set(heap, |_, row| {
            if row.reasons & (limits::MODE | limits::WORK) != 0 {
                // References were not compared, so only the members' own bytes count.
                let bytes = row.instance_bytes.saturating_mul(u64::from(row.members).saturating_sub(1));
                self.uncompared.add(row, bytes);
                classes[class_of.get(row.example.index())?.index()].add(row, bytes);
            } else if row.reasons != 0 && row.held_by.is_none() {
                self.untold.add(row, row.additional_bytes);
            }
            Ok(())
        })
    }

    fn message(&self) -> String {
        let mut parts = Vec::new();
        if self.untold.members > 0 {
            let (members, bytes) = (count(self.untold.members), size(self.untold.bytes));
            parts.push(format!(
                "{members} objects look the same as far as the snapshot tells; if they are, sharing them saves {bytes}"
            ));
        }
        if self.uncompared.members > 0 {
            let (members, bytes) = (count(self.uncompared.members), size(self.uncompared.bytes));
            parts.push(format!(
                "{members} objects look alike, but what they refer to was not compared; if they are duplicates, sharing \
                 them saves {bytes} without what they refer to"
            ));
        }
        parts.join(". ")
    }
}

impl Detector for PossibleDuplicates {
    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        if !heap.job.scratch.has(columns::SET_ROW) {
            return Ok(Vec::new());
        }
        let class_count = heap.job.class_count()?;
        let mut classes = heap.job.context.budget.filled("possible duplicates", class_count, Open::default())?;
        let mut unknown = Unknown::default();
        unknown.add_up(&mut classes, heap)?;
        if unknown.bytes() == 0 {
            return Ok(Vec::new());
        }
        let count = unknown.untold.members + unknown.uncompared.members;
        let found = Found { rule: NAME, severity: Severity::Low, count, bytes: unknown.bytes() };
        let mut finding = found.about(Scope::Snapshot, "the snapshot");
        finding.message = unknown.message();
        let most = classes.iter().zip(0..).filter(|(open, _)| open.members > 0);
        if let Some((_, class)) = most.max_by_key(|(open, class)| (open.bytes, Reverse(*class))) {
            finding.class_id = Some(class);
            let option = class_option(&heap.class_name(class));
            finding.next_step = format!(
                "Run `heaplake duplicates RUN {option}` to settle the most, `heaplake duplicates RUN` to settle all."
            );
        }
        Ok(vec![finding])
    }
}
