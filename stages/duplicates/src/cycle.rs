//! A cycle (strongly connected component) brought into a form that does not depend on where one begins.
//!
//! Every node of a cycle reaches all of it, and the slots of a node have an order; so a search from a node gives all nodes
//! numbers, and two cycles are the same exactly if there are nodes in both from which the numbered cycles are equal. The
//! work is to find a node to begin with that any equal cycle would begin with, too: one of those with the rarest colour,
//! where a colour is what is known of a node: first its value and what it has outside, then also the colours of its
//! neighbours, and so on. Mostly there is one such node. Where there are several, each is tried; where that would take too
//! long, colours are all that is known in the end.

use crate::slots::Slots;
use heaplake_kit::array::Fault;
use heaplake_kit::naming::mix;
use heaplake_kit::{Array, ArrayPlan, Context, ReadAt, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;
use std::collections::BTreeMap;

/// Rounds after which colours are taken as they are.
const ROUNDS: u32 = 16;

/// Distinct colours that are counted: those with the least hashes.
const COUNTED: usize = 4096;

/// No number yet.
const NONE: u32 = u32::MAX;

/// Arrays for the largest cycle, used for one after the other.
pub struct Cycle {
    /// The nodes.
    members: Array<u32>,
    colours: Array<u64>,
    /// Colours of the next round; then the code of the cycle from each beginning.
    codes: Array<u64>,
    numbers: Array<u32>,
    /// Least number of each node from any of the best beginnings.
    keys: Array<u32>,
    queue: Array<u32>,
    size: usize,
    /// The colour to begin with.
    first: u64,
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
    /// Sizes of the arrays for cycles of at most so many nodes, in the order in which [`Self::new`] makes them.
    pub fn sizes(nodes: u64) -> [u64; 6] {
        [nodes * 4, nodes * 8, nodes * 8, nodes * 4, nodes * 4, nodes * 4]
    }

    pub fn new(room: &mut ArrayPlan<'_>, nodes: usize) -> Result<Self, StageError> {
        Ok(Self {
            members: room.array(nodes, 0)?,
            colours: room.array(nodes, 0)?,
            codes: room.array(nodes, 0)?,
            numbers: room.array(nodes, 0)?,
            keys: room.array(nodes, 0)?,
            queue: room.array(nodes, 0)?,
            size: 0,
            first: 0,
        })
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
        self.members.set(self.size, node)?;
        places.set(node as usize, self.size as u32)?;
        self.size += 1;
        Ok(())
    }

    /// The node at a place.
    pub fn member(&mut self, place: usize) -> Result<u32, Fault> {
        self.members.get(place)
    }

    /// Sets what is known of the node at a place from the start.
    pub fn colour(&mut self, place: usize, colour: u64) -> Result<(), Fault> {
        self.colours.set(place, colour)
    }

    /// What is known of the node at a place in the end.
    pub fn final_colour(&mut self, place: usize) -> Result<u64, Fault> {
        self.colours.get(place)
    }

    /// Number of the node at a place in the form that [`Form::Code`] is of, the least where there are several; nodes with
    /// equal ones take each other's place in the cycle.
    pub fn key(&mut self, place: usize) -> Result<u32, Fault> {
        self.keys.get(place)
    }

    /// Notes what the node at a place is to stand for when the cycle is done with.
    pub fn end(&mut self, place: usize, name: u32) -> Result<(), Fault> {
        self.keys.set(place, name)
    }

    /// What was noted.
    pub fn ended(&mut self, place: usize) -> Result<u32, Fault> {
        self.keys.get(place)
    }

    /// Puts a place into the queue of a search.
    pub fn enqueue(&mut self, at: usize, place: usize) -> Result<(), Fault> {
        self.queue.set(at, place as u32)
    }

    /// A place from the queue.
    pub fn dequeue(&mut self, at: usize) -> Result<usize, Fault> {
        Ok(self.queue.get(at)? as usize)
    }

    /// Says which place stands for those that a place can be taken to.
    pub fn set_orbit(&mut self, place: usize, orbit: usize) -> Result<(), Fault> {
        self.numbers.set(place, orbit as u32)
    }

    /// The place that stands for a place.
    pub fn orbit(&mut self, mut place: usize) -> Result<usize, Fault> {
        loop {
            let above = self.numbers.get(place)? as usize;
            if above == place {
                return Ok(place);
            }
            let top = self.numbers.get(above)?;
            self.numbers.set(place, top)?;
            place = top as usize;
        }
    }

    /// Makes two places stand for the same.
    pub fn join_orbits(&mut self, left: usize, right: usize) -> Result<(), Fault> {
        let (left, right) = (self.orbit(left)?, self.orbit(right)?);
        self.numbers.set(left.max(right), left.min(right) as u32)
    }

    /// Notes a node for a place, beside what [`Self::end`] noted.
    pub fn note(&mut self, place: usize, node: u32) -> Result<(), Fault> {
        self.queue.set(place, node)
    }

    /// The node of [`Self::note`].
    pub fn noted(&mut self, place: usize) -> Result<u32, Fault> {
        self.queue.get(place)
    }

    /// Whether the code is that from the node at a place.
    pub fn begins(&mut self, place: usize, code: u64) -> Result<bool, Fault> {
        Ok(self.colours.get(place)? == self.first && self.codes.get(place)? == code)
    }

    /// The place of a node, if it is in the cycle.
    #[inline]
    pub fn place(&mut self, node: u32, places: &mut impl WriteAt<u32>) -> Result<Option<usize>, Fault> {
        let place = places.get(node as usize)? as usize;
        Ok(if place < self.size && self.members.get(place)? == node { Some(place) } else { None })
    }

    /// Brings the cycle into its form. Takes what it costs from `patience`, and gives up when that is used up.
    pub fn form<O: ReadAt<u32>, E: ReadAt<NodeId>>(
        &mut self,
        slots: &mut Slots<O, E>,
        places: &mut impl WriteAt<u32>,
        patience: &mut u64,
        context: &Context<'_>,
    ) -> Result<Form, StageError> {
        let mut counts = self.counts()?;
        for _ in 0..ROUNDS {
            if rarest(&counts).1 == 1 || *patience == 0 {
                break;
            }
            self.refine(slots, places, patience)?;
            context.check()?;
            let before = std::mem::replace(&mut counts, self.counts()?);
            if before.len() == counts.len() && counts.len() < COUNTED {
                break;
            }
        }
        let (first, many) = rarest(&counts);
        self.first = first;
        // One search is always allowed: it costs no more than finding the component did.
        if many > 1 && (self.size as u64).saturating_mul(u64::from(many)) > *patience {
            return Ok(Form::Colours);
        }
        let mut best = u64::MAX;
        for place in 0..self.size {
            if self.colours.get(place)? == first {
                let code = self.number(place, slots, places, patience)?;
                self.codes.set(place, code)?;
                best = best.min(code);
            }
        }
        (0..self.size).try_for_each(|place| self.keys.set(place, NONE))?;
        for place in 0..self.size {
            if self.begins(place, best)? {
                if many > 1 {
                    self.number(place, slots, places, patience)?;
                }
                for other in 0..self.size {
                    let number = self.numbers.get(other)?;
                    self.keys.change(other, |key| *key = number.min(*key))?;
                }
            }
        }
        Ok(Form::Code(best))
    }

    /// How often colours occur.
    fn counts(&mut self) -> Result<BTreeMap<u64, u32>, Fault> {
        let mut counts = BTreeMap::new();
        for place in 0..self.size {
            let colour = self.colours.get(place)?;
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
    fn refine<O: ReadAt<u32>, E: ReadAt<NodeId>>(
        &mut self,
        slots: &mut Slots<O, E>,
        places: &mut impl WriteAt<u32>,
        patience: &mut u64,
    ) -> Result<(), Fault> {
        for place in 0..self.size {
            let mut colour = self.colours.get(place)?;
            let node = self.members.get(place)?;
            for slot in slots.of(node)? {
                if let Some(target) = self.place(slots.to(slot)?, places)? {
                    colour = mix(colour, self.colours.get(target)?);
                    *patience = patience.saturating_sub(1);
                }
            }
            self.codes.set(place, colour)?;
        }
        std::mem::swap(&mut self.colours, &mut self.codes);
        Ok(())
    }

    /// Numbers all nodes by a search from one of them; the code of the numbered cycle.
    fn number<O: ReadAt<u32>, E: ReadAt<NodeId>>(
        &mut self,
        start: usize,
        slots: &mut Slots<O, E>,
        places: &mut impl WriteAt<u32>,
        patience: &mut u64,
    ) -> Result<u64, Fault> {
        (0..self.size).try_for_each(|place| self.numbers.set(place, NONE))?;
        self.numbers.set(start, 0)?;
        self.queue.set(0, start as u32)?;
        let (mut next, mut end) = (0, 1);
        let mut code = self.size as u64;
        while next < end {
            let place = self.queue.get(next)? as usize;
            next += 1;
            code = mix(code, self.colours.get(place)?);
            let node = self.members.get(place)?;
            for slot in slots.of(node)? {
                let Some(target) = self.place(slots.to(slot)?, places)? else { continue };
                let mut number = self.numbers.get(target)?;
                if number == NONE {
                    number = end as u32;
                    self.numbers.set(target, number)?;
                    self.queue.set(end, target as u32)?;
                    end += 1;
                }
                code = mix(code, u64::from(number));
                *patience = patience.saturating_sub(1);
            }
        }
        Ok(code)
    }
}

/// The colour that occurs least often, and how often; among several the least.
fn rarest(counts: &BTreeMap<u64, u32>) -> (u64, u32) {
    counts.iter().min_by_key(|&(_, &count)| count).map_or((0, 0), |(&colour, &count)| (colour, count))
}
