//! Stage `resolve equals`: compares what classes and proofs leave open.
//!
//! * Computes: groups of duplicates. Where all nodes of a class have one proof, they are the group. Otherwise one node of
//!   each proof is compared with one of each group found so far in that class, pair by pair over their whole graphs, and
//!   what a comparison proves of parts on the way is kept; so those come first that may have the others as parts.
//! * Reads: `equal.{value,degree,to,class,proof,component}`, `node.class`.
//! * Writes: `equal.{group,open,open_reason}`.
//! * Resident memory: three bits and groups 4, proofs 4, classes 4, values 4, components 4, offsets 4 bytes per node, 4 per
//!   slot, where the budget allows, paged where not; a part of the rest for the pairs of a comparison.
//! * Passes over disk: classes and proofs three times.
//! * Worst case: the work that is allowed. What it leaves stays in the group of its class, which is open.
//! * Fails when: the budget is too small.
//! * Determinism: components from the last to the first, then order of the input.
//! * Reference: there is no near-linear way to settle everything, or there would be one to find triangles in graphs.

use crate::lockstep::{Graph, Lockstep, Verdict};
use crate::options::Choices;
use crate::slots::Slots;
use heaplake_kit::array::{Fault, column_bytes};
use heaplake_kit::spill::PairSpill;
use heaplake_kit::{
    Array, ArrayPlan, Bitset, ColumnReader, ColumnWriter, Context, Lookup, Offsets, ReadAt, Scratch, StageError,
    StageInfo, Stats, WriteAt,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, limits};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "resolve equals",
    version: 1,
    bytes_per_node: 24,
    bytes_per_edge: 4,
    least_bits_per_node: 4,
    least_fixed: 32 << 20,
    scratch_per_node: 4,
    scratch_per_edge: 0,
    passes: "classes and proofs; what they leave open pair by pair",
};

/// Groups of one class that are compared with each other at most.
const MOST_GROUPS: usize = 1 << 12;

const SPILL_SIZES: Column<u32> = Column::new("equal.open_sizes");
const SPILL_NODES: Column<u32> = Column::new("equal.open_nodes");

/// Finds the groups.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    run_with(&Choices::load(scratch)?, scratch, context)
}

pub(crate) fn run_with(choices: &Choices, scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let nodes = ColumnReader::open(scratch, columns::EQUAL_CANDIDATE)?.remaining();
    context.progress.begin(STAGE.name, nodes);
    let mut open = Bitset::new(&context.budget, "classes that stay open", nodes as usize)?;
    let pairs = candidates(choices, &mut open, scratch, context)?;
    let tables = context.budget.free() / 16;
    let _tables = context.budget.reserve("pairs of a comparison", tables)?;
    let to_bytes = column_bytes(scratch, columns::EQUAL_TO);
    let node_bytes = nodes * 4;
    let sizes = [node_bytes, Offsets::bytes(nodes), to_bytes, node_bytes, node_bytes, node_bytes];
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &sizes);
    let groups = room.load(columns::EQUAL_CERTIFICATE)?;
    let offsets = Offsets::load(&mut room, &context.budget, scratch, columns::EQUAL_DEGREE)?;
    let to = room.lookup(columns::EQUAL_TO)?;
    let mut resolver = Resolver {
        groups,
        slots: Slots::new(offsets, to),
        values: room.lookup(columns::EQUAL_VALUE)?,
        classes: room.lookup(columns::EQUAL_CANDIDATE)?,
        components: room.lookup(columns::EQUAL_COMPONENT)?,
        lockstep: Lockstep::new(tables),
        work: choices.work,
    };
    if pairs > 0 {
        resolver.all(&mut open, scratch, context)?;
    }
    resolver.write(choices, &open, scratch)?;
    context.progress.end();
    Ok(Stats { rows: pairs, spilled_bytes: room.spilled_bytes() + pairs * 8 })
}

/// Finds the classes with several proofs, and puts one node of each of these proofs where [`Resolver::all`] finds them.
/// Classes that are not to be looked into stay open at once.
fn candidates(
    choices: &Choices,
    open: &mut Bitset,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let nodes = ColumnReader::open(scratch, columns::EQUAL_CANDIDATE)?.remaining();
    let mut mixed = Bitset::new(&context.budget, "classes of several proofs", nodes as usize)?;
    {
        let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes * 4]);
        let mut proof_of = room.lookup(columns::EQUAL_CERTIFICATE)?;
        let mut classes = ColumnReader::open(scratch, columns::EQUAL_CANDIDATE)?;
        let mut proofs = ColumnReader::open(scratch, columns::EQUAL_CERTIFICATE)?;
        for _ in 0..nodes {
            let (class, proof) = (classes.next()?, proofs.next()?);
            if proof_of.get(class.index())? != proof {
                mixed.insert(class.index());
            }
        }
    }
    let mut node_classes = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    for node in 0..nodes as usize {
        let class = node_classes.next()?;
        if mixed.contains(node) && !choices.looks_into(class.index()) {
            mixed.remove(node);
            open.insert(node);
        }
    }
    let mut spill = PairSpill::create(&context.budget, scratch, "equal.open_pairs", nodes as usize, nodes / 8)?;
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &[nodes * 4]);
    let mut components = room.lookup(columns::EQUAL_COMPONENT)?;
    let mut classes = ColumnReader::open(scratch, columns::EQUAL_CANDIDATE)?;
    let mut proofs = ColumnReader::open(scratch, columns::EQUAL_CERTIFICATE)?;
    let mut pairs = 0;
    for node in 0..nodes as u32 {
        let (class, proof) = (classes.next()?, proofs.next()?);
        if proof.0 == node && mixed.contains(class.index()) {
            spill.push(components.get(class.index())?, node)?;
            pairs += 1;
        }
    }
    drop(components);
    spill.write_groups(scratch, context, 0, SPILL_SIZES, SPILL_NODES)?;
    Ok(pairs)
}

struct Resolver {
    /// A node above each node in its group, or itself.
    groups: Array<NodeId>,
    slots: Slots<Array<u32>, Lookup<NodeId>>,
    values: Lookup<NodeId>,
    classes: Lookup<NodeId>,
    components: Lookup<u32>,
    lockstep: Lockstep,
    work: u64,
}

impl Resolver {
    /// Goes through the classes that have several proofs.
    fn all(&mut self, open: &mut Bitset, scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
        let mut sizes = ColumnReader::open(scratch, SPILL_SIZES)?;
        let mut nodes = ColumnReader::open(scratch, SPILL_NODES)?;
        let mut members = context.budget.growing::<(u32, u32)>("proofs of a class");
        let mut done = 0;
        while nodes.remaining() > 0 {
            let size = sizes.next()?;
            members.clear();
            for _ in 0..size {
                let node = nodes.next()?;
                members.push((self.classes.get(node as usize)?.0, node))?;
            }
            members.sort_unstable();
            for class in members.chunk_by(|a, b| a.0 == b.0) {
                if !self.class(class)? {
                    open.insert(class[0].0 as usize);
                }
            }
            done += u64::from(size) + 1;
            if done >= 1 << 12 {
                context.step(std::mem::take(&mut done))?;
            }
        }
        Ok(())
    }

    /// Settles a class; whether that was possible.
    fn class(&mut self, members: &[(u32, u32)]) -> Result<bool, StageError> {
        let mut found: Vec<u32> = Vec::new();
        // No class may use up all that is left.
        let mut allowed = self.work / 4;
        let before = allowed;
        let mut settled = true;
        'members: for &(_, node) in members {
            let group = self.group(node)?;
            if found.contains(&group) {
                continue;
            }
            for known in &mut found {
                let Self { slots, values, classes, components, lockstep, .. } = self;
                let graph = &mut Graph { slots, values, classes, components };
                allowed = allowed.saturating_sub(1);
                match lockstep.compare(*known, group, graph, &mut allowed)? {
                    Verdict::Same => {
                        self.join()?;
                        *known = self.group(*known)?;
                        continue 'members;
                    }
                    Verdict::Different => {}
                    Verdict::Unknown => {
                        settled = false;
                        break 'members;
                    }
                }
            }
            if found.len() == MOST_GROUPS {
                settled = false;
                break;
            }
            found.push(group);
        }
        self.work -= before - allowed;
        Ok(settled)
    }

    /// Joins what the last comparison proved.
    fn join(&mut self) -> Result<(), StageError> {
        let pairs: Vec<(u32, u32)> = self.lockstep.moved().collect();
        for (left, right) in pairs {
            let (left, right) = (self.group(left)?, self.group(right)?);
            self.groups.set(left.max(right) as usize, NodeId(left.min(right)))?;
        }
        Ok(())
    }

    /// The node that stands for the group of a node.
    fn group(&mut self, mut node: u32) -> Result<u32, Fault> {
        loop {
            let above = self.groups.get(node as usize)?;
            if above.0 == node {
                return Ok(node);
            }
            let top = self.groups.get(above.index())?;
            self.groups.set(node as usize, top)?;
            node = top.0;
        }
    }

    fn write(&mut self, choices: &Choices, open: &Bitset, scratch: &Scratch) -> Result<(), StageError> {
        let mut classes = ColumnReader::open(scratch, columns::EQUAL_CANDIDATE)?;
        let mut node_classes = ColumnReader::open(scratch, columns::NODE_CLASS)?;
        let mut groups = ColumnWriter::create(scratch, columns::EQUAL_GROUP)?;
        let mut nodes = ColumnWriter::create(scratch, columns::EQUAL_UNDECIDED)?;
        let mut reasons = ColumnWriter::create(scratch, columns::EQUAL_UNDECIDED_REASON)?;
        for node in 0..self.groups.count() as u32 {
            let (class, node_class) = (classes.next()?, node_classes.next()?);
            if open.contains(class.index()) {
                groups.push(class)?;
            } else {
                groups.push(NodeId(self.group(node)?))?;
            }
            if open.contains(node as usize) {
                nodes.push(NodeId(node))?;
                reasons.push(if choices.looks_into(node_class.index()) { limits::WORK } else { limits::MODE })?;
            }
        }
        groups.finish()?;
        nodes.finish()?;
        reasons.finish().map(drop)
    }
}
