//! Rule `native-memory`: small objects that hold much memory outside the managed heap.

use super::heap::{Heap, about_class};
use super::{Node, Rule, severity};
use heaplake_kit::text::{count, size};
use heaplake_kit::{Context, StageError};
use heaplake_schemas::findings::Finding;
use std::collections::BTreeMap;

/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [50, 20, 5];
/// Bytes up to which an object is small, and outside of it from which on it holds much.
const SMALL: u64 = 4 << 10;
const MUCH: u64 = 64 << 10;
/// Classes that are told apart.
const CLASSES: usize = 1 << 14;

#[derive(Default)]
struct Tally {
    count: u64,
    native: u64,
    shallow: u64,
    example: u32,
}

#[derive(Default)]
pub struct Native {
    classes: BTreeMap<u32, Tally>,
}

impl Rule for Native {
    fn see(&mut self, node: &Node) {
        if node.native < MUCH || node.shallow > SMALL {
            return;
        }
        if self.classes.len() == CLASSES && !self.classes.contains_key(&node.class) {
            return;
        }
        let tally = self.classes.entry(node.class).or_insert_with(|| Tally { example: node.node, ..Tally::default() });
        tally.count += 1;
        tally.native = tally.native.saturating_add(node.native);
        tally.shallow = tally.shallow.saturating_add(node.shallow);
    }

    fn report(&mut self, heap: &Heap, _context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let found = self.classes.iter().filter_map(|(&class, tally)| {
            let mut finding = about_class("native-memory", severity(tally.native, heap.bytes, PERCENT)?, class, heap);
            finding.node = Some(tally.example);
            finding.count = tally.count;
            finding.bytes = tally.native;
            finding.message = format!(
                "{} × {} take {} and hold {} of native memory, for example {}",
                count(tally.count),
                finding.subject,
                size(tally.shallow),
                size(tally.native),
                heap.chain(tally.example),
            );
            finding.next_step =
                "Free it as soon as it is used: the collector sees only the small objects and is in no hurry."
                    .to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}
