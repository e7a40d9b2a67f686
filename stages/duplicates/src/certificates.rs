//! Stage `certificates`: joins nodes that are provably duplicates without comparing all that they reach.
//!
//! * Computes: for each node its certificate: a node that it duplicates, or itself. A target is private if only one
//!   slot from outside enters its component; a private target is compared by its certificate. Any other target is
//!   shared and compared by its identity. Nodes with equal values and equal targets in this sense are duplicates. So
//!   are nodes of two cycles, or of one, if a map that respects all this takes one to the other.
//! * Resident memory: four bits, certificates 4, offsets 1.2, values 4, components 8 and hash-cons table 12 to 24 bytes
//!   per node (the table: per node with slots), 4 per slot, and 32 per node of the largest cycle, paged where the
//!   budget does not allow it.
//! * Passes over disk: targets once in order; the slots of nodes whose candidate class has others once, in the order of
//!   components, and those of the nodes that they are compared with.
//! * Worst case: as `candidate classes`.
//! * Fails when: the budget is too small.
//! * Determinism: order of components. Hashes only propose; a comparison decides.
//! * Reference: proof of soundness. Let u and v be joined, and let P(u) be the component of u together with all private
//!   components that it reaches through private components only; likewise P(v). The map takes P(u) to P(v) and is the
//!   identity on shared nodes. A shared node that reaches into P(u) could do so only through the component of u, and
//!   would then be part of it. Hence P(u), P(v) and the shared nodes are disjoint, and the map is one-to-one.

use crate::cycle::{Cycle, Form, Member};
use crate::known::Known;
use crate::marks::Marks;
use crate::matching::Cycles;
use crate::nodes;
use crate::shape::Shape;
use crate::slots::{SlotArrays, Slots};
use bytemuck::Zeroable;
use heaplake_kit::access::{bits_per_node, column, per_edge, per_node};
use heaplake_kit::array_plan::{filled, lookup, offsets};
use heaplake_kit::hash_cons::{HashConsTable, mix};
use heaplake_kit::{
    Array, ArrayPlan, ColumnReader, Context, Job, Offsets, ReadAt, Stage, StageError, Stats, WriteAt, on_resident,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "certificates",
    when: |setting| setting.looks_into_references(),
    reads: &[
        column(columns::EQUAL_VALUE),
        column(columns::EQUAL_DEGREE),
        column(columns::EQUAL_TO),
        column(columns::EQUAL_CANDIDATE),
        column(columns::EQUAL_ORDER),
        column(columns::EQUAL_COMPONENT),
        column(columns::EQUAL_COMPONENT_SIZE),
    ],
    writes: &[column(columns::EQUAL_CERTIFICATE)],
    arrays: &[&[
        per_node::<u32>(),
        Offsets::SIZE,
        per_edge::<NodeId>(),
        // The table has up to three entries for each node with slots.
        per_node::<[u64; 3]>(),
        per_node::<NodeId>(),
        // The largest cycle may contain all nodes.
        per_node::<Member>(),
        per_node::<u32>(),
        per_node::<u32>(),
    ]],
    least: &[bits_per_node(4)],
    fixed: 16 << 20,
    passes: "slots of possible duplicates once, targets first",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let shape = Shape::of(job.scratch)?;
    job.context.progress.begin(STAGE.name, shape.nodes as u64);
    let marks = Marks::find(shape.nodes, job)?;
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (mut certificates, offsets, to, mut table, mut values, members, components, sizes) = plan.make((
        filled(shape.nodes, 0u32),
        offsets(columns::EQUAL_DEGREE, columns::EQUAL_TO),
        lookup(columns::EQUAL_TO),
        filled(HashConsTable::<Array<u64>>::capacity(marks.inner), 0u64),
        lookup(columns::EQUAL_VALUE),
        filled(shape.largest, Member::zeroed()),
        lookup(columns::EQUAL_COMPONENT),
        lookup(columns::EQUAL_COMPONENT_SIZE),
    ))?;
    let mut slots = SlotArrays::new(offsets, to);
    let cycle = Cycle::new(members, shape.nodes as u64 + shape.slots);
    let cycles = Cycles { cycle, components, sizes };
    on_resident!(certificates, slots, table, values => {
        Certifier { known: Known { certificates, slots, values, marks }, names: HashConsTable::new(table), cycles }.certify_all(job)
    })?;
    nodes::write(&mut certificates, columns::EQUAL_CERTIFICATE, job.scratch)?;
    job.context.progress.end();
    Ok(Stats { rows: shape.nodes as u64, spilled_bytes: plan.spilled_bytes() })
}

struct Certifier<P, S, V, T> {
    known: Known<P, S, V>,
    names: HashConsTable<T>,
    cycles: Cycles,
}

impl<P: WriteAt<u32>, S: Slots, V: ReadAt<NodeId>, T: WriteAt<u64>> Certifier<P, S, V, T> {
    fn certify_all(mut self, job: &Job<'_>) -> Result<(), StageError> {
        let mut order = ColumnReader::open(job.scratch, columns::EQUAL_ORDER)?;
        let mut sizes = ColumnReader::open(job.scratch, columns::EQUAL_COMPONENT_SIZE)?;
        let mut done = 0;
        while sizes.remaining() > 0 {
            let (size, first) = (sizes.next()?, order.next()?.0);
            if size == 1 && !self.known.marks.plural.contains(first as usize) {
                self.known.certificates.set(first as usize, first)?;
            } else if size == 1 && !self.known.slots.loops(first)? {
                self.certify_node(first)?;
            } else {
                let plural = self.read_cycle(first, size, &mut order)?;
                // If one node of a cycle has no duplicate, no node of the cycle has one.
                if !plural || !self.certify_cycle(job.context)? {
                    self.separate()?;
                }
            }
            done += u64::from(size);
            if done >= 1 << 16 {
                job.context.step(std::mem::take(&mut done))?;
            }
        }
        Ok(())
    }

    /// Certifies a node outside all cycles.
    fn certify_node(&mut self, node: u32) -> Result<(), StageError> {
        let known = &mut self.known;
        let value = known.values.get(node as usize)?.0;
        let range = known.slots.of(node)?;
        if range.is_empty() {
            return Ok(known.certificates.set(node as usize, value)?);
        }
        let mut hash = mix(u64::from(value), range.len() as u64);
        for slot in range {
            let target = known.slots.to(slot)?;
            hash = mix(hash, known.code(target)?);
        }
        let certificate = self.names.find(hash, node, false, |other| known.same(node, other))?;
        Ok(known.certificates.set(node as usize, certificate)?)
    }

    /// Reads the nodes of a component as the current cycle; returns whether all of them may have duplicates.
    fn read_cycle(&mut self, first: u32, size: u32, order: &mut ColumnReader<NodeId>) -> Result<bool, StageError> {
        let (cycle, known) = (&mut self.cycles.cycle, &mut self.known);
        cycle.begin();
        cycle.push(first, &mut known.certificates)?;
        let mut plural = known.marks.plural.contains(first as usize);
        for _ in 1..size {
            let node = order.next()?.0;
            cycle.push(node, &mut known.certificates)?;
            plural &= known.marks.plural.contains(node as usize);
        }
        Ok(plural)
    }

    /// Makes each node of the cycle its own certificate.
    fn separate(&mut self) -> Result<(), StageError> {
        for place in 0..self.cycles.cycle.size() {
            let node = self.cycles.cycle.node(place)?;
            self.known.certificates.set(node as usize, node)?;
        }
        Ok(())
    }

    /// Certifies the nodes of a cycle; returns whether that succeeded.
    fn certify_cycle(&mut self, context: &Context<'_>) -> Result<bool, StageError> {
        for place in 0..self.cycles.cycle.size() {
            let colour = self.first_colour(place)?;
            self.cycles.cycle.set_colour(place, colour)?;
        }
        let Self { known, names, cycles } = self;
        let form = cycles.cycle.form(&mut known.slots, &mut known.certificates, context)?;
        let Form::Code(code) = form else { return Ok(false) };
        let Some(first) = cycles.find_symmetries(known, code, context)? else { return Ok(false) };
        let node = cycles.cycle.node(first)?;
        let found = names.find(code, node, true, |other| cycles.matches(known, first, other, context))?;
        for place in 0..cycles.cycle.size() {
            let certificate = if found == node {
                let orbit = cycles.cycle.orbit(place)?;
                cycles.cycle.node(orbit)?
            } else {
                // The last comparison was the one that matched.
                let image = cycles.cycle.image(place)?;
                known.certificates.get(image as usize)?
            };
            cycles.cycle.note(place, certificate)?;
        }
        for place in 0..cycles.cycle.size() {
            let (node, certificate) = (cycles.cycle.node(place)?, cycles.cycle.noted(place)?);
            known.certificates.set(node as usize, certificate)?;
        }
        Ok(true)
    }

    /// Returns the initial colour of a node of a cycle, from its value and its targets outside.
    fn first_colour(&mut self, place: usize) -> Result<u64, StageError> {
        let Self { known, cycles: Cycles { cycle, .. }, .. } = self;
        let node = cycle.node(place)?;
        let range = known.slots.of(node)?;
        let mut hash = mix(u64::from(known.values.get(node as usize)?.0), !(range.len() as u64));
        for slot in range {
            let target = known.slots.to(slot)?;
            let code = match cycle.place(target, &mut known.certificates)? {
                Some(_) => u64::MAX,
                None => known.code(target)?,
            };
            hash = mix(hash, code);
        }
        Ok(hash)
    }
}
