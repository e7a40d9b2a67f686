//! Rules `huge-string` and `huge-array`: single pieces of plain data that are a part of the heap worth knowing.

use super::heap::{Heap, about_node, shorten};
use super::{FLOOR, Node, Rule, severity};
use heaplake_kit::{Context, StageError};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Facts;

/// Percent of the heap from which on a finding is high, medium, low.
const PERCENT: [u64; 3] = [101, 10, 2];
/// Values that are remembered.
const MOST: usize = 1024;

pub struct HugeValues {
    strings: Vec<u8>,
    arrays: Vec<u8>,
    largest: Vec<Node>,
}

impl HugeValues {
    pub fn new(facts: &Facts) -> Self {
        let kinds = |wanted: &[&str]| {
            let kinds = facts.node_kinds.iter().enumerate();
            kinds.filter(|(_, kind)| wanted.contains(&kind.as_str())).map(|(at, _)| at as u8).collect()
        };
        Self {
            strings: kinds(&["string", "concatenated string", "sliced string"]),
            arrays: kinds(&["primitive array"]),
            largest: Vec::new(),
        }
    }
}

impl Rule for HugeValues {
    fn see(&mut self, node: &Node) {
        if node.shallow >= FLOOR && (self.strings.contains(&node.kind) || self.arrays.contains(&node.kind)) {
            self.largest.push(*node);
            if self.largest.len() >= 2 * MOST {
                self.largest.sort_unstable_by_key(|node| (std::cmp::Reverse(node.shallow), node.node));
                self.largest.truncate(MOST);
            }
        }
    }

    fn report(&mut self, heap: &Heap, _context: &Context<'_>) -> Result<Vec<Finding>, StageError> {
        let found = self.largest.iter().filter_map(|node| {
            let is_string = self.strings.contains(&node.kind);
            let rule = if is_string { "huge-string" } else { "huge-array" };
            let mut finding = about_node(rule, severity(node.shallow, heap.bytes, PERCENT)?, node.node, heap);
            finding.bytes = node.shallow;
            let begins = if is_string {
                format!(" that begins with {:?}", shorten(&heap.nodes.own_name(NodeId(node.node), 60), 60))
            } else {
                String::new()
            };
            finding.message = format!(
                "One {}{begins} takes {}: {}",
                finding.subject,
                heap.share(node.shallow),
                heap.chain(node.dominator),
            );
            finding.next_step = "Process it piece by piece, or let go of it as soon as it is used.".to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}
