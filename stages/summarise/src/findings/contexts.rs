//! Rule `big-context`: the variables of a closure that keep much alive. All functions made in one call share a context,
//! so a function that needs little may keep the variables of another one.

use super::class_roles::role;
use super::heap::{Found, Heap};
use super::rule::{Detector, Extent, FLOOR, Node, Rule, Tells, list_bytes, severity};
use heaplake_kit::StageError;
use heaplake_schemas::findings::Finding;
use std::cmp::Reverse;

pub(super) const RULE: Rule = Rule {
    names: &[NAME],
    candidates: list_bytes::<(Reverse<u64>, u32)>(2 * MOST),
    tells: Tells::Mass,
    open: |_, _| Ok(Box::<Contexts>::default()),
    ..Rule::NEW
};

const NAME: &str = "big-context";
/// Minimum percent of the heap of a high, medium, low finding.
const PERCENT: [u64; 3] = [75, 15, 5];
/// Number of nodes kept, those with the largest retained sizes.
const MOST: usize = 1024;

#[derive(Default)]
struct Contexts {
    largest: Vec<(Reverse<u64>, u32)>,
}

impl Detector for Contexts {
    fn may_match(&self, extent: &Extent) -> bool {
        extent.retained >= FLOOR
    }

    fn see(&mut self, node: &Node) {
        if node.retained >= FLOOR {
            self.largest.push((Reverse(node.retained), node.node));
            if self.largest.len() >= 2 * MOST {
                self.largest.sort_unstable();
                self.largest.truncate(MOST);
            }
        }
    }

    fn report(&mut self, heap: &Heap) -> Result<Vec<Finding>, StageError> {
        self.largest.sort_unstable();
        let is_context = |node: u32| heap.classes.has(heap.nodes.class.at(node as usize).0, role::CLOSURE_CONTEXT);
        let found = self.largest.iter().filter(|(_, node)| is_context(*node)).filter_map(|&(Reverse(bytes), node)| {
            let severity = severity(bytes, heap.bytes, PERCENT)?;
            let mut finding = Found { rule: NAME, severity, count: 1, bytes }.about_node(node, heap);
            let function = heap.subject(node);
            finding.message =
                format!("The variables that {function} can see keep {} alive: {}", heap.share(bytes), heap.chain(node));
            "Keep large values out of the closure's sight, or set their variables to null when they are done with."
                .clone_into(&mut finding.next_step);
            finding.subject = function;
            Some(finding)
        });
        Ok(found.collect())
    }
}
