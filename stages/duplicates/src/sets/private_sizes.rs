//! Private size of each component, and flags for data missing in the input among all that a node reaches.

use super::group::{Groups, NONE, NUMBER, TOO_LARGE};
use crate::marks;
use crate::slots::{SlotArrays, Slots};
use heaplake_kit::array_plan::{loaded, lookup, offsets};
use heaplake_kit::{Array, ArrayPlan, Bitset, ColumnReader, Job, ReadAt, StageError, WriteAt, on_resident};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, limits};

/// Adds up the private sizes of the components of each group.
pub(super) fn add_all(groups: &mut Groups, nodes: usize, job: &Job<'_>) -> Result<(), StageError> {
    let shared = marks::shared(nodes, job)?;
    let has_limits = job.scratch.has(columns::EQUAL_LIMITS);
    let (mut private, offsets, to, mut components, mut numbers, missing) =
        ArrayPlan::of(job, "private sizes").make((
            loaded(columns::NODE_SELF),
            offsets(columns::EQUAL_DEGREE, columns::EQUAL_TO),
            lookup(columns::EQUAL_TO),
            lookup(columns::EQUAL_COMPONENT),
            lookup(NUMBER),
            has_limits.then_some(loaded(columns::EQUAL_LIMITS)),
        ))?;
    let mut slots = SlotArrays::new(offsets, to);
    on_resident!(private, slots, components, numbers => {
        Sums { private, missing, slots, components, numbers, shared, groups }.add_all(job)
    })
}

struct Sums<'a, P, S, C, N> {
    /// Size of each node; once its component is done, the private size of the component.
    private: P,
    /// Flags of missing data of each node; once its component is done, of all that it reaches.
    missing: Option<Array<u8>>,
    slots: S,
    components: C,
    numbers: N,
    shared: Bitset,
    groups: &'a mut Groups,
}

impl<P: WriteAt<u64>, S: Slots, C: ReadAt<u32>, N: ReadAt<u32>> Sums<'_, P, S, C, N> {
    fn add_all(mut self, job: &Job<'_>) -> Result<(), StageError> {
        // The members of a component are read three times.
        let order = || ColumnReader::open(job.scratch, columns::EQUAL_ORDER);
        let (mut first, mut second, mut third) = (order()?, order()?, order()?);
        let mut sizes = ColumnReader::open(job.scratch, columns::EQUAL_COMPONENT_SIZE)?;
        let (mut component, mut done) = (0, 0);
        while sizes.remaining() > 0 {
            let size = sizes.next()?;
            let mut total = (0u64, 0u8);
            for _ in 0..size {
                self.add_node(first.next()?, &mut total)?;
            }
            for _ in 0..size {
                self.add_targets(second.next()?.0, component, &mut total)?;
            }
            for _ in 0..size {
                self.set(third.next()?, component, total)?;
            }
            component += 1;
            done += u64::from(size);
            if done >= 1 << 16 {
                job.context.step(std::mem::take(&mut done))?;
            }
        }
        Ok(())
    }

    /// Adds a member that still has its own size.
    #[inline]
    fn add_node(&mut self, node: NodeId, (sum, flags): &mut (u64, u8)) -> Result<(), StageError> {
        *sum = sum.checked_add(self.private.get(node.index())?).ok_or(TOO_LARGE)?;
        *flags |= self.missing_of(node.index())?;
        Ok(())
    }

    /// Adds the targets of a member outside the component.
    #[inline]
    fn add_targets(&mut self, node: u32, component: u32, total: &mut (u64, u8)) -> Result<(), StageError> {
        for slot in self.slots.of(node)? {
            let target = self.slots.to(slot)?;
            if self.components.get(target as usize)? == component {
                continue;
            }
            if self.shared.contains(target as usize) {
                total.1 |= self.missing_of(target as usize)?;
            } else {
                self.add_node(NodeId(target), total)?;
            }
        }
        Ok(())
    }

    /// Assigns the result of its component to a member, and adds it to the member's group.
    #[inline]
    fn set(&mut self, node: NodeId, component: u32, (sum, flags): (u64, u8)) -> Result<(), StageError> {
        self.private.set(node.index(), sum)?;
        let mut own = 0;
        if let Some(missing) = &mut self.missing {
            own = missing.change(node.index(), |missing| std::mem::replace(missing, flags) & limits::SLOTS)?;
        }
        match self.numbers.get(node.index())? {
            NONE => Ok(()),
            number => self.groups.change(number as usize, |group| group.add(component, sum, flags | own))?,
        }
    }

    /// Flags of a node that also hold for nodes that refer to it.
    #[inline]
    fn missing_of(&mut self, node: usize) -> Result<u8, StageError> {
        Ok(self.missing.as_mut().map_or(Ok(0), |missing| missing.get(node))? & !limits::SLOTS)
    }
}
