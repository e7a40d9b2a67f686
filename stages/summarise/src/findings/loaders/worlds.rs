//! Retained sizes of class loaders with their classes and the instances of these, and their holders.

use super::super::heap::Heap;
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::{
    ArrayPlan, BudgetVec, ColumnMap, ColumnPoints, ColumnReader, ReadAt, Reservation, StageError, StringTable, WriteAt,
    on_resident,
};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::{ClassId, NodeId, Preorder};
use heaplake_schemas::scratch as columns;
use std::collections::BTreeMap;

/// No world: the node belongs to no loader.
const NONE: u16 = 0;

/// Maximum number of steps of a path, and of steps shown at each end.
const STEPS: usize = 10_000;
const ENDS: usize = 6;

/// A loader: the position of the names of its classes, and their number.
#[derive(Clone, Copy)]
pub(super) struct Loader {
    pub node: u32,
    pub first: usize,
    pub count: usize,
}

/// Sizes and holder of a loader's world.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct World {
    /// Bytes that its topmost nodes retain.
    pub bytes: u64,
    /// Class of the dominator of its largest topmost node; `None` for the root.
    pub holder: Option<u32>,
    /// Bytes that this node retains.
    pub largest: u64,
}

/// The world of each node.
struct Worlds<'a> {
    /// World of the instances of each class; worlds are numbered from 1.
    of_class: BudgetVec<u16>,
    /// World of loaders and classes, by node.
    of_node: BTreeMap<u32, u16>,
    /// Whether instances of a class may be such nodes.
    named: BudgetVec<bool>,
    _reservation: Reservation,
    heap: &'a Heap<'a>,
}

impl<'a> Worlds<'a> {
    fn of(groups: &[Vec<Loader>], loader_of: &[NodeId], heap: &'a Heap<'a>) -> Result<Self, StageError> {
        let budget = &heap.job.context.budget;
        let _reservation = budget.reserve("findings: nodes of classes", 24 * loader_of.len() as u64)?;
        let mut of_node: BTreeMap<u32, u16> =
            groups.iter().flatten().zip(1..).map(|(loader, world)| (loader.node, world)).collect();
        let mut of_class = budget.filled("findings: worlds of classes", loader_of.len(), NONE)?;
        let class_nodes = ColumnMap::uncounted(heap.job.scratch, columns::CLASS_NODE)?;
        for (class, loader) in loader_of.iter().enumerate() {
            let Some(&world) = of_node.get(&loader.0) else { continue };
            of_class[class] = world;
            if let Some(&node) = class_nodes.get(class).filter(|node| !node.is_none()) {
                of_node.insert(node.0, world);
            }
        }
        let mut named = budget.filled("findings: classes of loaders", loader_of.len(), false)?;
        for &node in of_node.keys() {
            if let Some(named) = named.get_mut(heap.nodes.class.at(node as usize).index()) {
                *named = true;
            }
        }
        Ok(Self { of_class, of_node, named, _reservation, heap })
    }

    #[inline]
    fn world(&self, node: NodeId, class: ClassId) -> u16 {
        match self.of_class.get(class.index()) {
            Some(&NONE) if self.named[class.index()] => self.of_node.get(&node.0).copied().unwrap_or(NONE),
            Some(&world) => world,
            None => NONE,
        }
    }
}

/// Returns the worlds of all loaders, in their order. A world inside another one is a part of it.
pub(super) fn worlds(groups: &[Vec<Loader>], loader_of: &[NodeId], heap: &Heap<'_>) -> Result<Vec<World>, StageError> {
    let of = Worlds::of(groups, loader_of, heap)?;
    let count = groups.iter().map(Vec::len).sum();
    let (mut within, mut nodes, mut class) = ArrayPlan::of(&heap.job, "findings: class loaders").make((
        filled(heap.metadata.node_count as usize, NONE),
        lookup(columns::PREORDER_NODE),
        lookup(columns::NODE_CLASS),
    ))?;
    on_resident!(within, nodes, class => add_up(&of, count, within, nodes, class))
}

/// The class of a node is prefetched this many nodes ahead.
const AHEAD: usize = 16;

/// Walks down the dominator tree and records the world of each node, by preorder.
fn add_up(
    of: &Worlds<'_>,
    count: usize,
    mut within: impl WriteAt<u16>,
    mut nodes: impl ReadAt<NodeId>,
    mut class: impl ReadAt<ClassId>,
) -> Result<Vec<World>, StageError> {
    let mut worlds = vec![World::default(); count];
    let mut dominators: ColumnReader<Preorder> = ColumnReader::open(of.heap.job.scratch, columns::PREORDER_DOMINATOR)?;
    let reached = dominators.remaining() as usize;
    for at in 0..reached {
        let dominator = dominators.next()?;
        of.heap.job.context.check_every(1 << 12, at)?;
        if at + AHEAD < reached {
            class.prefetch(nodes.get(at + AHEAD)?.index());
        }
        let node = nodes.get(at)?;
        let above = if dominator.index() == at { NONE } else { within.get(dominator.index())? };
        let own = if above == NONE { of.world(node, class.get(node.index())?) } else { NONE };
        within.set(at, if own == NONE { above } else { own })?;
        if own == NONE {
            continue;
        }
        let bytes = of.heap.nodes.retained.at(node.index());
        let world = &mut worlds[usize::from(own) - 1];
        world.bytes = world.bytes.saturating_add(bytes);
        if bytes > world.largest {
            world.largest = bytes;
            let holder = nodes.get(dominator.index())?;
            world.holder = if holder == of.heap.metadata.root { None } else { Some(class.get(holder.index())?.0) };
        }
    }
    Ok(worlds)
}

/// Returns a shortest path from the root to a node as text; empty without shortest paths.
pub(super) fn path(node: u32, strings: &StringTable, heap: &Heap<'_>) -> Result<String, StageError> {
    let scratch = heap.job.scratch;
    if !scratch.has(columns::PATH_PARENT) {
        return Ok(String::new());
    }
    let parents: ColumnPoints<NodeId> = ColumnPoints::open(scratch, columns::PATH_PARENT)?;
    let labels = ColumnPoints::open(scratch, columns::PATH_LABEL)?;
    let mut steps = Vec::new();
    let mut at = NodeId(node);
    while at != heap.metadata.root && steps.len() < STEPS {
        steps.push((at, labels.at(at.index())));
        at = parents.at(at.index());
        if at.is_none() {
            return Ok(String::new());
        }
    }
    steps.reverse();
    let left_out = steps.len().saturating_sub(2 * ENDS);
    let mut text = String::new();
    for (position, &(node, edge)) in steps.iter().enumerate() {
        if left_out > 0 && (ENDS..ENDS + left_out).contains(&position) {
            if position == ENDS {
                text += &format!(" → … {left_out} more …");
            }
            continue;
        }
        if position > 0 {
            text += &edge_text(edge, strings);
            text += " → ";
        }
        text += &heap.nodes.label(node);
    }
    Ok(text)
}

/// Text of an edge, to be appended to its source.
fn edge_text(edge: u32, strings: &StringTable) -> String {
    match edge {
        label::INDEX => "[]".to_owned(),
        edge if edge >= label::NO_PATH => String::new(),
        name => format!(".{}", strings.text(name as usize)),
    }
}
