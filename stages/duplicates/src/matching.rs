//! Isomorphisms between cycles, and automorphisms.

use crate::cycle::{Cycle, NONE};
use crate::known::Known;
use crate::slots::Slots;
use heaplake_kit::{Context, Lookup, ReadAt, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;

/// The current cycle among the components.
pub(crate) struct Cycles {
    pub cycle: Cycle,
    /// Component of each node.
    pub components: Lookup<u32>,
    pub sizes: Lookup<u32>,
}

impl Cycles {
    /// Whether the map that takes the node at `from` to the node `to` takes the current cycle to the cycle of `to`. If
    /// so, [`Cycle::image`] returns the image of each place.
    pub(crate) fn matches<P: WriteAt<u32>, S: Slots, V: ReadAt<NodeId>>(
        &mut self,
        known: &mut Known<P, S, V>,
        from: usize,
        to: u32,
        context: &Context<'_>,
    ) -> Result<bool, StageError> {
        let size = self.cycle.size();
        let component = self.components.get(to as usize)?;
        // Sizes are equal: since each cycle reaches all of itself, the map is onto, and so one-to-one.
        if self.sizes.get(component as usize)? as usize != size {
            return Ok(false);
        }
        (0..size).try_for_each(|place| self.cycle.set_image(place, NONE))?;
        self.cycle.set_image(from, to)?;
        self.cycle.enqueue(0, from)?;
        let (mut next, mut end) = (0usize, 1);
        while next < end {
            context.check_every(1 << 12, next)?;
            let place = self.cycle.dequeue(next)?;
            next += 1;
            let (left, right) = (self.cycle.node(place)?, self.cycle.image(place)?);
            if known.values.get(left as usize)? != known.values.get(right as usize)? {
                return Ok(false);
            }
            let (a, b) = (known.slots.of(left)?, known.slots.of(right)?);
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.zip(b) {
                let (a, b) = (known.slots.to(a)?, known.slots.to(b)?);
                if !self.maps(known, (a, b), component, &mut end)? {
                    return Ok(false);
                }
            }
        }
        Ok(end == size)
    }

    /// Maps a target to its counterpart; returns whether that is consistent with the map so far. Appends new targets to
    /// the queue.
    #[inline]
    fn maps<P: WriteAt<u32>, S: Slots, V: ReadAt<NodeId>>(
        &mut self,
        known: &mut Known<P, S, V>,
        (left, right): (u32, u32),
        component: u32,
        end: &mut usize,
    ) -> Result<bool, StageError> {
        let inside = self.components.get(right as usize)? == component;
        let Some(place) = self.cycle.place(left, &mut known.certificates)? else {
            return Ok(!inside && known.code(left)? == known.code(right)?);
        };
        if !inside {
            return Ok(false);
        }
        let image = self.cycle.image(place)?;
        if image == NONE {
            self.cycle.set_image(place, right)?;
            self.cycle.enqueue(*end, place)?;
            *end += 1;
        }
        Ok(image == NONE || image == right)
    }

    /// Finds the automorphisms of the cycle and joins the places that they map to each other into orbits. Returns the
    /// first place whose search gives the code.
    pub(crate) fn find_symmetries<P: WriteAt<u32>, S: Slots, V: ReadAt<NodeId>>(
        &mut self,
        known: &mut Known<P, S, V>,
        code: u64,
        context: &Context<'_>,
    ) -> Result<Option<usize>, StageError> {
        self.cycle.separate_orbits()?;
        let mut first = None;
        for place in 0..self.cycle.size() {
            if !self.cycle.begins(place, code)? {
                continue;
            }
            let Some(first) = first else {
                first = Some(place);
                continue;
            };
            // Another start node with the same code: most likely an automorphism maps one to the other.
            let node = self.cycle.node(place)?;
            if self.matches(known, first, node, context)? {
                self.join_images(known)?;
            }
        }
        Ok(first)
    }

    /// Joins the orbit of each place with that of its image in the same cycle.
    fn join_images<P: WriteAt<u32>, S, V>(&mut self, known: &mut Known<P, S, V>) -> Result<(), StageError> {
        for place in 0..self.cycle.size() {
            let image = self.cycle.image(place)?;
            if let Some(image) = self.cycle.place(image, &mut known.certificates)? {
                self.cycle.join_orbits(place, image)?;
            }
        }
        Ok(())
    }
}
