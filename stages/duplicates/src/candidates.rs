//! Stage `candidate classes`: separates nodes that cannot be duplicates.
//!
//! * Computes: a candidate class for each node, from its value, the candidate classes of its targets and which of its
//!   slots share a target; for the nodes of a cycle, from the whole cycle. Nodes in different candidate classes are
//!   never duplicates.
//! * Resident memory: candidate classes 4, offsets 1.2, values 4 and hash-cons table 12 to 24 bytes per node (the
//!   table: per node with slots), 4 per slot, and 32 per node of the largest cycle, paged where the budget does not
//!   allow it.
//! * Passes over disk: each node's slots once, in the order of components; those of cycles 16 times and more, see
//!   [`cycle`](crate::cycle).
//! * Worst case: linear, and 16 steps for each node and slot for cycles with many automorphisms. Beyond that their
//!   candidate classes are coarser.
//! * Fails when: the budget is too small.
//! * Determinism: order of components. Equal hashes suffice here, since a shared candidate class proves nothing.
//! * Reference: Ershov's hash-consing (1958), bottom up; inside cycles, colour refinement of Hopcroft, and of
//!   Weisfeiler and Leman.

use crate::cycle::{Cycle, Form, Member};
use crate::nodes;
use crate::shape::Shape;
use crate::slots::{SlotArrays, Slots};
use bytemuck::Zeroable;
use heaplake_kit::access::{column, per_edge, per_node};
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::hash_cons::{HashConsTable, mix};
use heaplake_kit::{
    Array, ArrayPlan, ColumnReader, Context, Job, Offsets, ReadAt, Stage, StageError, Stats, WriteAt, on_resident,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "candidate classes",
    when: |setting| setting.looks_into_references(),
    reads: &[
        column(columns::EQUAL_VALUE),
        column(columns::EQUAL_DEGREE),
        column(columns::EQUAL_TO),
        column(columns::EQUAL_ORDER),
        column(columns::EQUAL_COMPONENT_SIZE),
    ],
    writes: &[column(columns::EQUAL_CANDIDATE)],
    arrays: &[&[
        per_node::<u32>(),
        Offsets::SIZE,
        per_edge::<NodeId>(),
        // The table has up to three entries for each node with slots.
        per_node::<[u64; 3]>(),
        per_node::<NodeId>(),
        // The largest cycle may contain all nodes.
        per_node::<Member>(),
    ]],
    fixed: 16 << 20,
    passes: "each node's slots once, targets first",
    run,
    ..Stage::NEW
};

/// Up to this number of slots, all pairs of slots are compared to find shared targets.
const FEW: usize = 16;

/// Beyond this many slots, shared targets are ignored.
const MANY: usize = 1 << 16;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let shape = Shape::of(job.scratch)?;
    job.context.progress.begin(STAGE.name, shape.nodes as u64);
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut classes, offsets, to, mut table, mut values, members) = plan.make((
        filled(shape.nodes, 0u32),
        offsets(columns::EQUAL_DEGREE, columns::EQUAL_TO),
        lookup(columns::EQUAL_TO),
        filled(HashConsTable::<Array<u64>>::capacity(shape.inner), 0u64),
        lookup(columns::EQUAL_VALUE),
        filled(shape.largest, Member::zeroed()),
    ))?;
    let mut slots = SlotArrays::new(offsets, to);
    let cycle = Cycle::new(members, shape.nodes as u64 + shape.slots);
    on_resident!(classes, slots, table, values => {
        Candidates { classes, slots, names: HashConsTable::new(table), values, cycle }.assign_all(job)
    })?;
    nodes::write(&mut classes, columns::EQUAL_CANDIDATE, job.scratch)?;
    job.context.progress.end();
    Ok(Stats { rows: shape.nodes as u64, spilled_bytes: plan.spilled_bytes() })
}

struct Candidates<C, S, T, V> {
    /// Candidate class of each node; for a node of the current cycle, its place in the cycle.
    classes: C,
    slots: S,
    names: HashConsTable<T>,
    values: V,
    cycle: Cycle,
}

impl<C: WriteAt<u32>, S: Slots, T: WriteAt<u64>, V: ReadAt<NodeId>> Candidates<C, S, T, V> {
    fn assign_all(mut self, job: &Job<'_>) -> Result<(), StageError> {
        let mut order = ColumnReader::open(job.scratch, columns::EQUAL_ORDER)?;
        let mut sizes = ColumnReader::open(job.scratch, columns::EQUAL_COMPONENT_SIZE)?;
        let mut done = 0;
        while sizes.remaining() > 0 {
            let (size, first) = (sizes.next()?, order.next()?.0);
            if size == 1 && !self.slots.loops(first)? {
                self.assign_node(first)?;
            } else {
                self.cycle.begin();
                self.cycle.push(first, &mut self.classes)?;
                for _ in 1..size {
                    self.cycle.push(order.next()?.0, &mut self.classes)?;
                }
                self.assign_cycle(job.context)?;
            }
            done += u64::from(size);
            if done >= 1 << 16 {
                job.context.step(std::mem::take(&mut done))?;
            }
        }
        Ok(())
    }

    /// Classifies a node outside all cycles.
    fn assign_node(&mut self, node: u32) -> Result<(), StageError> {
        let value = self.values.get(node as usize)?.0;
        let range = self.slots.of(node)?;
        if range.is_empty() {
            return Ok(self.classes.set(node as usize, value)?);
        }
        let mut hash = mix(u64::from(value), range.len() as u64);
        for slot in range.clone() {
            let target = self.slots.to(slot)?;
            hash = mix(hash, u64::from(self.classes.get(target as usize)?));
        }
        hash = self.shared_targets(range, hash)?;
        let class = self.names.find(hash, node, false, |_| Ok(true))?;
        Ok(self.classes.set(node as usize, class)?)
    }

    /// Mixes the pattern of shared targets among the slots into the hash.
    fn shared_targets(&mut self, range: Range<usize>, mut hash: u64) -> Result<u64, StageError> {
        if range.len() < 2 || range.len() > MANY {
            return Ok(hash);
        }
        if range.len() <= FEW {
            let mut targets = [0; FEW];
            for (i, slot) in range.enumerate() {
                targets[i] = self.slots.to(slot)?;
                if let Some(first) = targets[..i].iter().position(|&target| target == targets[i]) {
                    hash = mix(hash, (first << 32 | i) as u64);
                }
            }
            return Ok(hash);
        }
        let mut firsts = FxHashMap::default();
        for (i, slot) in range.enumerate() {
            let first = *firsts.entry(self.slots.to(slot)?).or_insert(i);
            if first != i {
                hash = mix(hash, (first << 32 | i) as u64);
            }
        }
        Ok(hash)
    }

    /// Classifies the nodes of a cycle.
    fn assign_cycle(&mut self, context: &Context<'_>) -> Result<(), StageError> {
        for place in 0..self.cycle.size() {
            let colour = self.first_colour(place)?;
            self.cycle.set_colour(place, colour)?;
        }
        let form = self.cycle.form(&mut self.slots, &mut self.classes, context)?;
        for place in 0..self.cycle.size() {
            let hash = match form {
                Form::Code(code) => mix(code, u64::from(self.cycle.key(place)?)),
                Form::Colours => mix(self.cycle.colour(place)?, self.cycle.size() as u64),
            };
            let node = self.cycle.node(place)?;
            let class = self.names.find(hash, node, true, |_| Ok(true))?;
            self.cycle.set_image(place, class)?;
        }
        for place in 0..self.cycle.size() {
            let (node, class) = (self.cycle.node(place)?, self.cycle.image(place)?);
            self.classes.set(node as usize, class)?;
        }
        Ok(())
    }

    /// Returns the initial colour of a node of a cycle, from its value and its targets outside.
    fn first_colour(&mut self, place: usize) -> Result<u64, StageError> {
        let node = self.cycle.node(place)?;
        let range = self.slots.of(node)?;
        let mut hash = mix(u64::from(self.values.get(node as usize)?.0), !(range.len() as u64));
        for slot in range.clone() {
            let target = self.slots.to(slot)?;
            let code = match self.cycle.place(target, &mut self.classes)? {
                Some(_) => u64::MAX,
                None => u64::from(self.classes.get(target as usize)?),
            };
            hash = mix(hash, code);
        }
        self.shared_targets(range, hash)
    }
}
