//! The heap as a walk upward sees it: retainers from the transpose, labels from the edges.

use super::asked::Asked;
use super::details::{Details, edge_columns, named_before};
use super::narrow::{Narrowed, narrow_of};
use super::single;
use crate::findings::Kinds;
use heaplake_kit::array::Array;
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::chains::NumericNames;
use heaplake_kit::retainer_tree::{Holders, SOON};
use heaplake_kit::{
    ArrayPlan, Bitset, ColumnReader, Job, Lookup, Offsets, ReadAt, Reservation, ReverseReader, Scratch, StageError,
    WriteAt, on_resident,
};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, Facts, NO_DISTANCE};

/// See the module documentation.
pub(super) struct Heap<'a> {
    job: Job<'a>,
    root: NodeId,
    position: Lookup<Preorder>,
    node_at: Lookup<NodeId>,
    class: Narrowed<u16, ClassId>,
    distance: Narrowed<u8, i32>,
    kind: Lookup<u8>,
    dominator: Lookup<NodeId>,
    /// Kinds of parts of the runtime, or of the object that holds them.
    parts: Kinds,
    /// Retainers, from the last position down to 1.
    retainers: Offsets,
    retainer: Lookup<Preorder>,
    /// The dominator of the node at each position, as a position.
    above: Lookup<Preorder>,
    /// Positions with one retainer, which is then the dominator.
    single: Bitset,
    /// Steps to dominators that may still be taken before the tree is numbered.
    climbs: usize,
    tree: Option<DominatorTree>,
    /// Of budget for the numbers.
    kept: Option<Reservation>,
    spilled: u64,
    edges: Offsets,
    to: Lookup<NodeId>,
    details: Details,
    numbers: NumericNames,
    asked: Asked,
}

/// Numbers in a preorder of the dominator tree, and the end of what each position dominates.
struct DominatorTree {
    begin: Array<u32>,
    end: Array<u32>,
}

/// Parts in parts, at most.
pub(super) const NESTED: usize = 8;

/// The dominator tree is numbered when as many steps were taken in it as one in so many nodes.
const CLIMBS: usize = 4;
/// Bytes that are kept for that: page frames of two arrays.
const KEPT: u64 = 9 << 18;

impl<'a> Heap<'a> {
    /// Opens the columns. With `is_tight` not all of them fit in memory.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Scratch`], [`StageError::Budget`].
    pub fn open(facts: &Facts, is_tight: bool, plan: &mut ArrayPlan<'_>, job: &Job<'a>) -> Result<Self, StageError> {
        let scratch = job.scratch;
        let labels = facts.follows_essential && scratch.has(columns::ESSENTIAL_LABEL);
        let before = match labels {
            true => named_before(job)?,
            false => job.context.budget.growing("retainer trees: named edges"),
        };
        let all = !facts.follows_essential;
        let reached = ColumnReader::open(scratch, columns::PREORDER_NODE)?.remaining() as usize;
        let kept = job.context.budget.reserve("retainer trees: numbers", KEPT)?;
        let single = single::positions(reached, job)?;
        let (degrees, targets, bytes, words) = edge_columns(all);
        // What is looked at for each retainer first, then what is looked at for each node or edge that is followed.
        let arrays = plan.make((
            narrow_of(columns::NODE_DISTANCE, is_tight, scratch),
            lookup(columns::NODE_KIND),
            lookup(columns::PREORDER_NODE),
            narrow_of(columns::NODE_CLASS, is_tight, scratch),
            lookup(columns::NODE_PREORDER),
            offsets(columns::RETAINERS_DEGREE),
            offsets(degrees),
            lookup(columns::RETAINERS_FROM),
            lookup(targets),
            (all || labels).then(|| lookup(bytes)),
            lookup(columns::PREORDER_DOMINATOR),
            lookup(columns::NODE_DOMINATOR),
            (all || labels).then(|| lookup(words)),
            all.then(|| lookup(columns::EDGE_KIND)),
            lookup(columns::NODE_CLASS),
            lookup(columns::NODE_DISTANCE),
        ))?;
        let (near, kind, node_at, classes, position, retainers, edges, retainer, to, byte, above, ..) = arrays;
        let (.., dominator, word, edge_kind, class, distance) = arrays;
        let details = Details::of((byte, word, edge_kind), before, facts, scratch)?;
        Ok(Self {
            job: *job,
            root: facts.root,
            position,
            node_at,
            class: Narrowed::fill(classes, class, columns::NODE_CLASS, scratch)?,
            distance: Narrowed::fill(near, distance, columns::NODE_DISTANCE, scratch)?,
            kind,
            dominator,
            parts: Kinds::of(&facts.roles.part_kinds, facts),
            retainers,
            retainer,
            above,
            single,
            climbs: reached / CLIMBS,
            tree: None,
            kept: Some(kept),
            spilled: 0,
            edges,
            to,
            details,
            numbers: NumericNames::open(scratch)?,
            asked: Asked::default(),
        })
    }

    /// Bytes of arrays that were made later and did not fit.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled
    }

    /// Numbers the dominator tree.
    #[cold]
    fn number(&mut self) -> Result<(), StageError> {
        drop(self.kept.take());
        let mut plan = ArrayPlan::of(&self.job, "retainer trees");
        let positions = self.above.count();
        let (mut begin, mut end) = plan.make((filled(positions, 0u32), filled(positions, 1u32)))?;
        on_resident!(begin, end => number(begin, end, self.job.scratch))?;
        self.spilled += plan.spilled_bytes();
        self.tree = Some(DominatorTree { begin, end });
        Ok(())
    }

    /// Position of a node in the preorder; the root's, which dominates all, for what the search did not reach.
    fn position(&mut self, node: u32) -> Result<usize, StageError> {
        let position = self.position.get(node as usize)?;
        Ok(if position.is_none() { 0 } else { position.index() })
    }
}

/// Numbers the dominator tree: first the sizes of what positions dominate, then where they begin and end.
fn number(mut begin: impl WriteAt<u32>, mut end: impl WriteAt<u32>, scratch: &Scratch) -> Result<(), StageError> {
    let mut dominators = ReverseReader::open(scratch, columns::PREORDER_DOMINATOR)?;
    for position in (1..end.count()).rev() {
        let (size, above) = (end.get(position)?, dominators.next()?.index());
        end.change(above, |sum| *sum += size)?;
    }
    let mut dominators = ColumnReader::open(scratch, columns::PREORDER_DOMINATOR)?;
    dominators.skip(1)?;
    // From here on `end` is where the next child begins, and when all have come, the end.
    end.set(0, 1)?;
    for position in 1..end.count() {
        let (size, above) = (end.get(position)?, dominators.next()?.index());
        let first = end.change(above, |next| std::mem::replace(next, *next + size))?;
        begin.set(position, first)?;
        end.set(position, first + 1)?;
    }
    Ok(())
}

impl Holders for Heap<'_> {
    fn root(&self) -> u32 {
        self.root.0
    }

    fn retainers(&mut self, node: u32, most: usize, out: &mut Vec<u32>) -> Result<bool, StageError> {
        let position = self.position.get(node as usize)?;
        if position.is_none() {
            // Nothing that the root reaches holds it.
            out.push(self.root.0);
            return Ok(false);
        }
        if position.index() == 0 {
            return Ok(false);
        }
        if self.single.contains(position.index()) && most > 0 {
            let from = self.above.get(position.index())?;
            out.push(self.node_at.get(from.index())?.0);
            return Ok(false);
        }
        let range = self.retainers.range(self.retainers.groups() - position.index())?;
        for at in range.clone().take(most) {
            let from = self.retainer.get(at)?;
            out.push(self.node_at.get(from.index())?.0);
        }
        Ok(range.len() > most)
    }

    fn labels(&mut self, holder: u32, held: &[u32], out: &mut Vec<(u32, u32)>) -> Result<u64, StageError> {
        let class = self.class.get(holder as usize)?;
        let range = self.edges.range(holder as usize)?;
        let (cost, first) = (range.len() as u64, out.len());
        let Self { asked, to, details, numbers, .. } = self;
        asked.each(held, range, to, |edge, to| {
            if let Some(name) = details.label(edge, class)? {
                out.push((to, numbers.label(name)));
            }
            Ok(())
        })?;
        if holder == self.root.0 {
            // The root holds orphans without an edge.
            let mut known: Vec<u32> = out[first..].iter().map(|link| link.0).collect();
            known.sort_unstable();
            let orphans = held.iter().filter(|to| known.binary_search(to).is_err());
            out.extend(orphans.map(|&to| (to, label::NO_PATH)));
        }
        Ok(cost)
    }

    fn class(&mut self, node: u32) -> Result<u32, StageError> {
        Ok(self.class.get(node as usize)?.0)
    }

    fn distance(&mut self, node: u32) -> Result<i32, StageError> {
        let distance = self.distance.get(node as usize)?;
        Ok(if distance == NO_DISTANCE { i32::MAX } else { distance })
    }

    fn owner(&mut self, node: u32) -> Result<Option<u32>, StageError> {
        let mut at = node;
        for _ in 0..NESTED {
            let is_part = self.parts.has(self.kind.get(at as usize)?);
            if !is_part || at == self.root.0 {
                return Ok(Some(at).filter(|&at| at != node));
            }
            at = self.dominator.get(at as usize)?.0;
        }
        Ok(None)
    }

    fn dominates(&mut self, above: u32, node: u32) -> Result<bool, StageError> {
        let (above, mut node) = (self.position(above)?, self.position(node)?);
        // A dominator comes before what it dominates.
        while self.tree.is_none() {
            if node <= above || above == 0 {
                return Ok(node == above || above == 0);
            }
            if self.climbs == 0 {
                self.number()?;
            } else {
                self.climbs -= 1;
                node = self.above.get(node)?.index();
            }
        }
        let Some(tree) = &mut self.tree else { return Ok(false) };
        let begin = tree.begin.get(above)?;
        Ok((begin..tree.end.get(above)?).contains(&tree.begin.get(node)?))
    }

    fn before_retainers(&mut self, nodes: &[u32]) -> Result<(), StageError> {
        for &node in nodes {
            self.position.prefetch(node as usize);
            self.distance.prefetch(node as usize);
        }
        // Of each node where its retainers start, and then, or at once if it is the only one, the place of the first.
        let (mut starts, mut places) = ([usize::MAX; SOON], [usize::MAX; SOON]);
        let groups = self.retainers.groups();
        for ((start, place), &node) in starts.iter_mut().zip(&mut places).zip(nodes) {
            let position = self.position.get(node as usize)?;
            if position.is_none() || position.index() == 0 {
                continue;
            }
            if self.single.contains(position.index()) {
                *place = position.index();
                self.above.prefetch(*place);
            } else {
                *start = groups - position.index();
                self.retainers.prefetch(*start);
            }
        }
        for place in places.iter_mut().filter(|place| **place != usize::MAX) {
            *place = self.above.get(*place)?.index();
            self.node_at.prefetch(*place);
        }
        for start in starts.iter_mut().filter(|start| **start != usize::MAX) {
            *start = self.retainers.start(*start)?;
            self.retainer.prefetch(*start);
        }
        let count = self.retainer.count();
        for (start, place) in starts.iter().zip(&mut places).filter(|(start, _)| **start < count) {
            *place = self.retainer.get(*start)?.index();
            self.node_at.prefetch(*place);
        }
        let positions = self.node_at.count();
        for &place in places.iter().filter(|place| **place < positions) {
            let holder = self.node_at.get(place)?.index();
            self.distance.prefetch(holder);
            self.kind.prefetch(holder);
        }
        Ok(())
    }

    fn before_labels(&mut self, holders: &[u32]) -> Result<(), StageError> {
        for &holder in holders {
            self.edges.prefetch(holder as usize);
            self.class.prefetch(holder as usize);
            self.distance.prefetch(holder as usize);
        }
        for &holder in holders {
            let start = self.edges.start(holder as usize)?;
            self.to.prefetch(start);
            self.details.prefetch(start);
        }
        Ok(())
    }

    fn check(&self) -> Result<(), StageError> {
        self.job.context.check()
    }
}
