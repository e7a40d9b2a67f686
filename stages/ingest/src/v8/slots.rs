//! The slots of one node, sorted by label. Used by [`super::equality`].
//!
//! Resident memory: 2 MiB, and 3 MiB reserved for page frames. A node with more edges than [`HELD`] has its slots in an
//! array of 16 bytes each, paged if it does not fit, or in two if they are not in order; they are merge-sorted.

use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::{filled, loaded};
use heaplake_kit::{Array, ArrayPlan, Budget, BudgetVec, ReadAt, Reservation, Scratch, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::Column;
use std::iter;

/// Slots that are sorted in one piece.
pub const HELD: usize = 1 << 16;

/// Bytes reserved for the page frames of two arrays.
const SPARE: u64 = 3 << 20;

/// The slots of a node before they are merged.
const SLOTS: Column<Slot> = Column::new("equality.slots");

/// Meaning of an edge for the equality of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The edge does not count.
    Nothing,
    /// Its target is compared by identity.
    Identity(u32),
    /// Its target is a text and counts by content.
    Text(u32),
    /// Its target is compared by value.
    Followed(u32),
}

/// A slot: an edge that counts for equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Slot {
    /// Kind of the edge, above two bits for its meaning.
    kind: u32,
    name: u32,
    value: u32,
    /// Padding: elements of paged arrays must divide a page.
    unused: u32,
}

impl Slot {
    /// Returns the slot of an edge; `None` if the edge does not count.
    #[inline]
    pub fn new(kind: u8, name: u32, meaning: Meaning) -> Option<Self> {
        let (code, value) = match meaning {
            Meaning::Nothing => return None,
            Meaning::Identity(node) => (1, node),
            Meaning::Text(name) => (2, name),
            Meaning::Followed(node) => (3, node),
        };
        Some(Self { kind: u32::from(kind) << 2 | code, name, value, unused: 0 })
    }

    /// Kind of the edge.
    #[inline]
    #[must_use]
    pub fn kind(self) -> u8 {
        (self.kind >> 2) as u8
    }

    /// Meaning of the edge.
    #[inline]
    #[must_use]
    pub fn meaning(self) -> Meaning {
        match self.kind & 3 {
            1 => Meaning::Identity(self.value),
            2 => Meaning::Text(self.value),
            _ => Meaning::Followed(self.value),
        }
    }

    /// Label and code of the meaning, without the value.
    #[inline]
    #[must_use]
    pub fn label(self) -> u64 {
        u64::from(self.name) << 10 | u64::from(self.kind)
    }

    /// The part that belongs to its node's value besides the label: its target or the target's text, unless targets are
    /// compared by value.
    #[inline]
    #[must_use]
    pub fn own(self) -> Option<u64> {
        let is_followed = matches!(self.meaning(), Meaning::Followed(_));
        (!is_followed).then_some(self.value.into())
    }

    /// The words that it adds to its node's value.
    #[inline]
    pub fn words(self) -> impl Iterator<Item = u64> {
        iter::once(self.label()).chain(self.own())
    }

    /// Whether both have one label, one meaning and, unless targets are compared by value, one value.
    #[inline]
    #[must_use]
    pub fn equals(self, other: Self) -> bool {
        self.label() == other.label() && self.own() == other.own()
    }

    /// Its target, or the target's text.
    #[inline]
    #[must_use]
    pub fn target(self) -> NodeId {
        NodeId(self.value)
    }

    /// Sort key; slots with one label keep the order of the file.
    #[inline]
    fn order(self) -> (u8, u32) {
        (self.kind(), self.name)
    }
}

/// See the module.
pub struct Slots<'a> {
    /// The slots of a node with few, or the next ones for the array.
    held: BudgetVec<Slot>,
    /// The slots of a node with many.
    many: Option<Many>,
    budget: &'a Budget,
    scratch: &'a Scratch,
    spare: Reservation,
    _sorting: Reservation,
}

struct Many {
    slots: Array<Slot>,
    count: usize,
    sorted: bool,
    last: Slot,
}

impl<'a> Slots<'a> {
    /// Starts empty.
    pub fn new(budget: &'a Budget, scratch: &'a Scratch) -> Result<Self, StageError> {
        let who = "equality: slots";
        let (spare, _sorting) = (budget.reserve(who, SPARE)?, budget.reserve(who, (HELD * size_of::<Slot>()) as u64)?);
        let mut held = budget.zeroed(who, HELD)?;
        held.clear();
        Ok(Self { held, many: None, budget, scratch, spare, _sorting })
    }

    /// Begins a node with `edges` edges.
    #[inline]
    pub fn begin(&mut self, edges: u32) -> Result<(), StageError> {
        self.held.clear();
        if self.many.take().is_some() {
            // Reserves that memory again, unless another consumer has taken it.
            let _ = self.spare.grow(SPARE);
        }
        if edges as usize > HELD {
            self.spare.shrink(SPARE);
            let slots = self.plan().one(filled(edges as usize, Slot::default()))?;
            self.many = Some(Many { slots, count: 0, sorted: true, last: Slot::default() });
        }
        Ok(())
    }

    fn plan(&self) -> ArrayPlan<'a> {
        ArrayPlan::new(self.budget, self.scratch, "equality: slots")
    }

    /// Adds a slot.
    #[inline]
    pub fn push(&mut self, slot: Slot) -> Result<(), StageError> {
        self.held.push(slot)?;
        if self.held.len() == HELD && self.many.is_some() { self.store() } else { Ok(()) }
    }

    /// Sorts the slots in `held`; a large node's are moved to the array.
    #[cold]
    fn store(&mut self) -> Result<(), StageError> {
        sort(&mut self.held);
        if let Some(Many { slots, count, sorted, last }) = &mut self.many {
            for &slot in &*self.held {
                *sorted &= last.order() <= slot.order();
                *last = slot;
                slots.set(*count, slot)?;
                *count += 1;
            }
            self.held.clear();
        }
        Ok(())
    }

    /// Sorts the slots.
    pub fn sort(&mut self) -> Result<(), StageError> {
        match self.many.is_some() {
            true => self.store()?,
            false => sort(&mut self.held),
        }
        if let Some(mut many) = self.many.take_if(|many| !many.sorted) {
            let capacity = many.slots.count();
            many.slots.write_to(self.scratch, SLOTS)?;
            drop(many.slots);
            let (slots, other) = self.plan().make((loaded(SLOTS), filled(capacity, Slot::default())))?;
            self.scratch.discard(SLOTS);
            let slots = merge_all(slots, other, many.count, self.budget)?;
            self.many = Some(Many { slots, sorted: true, ..many });
        }
        Ok(())
    }

    /// Calls `each` with the slots in order.
    #[inline]
    pub fn each(&mut self, mut each: impl FnMut(Slot) -> Result<(), StageError>) -> Result<(), StageError> {
        match &mut self.many {
            None => self.held.iter().try_for_each(|&slot| each(slot)),
            Some(Many { slots, count, .. }) => (0..*count).try_for_each(|at| each(slots.get(at)?)),
        }
    }
}

/// Sorts slots by label.
pub fn sort(slots: &mut [Slot]) {
    if !slots.is_sorted_by_key(|slot| slot.order()) {
        slots.sort_by_key(|slot| slot.order());
    }
}

/// Merges runs of [`HELD`] slots, alternating between two arrays, until one run is left.
fn merge_all(
    mut from: Array<Slot>,
    mut to: Array<Slot>,
    count: usize,
    budget: &Budget,
) -> Result<Array<Slot>, StageError> {
    let mut width = HELD;
    while width < count {
        for start in (0..count).step_by(2 * width) {
            let middle = (start + width).min(count);
            budget.check()?;
            merge(&mut from, (start, middle, (middle + width).min(count)), &mut to)?;
        }
        std::mem::swap(&mut from, &mut to);
        width *= 2;
    }
    Ok(from)
}

/// Merges two adjacent runs into the same positions of another array.
fn merge(
    from: &mut Array<Slot>,
    (start, middle, end): (usize, usize, usize),
    to: &mut Array<Slot>,
) -> Result<(), StageError> {
    let (mut left, mut right) = (start, middle);
    for at in start..end {
        let first = right == end || (left < middle && from.get(left)?.order() <= from.get(right)?.order());
        let next = if first { &mut left } else { &mut right };
        to.set(at, from.get(*next)?)?;
        *next += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(slots: &[Slot], memory: u64) -> Vec<Slot> {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let budget = Budget::new(memory);
        let mut sorter = Slots::new(&budget, &scratch).unwrap();
        sorter.begin(7).unwrap();
        sorter.push(Slot { kind: 1, name: 1, value: 1, unused: 0 }).unwrap();
        sorter.sort().unwrap();
        sorter.begin(slots.len() as u32).unwrap();
        slots.iter().for_each(|&slot| sorter.push(slot).unwrap());
        sorter.sort().unwrap();
        let mut all = Vec::new();
        sorter
            .each(|slot| {
                all.push(slot);
                Ok(())
            })
            .unwrap();
        assert!(budget.peak() <= memory);
        all
    }

    #[test]
    fn slots_of_any_number_are_sorted_stably() {
        let mut state = 3u32;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for count in [0, 1, 100, HELD, HELD + 1, 5 * HELD + 7, 12 * HELD] {
            let mut slots: Vec<Slot> = (0..count)
                .map(|i| Slot {
                    kind: random(5) << 2 | (1 + random(3)),
                    name: random(1000),
                    value: i as u32,
                    unused: 0,
                })
                .collect();
            let mut expected = slots.clone();
            expected.sort_by_key(|slot| slot.order());
            for memory in [7 << 20, 64 << 20] {
                assert_eq!(sorted(&slots, memory), expected, "{count} slots");
            }
            slots.clone_from(&expected);
            assert_eq!(sorted(&slots, 7 << 20), expected, "{count} slots in order");
        }
    }
}
