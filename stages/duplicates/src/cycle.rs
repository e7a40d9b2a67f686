//! A cycle (strongly connected component) brought into a form that does not depend on where one begins.
//!
//! Every node of a cycle reaches all of it, and the slots of a node have an order; so a search from a node gives all nodes
//! numbers, and two cycles are the same exactly if there are nodes in both from which the numbered cycles are equal. The
//! work is to find a node to begin with that any equal cycle would begin with, too: one of those with the rarest colour,
//! where a colour is what is known of a node: first its value and what it has outside, then also the colours of its
//! neighbours, and so on. Mostly there is one such node. Where there are several, each is tried; where that would take too
//! long, colours are all that is known in the end.

use crate::slots::Slots;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array::Fault;
use heaplake_kit::naming::mix;
use heaplake_kit::{Array, Context, ReadAt, StageError, WriteAt};
use std::collections::BTreeMap;

/// Rounds after which colours are taken as they are.
const ROUNDS: u32 = 16;

/// Distinct colours that are counted: those with the least hashes.
const COUNTED: usize = 4096;

/// Steps per node and slot that cycles may take on the whole.
const PATIENCE: u64 = 16;

/// No number yet, or no image.
pub const NONE: u32 = u32::MAX;

/// What is known of a node of the cycle.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Member {
    colour: u64,
    /// Its colour in the next round; then the code of the cycle when it begins here.
    code: u64,
    node: u32,
    /// Its number in the search at hand; later the place that stands for those that it can be taken to.
    number: u32,
    /// Its least number from any of the best beginnings; later a node, see [`Cycle::set_image`].
    key: u32,
    /// The place that comes so many places after the first one in the queue of a search; later a node, see [`Cycle::note`].
    queue: u32,
}

/// One cycle after the other.
pub struct Cycle {
    /// Members by place, for the largest cycle.
    members: Array<Member>,
    size: usize,
    /// The colour to begin with.
    first: u64,
    /// Steps that are left.
    patience: u64,
}

/// How far a cycle could be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By a code that equal cycles have, too.
    Code(u64),
    /// Only by the colours of its nodes.
    Colours,
}

impl Cycle {
    /// Over members of zeros, as many as the largest cycle has, in a graph of so many nodes and slots.
    pub fn new(members: Array<Member>, graph: u64) -> Self {
        Self { members, size: 0, first: 0, patience: PATIENCE * graph }
    }

    /// Number of nodes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Begins another cycle. `places` must say of each member where it is among them, as long as the cycle is looked at.
    pub fn begin(&mut self) {
        self.size = 0;
    }

    /// Adds a node.
    pub fn push(&mut self, node: u32, places: &mut impl WriteAt<u32>) -> Result<(), Fault> {
        self.members.change(self.size, |member| member.node = node)?;
        places.set(node as usize, self.size as u32)?;
        self.size += 1;
        Ok(())
    }

    /// The node at a place.
    pub fn node(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.node)
    }

    /// Sets what is known of the node at a place from the start.
    pub fn set_colour(&mut self, place: usize, colour: u64) -> Result<(), Fault> {
        self.members.change(place, |member| member.colour = colour)
    }

    /// What is known of the node at a place in the end.
    pub fn colour(&mut self, place: usize) -> Result<u64, Fault> {
        Ok(self.members.get(place)?.colour)
    }

    /// Number of the node at a place in the form that [`Form::Code`] is of, the least where there are several; nodes with
    /// equal ones take each other's place in the cycle.
    pub fn key(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.key)
    }

    /// Says which node belongs to a place, after [`Self::key`] was asked for: its image, or its candidate class.
    pub fn set_image(&mut self, place: usize, node: u32) -> Result<(), Fault> {
        self.members.change(place, |member| member.key = node)
    }

    /// The node of [`Self::set_image`].
    pub fn image(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.key)
    }

    /// Puts a place into the queue of a search.
    pub fn enqueue(&mut self, at: usize, place: usize) -> Result<(), Fault> {
        self.members.change(at, |member| member.queue = place as u32)
    }

    /// A place from the queue.
    pub fn dequeue(&mut self, at: usize) -> Result<usize, Fault> {
        Ok(self.members.get(at)?.queue as usize)
    }

    fn number_of(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.number)
    }

    fn set_number(&mut self, place: usize, number: u32) -> Result<(), Fault> {
        self.members.change(place, |member| member.number = number)
    }

    /// Makes every place stand for itself alone.
    pub fn separate_orbits(&mut self) -> Result<(), Fault> {
        (0..self.size).try_for_each(|place| self.set_number(place, place as u32))
    }

    /// The place that stands for those that a place can be taken to.
    pub fn orbit(&mut self, mut place: usize) -> Result<usize, Fault> {
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

    /// Makes one place stand for two.
    pub fn join_orbits(&mut self, left: usize, right: usize) -> Result<(), Fault> {
        let (left, right) = (self.orbit(left)?, self.orbit(right)?);
        self.set_number(left.max(right), left.min(right) as u32)
    }

    /// Notes a node for a place, beside that of [`Self::set_image`].
    pub fn note(&mut self, place: usize, node: u32) -> Result<(), Fault> {
        self.members.change(place, |member| member.queue = node)
    }

    /// The node of [`Self::note`].
    pub fn noted(&mut self, place: usize) -> Result<u32, Fault> {
        Ok(self.members.get(place)?.queue)
    }

    /// Whether the code is that from the node at a place.
    pub fn begins(&mut self, place: usize, code: u64) -> Result<bool, Fault> {
        let member = self.members.get(place)?;
        Ok(member.colour == self.first && member.code == code)
    }

    /// The place of a node, if it is in the cycle.
    #[inline]
    pub fn place(&mut self, node: u32, places: &mut impl WriteAt<u32>) -> Result<Option<usize>, Fault> {
        let place = places.get(node as usize)? as usize;
        Ok(if place < self.size && self.node(place)? == node { Some(place) } else { None })
    }

    /// Brings the cycle into its form. Takes what it costs from the patience with all cycles, and gives up when that is
    /// used up.
    pub fn form(
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
            if self.colour(place)? == first {
                let code = self.number(place, slots, places)?;
                self.members.change(place, |member| member.code = code)?;
                best = best.min(code);
            }
        }
        (0..self.size).try_for_each(|place| self.set_image(place, NONE))?;
        for place in 0..self.size {
            if self.begins(place, best)? {
                if many > 1 {
                    self.number(place, slots, places)?;
                }
                let least = |member: &mut Member| member.key = member.number.min(member.key);
                (0..self.size).try_for_each(|other| self.members.change(other, least))?;
            }
        }
        Ok(Form::Code(best))
    }

    /// Refines the colours until one of them is of one node, or nothing more is found out; how often they occur then.
    fn refined(
        &mut self,
        slots: &mut impl Slots,
        places: &mut impl WriteAt<u32>,
        context: &Context<'_>,
    ) -> Result<BTreeMap<u64, u32>, StageError> {
        let mut counts = self.counts()?;
        for _ in 0..ROUNDS {
            if rarest(&counts).1 == 1 || self.patience == 0 {
                break;
            }
            self.refine(slots, places)?;
            context.check()?;
            let before = std::mem::replace(&mut counts, self.counts()?);
            if before.len() == counts.len() && counts.len() < COUNTED {
                break;
            }
        }
        Ok(counts)
    }

    /// How often colours occur.
    fn counts(&mut self) -> Result<BTreeMap<u64, u32>, Fault> {
        let mut counts = BTreeMap::new();
        for place in 0..self.size {
            let colour = self.colour(place)?;
            if counts.len() == COUNTED && counts.last_key_value().is_some_and(|(&last, _)| colour > last) {
                continue;
            }
            *counts.entry(colour).or_insert(0) += 1;
            // What goes here never comes back, since all that is kept is less; so counts stay exact.
            if counts.len() > COUNTED {
                counts.pop_last();
            }
        }
        Ok(counts)
    }

    /// Takes the colours of neighbours into those of the nodes.
    fn refine(&mut self, slots: &mut impl Slots, places: &mut impl WriteAt<u32>) -> Result<(), Fault> {
        for place in 0..self.size {
            let Member { mut colour, node, .. } = self.members.get(place)?;
            for slot in slots.of(node)? {
                if let Some(target) = self.place(slots.to(slot)?, places)? {
                    colour = mix(colour, self.colour(target)?);
                    self.patience = self.patience.saturating_sub(1);
                }
            }
            self.members.change(place, |member| member.code = colour)?;
        }
        (0..self.size).try_for_each(|place| self.members.change(place, |member| member.colour = member.code))
    }

    /// Numbers all nodes by a search from one of them; the code of the numbered cycle.
    fn number(&mut self, start: usize, slots: &mut impl Slots, places: &mut impl WriteAt<u32>) -> Result<u64, Fault> {
        (0..self.size).try_for_each(|place| self.set_number(place, NONE))?;
        self.set_number(start, 0)?;
        self.enqueue(0, start)?;
        let (mut next, mut end) = (0, 1);
        let mut code = self.size as u64;
        while next < end {
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

/// The colour that occurs least often, and how often; among several the least.
fn rarest(counts: &BTreeMap<u64, u32>) -> (u64, u32) {
    counts.iter().min_by_key(|&(_, &count)| count).map_or((0, 0), |(&colour, &count)| (colour, count))
}
