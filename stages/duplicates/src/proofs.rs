//! Stage `proofs of equals`: joins what is shown to be duplicates without comparing whole graphs.
//!
//! * Computes: for each node one that it is a duplicate of. A target whose component only one slot from outside leads to is
//!   part of the node with that slot and counts by what is proved of it; any other target is shared and counts by its
//!   identity. Nodes with equal values and equal targets in this sense are duplicates; so are the nodes of two cycles, or
//!   of one, that are taken to each other by a map that respects all that.
//! * Reads: `equal.{value,degree,to,class,order,component,component_size}`.
//! * Writes: `equal.proof`.
//! * Resident memory: three bits, proofs 4, offsets 4, values 4, components 4 and names 12 to 24 bytes per node (names: of
//!   those with slots only), 4 per slot, and 32 per node of the largest cycle, where the budget allows, paged where not.
//! * Passes over disk: targets once in order; the slots of nodes whose class has others once, in the order of components,
//!   and those of the nodes that they are compared with.
//! * Worst case: as `classes of equals`.
//! * Fails when: the budget is too small.
//! * Determinism: order of components. Hashes only propose; comparison decides.
//! * Reference: why it is right. Let u and v be joined, with parts P(u) and P(v): the component of u
//!   and those that one slot leads to, again and again. The map takes P(u) to P(v) and is the identity on what both share. A shared node that
//!   reached into P(u) would have to do so through the cycle of u, and so be in it. Hence P(u), P(v) and what is shared
//!   have no node in common, and the map is one-to-one.

use crate::classes::Shape;
use crate::cycle::{Cycle, Form};
use crate::slots::Slots;
use heaplake_kit::array::{Fault, column_bytes};
use heaplake_kit::naming::{Names, mix};
use heaplake_kit::{
    Array, ArrayPlan, Bitset, Budget, ColumnReader, ColumnWriter, Context, Lookup, Offsets, ReadAt, Scratch,
    StageError, StageInfo, Stats, WriteAt,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "proofs of equals",
    version: 1,
    bytes_per_node: 32,
    bytes_per_edge: 4,
    least_bits_per_node: 4,
    least_fixed: 16 << 20,
    scratch_per_node: 4,
    scratch_per_edge: 0,
    passes: "slots of possible duplicates once, targets first",
};

/// Steps per node and slot that cycles may take on the whole.
const PATIENCE: u64 = 16;

/// Makes the proofs.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let shape = Shape::of(scratch)?;
    let nodes = shape.nodes as usize;
    context.progress.begin(STAGE.name, shape.nodes);
    let marks = Marks::find(nodes, &context.budget, scratch)?;
    let names = Names::<Array<u64>>::capacity(marks.inner);
    let to_bytes = column_bytes(scratch, columns::EQUAL_TO);
    let size_bytes = column_bytes(scratch, columns::EQUAL_COMPONENT_SIZE);
    let mut sizes = vec![shape.nodes * 4, Offsets::bytes(shape.nodes), to_bytes, names as u64 * 8, shape.nodes * 4];
    sizes.extend(Cycle::sizes(shape.largest));
    sizes.extend([shape.nodes * 4, size_bytes]);
    let mut room = ArrayPlan::plan(&context.budget, scratch, "proofs of equals", &sizes);
    let proofs = room.array(nodes, 0u32)?;
    let offsets = Offsets::load(&mut room, &context.budget, scratch, columns::EQUAL_DEGREE)?;
    let to = room.lookup(columns::EQUAL_TO)?;
    let names = room.array(names, 0u64)?;
    let values = room.lookup(columns::EQUAL_VALUE)?;
    let cycle = Cycle::new(&mut room, shape.largest as usize)?;
    let components = room.lookup(columns::EQUAL_COMPONENT)?;
    let component_sizes = room.lookup(columns::EQUAL_COMPONENT_SIZE)?;
    let patience = PATIENCE * (shape.nodes + to_bytes / 4);
    let cycles = Cycles { cycle, components, sizes: component_sizes, patience };
    match (proofs, offsets.resident(), to, names, values) {
        (Array::Resident(proofs), Ok(offsets), Lookup::Mapped(to), Array::Resident(names), Lookup::Mapped(values)) => {
            let known = Known { proofs, slots: Slots::new(offsets, to), values, marks };
            Proving { known, names: Names::new(names), cycles }.all(scratch, context)?;
        }
        (proofs, Ok(offsets), to, names, values) => {
            let known = Known { proofs, slots: Slots::new(offsets, to), values, marks };
            Proving { known, names: Names::new(names), cycles }.all(scratch, context)?;
        }
        (proofs, Err(offsets), to, names, values) => {
            let known = Known { proofs, slots: Slots::new(offsets, to), values, marks };
            Proving { known, names: Names::new(names), cycles }.all(scratch, context)?;
        }
    }
    context.progress.end();
    Ok(Stats { rows: shape.nodes, spilled_bytes: room.spilled_bytes() })
}

/// What is known of single nodes.
pub(crate) struct Marks {
    /// Nodes whose component several slots from outside lead to.
    pub shared: Bitset,
    /// Nodes whose class has others.
    pub plural: Bitset,
    /// How many of those have slots.
    pub inner: u64,
}

impl Marks {
    pub fn find(nodes: usize, budget: &Budget, scratch: &Scratch) -> Result<Self, StageError> {
        let shared = shared(nodes, budget, scratch)?;
        let mut plural = Bitset::new(budget, "possible duplicates", nodes)?;
        {
            let (mut one, mut two) =
                (Bitset::new(budget, "classes", nodes)?, Bitset::new(budget, "classes of several", nodes)?);
            let mut classes = ColumnReader::open(scratch, columns::EQUAL_CANDIDATE)?;
            for _ in 0..nodes {
                let class = classes.next()?.index();
                if !one.insert(class) {
                    two.insert(class);
                }
            }
            let mut classes = ColumnReader::open(scratch, columns::EQUAL_CANDIDATE)?;
            for node in 0..nodes {
                if two.contains(classes.next()?.index()) {
                    plural.insert(node);
                }
            }
        }
        let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
        let mut inner = 0;
        for node in 0..nodes {
            inner += u64::from(degrees.next()? > 0 && plural.contains(node));
        }
        Ok(Self { shared, plural, inner })
    }
}

/// Nodes whose component several slots from outside lead to.
pub(crate) fn shared(nodes: usize, budget: &Budget, scratch: &Scratch) -> Result<Bitset, StageError> {
    let mut entered_twice = Bitset::new(budget, "shared components", nodes)?;
    {
        let mut entered = Bitset::new(budget, "entered components", nodes)?;
        let mut room = ArrayPlan::plan(budget, scratch, "shared components", &[nodes as u64 * 4]);
        let mut components = room.lookup(columns::EQUAL_COMPONENT)?;
        let mut sources = ColumnReader::open(scratch, columns::EQUAL_COMPONENT)?;
        let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
        let mut to = ColumnReader::open(scratch, columns::EQUAL_TO)?;
        for _ in 0..nodes {
            let (source, degree) = (sources.next()?, degrees.next()?);
            for _ in 0..degree {
                let target = components.get(to.next()?.index())?;
                if target != source && !entered.insert(target as usize) {
                    entered_twice.insert(target as usize);
                }
            }
        }
    }
    let mut shared = Bitset::new(budget, "shared targets", nodes)?;
    let mut components = ColumnReader::open(scratch, columns::EQUAL_COMPONENT)?;
    for node in 0..nodes {
        if entered_twice.contains(components.next()? as usize) {
            shared.insert(node);
        }
    }
    Ok(shared)
}

/// The graph, and what is proved so far.
struct Known<P, O, E, V> {
    /// What each node is a duplicate of; of those of the cycle at hand, its place there.
    proofs: P,
    slots: Slots<O, E>,
    values: V,
    marks: Marks,
}

impl<P: WriteAt<u32>, O: ReadAt<u32>, E: ReadAt<NodeId>, V: ReadAt<NodeId>> Known<P, O, E, V> {
    /// How a target counts.
    #[inline]
    fn code(&mut self, target: u32) -> Result<u64, Fault> {
        if self.marks.shared.contains(target as usize) {
            Ok(u64::from(target) << 1)
        } else {
            Ok(u64::from(self.proofs.get(target as usize)?) << 1 | 1)
        }
    }

    /// Whether two nodes outside cycles have equal values and targets.
    fn same(&mut self, left: u32, right: u32) -> Result<bool, StageError> {
        if self.values.get(left as usize)? != self.values.get(right as usize)? {
            return Ok(false);
        }
        let (a, b) = (self.slots.of(left)?, self.slots.of(right)?);
        if a.len() != b.len() {
            return Ok(false);
        }
        for (a, b) in a.zip(b) {
            let (a, b) = (self.slots.to(a)?, self.slots.to(b)?);
            if a != b && self.code(a)? != self.code(b)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

struct Cycles {
    cycle: Cycle,
    components: Lookup<u32>,
    sizes: Lookup<u32>,
    patience: u64,
}

struct Proving<P, O, E, V, T> {
    known: Known<P, O, E, V>,
    names: Names<T>,
    cycles: Cycles,
}

impl<P: WriteAt<u32>, O: ReadAt<u32>, E: ReadAt<NodeId>, V: ReadAt<NodeId>, T: WriteAt<u64>> Proving<P, O, E, V, T> {
    fn all(mut self, scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
        let mut order = ColumnReader::open(scratch, columns::EQUAL_ORDER)?;
        let mut sizes = ColumnReader::open(scratch, columns::EQUAL_COMPONENT_SIZE)?;
        let mut done = 0;
        while sizes.remaining() > 0 {
            let (size, first) = (sizes.next()?, order.next()?.0);
            if size == 1 && !self.known.marks.plural.contains(first as usize) {
                self.known.proofs.set(first as usize, first)?;
            } else if size == 1 && !self.known.slots.loops(first)? {
                self.tree(first)?;
            } else {
                let (cycle, proofs) = (&mut self.cycles.cycle, &mut self.known.proofs);
                cycle.begin();
                cycle.push(first, proofs)?;
                let mut plural = self.known.marks.plural.contains(first as usize);
                for _ in 1..size {
                    let node = order.next()?.0;
                    cycle.push(node, proofs)?;
                    plural &= self.known.marks.plural.contains(node as usize);
                }
                // A cycle with a node that has no duplicate has none at all.
                if !plural || !self.cycle(context)? {
                    self.alone()?;
                }
            }
            done += u64::from(size);
            if done >= 1 << 16 {
                context.step(std::mem::take(&mut done))?;
            }
        }
        let mut writer = ColumnWriter::create(scratch, columns::EQUAL_CERTIFICATE)?;
        for node in 0..self.known.proofs.count() {
            writer.push(NodeId(self.known.proofs.get(node)?))?;
        }
        writer.finish().map(drop)
    }

    /// A node outside all cycles.
    fn tree(&mut self, node: u32) -> Result<(), StageError> {
        let known = &mut self.known;
        let value = known.values.get(node as usize)?.0;
        let range = known.slots.of(node)?;
        if range.is_empty() {
            return Ok(known.proofs.set(node as usize, value)?);
        }
        let mut hash = mix(u64::from(value), range.len() as u64);
        for slot in range {
            let target = known.slots.to(slot)?;
            hash = mix(hash, known.code(target)?);
        }
        let proof = self.names.find(hash, node, false, |other| known.same(node, other))?;
        Ok(known.proofs.set(node as usize, proof)?)
    }

    /// The nodes of the cycle are duplicates of nothing.
    fn alone(&mut self) -> Result<(), StageError> {
        for place in 0..self.cycles.cycle.size() {
            let node = self.cycles.cycle.member(place)?;
            self.known.proofs.set(node as usize, node)?;
        }
        Ok(())
    }

    /// The nodes of a cycle; whether anything could be found out.
    fn cycle(&mut self, context: &Context<'_>) -> Result<bool, StageError> {
        let Self { known, names, cycles } = self;
        for place in 0..cycles.cycle.size() {
            let node = cycles.cycle.member(place)?;
            let range = known.slots.of(node)?;
            let mut hash = mix(u64::from(known.values.get(node as usize)?.0), !(range.len() as u64));
            for slot in range {
                let target = known.slots.to(slot)?;
                let code = match cycles.cycle.place(target, &mut known.proofs)? {
                    Some(_) => u64::MAX,
                    None => known.code(target)?,
                };
                hash = mix(hash, code);
            }
            cycles.cycle.colour(place, hash)?;
        }
        let form = cycles.cycle.form(&mut known.slots, &mut known.proofs, &mut cycles.patience, context)?;
        let Form::Code(code) = form else { return Ok(false) };
        let size = cycles.cycle.size();
        let mut first = None;
        (0..size).try_for_each(|place| cycles.cycle.set_orbit(place, place))?;
        for place in 0..size {
            if !cycles.cycle.begins(place, code)? {
                continue;
            }
            let Some(first) = first else {
                first = Some(place);
                continue;
            };
            // Another beginning with the same code: most likely the cycle looks the same from both.
            let node = cycles.cycle.member(place)?;
            if cycles.matches(known, first, node)? {
                for place in 0..size {
                    let image = cycles.cycle.ended(place)?;
                    if let Some(image) = cycles.cycle.place(image, &mut known.proofs)? {
                        cycles.cycle.join_orbits(place, image)?;
                    }
                }
            }
        }
        let Some(first) = first else { return Ok(false) };
        let node = cycles.cycle.member(first)?;
        let found = names.find(code, node, true, |other| cycles.matches(known, first, other))?;
        for place in 0..size {
            let proof = if found == node {
                let orbit = cycles.cycle.orbit(place)?;
                cycles.cycle.member(orbit)?
            } else {
                // The last comparison was the one that matched.
                let image = cycles.cycle.ended(place)?;
                known.proofs.get(image as usize)?
            };
            cycles.cycle.note(place, proof)?;
        }
        for place in 0..size {
            let (node, proof) = (cycles.cycle.member(place)?, cycles.cycle.noted(place)?);
            known.proofs.set(node as usize, proof)?;
        }
        Ok(true)
    }
}

impl Cycles {
    /// Whether a map that takes the node at `from` to the node `to` takes the cycle at hand to that of `to`. Then
    /// [`Cycle::ended`] has the image of each place.
    fn matches<P: WriteAt<u32>, O: ReadAt<u32>, E: ReadAt<NodeId>, V: ReadAt<NodeId>>(
        &mut self,
        known: &mut Known<P, O, E, V>,
        from: usize,
        to: u32,
    ) -> Result<bool, StageError> {
        let size = self.cycle.size();
        let component = self.components.get(to as usize)?;
        // Equal sizes: since each cycle reaches all of itself, the map is onto, and so one-to-one.
        if self.sizes.get(component as usize)? as usize != size {
            return Ok(false);
        }
        (0..size).try_for_each(|place| self.cycle.end(place, NONE))?;
        self.cycle.end(from, to)?;
        self.cycle.enqueue(0, from)?;
        let (mut next, mut end) = (0, 1);
        while next < end {
            let place = self.cycle.dequeue(next)?;
            next += 1;
            let (left, right) = (self.cycle.member(place)?, self.cycle.ended(place)?);
            if known.values.get(left as usize)? != known.values.get(right as usize)? {
                return Ok(false);
            }
            let (a, b) = (known.slots.of(left)?, known.slots.of(right)?);
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.zip(b) {
                let (a, b) = (known.slots.to(a)?, known.slots.to(b)?);
                let inside = self.components.get(b as usize)? == component;
                match self.cycle.place(a, &mut known.proofs)? {
                    Some(place) if inside => match self.cycle.ended(place)? {
                        NONE => {
                            self.cycle.end(place, b)?;
                            self.cycle.enqueue(end, place)?;
                            end += 1;
                        }
                        image if image == b => {}
                        _ => return Ok(false),
                    },
                    None if !inside && known.code(a)? == known.code(b)? => {}
                    _ => return Ok(false),
                }
            }
        }
        Ok(end == size)
    }
}

/// No image yet.
const NONE: u32 = u32::MAX;
