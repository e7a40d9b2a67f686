//! Stage `largest`: the places where most memory accumulates, and their dominators.
//!
//! * Computes: the [`COUNT`] nodes of largest retained size, each with its dominators from the root down. It skips
//!   garbage; the runtime's own synthetic nodes; a node if [`MOST`] tenths of it are one object that it dominates,
//!   since that one says more; such an object itself if it is the next element of a list; and a part that is at least
//!   half of its whole. So of a chain of dominators with nearly one size the lowest is shown, with the head of the
//!   chain beside it.
//! * Resident memory: 17 bytes per node (dominator, retained size, class, kind), paged where the budget does not allow
//!   it; two bits per node, a byte per class.
//! * Passes over disk: two over the retained sizes.
//! * Worst case: linear; a path through a long list is walked node by node.
//! * Fails when: the budget is too small, or scratch cannot be read or written.
//! * Determinism: equals are ordered by node.
//! * Reference: a naive search for such nodes, in tests.

use crate::nodes::Nodes;
use heaplake_kit::access::{bits_per_node, column, document, per_node, texts};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{
    ArrayPlan, Bitset, BudgetVec, ColumnMap, ColumnReader, Job, Lookup, ReadAt, Stage, StageError, Stats, StringTable,
};
use heaplake_schemas::ids::{ClassId, NodeId, Preorder, StringId};
use heaplake_schemas::run::{LargeObject, PATH_HEAD, PATH_TAIL};
use heaplake_schemas::scratch::{self as columns, Metadata, STRINGS, documents};
use std::cmp::Reverse;
use std::collections::VecDeque;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "largest",
    version: 4,
    reads: &[
        document(documents::METADATA),
        texts(STRINGS),
        column(columns::CLASS_NAME),
        column(columns::NODE_ID),
        column(columns::NODE_KIND),
        column(columns::NODE_CLASS),
        column(columns::NODE_NAME),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_RETAINED),
        column(columns::NODE_DOMINATOR),
        column(columns::NODE_PREORDER),
    ],
    writes: &[document(documents::LARGEST)],
    arrays: &[&[per_node::<NodeId>(), per_node::<u64>(), per_node::<ClassId>(), per_node::<u8>()]],
    least: &[bits_per_node(2)],
    fixed: 5 << 20,
    shares: true,
    passes: "retained sizes twice",
    run,
    ..Stage::NEW
};

/// Number of objects.
pub const COUNT: usize = 10;
/// Tenths of a node's retained size that are nearly all of it.
const MOST: u64 = 9;
/// Minimum bytes of a skipped node; smaller ones are never skipped.
const LEAST: u64 = 1 << 10;
/// Maximum depth of nested parts.
const PARTS: usize = 64;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = &job.metadata()?;
    context.progress.begin(STAGE.name, 2 * metadata.node_count);
    // Before the arrays, which would take its memory.
    let mut passed = Passed::none(metadata, job)?;
    let (dominator, retained, class, kind) = ArrayPlan::of(job, STAGE.name).make((
        lookup(columns::NODE_DOMINATOR),
        lookup(columns::NODE_RETAINED),
        lookup(columns::NODE_CLASS),
        lookup(columns::NODE_KIND),
    ))?;
    let mut tree = Tree { root: metadata.root, dominator, retained };
    passed.find(&mut tree, Parts::open(metadata, class, kind, job)?, job)?;
    let largest = winners(metadata, &passed, job)?;
    let nodes = Nodes::open(scratch)?;
    let objects = largest.into_iter().map(|node| tree.describe(node, &passed, &nodes));
    let objects = objects.collect::<Result<Vec<LargeObject>, StageError>>()?;
    scratch.write_document(documents::LARGEST, &objects)?;
    context.progress.end();
    Ok(Stats { rows: objects.len() as u64, spilled_bytes: 0 })
}

/// The dominator tree with retained sizes.
struct Tree {
    root: NodeId,
    dominator: Lookup<NodeId>,
    retained: Lookup<u64>,
}

impl Tree {
    /// Returns the dominator of a node, if the node is nearly all of it.
    fn nearly_all(&mut self, node: usize) -> Result<Option<usize>, StageError> {
        let above = self.dominator.get(node)?.index();
        let is_top = node == self.root.index() || above == self.root.index();
        let least = if is_top { 0 } else { self.retained.get(above)? / 10 * MOST };
        Ok((!is_top && self.retained.get(node)? >= least).then_some(above))
    }

    /// Whether a node is at least half of its dominator.
    fn is_half(&mut self, node: usize) -> Result<bool, StageError> {
        let above = self.dominator.get(node)?.index();
        Ok(above != self.root.index() && self.retained.get(node)? >= self.retained.get(above)? / 2)
    }

    /// Returns a node with its dominators.
    fn describe(&mut self, node: NodeId, passed: &Passed, nodes: &Nodes) -> Result<LargeObject, StageError> {
        // Bottom up: the nearest dominators, and a window that finally holds those next to the root.
        let mut near: Vec<NodeId> = Vec::new();
        let mut far: VecDeque<NodeId> = VecDeque::new();
        let (mut left_out, mut head) = (0, None);
        let (mut at, mut in_chain) = (node, true);
        while at != self.root {
            in_chain = in_chain && self.nearly_all(at.index())?.is_some();
            at = self.dominator.get(at.index())?;
            in_chain &= !passed.is_top(at, nodes);
            head = if in_chain { Some(at) } else { head };
            if near.len() < PATH_TAIL {
                near.push(at);
            } else {
                far.push_back(at);
                if far.len() > PATH_HEAD {
                    far.pop_front();
                    left_out += 1;
                }
            }
        }
        let path = far.into_iter().rev().chain(near.into_iter().rev()).map(|node| nodes.step(node)).collect();
        let head = head.map(|node| nodes.step(node));
        Ok(LargeObject { object: nodes.step(node), path, path_left_out: left_out, head })
    }
}

/// Skipped nodes.
struct Passed {
    /// Nodes that are nearly one object that says more.
    over: Bitset,
    /// Nodes that are nearly all of an object that says more, or the larger half of their whole.
    under: Bitset,
    /// Kinds of nodes of the runtime itself.
    synthetic: Vec<u8>,
}

impl Passed {
    fn none(metadata: &Metadata, job: &Job<'_>) -> Result<Self, StageError> {
        let (budget, nodes) = (&job.context.budget, metadata.node_count as usize);
        let (over, under) = (Bitset::new(budget, STAGE.name, nodes)?, Bitset::new(budget, STAGE.name, nodes)?);
        Ok(Self { over, under, synthetic: metadata.synthetic_kinds.clone() })
    }

    fn find(&mut self, tree: &mut Tree, mut parts: Parts, job: &Job<'_>) -> Result<(), StageError> {
        let Job { scratch, context, .. } = *job;
        let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
        for node in 0..retained.remaining() as usize {
            context.step_every(1 << 16, node)?;
            let bytes = retained.next()?;
            if bytes < LEAST {
                continue;
            }
            if let Some(above) = tree.nearly_all(node)? {
                self.mark(node, above, tree, &mut parts)?;
            } else if parts.is_part(node)? && tree.is_half(node)? {
                self.under.insert(node);
            }
        }
        Ok(())
    }

    /// Whether a node is one of the runtime's own, above all objects.
    fn is_top(&self, node: NodeId, nodes: &Nodes) -> bool {
        self.synthetic.contains(&nodes.kind.at(node.index()))
    }

    /// Skips a node or the dominator that consists of it; in the second case also dominators with that one as a part.
    fn mark(&mut self, node: usize, above: usize, tree: &mut Tree, parts: &mut Parts) -> Result<(), StageError> {
        if parts.is_more(node, above)? {
            self.under.insert(node);
            return Ok(());
        }
        let mut at = above;
        self.over.insert(at);
        for _ in 0..PARTS {
            match tree.nearly_all(at)? {
                Some(above) if parts.is_more(at, above)? => at = above,
                _ => break,
            }
            self.over.insert(at);
        }
        Ok(())
    }
}

/// Parts of the objects that refer to them.
struct Parts {
    class: Lookup<ClassId>,
    kind: Lookup<u8>,
    classes: BudgetVec<bool>,
    kinds: [bool; 256],
}

impl Parts {
    fn open(metadata: &Metadata, class: Lookup<ClassId>, kind: Lookup<u8>, job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let strings = StringTable::open(scratch, STRINGS)?;
        let names = ColumnMap::uncounted(scratch, columns::CLASS_NAME)?;
        let roles = &metadata.roles;
        let mut classes = context.budget.filled(STAGE.name, names.len(), false)?;
        for (is_part, name) in classes.iter_mut().zip(names.iter()) {
            let name = strings.text(StringId::index(*name));
            *is_part = roles.part_classes.fit(&name) || roles.entries.fit(&name);
        }
        let mut kinds = [false; 256];
        kinds.iter_mut().zip(&metadata.node_kinds).for_each(|(part, kind)| *part = roles.part_kinds.fit(kind));
        metadata.synthetic_kinds.iter().for_each(|&kind| kinds[usize::from(kind)] = true);
        Ok(Self { class, kind, classes, kinds })
    }

    /// Whether a node says no more than its dominator: it is a part of it, or the next element of a list.
    fn is_more(&mut self, node: usize, above: usize) -> Result<bool, StageError> {
        Ok(self.class.get(node)? == self.class.get(above)? || self.is_part(node)?)
    }

    fn is_part(&mut self, node: usize) -> Result<bool, StageError> {
        Ok(self.kinds[usize::from(self.kind.get(node)?)] || self.classes[self.class.get(node)?.index()])
    }
}

fn winners(metadata: &Metadata, passed: &Passed, job: &Job<'_>) -> Result<Vec<NodeId>, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut retained = ColumnReader::open(scratch, columns::NODE_RETAINED)?;
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let open = || ColumnReader::open(scratch, columns::NODE_PREORDER);
    let mut order = metadata.keeps_garbage.then(open).transpose()?;
    let mut best: Vec<(Reverse<u64>, NodeId)> = Vec::with_capacity(COUNT + 1);
    for node in 0..metadata.node_count as u32 {
        context.step_every(1 << 16, node)?;
        let entry = (Reverse(retained.next()?), NodeId(node));
        let kind = kinds.next()?;
        let is_garbage = order.as_mut().map_or(Ok(false), |order| order.next().map(Preorder::is_none))?;
        if is_garbage {
            continue;
        }
        if best.len() == COUNT && entry >= best[COUNT - 1] {
            continue;
        }
        let at = node as usize;
        let is_passed = passed.over.contains(at) || passed.under.contains(at);
        if !is_passed && entry.1 != metadata.root && !metadata.synthetic_kinds.contains(&kind) {
            let at = best.partition_point(|other| *other < entry);
            best.insert(at, entry);
            best.truncate(COUNT);
        }
    }
    Ok(best.into_iter().map(|(_, node)| node).collect())
}

#[cfg(test)]
mod tests;
