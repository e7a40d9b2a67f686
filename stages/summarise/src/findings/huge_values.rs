//! Rules `huge-string` and `huge-array`: single pieces of plain data that are a large part of the heap.

use super::class_roles::Kinds;
use super::heap::{Found, Heap, shorten};
use super::rule::{Detector, Extent, FLOOR, Node, Rule, Tells, list_bytes, severity};
use heaplake_kit::StageError;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Metadata;

pub(super) const RULE: Rule = Rule {
    names: &[STRING, ARRAY],
    candidates: list_bytes::<Node>(2 * MOST),
    tells: Tells::Mass,
    open: |_, metadata| Ok(Box::new(HugeValues::new(metadata))),
    ..Rule::NEW
};

const STRING: &str = "huge-string";
const ARRAY: &str = "huge-array";
/// Minimum percent of the heap of a high (never), medium, low finding.
const PERCENT: [u64; 3] = [101, 10, 2];
/// Number of values kept.
const MOST: usize = 1024;

struct HugeValues {
    strings: Kinds,
    arrays: Kinds,
    largest: Vec<Node>,
}

impl HugeValues {
    fn new(metadata: &Metadata) -> Self {
        Self {
            strings: Kinds::of(&metadata.roles.texts, metadata),
            arrays: Kinds::of(&metadata.roles.data_arrays, metadata),
            largest: Vec::new(),
        }
    }
}

impl Detector for HugeValues {
    fn may_match(&self, extent: &Extent) -> bool {
        extent.shallow >= FLOOR
    }

    fn see(&mut self, node: &Node) {
        if node.shallow >= FLOOR && (self.strings.has(node.kind) || self.arrays.has(node.kind)) {
            self.largest.push(*node);
            if self.largest.len() >= 2 * MOST {
                self.largest.sort_unstable_by_key(|node| (std::cmp::Reverse(node.shallow), node.node));
                self.largest.truncate(MOST);
            }
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        let found = self.largest.iter().filter(|node| !heap.is_source(node.node)).filter_map(|node| {
            let is_string = self.strings.has(node.kind);
            let rule = if is_string { STRING } else { ARRAY };
            let severity = severity(node.shallow, heap.bytes, PERCENT)?;
            let mut finding = Found { rule, severity, count: 1, bytes: node.shallow }.about_node(node.node, heap);
            let begins = if is_string {
                format!(" that begins with {:?}", shorten(&heap.nodes.own_name(NodeId(node.node), 60), 60))
            } else {
                String::new()
            };
            finding.message = format!(
                "One {}{begins} takes {}: {}",
                finding.subject.trim_matches(['(', ')']),
                heap.share(node.shallow),
                heap.chain(node.node),
            );
            finding.next_step = "Process it piece by piece, or let go of it as soon as it is used.".to_owned();
            Some(finding)
        });
        Ok(found.collect())
    }
}
