//! Stage `findings`: what in the numbers is worth a look.
//!
//! * Computes: the findings of all rules. A rule is one file here: what it looks for, when that matters, what it says.
//!   Thresholds are parts of the heap with a floor in bytes, so that what every small program has is no finding.
//! * Reads: `node.{class,kind,shallow,native,retained,dominator,detached,edge_count,preorder}` in order, these and
//!   `node.{id,name,self}` at random for what is found and for collections, `container.row`, `weak_entry.row`, `set.*`,
//!   class rows, chains, names.
//! * Writes: the document of findings, the most severe first.
//! * Resident memory: class and dominator, 8 bytes per node, where the budget allows, paged where not; a bit per node where
//!   arrays show their elements; the entries of weak maps, 16 bytes each. All rules together keep 16 MiB of candidates.
//! * Passes over disk: up to three over node columns, one over collections for each rule about them.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or scratch cannot be read or written.
//! * Determinism: order of the nodes and of the classes.
//! * Reference: the idea of leak suspects is that of Eclipse MAT; the rules are ours.

mod boxed_numbers;
mod collection_slack;
mod containers;
mod contexts;
mod detached;
mod duplicate_values;
mod duplicates;
mod empty_collections;
mod finalizers;
mod heap;
mod huge_values;
mod leak_suspects;
mod loaders;
mod many_instances;
mod native;
mod one_entry;
mod possible_duplicates;
mod sparse_arrays;
mod thread_locals;
mod unreachable;
mod weak_maps;

use heap::{Heap, Sweep};
pub(crate) use heap::{blank, shorten};
use heaplake_kit::{Context, Scratch, StageError, StageInfo, Stats};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::findings::{Finding, Severity};
use heaplake_schemas::scratch::{Facts, documents};
use std::cmp::Reverse;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "findings",
    version: 2,
    bytes_per_node: 8,
    bytes_per_edge: 0,
    least_bits_per_node: 1,
    least_fixed: 25 << 20,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "node columns twice",
};

/// Bytes that all rules together keep of candidates, at most.
const CANDIDATES: u64 = 16 << 20;
/// Nodes that rules are shown at a time.
const SHOWN: usize = 256;
/// Findings of one rule that are kept.
const MOST_OF_A_RULE: usize = 20;

/// A node as rules see it.
#[derive(Clone, Copy, Debug)]
struct Node {
    node: u32,
    class: u32,
    kind: u8,
    detached: bool,
    reachable: bool,
    /// Of the edges that leave it.
    edges: u32,
    dominator: u32,
    shallow: u64,
    native: u64,
    retained: u64,
}

/// Looks at all nodes, then says what it found.
trait Rule {
    /// Is shown every node, in order.
    fn see(&mut self, _node: &Node) {}

    /// The same, some at a time: each rule has a loop of its own, and one that sees no nodes has none.
    fn see_all(&mut self, nodes: &[Node]) {
        nodes.iter().for_each(|node| self.see(node));
    }

    /// Is shown every class, the largest first.
    fn see_class(&mut self, _row: &ClassRow, _heap: &Heap) {}

    /// What it found.
    fn report(&mut self, heap: &Heap, context: &Context<'_>) -> Result<Vec<Finding>, StageError>;
}

/// All rules. Those that a format has nothing for find nothing.
fn rules(facts: &Facts, scratch: &Scratch, context: &Context<'_>) -> Result<Vec<Box<dyn Rule>>, StageError> {
    Ok(vec![
        Box::new(leak_suspects::LeakSuspects::new(facts)),
        Box::new(many_instances::ManyInstances::default()),
        Box::new(duplicates::Duplicates),
        Box::new(duplicate_values::DuplicateValues),
        Box::new(possible_duplicates::PossibleDuplicates),
        Box::new(detached::Detached::default()),
        Box::new(contexts::Contexts::default()),
        Box::new(huge_values::HugeValues::new(facts)),
        Box::new(unreachable::Unreachable::default()),
        Box::new(native::Native::new(facts)),
        Box::new(sparse_arrays::SparseArrays::new(facts, scratch, context)?),
        Box::new(collection_slack::CollectionSlack),
        Box::new(one_entry::OneEntry),
        Box::new(empty_collections::EmptyCollections),
        Box::new(weak_maps::WeakMaps),
        Box::new(loaders::Loaders::default()),
        Box::new(thread_locals::ThreadLocals::default()),
        Box::new(finalizers::Finalizers::default()),
        Box::new(boxed_numbers::BoxedNumbers::default()),
    ])
}

/// Finds.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let facts = scratch.read_document::<Facts>(documents::FACTS)?;
    context.progress.begin(STAGE.name, facts.node_count);
    let _candidates = context.budget.reserve("candidates of findings", CANDIDATES)?;
    let mut rules = rules(&facts, scratch, context)?;
    let mut sweep = Sweep::open(&facts, scratch)?;
    let (mut nodes, count) = (Vec::with_capacity(SHOWN), facts.node_count as u32);
    for first in (0..count).step_by(SHOWN) {
        nodes.clear();
        for node in first..count.min(first.saturating_add(SHOWN as u32)) {
            nodes.push(sweep.next(node)?);
        }
        rules.iter_mut().for_each(|rule| rule.see_all(&nodes));
        context.step(nodes.len() as u64)?;
    }
    let heap = Heap::open(facts, scratch)?;
    heap.each_class(|row| rules.iter_mut().for_each(|rule| rule.see_class(row, &heap)))?;
    let mut findings = Vec::new();
    for rule in &mut rules {
        let mut found = rule.report(&heap, context)?;
        heap.nodes.release();
        rank(&mut found);
        found.truncate(MOST_OF_A_RULE);
        findings.append(&mut found);
    }
    rank(&mut findings);
    many_instances::leave_out_suspects(&mut findings);
    scratch.write_document(documents::FINDINGS, &findings)?;
    context.progress.end();
    Ok(Stats { rows: findings.len() as u64, spilled_bytes: 0 })
}

/// The most severe first, then the largest.
pub(crate) fn rank(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| (finding.severity, Reverse(finding.bytes), finding.node, finding.class_id);
        key(a).cmp(&key(b)).then_with(|| a.rule.cmp(&b.rule))
    });
}

/// Bytes that must come together for a finding, whatever the heap.
const FLOOR: u64 = 1 << 20;
/// Bytes that must come together for one of high severity.
const HIGH_FLOOR: u64 = 4 << 20;

/// What bytes out of the heap amount to: so many percent of it for a high, a medium and a low severity.
pub(crate) fn severity(bytes: u64, heap: u64, percent: [u64; 3]) -> Option<Severity> {
    let at_least = |percent: u64| u128::from(bytes) * 100 >= u128::from(heap) * u128::from(percent);
    match percent {
        [high, _, _] if at_least(high) && bytes >= HIGH_FLOOR => Some(Severity::High),
        [_, medium, _] if at_least(medium) && bytes >= FLOOR => Some(Severity::Medium),
        [_, _, low] if at_least(low) && bytes >= FLOOR => Some(Severity::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_wants_a_part_and_a_floor() {
        let of = |bytes, heap| severity(bytes, heap, [25, 10, 5]);
        assert_eq!(of(30 << 20, 100 << 20), Some(Severity::High));
        assert_eq!(of(3 << 20, 4 << 20), Some(Severity::Medium));
        assert_eq!(of(6 << 20, 100 << 20), Some(Severity::Low));
        assert_eq!(of(1 << 19, 1 << 20), None);
        assert_eq!(of(u64::MAX, u64::MAX), Some(Severity::High));
    }
}
