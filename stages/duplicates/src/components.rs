//! Stage `components`: the strongly connected components of the equality graph.
//!
//! * Computes: the components in a topological order: all nodes that a node reaches precede it or are in its
//!   component.
//! * Resident memory: numbers 4 and offsets 1.2 bytes per node, 4 per slot, paged where the budget does not allow it; 2
//!   MiB for two stacks that spill to disk.
//! * Passes over disk: each node's slots once, in order of discovery.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: order of the input.
//! * Reference: Pearce, "A space-efficient algorithm for finding strongly connected components", IPL 116(1), 2016.

use crate::slots::{SlotArrays, Slots};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::access::{column, per_edge, per_node};
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::{
    ArrayPlan, ColumnReader, ColumnWriter, Job, Offsets, ReadAt, Stack, Stage, StageError, Stats, WriteAt, on_resident,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "components",
    when: |setting| setting.looks_into_references(),
    reads: &[column(columns::EQUAL_DEGREE), column(columns::EQUAL_TO)],
    writes: &[column(columns::EQUAL_ORDER), column(columns::EQUAL_COMPONENT), column(columns::EQUAL_COMPONENT_SIZE)],
    arrays: &[&[per_node::<u32>(), Offsets::SIZE, per_edge::<NodeId>()]],
    fixed: 8 << 20,
    passes: "each node's slots once, in depth-first order",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let nodes = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?.remaining();
    context.progress.begin(STAGE.name, nodes);
    let path = Stack::new(&context.budget, scratch, "components.path")?;
    let unfinished = Stack::new(&context.budget, scratch, "components.unfinished")?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut numbers, offsets, to) = plan.make((
        filled(nodes as usize, UNSEEN),
        offsets(columns::EQUAL_DEGREE, columns::EQUAL_TO),
        lookup(columns::EQUAL_TO),
    ))?;
    let mut slots = SlotArrays::new(offsets, to);
    let count = on_resident!(numbers, slots => search(numbers, slots, (path, unfinished), job))?;
    let mut components = ColumnWriter::create(scratch, columns::EQUAL_COMPONENT)?;
    for node in 0..nodes as usize {
        // Components are numbered downwards from the largest number, so that a finished node never looks unfinished.
        components.push((nodes - 1) as u32 - numbers.get(node)?)?;
    }
    components.finish()?;
    context.progress.end();
    Ok(Stats { rows: count, spilled_bytes: plan.spilled_bytes() })
}

/// Number of a node that was not visited yet. Nodes of unfinished components are numbered from 1.
const UNSEEN: u32 = 0;

/// A node on the current path of the search.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Level {
    node: u32,
    /// Number of its slots that the search has followed.
    seen: u32,
    /// Its number at the time of the visit.
    index: u32,
}

type Stacks = (Stack<Level>, Stack<u32>);

fn search(
    numbers: impl WriteAt<u32>,
    slots: impl Slots,
    (path, unfinished): Stacks,
    job: &Job<'_>,
) -> Result<u64, StageError> {
    let nodes = numbers.count() as u32;
    let mut search = Search {
        numbers,
        slots,
        path,
        unfinished,
        index: UNSEEN + 1,
        next: nodes.wrapping_sub(1),
        order: ColumnWriter::create(job.scratch, columns::EQUAL_ORDER)?,
        sizes: ColumnWriter::create(job.scratch, columns::EQUAL_COMPONENT_SIZE)?,
    };
    for node in 0..nodes {
        if search.numbers.get(node as usize)? == UNSEEN {
            search.visit(node)?;
        }
        job.context.step_every(1 << 16, node)?;
    }
    search.order.finish()?;
    search.sizes.finish()
}

struct Search<N, S> {
    numbers: N,
    slots: S,
    path: Stack<Level>,
    /// Nodes with finished slots in an unfinished component; the last visited one is on top.
    unfinished: Stack<u32>,
    /// Number of the next node.
    index: u32,
    /// Number of the next component; decreases.
    next: u32,
    order: ColumnWriter<NodeId>,
    sizes: ColumnWriter<u32>,
}

impl<N: WriteAt<u32>, S: Slots> Search<N, S> {
    /// Finds the components of all unvisited nodes that a node reaches.
    fn visit(&mut self, start: u32) -> Result<(), StageError> {
        let mut level = self.enter(start)?;
        loop {
            let range = self.slots.of(level.node)?;
            let mut next = range.start + level.seen as usize;
            let mut lowest = self.numbers.get(level.node as usize)?;
            let mut down = None;
            while next < range.end {
                let target = self.slots.to(next)?;
                match self.numbers.get(target as usize)? {
                    UNSEEN => {
                        down = Some(target);
                        break;
                    }
                    number => lowest = lowest.min(number),
                }
                next += 1;
            }
            self.numbers.set(level.node as usize, lowest)?;
            level.seen = (next - range.start) as u32;
            if let Some(target) = down {
                // The slot is processed again on return, for the result from below.
                self.path.push(level)?;
                level = self.enter(target)?;
                continue;
            }
            self.leave(level, lowest)?;
            match self.path.pop()? {
                Some(above) => level = above,
                None => return Ok(()),
            }
        }
    }

    fn enter(&mut self, node: u32) -> Result<Level, StageError> {
        let index = self.index;
        self.index += 1;
        self.numbers.set(node as usize, index)?;
        Ok(Level { node, seen: 0, index })
    }

    /// Leaves a node, and finishes its component if no edge leads further back.
    fn leave(&mut self, level: Level, lowest: u32) -> Result<(), StageError> {
        if lowest != level.index {
            return self.unfinished.push(level.node);
        }
        let mut size = 1;
        while let Some(node) = self.unfinished.pop()? {
            if self.numbers.get(node as usize)? < level.index {
                self.unfinished.push(node)?;
                break;
            }
            self.end(node)?;
            size += 1;
        }
        self.end(level.node)?;
        self.sizes.push(size)?;
        self.next = self.next.wrapping_sub(1);
        Ok(())
    }

    fn end(&mut self, node: u32) -> Result<(), StageError> {
        self.numbers.set(node as usize, self.next)?;
        self.order.push(NodeId(node))?;
        self.index -= 1;
        Ok(())
    }
}
