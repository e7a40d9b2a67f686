//! The heap in a walk upward: retainers from the transpose, labels from the edges.

use super::asked::Asked;
use super::details::{Details, edge_columns, named_before};
use super::dominance::{self, Dominance};
use crate::findings::Kinds;
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::{ArrayPlan, Bitset, ColumnReader, Job, Lookup, Offsets, ReadAt, StageError};
use heaplake_paths::chains::NumericNames;
use heaplake_paths::retainer_tree::{Dominates, Holders, Place, Retainer, SOON};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, Preorder};
use heaplake_schemas::scratch::{self as columns, Metadata, NO_DISTANCE};
use std::sync::Arc;

pub(super) struct Heap<'a> {
    job: Job<'a>,
    root: NodeId,
    position: Lookup<Preorder>,
    node_at: Lookup<NodeId>,
    class: Lookup<ClassId>,
    distance: Lookup<i32>,
    kind: Lookup<u8>,
    dominator: Lookup<NodeId>,
    /// Kinds of parts with references that the input repeats at their owner.
    parts: Kinds,
    /// Retainers, from the last position down to 1.
    retainers: Offsets,
    retainer: Lookup<Preorder>,
    /// Positions with one retainer, which is then the dominator.
    single: Arc<Bitset>,
    dominance: Dominance,
    edges: Offsets,
    to: Lookup<NodeId>,
    details: Details,
    numbers: NumericNames,
    asked: Asked,
    /// Whether some columns are on disk.
    is_tight: bool,
}

/// Maximum depth of nested parts.
pub(super) const NESTED: usize = 8;

impl<'a> Heap<'a> {
    /// Opens the columns. With `is_tight` not all of them fit in memory.
    pub(super) fn open(
        metadata: &Metadata,
        is_tight: bool,
        plan: &mut ArrayPlan<'_>,
        job: &Job<'a>,
    ) -> Result<Self, StageError> {
        let scratch = job.scratch;
        let labels = metadata.follows_essential && scratch.has(columns::ESSENTIAL_LABEL);
        let before = match labels {
            true => named_before(job)?,
            false => job.context.budget.growing("retainer trees: named edges"),
        };
        let all = !metadata.follows_essential;
        let reached = ColumnReader::open(scratch, columns::PREORDER_NODE)?.remaining() as usize;
        let kept = job.context.budget.reserve("retainer trees: numbers", dominance::KEPT)?;
        let single = self::single(reached, job)?;
        let (degrees, targets, bytes, words) = edge_columns(all);
        // First the columns read for each retainer, then those read for each node or edge that is followed.
        let arrays = plan.make((
            lookup(columns::NODE_DISTANCE),
            lookup(columns::NODE_KIND),
            lookup(columns::PREORDER_NODE),
            lookup(columns::NODE_CLASS),
            lookup(columns::NODE_PREORDER),
            offsets(columns::RETAINERS_DEGREE, columns::RETAINERS_FROM),
            offsets(degrees, targets),
            lookup(columns::RETAINERS_FROM),
            lookup(targets),
            (all || labels).then(|| lookup(bytes)),
            lookup(columns::PREORDER_DOMINATOR),
            lookup(columns::NODE_DOMINATOR),
            (all || labels).then(|| lookup(words)),
            all.then(|| lookup(columns::EDGE_KIND)),
        ))?;
        let (distance, kind, node_at, class, position, retainers, edges, retainer, to, byte, above, ..) = arrays;
        let (.., dominator, word, edge_kind) = arrays;
        let details = Details::of((byte, word, edge_kind), before, metadata, scratch)?;
        Ok(Self {
            job: *job,
            root: metadata.root,
            position,
            node_at,
            class,
            distance,
            kind,
            dominator,
            parts: Kinds::of(&metadata.roles.restated_kinds, metadata),
            retainers,
            retainer,
            single: Arc::new(single),
            dominance: Dominance::new(above, kept),
            edges,
            to,
            details,
            numbers: NumericNames::open(scratch)?,
            asked: Asked::default(),
            is_tight,
        })
    }

    /// Shares the heap with another thread; `None` if some of it is paged.
    pub(super) fn share(&self) -> Option<Self> {
        Some(Self {
            job: self.job,
            root: self.root,
            position: self.position.share()?,
            node_at: self.node_at.share()?,
            class: self.class.share()?,
            distance: self.distance.share()?,
            kind: self.kind.share()?,
            dominator: self.dominator.share()?,
            parts: self.parts.clone(),
            retainers: self.retainers.share()?,
            retainer: self.retainer.share()?,
            single: Arc::clone(&self.single),
            dominance: self.dominance.share()?,
            edges: self.edges.share()?,
            to: self.to.share()?,
            details: self.details.share()?,
            numbers: self.numbers.clone(),
            asked: Asked::default(),
            is_tight: self.is_tight,
        })
    }

    /// Bytes of later arrays that did not fit.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.dominance.spilled_bytes()
    }

    /// Sorts queries by their position on disk if tight; in memory no order of reading is better than another.
    fn in_order(&self, asked: &mut [u64]) {
        if self.is_tight {
            asked.sort_unstable();
        }
    }

    /// Finds the retainers of places with a position, except that of the root.
    fn find(&mut self, places: &mut [Place]) -> Result<(), StageError> {
        let groups = self.retainers.groups();
        let (mut several, mut single) = (Vec::new(), Vec::new());
        for (at, place) in places.iter().enumerate().filter(|(_, place)| place.position > 0) {
            let index = place.position as usize;
            // Retainers come from the last position down.
            match self.single.contains(index) {
                true => single.push((index as u64) << 32 | at as u64),
                false => several.push(((groups - index) as u64) << 32 | at as u64),
            }
        }
        self.in_order(&mut single);
        self.in_order(&mut several);
        for (at, &place) in single.iter().enumerate() {
            single.get(at + SOON).iter().for_each(|soon| self.dominance.above.prefetch((**soon >> 32) as usize));
            let above = self.dominance.above.get((place >> 32) as usize)?;
            let out = &mut places[place as u32 as usize];
            (out.start, out.count) = (ONLY | above.index() as u64, 1);
        }
        for (at, &place) in several.iter().enumerate() {
            several.get(at + SOON).iter().for_each(|soon| self.retainers.prefetch((**soon >> 32) as usize));
            let range = self.retainers.range((place >> 32) as usize)?;
            let out = &mut places[place as u32 as usize];
            (out.start, out.count) = (range.start as u64, range.len() as u32);
        }
        Ok(())
    }

    /// Appends the retainers of places, by place.
    fn append(&mut self, asked: &[Place], out: &mut Vec<Retainer>) -> Result<(), StageError> {
        let mut order: Vec<u32> = (0..asked.len() as u32).collect();
        if self.is_tight {
            order.sort_unstable_by_key(|&at| asked[at as usize].start);
        }
        for (nth, &at) in order.iter().enumerate() {
            let soon = order.get(nth + SOON).map(|&soon| asked[soon as usize].start);
            soon.iter().filter(|&start| start & ONLY == 0).for_each(|&start| self.retainer.prefetch(start as usize));
            let Place { start, count, .. } = asked[at as usize];
            let retainer = |position| Retainer { asked: at, node: 0, position, distance: 0, owner: u32::MAX };
            if start & ONLY == 0 {
                for edge in start..start + u64::from(count) {
                    out.push(retainer(self.retainer.get(edge as usize)?.0));
                }
            } else if count > 0 {
                out.push(retainer((start & !ONLY) as u32));
            }
        }
        Ok(())
    }

    /// Fills in the distances of retainers, and the owners of parts.
    fn describe(&mut self, retainers: &mut [Retainer]) -> Result<(), StageError> {
        let mut parts = Vec::new();
        for at in 0..retainers.len() {
            if at + SOON < retainers.len() {
                let soon = retainers[at + SOON].node as usize;
                self.distance.prefetch(soon);
                self.kind.prefetch(soon);
            }
            let Retainer { node, distance, .. } = &mut retainers[at];
            *distance = far(self.distance.get(*node as usize)?);
            if self.parts.has(self.kind.get(*node as usize)?) && *node != self.root.0 {
                parts.push(u64::from(self.dominator.get(*node as usize)?.0) << 32 | at as u64);
            }
        }
        for _ in 1..NESTED {
            self.in_order(&mut parts);
            let mut nested = Vec::new();
            for part in parts {
                let (owner, at) = ((part >> 32) as u32, part as u32);
                if owner == self.root.0 || !self.parts.has(self.kind.get(owner as usize)?) {
                    retainers[at as usize].owner = owner;
                } else {
                    nested.push(u64::from(self.dominator.get(owner as usize)?.0) << 32 | u64::from(at));
                }
            }
            parts = nested;
        }
        Ok(())
    }
}

/// Returns the positions below `reached` in the preorder with exactly one retainer, which is the dominator: one access
/// answers both queries for most objects of a heap. Cost: one pass over the numbers of retainers; a bit per position.
fn single(reached: usize, job: &Job<'_>) -> Result<Bitset, StageError> {
    let mut single = Bitset::new(&job.context.budget, "retainer trees: single retainers", reached)?;
    let mut degrees = ColumnReader::open(job.scratch, columns::RETAINERS_DEGREE)?;
    for position in (1..reached).rev() {
        if degrees.next()? == 1 {
            single.insert(position);
        }
    }
    Ok(single)
}

/// Converts a distance for walks.
fn far(distance: i32) -> i32 {
    if distance == NO_DISTANCE { i32::MAX } else { distance }
}

/// Bit of [`Place::start`] for a node with one retainer; the other bits are the retainer's position.
const ONLY: u64 = 1 << 63;

impl Holders for Heap<'_> {
    fn root(&self) -> u32 {
        self.root.0
    }

    fn places(&mut self, nodes: &[u32], out: &mut Vec<Place>) -> Result<(), StageError> {
        let first = out.len();
        out.reserve(nodes.len());
        for (at, &node) in nodes.iter().enumerate() {
            if let Some(&soon) = nodes.get(at + SOON) {
                self.position.prefetch(soon as usize);
                self.distance.prefetch(soon as usize);
            }
            let position = self.position.get(node as usize)?;
            let distance = far(self.distance.get(node as usize)?);
            // The root dominates and retains nodes that the search did not reach; nothing retains the root.
            let (is_reached, index) = (!position.is_none(), if position.is_none() { 0 } else { position.index() });
            out.push(Place { start: ONLY, count: u32::from(!is_reached), position: index as u32, distance });
        }
        self.find(&mut out[first..])
    }

    fn retainers(&mut self, asked: &[Place], out: &mut Vec<Retainer>) -> Result<(), StageError> {
        let first = out.len();
        self.append(asked, out)?;
        let found = &mut out[first..];
        if self.is_tight {
            found.sort_unstable_by_key(|retainer| retainer.position);
        }
        for at in 0..found.len() {
            let soon = found[(at + SOON).min(found.len() - 1)].position;
            self.node_at.prefetch(soon as usize);
            found[at].node = self.node_at.get(found[at].position as usize)?.0;
        }
        if self.is_tight {
            found.sort_unstable_by_key(|retainer| retainer.node);
        }
        self.describe(found)?;
        if self.is_tight {
            found.sort_unstable_by_key(|retainer| retainer.asked);
        }
        let groups = found.chunk_by_mut(|a, b| a.asked == b.asked).filter(|group| group.len() > 1);
        groups.for_each(|group| group.sort_unstable_by_key(|retainer| retainer.node));
        out.dedup_by_key(|retainer| (retainer.asked, retainer.node));
        Ok(())
    }

    fn dominates(&mut self, asked: &[Dominates], out: &mut Vec<bool>) -> Result<(), StageError> {
        self.dominance.answer(asked, out, &self.job)
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
            // The root retains orphans without an edge.
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
        Ok(far(self.distance.get(node as usize)?))
    }

    fn check(&self) -> Result<(), StageError> {
        self.job.context.check()
    }
}
