//! Stage `undecided pairs`: compares pairs that candidate classes and certificates leave undecided.
//!
//! * Computes: groups of duplicates. If all nodes of a candidate class have one certificate, they are a group.
//!   Otherwise one node of each certificate is compared with one node of each group found so far in that candidate
//!   class, by all that they reach. A successful comparison also joins the groups of all corresponding nodes on the
//!   way. So nodes that may contain the others are compared first.
//! * Resident memory: two bits and groups 4, candidate classes 4, values 4, components 4, offsets 1.2 bytes per node, 4
//!   per slot, paged where the budget does not allow it; 16 MiB for the pairs of a comparison. The pairs to compare are
//!   sorted on disk.
//! * Passes over disk: candidate classes and certificates three times.
//! * Worst case: the allowed work. Pairs beyond it stay in one group per candidate class, marked as undecided; so do
//!   pairs whose comparison meets more than 262,144 nodes. Neither limit depends on the budget.
//! * Fails when: the budget is too small.
//! * Determinism: components from the last to the first, then order of the input.
//! * Reference: deciding all pairs in near-linear time would also find triangles in graphs in near-linear time.

use crate::lockstep::{self, Graph, Lockstep, Verdict};
use crate::options::{Choices, names_classes};
use crate::pairs::{self, Pair};
use crate::slots::SlotArrays;
use heaplake_kit::access::{bits_per_node, column, per_edge, per_node, texts};
use heaplake_kit::array::Fault;
use heaplake_kit::array_plan::{loaded, lookup, offsets};
use heaplake_kit::sorter::Sorted;
use heaplake_kit::{
    Array, ArrayPlan, Bitset, ColumnReader, ColumnWriter, Context, Job, Offsets, ReadAt, Scratch, Stage, StageError,
    Stats, WriteAt,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, STRINGS, limits};

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "undecided pairs",
    version: 3,
    when: |setting| setting.looks_into_references(),
    reads: &[
        column(columns::EQUAL_VALUE),
        column(columns::EQUAL_DEGREE),
        column(columns::EQUAL_TO),
        column(columns::EQUAL_CANDIDATE),
        column(columns::EQUAL_CERTIFICATE),
        column(columns::EQUAL_COMPONENT),
        column(columns::NODE_CLASS),
        column(columns::CLASS_NAME).when(names_classes),
        texts(STRINGS).when(names_classes),
    ],
    writes: &[column(columns::EQUAL_GROUP), column(columns::EQUAL_UNDECIDED), column(columns::EQUAL_UNDECIDED_REASON)],
    arrays: &[&[
        per_node::<NodeId>(),
        Offsets::SIZE,
        per_edge::<NodeId>(),
        per_node::<NodeId>(),
        per_node::<NodeId>(),
        per_node::<u32>(),
    ]],
    least: &[bits_per_node(2)],
    // Tables of a comparison, the pairs while they are merged, page frames.
    fixed: lockstep::BYTES + (16 << 20),
    // The pairs, and a copy while they are merged.
    temporary: &[per_node::<[Pair; 2]>()],
    passes: "candidate classes and certificates; what they leave undecided pair by pair",
    run,
    ..Stage::NEW
};

/// Maximum number of groups of one candidate class that are compared with each other.
const MOST_GROUPS: usize = 1 << 12;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let choices = Choices::load(job)?;
    let nodes = ColumnReader::open(scratch, columns::EQUAL_CANDIDATE)?.remaining() as usize;
    context.progress.begin(STAGE.name, nodes as u64);
    let mut undecided = Bitset::new(&context.budget, "undecided candidate classes", nodes)?;
    let mut pairs = pairs::find(&choices, &mut undecided, nodes, job)?;
    let _tables = context.budget.reserve("pairs of a comparison", lockstep::BYTES)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (groups, offsets, to, values, candidates, components) = plan.make((
        loaded(columns::EQUAL_CERTIFICATE),
        offsets(columns::EQUAL_DEGREE, columns::EQUAL_TO),
        lookup(columns::EQUAL_TO),
        lookup(columns::EQUAL_VALUE),
        lookup(columns::EQUAL_CANDIDATE),
        lookup(columns::EQUAL_COMPONENT),
    ))?;
    let mut resolver = Resolver {
        groups: Groups(groups),
        graph: Graph { slots: SlotArrays::new(offsets, to), values, candidates, components },
        lockstep: Lockstep::new(),
        work: choices.work,
    };
    resolver.compare_all(&mut pairs, &mut undecided, job)?;
    write(&mut resolver.groups, &choices, &undecided, scratch)?;
    context.progress.end();
    Ok(Stats { rows: pairs.count(), spilled_bytes: plan.spilled_bytes() + pairs.bytes() })
}

/// Groups of nodes, joined when comparisons succeed.
///
/// A union-find: each element is the parent of a node in its group, or the node itself.
struct Groups(Array<NodeId>);

impl Groups {
    fn find(&mut self, mut node: u32) -> Result<u32, Fault> {
        loop {
            let above = self.0.get(node as usize)?;
            if above.0 == node {
                return Ok(node);
            }
            let top = self.0.get(above.index())?;
            self.0.set(node as usize, top)?;
            node = top.0;
        }
    }

    fn join(&mut self, left: u32, right: u32) -> Result<(), Fault> {
        let (left, right) = (self.find(left)?, self.find(right)?);
        self.0.set(left.max(right) as usize, NodeId(left.min(right)))
    }
}

struct Class {
    candidate: u32,
    /// One node of each group found so far.
    groups: Vec<u32>,
    /// Work left for the class.
    allowed: u64,
    decided: bool,
}

struct Resolver {
    groups: Groups,
    graph: Graph,
    lockstep: Lockstep,
    work: u64,
}

impl Resolver {
    /// Compares within all candidate classes that have several certificates.
    fn compare_all(
        &mut self,
        pairs: &mut Sorted<'_, Pair>,
        undecided: &mut Bitset,
        job: &Job<'_>,
    ) -> Result<(), StageError> {
        let mut class = Class { candidate: u32::MAX, groups: Vec::new(), allowed: 0, decided: true };
        let mut done = 0;
        while let Some(Pair { candidate, node, .. }) = pairs.pop()? {
            if class.candidate != candidate {
                class.groups.clear();
                // One candidate class may use only a quarter of the remaining work.
                class = Class { candidate, groups: class.groups, allowed: self.work / 4, decided: true };
            }
            if class.decided && !self.decide(node, &mut class, job.context)? {
                class.decided = false;
                undecided.insert(candidate as usize);
            }
            done += 1;
            if done == 1 << 12 {
                job.context.step(std::mem::take(&mut done))?;
            }
        }
        Ok(())
    }

    /// Finds the group of a node in its candidate class; returns whether that succeeded.
    fn decide(&mut self, node: u32, class: &mut Class, context: &Context<'_>) -> Result<bool, StageError> {
        let group = self.groups.find(node)?;
        if class.groups.contains(&group) {
            return Ok(true);
        }
        for known in &mut class.groups {
            let before = class.allowed;
            class.allowed = class.allowed.saturating_sub(1);
            let verdict = self.lockstep.compare((*known, group), &mut self.graph, &mut class.allowed, context)?;
            self.work -= before - class.allowed;
            match verdict {
                Verdict::Same => {
                    for (left, right) in self.lockstep.moved() {
                        self.groups.join(left, right)?;
                    }
                    *known = self.groups.find(*known)?;
                    return Ok(true);
                }
                Verdict::Different => {}
                Verdict::Unknown => return Ok(false),
            }
        }
        if class.groups.len() == MOST_GROUPS {
            return Ok(false);
        }
        class.groups.push(group);
        Ok(true)
    }
}

/// Writes the group of each node, and the undecided groups with their reasons.
fn write(groups: &mut Groups, choices: &Choices, undecided: &Bitset, scratch: &Scratch) -> Result<(), StageError> {
    let mut candidates = ColumnReader::open(scratch, columns::EQUAL_CANDIDATE)?;
    let mut node_classes = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut writer = ColumnWriter::create(scratch, columns::EQUAL_GROUP)?;
    let mut nodes = ColumnWriter::create(scratch, columns::EQUAL_UNDECIDED)?;
    let mut reasons = ColumnWriter::create(scratch, columns::EQUAL_UNDECIDED_REASON)?;
    for node in 0..groups.0.count() as u32 {
        let (candidate, node_class) = (candidates.next()?, node_classes.next()?);
        if undecided.contains(candidate.index()) {
            writer.push(candidate)?;
        } else {
            writer.push(NodeId(groups.find(node)?))?;
        }
        if undecided.contains(node as usize) {
            nodes.push(NodeId(node))?;
            reasons.push(if choices.looks_into(node_class.index()) { limits::WORK } else { limits::MODE })?;
        }
    }
    writer.finish()?;
    nodes.finish()?;
    reasons.finish().map(drop)
}
