//! The canonical form of a cycle (a strongly connected component).
//!
//! Every node of a cycle reaches the whole cycle, and the slots of a node are ordered. So a search from a start node
//! numbers all nodes, and two cycles are equal exactly if some start node in each gives equal numbered cycles. The
//! task is to choose the same start node in equal cycles: one with the rarest colour. The colour of a node is a hash
//! of its value and its targets outside the cycle, then also of the colours of its neighbours, and so on. Mostly one
//! node has the rarest colour. If several have it, each is tried; if that takes too long, only the colours are used.

use crate::slots::Slots;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array::Fault;
use heaplake_kit::hash_cons::mix;
use heaplake_kit::{Array, Context, ReadAt, StageError, WriteAt};
use std::collections::BTreeMap;

const ROUNDS: u32 = 16;

/// Maximum number of distinct colours that are counted: those with the least hashes.
const COUNTED: usize = 4096;

/// Average number of steps per node and slot that all cycles together may take.
const PATIENCE: u64 = 16;

/// No number yet, or no image.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Member {
    colour: u64,
    /// Its colour in the next round; then the code of the cycle with this node as the start.
    code: u64,
    node: u32,
    /// Its number in the current search; later the parent of its place in the union-find of orbits.
    number: u32,
    /// Its least number from any of the best start nodes; later a node, see [`Cycle::set_image`].
    key: u32,
    /// Entry of the search queue: the place at this position; later a node, see [`Cycle::note`].
    queue: u32,
}

/// The current cycle; its memory is reused for the next cycle.
pub(crate) struct Cycle {
    /// Members by place; long enough for the largest cycle.
    members: Array<Member>,
    size: usize,
    /// The rarest colour; start nodes have it.
    first: u64,
    /// Steps left for all cycles.
    patience: u64,
}

/// The canonical form of a cycle, if it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A code that equal cycles share.
    Code(u64),
    /// Only the colours of the nodes are known.
    Colours,
}

impl Cycle {
    /// Returns an empty cycle. `members` are zeros, one per node of the largest cycle; `graph` counts nodes and slots.
    pub(crate) fn new(members: Array<Member>, graph: u64) -> Self {
        Self { members, size: 0, first: 0, patience: PATIENCE * graph }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Begins another cycle. While the cycle is in use, `places` maps each member to its place.
    pub(crate) fn begin(&mut self) {
        self.size = 0;
    }

    pub(crate) fn push(&mut self, node: u32, places: &mut impl WriteAt<u32>) -> Result<(), Fault> {
        self.members.change(self.size, |member| member.node = node)?;
        places.set(node as usize, self.size as u32)?;
        self.size += 1;
        Ok(())
    }

    pub(crate) fn node(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.node)
    }

    /// Sets the initial colour of the node at a place.
    pub(crate) fn set_colour(&mut self, place: usize, colour: u64) -> Result<(), Fault> {
        self.members.change(place, |member| member.colour = colour)
    }

    pub(crate) fn colour(&mut self, place: usize) -> Result<u64, Fault> {
        Ok(self.members.get(place)?.colour)
    }

    /// Number of the node at a place in the canonical form of [`Form::Code`], the least if there are several.
    /// Automorphisms of the cycle map nodes with equal numbers to each other.
    pub(crate) fn key(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.key)
    }

    /// Sets the node of a place, after the last use of [`Self::key`]: its image, or its candidate class.
    pub(crate) fn set_image(&mut self, place: usize, node: u32) -> Result<(), Fault> {
        self.members.change(place, |member| member.key = node)
    }

    /// The node set by [`Self::set_image`].
    pub(crate) fn image(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.key)
    }

    /// Writes a place to the search queue.
    pub(crate) fn enqueue(&mut self, at: usize, place: usize) -> Result<(), Fault> {
        self.members.change(at, |member| member.queue = place as u32)
    }

    /// Reads a place from the search queue.
    pub(crate) fn dequeue(&mut self, at: usize) -> Result<usize, Fault> {
        Ok(self.members.get(at)?.queue as usize)
    }

    fn number_of(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.number)
    }

    fn set_number(&mut self, place: usize, number: u32) -> Result<(), Fault> {
        self.members.change(place, |member| member.number = number)
    }

    /// Makes every place an orbit of its own.
    pub(crate) fn separate_orbits(&mut self) -> Result<(), Fault> {
        (0..self.size).try_for_each(|place| self.set_number(place, place as u32))
    }

    /// Returns the representative of the orbit of a place.
    pub(crate) fn orbit(&mut self, mut place: usize) -> Result<usize, Fault> {
        loop {
            let above = self.number_of(place)? as usize;
            if above == place {
                return Ok(place);
            }
            let top = self.number_of(above)?;
            self.set_number(place, top)?;
            place = top as usize;
        }
    }

    /// Joins the orbits of two places.
    pub(crate) fn join_orbits(&mut self, left: usize, right: usize) -> Result<(), Fault> {
        let (left, right) = (self.orbit(left)?, self.orbit(right)?);
        self.set_number(left.max(right), left.min(right) as u32)
    }

    /// Stores a second node for a place, besides that of [`Self::set_image`].
    pub(crate) fn note(&mut self, place: usize, node: u32) -> Result<(), Fault> {
        self.members.change(place, |member| member.queue = node)
    }

    /// The node stored by [`Self::note`].
    pub(crate) fn noted(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.queue)
    }

    /// Whether the search from the node at a place gives this code.
    pub(crate) fn begins(&mut self, place: usize, code: u64) -> Result<bool, Fault> {
        let member = self.members.get(place)?;
        Ok(member.colour == self.first && member.code == code)
    }

    /// The place of a node, if the node is in the cycle.
    #[inline]
    pub(crate) fn place(&mut self, node: u32, places: &mut impl WriteAt<u32>) -> Result<Option<usize>, Fault> {
        let place = places.get(node as usize)? as usize;
        Ok(if place < self.size && self.node(place)? == node { Some(place) } else { None })
    }

    /// Computes the canonical form. Charges the cost to the steps of all cycles, and stops when they are used up.
    pub(crate) fn form(
        &mut self,
        slots: &mut impl Slots,
        places: &mut impl WriteAt<u32>,
        context: &Context<'_>,
    ) -> Result<Form, StageError> {
        let counts = self.refined(slots, places, context)?;
        let (first, many) = rarest(&counts);
        self.first = first;
        // One search is always allowed: it costs no more than finding the component did.
        if many > 1 && (self.size as u64).saturating_mul(u64::from(many)) > self.patience {
            return Ok(Form::Colours);
        }
        let mut best = u64::MAX;
        for place in 0..self.size {
            context.check_every(1 << 12, place)?;
            if self.colour(place)? == first {
                let code = self.number(place, slots, places, context)?;
                self.members.change(place, |member| member.code = code)?;
                best = best.min(code);
            }
        }
        (0..self.size).try_for_each(|place| self.set_image(place, NONE))?;
        for place in 0..self.size {
            if self.begins(place, best)? {
                if many > 1 {
                    self.number(place, slots, places, context)?;
                }
                let least = |member: &mut Member| member.key = member.number.min(member.key);
                (0..self.size).try_for_each(|other| self.members.change(other, least))?;
            }
        }
        Ok(Form::Code(best))
    }

    /// Refines the colours until one is unique or refinement has no effect; returns the number of nodes of each colour.
    fn refined(
        &mut self,
        slots: &mut impl Slots,
        places: &mut impl WriteAt<u32>,
        context: &Context<'_>,
    ) -> Result<BTreeMap<u64, u32>, StageError> {
        let mut counts = self.counts(context)?;
        for _ in 0..ROUNDS {
            if rarest(&counts).1 == 1 || self.patience == 0 {
                break;
            }
            self.refine(slots, places, context)?;
            let before = std::mem::replace(&mut counts, self.counts(context)?);
            if before.len() == counts.len() && counts.len() < COUNTED {
                break;
            }
        }
        Ok(counts)
    }

    /// Counts the nodes of each colour.
    fn counts(&mut self, context: &Context<'_>) -> Result<BTreeMap<u64, u32>, StageError> {
        let mut counts = BTreeMap::new();
        for place in 0..self.size {
            context.check_every(1 << 12, place)?;
            let colour = self.colour(place)?;
            if counts.len() == COUNTED && counts.last_key_value().is_some_and(|(&last, _)| colour > last) {
                continue;
            }
            *counts.entry(colour).or_insert(0) += 1;
            // A removed colour never comes back, since all kept ones are less; so the counts stay exact.
            if counts.len() > COUNTED {
                counts.pop_last();
            }
        }
        Ok(counts)
    }

    /// One round of refinement: mixes the colours of neighbours into the colour of each node.
    fn refine(
        &mut self,
        slots: &mut impl Slots,
        places: &mut impl WriteAt<u32>,
        context: &Context<'_>,
    ) -> Result<(), StageError> {
        for place in 0..self.size {
            context.check_every(1 << 12, place)?;
            let Member { mut colour, node, .. } = self.members.get(place)?;
            for slot in slots.of(node)? {
                if let Some(target) = self.place(slots.to(slot)?, places)? {
                    colour = mix(colour, self.colour(target)?);
                    self.patience = self.patience.saturating_sub(1);
                }
            }
            self.members.change(place, |member| member.code = colour)?;
        }
        for place in 0..self.size {
            self.members.change(place, |member| member.colour = member.code)?;
        }
        Ok(())
    }

    /// Numbers all nodes by a search from one node; returns the code of the numbered cycle.
    fn number(
        &mut self,
        start: usize,
        slots: &mut impl Slots,
        places: &mut impl WriteAt<u32>,
        context: &Context<'_>,
    ) -> Result<u64, StageError> {
        (0..self.size).try_for_each(|place| self.set_number(place, NONE))?;
        self.set_number(start, 0)?;
        self.enqueue(0, start)?;
        let (mut next, mut end) = (0, 1);
        let mut code = self.size as u64;
        while next < end {
            context.check_every(1 << 12, next)?;
            let place = self.dequeue(next)?;
            next += 1;
            let Member { colour, node, .. } = self.members.get(place)?;
            code = mix(code, colour);
            for slot in slots.of(node)? {
                let Some(target) = self.place(slots.to(slot)?, places)? else { continue };
                let mut number = self.number_of(target)?;
                if number == NONE {
                    number = end as u32;
                    self.set_number(target, number)?;
                    self.enqueue(end, target)?;
                    end += 1;
                }
                code = mix(code, u64::from(number));
                self.patience = self.patience.saturating_sub(1);
            }
        }
        Ok(code)
    }
}

/// Returns the rarest colour and its count; of several the least.
fn rarest(counts: &BTreeMap<u64, u32>) -> (u64, u32) {
    counts.iter().min_by_key(|&(_, &count)| count).map_or((0, 0), |(&colour, &count)| (colour, count))
}
