//! Stage `classes of equals`: separates what cannot be duplicates.
//!
//! * Computes: a class for each node, from its value, the classes of its targets and which of its slots share a target;
//!   for the nodes of a cycle, from the whole cycle. Duplicates are always in the same class.
//! * Reads: `equal.{value,degree,to,order,component_size}`.
//! * Writes: `equal.class`.
//! * Resident memory: classes 4, offsets 4, values 4 and names 12 to 24 bytes per node (names: of those with slots only),
//!   4 per slot, and 32 per node of the largest cycle, where the budget allows, paged where not.
//! * Passes over disk: each node's slots once, in the order of components; those of cycles up to [`cycle`](crate::cycle)'s
//!   16 times and more.
//! * Worst case: linear, and [`PATIENCE`] for each node and slot for cycles that look the same from everywhere. Beyond
//!   that their classes are coarser.
//! * Fails when: the budget is too small.
//! * Determinism: order of components. Hashes decide here, since a class proves nothing.
//! * Reference: bottom-up naming is the hash-consing of Ershov (1958); rounds inside cycles are those of Hopcroft's and
//!   Weisfeiler's and Leman's refinements.

use crate::cycle::{Cycle, Form};
use crate::slots::Slots;
use heaplake_kit::array::column_bytes;
use heaplake_kit::naming::{Names, mix};
use heaplake_kit::{
    Array, ArrayPlan, ColumnReader, Context, Lookup, Offsets, ReadAt, Scratch, StageError, StageInfo, Stats, WriteAt,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;
use rustc_hash::FxHashMap;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "classes of equals",
    version: 1,
    bytes_per_node: 28,
    bytes_per_edge: 4,
    least_bits_per_node: 0,
    least_fixed: 16 << 20,
    scratch_per_node: 4,
    scratch_per_edge: 0,
    passes: "each node's slots once, targets first",
};

/// Steps per node and slot that cycles may take on the whole.
const PATIENCE: u64 = 16;

/// Slots of a node up to which shared targets are looked for by comparing all pairs.
const FEW: usize = 16;

/// Slots of a node beyond which shared targets are not looked for.
const MANY: usize = 1 << 16;

/// Makes the classes.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let shape = Shape::of(scratch)?;
    let nodes = shape.nodes as usize;
    context.progress.begin(STAGE.name, shape.nodes);
    let names = Names::<Array<u64>>::capacity(shape.inner);
    let to_bytes = column_bytes(scratch, columns::EQUAL_TO);
    let mut sizes = vec![shape.nodes * 4, Offsets::bytes(shape.nodes), to_bytes, names as u64 * 8, shape.nodes * 4];
    sizes.extend(Cycle::sizes(shape.largest));
    let mut room = ArrayPlan::plan(&context.budget, scratch, "classes of equals", &sizes);
    let classes = room.array(nodes, 0u32)?;
    let offsets = Offsets::load(&mut room, &context.budget, scratch, columns::EQUAL_DEGREE)?;
    let to = room.lookup(columns::EQUAL_TO)?;
    let names = room.array(names, 0u64)?;
    let values = room.lookup(columns::EQUAL_VALUE)?;
    let cycle = Cycle::new(&mut room, shape.largest as usize)?;
    let patience = PATIENCE * (shape.nodes + to_bytes / 4);
    match (classes, offsets.resident(), to, names, values) {
        (Array::Resident(classes), Ok(offsets), Lookup::Mapped(to), Array::Resident(names), Lookup::Mapped(values)) => {
            let slots = Slots::new(offsets, to);
            Classing { classes, slots, names: Names::new(names), values, cycle, patience }.all(scratch, context)?;
        }
        (classes, Ok(offsets), to, names, values) => {
            let slots = Slots::new(offsets, to);
            Classing { classes, slots, names: Names::new(names), values, cycle, patience }.all(scratch, context)?;
        }
        (classes, Err(offsets), to, names, values) => {
            let slots = Slots::new(offsets, to);
            Classing { classes, slots, names: Names::new(names), values, cycle, patience }.all(scratch, context)?;
        }
    }
    context.progress.end();
    Ok(Stats { rows: shape.nodes, spilled_bytes: room.spilled_bytes() })
}

/// Numbers that sizes of arrays follow from.
pub struct Shape {
    /// Nodes.
    pub nodes: u64,
    /// Nodes with slots.
    pub inner: u64,
    /// Nodes of the largest component.
    pub largest: u64,
}

impl Shape {
    /// That of the graph in a scratch folder.
    pub fn of(scratch: &Scratch) -> Result<Self, StageError> {
        let mut degrees = ColumnReader::open(scratch, columns::EQUAL_DEGREE)?;
        let mut shape = Self { nodes: degrees.remaining(), inner: 0, largest: 1 };
        while degrees.remaining() > 0 {
            shape.inner += u64::from(degrees.next()? > 0);
        }
        let mut sizes = ColumnReader::open(scratch, columns::EQUAL_COMPONENT_SIZE)?;
        while sizes.remaining() > 0 {
            shape.largest = shape.largest.max(sizes.next()?.into());
        }
        Ok(shape)
    }
}

struct Classing<C, O, E, T, V> {
    /// Class of each node; of those of the cycle at hand, its place there.
    classes: C,
    slots: Slots<O, E>,
    names: Names<T>,
    values: V,
    cycle: Cycle,
    patience: u64,
}

impl<C: WriteAt<u32>, O: ReadAt<u32>, E: ReadAt<NodeId>, T: WriteAt<u64>, V: ReadAt<NodeId>> Classing<C, O, E, T, V> {
    fn all(mut self, scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
        let mut order = ColumnReader::open(scratch, columns::EQUAL_ORDER)?;
        let mut sizes = ColumnReader::open(scratch, columns::EQUAL_COMPONENT_SIZE)?;
        let mut done = 0;
        while sizes.remaining() > 0 {
            let (size, first) = (sizes.next()?, order.next()?.0);
            if size == 1 && !self.slots.loops(first)? {
                self.tree(first)?;
            } else {
                self.cycle.begin();
                self.cycle.push(first, &mut self.classes)?;
                for _ in 1..size {
                    self.cycle.push(order.next()?.0, &mut self.classes)?;
                }
                self.cycle(context)?;
            }
            done += u64::from(size);
            if done >= 1 << 16 {
                context.step(std::mem::take(&mut done))?;
            }
        }
        let mut writer = heaplake_kit::ColumnWriter::create(scratch, columns::EQUAL_CANDIDATE)?;
        for node in 0..self.classes.count() {
            writer.push(NodeId(self.classes.get(node)?))?;
        }
        writer.finish().map(drop)
    }

    /// A node outside all cycles.
    fn tree(&mut self, node: u32) -> Result<(), StageError> {
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
        hash = self.sharing(range, hash)?;
        let class = self.names.find(hash, node, false, |_| Ok(true))?;
        Ok(self.classes.set(node as usize, class)?)
    }

    /// Mixes in which slots share a target.
    fn sharing(&mut self, range: std::ops::Range<usize>, mut hash: u64) -> Result<u64, StageError> {
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

    /// The nodes of a cycle.
    fn cycle(&mut self, context: &Context<'_>) -> Result<(), StageError> {
        for place in 0..self.cycle.size() {
            let node = self.cycle.member(place)?;
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
            let hash = self.sharing(range, hash)?;
            self.cycle.colour(place, hash)?;
        }
        let form = self.cycle.form(&mut self.slots, &mut self.classes, &mut self.patience, context)?;
        for place in 0..self.cycle.size() {
            let hash = match form {
                Form::Code(code) => mix(code, u64::from(self.cycle.key(place)?)),
                Form::Colours => mix(self.cycle.final_colour(place)?, self.cycle.size() as u64),
            };
            let node = self.cycle.member(place)?;
            let class = self.names.find(hash, node, true, |_| Ok(true))?;
            self.cycle.end(place, class)?;
        }
        for place in 0..self.cycle.size() {
            let (node, class) = (self.cycle.member(place)?, self.cycle.ended(place)?);
            self.classes.set(node as usize, class)?;
        }
        Ok(())
    }
}
