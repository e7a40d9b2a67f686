//! The heap as a walk upward sees it: retainers from the transpose, labels from the edges.

use super::asked::Asked;
use super::narrow::{Narrowed, narrow_of};
use crate::findings::Kinds;
use heaplake_kit::array::Array;
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::chains::NumericNames;
use heaplake_kit::retainer_tree::{Holders, SOON};
use heaplake_kit::{
    ArrayPlan, BudgetVec, ColumnMap, ColumnReader, Job, Lookup, Offsets, ReadAt, Reservation, ReverseReader, Scratch,
    StageError, WriteAt, on_resident,
};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, Preorder, StringId};
use heaplake_schemas::scratch::{self as columns, Column, EdgeKind, Facts, NO_DISTANCE, edge_flags, edge_label};

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

/// What tells labels.
enum Details {
    /// Kind, name and flags of all edges.
    All { kinds: Vec<EdgeKind>, kind: Lookup<u8>, name: Lookup<u32>, flags: Lookup<u8> },
    /// Labels of essential edges.
    Labels(Labels),
    /// None are known.
    Nothing,
}

/// Bytes, words and kinds of edges, as far as there are any.
type Told = (Option<Lookup<u8>>, Option<Lookup<u32>>, Option<Lookup<u8>>);

/// Labels of essential edges.
struct Labels {
    label: Lookup<u8>,
    named: Lookup<u32>,
    /// Named edges before each block of edges.
    before: BudgetVec<u64>,
    start: ColumnMap<u64>,
    names: ColumnMap<StringId>,
}

/// Parts in parts, at most.
pub(super) const NESTED: usize = 8;

/// Edges of a block.
const BLOCK: usize = 256;

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

    /// Whether all that is looked at ahead is in memory.
    fn is_resident(&self) -> bool {
        is_mapped(&self.position) && is_mapped(&self.node_at) && is_mapped(&self.retainer) && is_mapped(&self.to)
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

/// Degrees, targets, bytes and words of all edges, or of the essential ones.
fn edge_columns(all: bool) -> (Column<u32>, Column<NodeId>, Column<u8>, Column<u32>) {
    match all {
        true => (columns::NODE_EDGE_COUNT, columns::EDGE_TO, columns::EDGE_FLAGS, columns::EDGE_NAME),
        false => (columns::ESSENTIAL_DEGREE, columns::ESSENTIAL_TO, columns::ESSENTIAL_LABEL, columns::ESSENTIAL_NAME),
    }
}

fn is_mapped<T>(lookup: &Lookup<T>) -> bool {
    matches!(lookup, Lookup::Mapped(_))
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

/// How many edges before each block have names of their own.
fn named_before(job: &Job<'_>) -> Result<BudgetVec<u64>, StageError> {
    let mut labels = ColumnReader::open(job.scratch, columns::ESSENTIAL_LABEL)?;
    let mut before = job.context.budget.growing("retainer trees: named edges");
    let (mut sum, mut block) = (0u64, [0; BLOCK]);
    while labels.remaining() > 0 {
        before.push(sum)?;
        let count = labels.remaining().min(BLOCK as u64) as usize;
        labels.read_into(&mut block[..count])?;
        sum += block[..count].iter().filter(|&&label| label == edge_label::NAMED).count() as u64;
    }
    Ok(before)
}

impl Labels {
    /// The label of an edge that leaves a node of this class.
    fn label(&mut self, edge: usize, class: ClassId) -> Result<u32, StageError> {
        Ok(match self.label.get(edge)? {
            edge_label::NAMED => {
                let block = edge / BLOCK * BLOCK..edge;
                let mut rank = self.before[edge / BLOCK] as usize;
                if let Lookup::Mapped(labels) = &self.label {
                    rank += labels[block].iter().filter(|&&label| label == edge_label::NAMED).count();
                } else {
                    for before in block {
                        rank += usize::from(self.label.get(before)? == edge_label::NAMED);
                    }
                }
                self.named.get(rank)?
            }
            edge_label::INDEX => label::INDEX,
            position => {
                let start = self.start[..].get(class.index()).map_or(u64::MAX, |&start| start);
                let name = self.names[..].get((start as usize).saturating_add(position.into()));
                name.map_or(label::NONE, |name| name.0)
            }
        })
    }
}

impl Details {
    /// From bytes, words and kinds of edges: flags and names, or labels of essential edges.
    fn of(told: Told, before: BudgetVec<u64>, facts: &Facts, scratch: &Scratch) -> Result<Self, StageError> {
        Ok(match told {
            (Some(flags), Some(name), Some(kind)) => Self::All { kinds: facts.edge_kinds.clone(), kind, name, flags },
            (Some(label), Some(named), None) => Self::Labels(Labels {
                label,
                named,
                before,
                start: ColumnMap::uncounted(scratch, columns::CLASS_LABEL_START)?,
                names: ColumnMap::uncounted(scratch, columns::CLASS_LABEL)?,
            }),
            _ => Self::Nothing,
        })
    }

    /// Prefetches what labels an edge.
    fn prefetch(&self, edge: usize) {
        match self {
            Self::Nothing => {}
            Self::Labels(labels) => {
                labels.label.prefetch(edge / BLOCK * BLOCK);
                labels.label.prefetch(edge);
            }
            Self::All { kind, name, flags, .. } => {
                flags.prefetch(edge);
                kind.prefetch(edge);
                name.prefetch(edge);
            }
        }
    }

    /// The label of an edge from a node of this class; nothing if the edge is not essential.
    fn label(&mut self, edge: usize, class: ClassId) -> Result<Option<u32>, StageError> {
        Ok(match self {
            Self::Nothing => Some(label::NONE),
            Self::Labels(labels) => Some(labels.label(edge, class)?),
            Self::All { kinds, kind, name, flags } => match flags.get(edge)? {
                flags if flags & edge_flags::ESSENTIAL == 0 => None,
                flags if flags & edge_flags::PAIRED != 0 => Some(label::ENTRY),
                _ if kinds.get(usize::from(kind.get(edge)?)).is_some_and(|kind| kind.indexed) => Some(label::INDEX),
                _ => Some(name.get(edge)?),
            },
        })
    }
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
        if !self.is_resident() {
            return Ok(());
        }
        for &node in nodes {
            self.position.prefetch(node as usize);
            self.distance.prefetch(node as usize);
        }
        let mut places = [usize::MAX; SOON];
        let groups = self.retainers.groups();
        for (place, &node) in places.iter_mut().zip(nodes) {
            let position = self.position.get(node as usize)?;
            if !position.is_none() && position.index() > 0 {
                *place = groups - position.index();
                self.retainers.prefetch(*place);
            }
        }
        let count = self.retainer.count();
        let places = &mut places[..nodes.len()];
        for place in places.iter_mut().filter(|place| **place < groups) {
            *place = self.retainers.start(*place)?;
            self.retainer.prefetch(*place);
        }
        for place in places.iter_mut().filter(|place| **place < count) {
            *place = self.retainer.get(*place)?.index();
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
        if !self.is_resident() {
            return Ok(());
        }
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
