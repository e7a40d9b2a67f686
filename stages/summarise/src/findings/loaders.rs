//! Rule `class-loader-leak`: one class that many loaders have loaded, each copy with what it holds. A loader that was
//! thrown away (a redeployed application, a script engine) should be gone.

use super::class_roles::role;
use super::heap::{Heap, blank, shorten};
use super::rule::{Detector, Rule, map_bytes, severity};
use heaplake_kit::StageError;
use heaplake_kit::text::count;
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Scope, Severity};
use std::collections::BTreeMap;

/// The rule.
pub const RULE: Rule = Rule {
    names: &[NAME],
    candidates: map_bytes::<u32, Copies>(NAMES),
    open: |_, _| Ok(Box::<Loaders>::default()),
    ..Rule::NEW
};

const NAME: &str = "class-loader-leak";
/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [20, 5, 1];
/// Loaders from which on they are many.
const MANY: u64 = 4;
/// Names that are told apart.
const NAMES: usize = 1 << 16;

#[derive(Default)]
struct Copies {
    loaders: u64,
    count: u64,
    bytes: u64,
    class: u32,
}

#[derive(Default)]
struct Loaders {
    names: BTreeMap<u32, Copies>,
}

impl Detector for Loaders {
    fn see_class(&mut self, row: &ClassRow, heap: &Heap) {
        let key = heap.class_name_id(row.class_id).0;
        // In other formats a key tells classes of one name apart by their place in the source.
        if !heap.has_class_objects() || (self.names.len() == NAMES && !self.names.contains_key(&key)) {
            return;
        }
        let copies = self.names.entry(key).or_insert_with(|| Copies { class: row.class_id, ..Copies::default() });
        copies.loaders += 1;
        copies.count = copies.count.saturating_add(row.count);
        copies.bytes = copies.bytes.saturating_add(row.retained_bytes);
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let found = self.names.values().filter(|copies| copies.loaders >= MANY).filter_map(|copies| {
            if heap.classes.has(copies.class, role::GENERATED) {
                return None;
            }
            let severity = severity(copies.bytes, heap.bytes, PERCENT).unwrap_or(Severity::Low);
            let mut finding = blank(NAME, severity, Scope::Class, heap.shown_class(copies.class));
            finding.class_id = Some(copies.class);
            finding.count = copies.count;
            finding.bytes = copies.bytes;
            finding.message = format!(
                "{} was loaded by {} class loaders; its {} objects retain {}. One of them: {}",
                finding.subject,
                count(copies.loaders),
                count(copies.count),
                heap.share(copies.bytes),
                shorten(&heap.class_key(copies.class), 120),
            );
            finding.next_step =
                "Look for what holds the old loaders: threads, thread locals, listeners and statics of \
                                 libraries above them."
                    .to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}
