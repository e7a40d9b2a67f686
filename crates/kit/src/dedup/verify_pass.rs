//! The verify pass: compares records with equal hashes.

use super::records::Records;
use crate::array_plan::filled;
use crate::{Array, ArrayPlan, Budget, BudgetVec, ColumnReader, ReadAt, Scratch, StageError, WriteAt};
use bytemuck::{Pod, Zeroable};
use heaplake_schemas::scratch::{Column, Per};

/// Number of words of each node's record, 0 if none. Written by the hash pass.
pub(super) const LENGTHS: Column<u32> = Column::of("values.lengths", Per::Node);

/// Number of each node's hash; [`NONE`] if not repeated. Kept until the verify pass ends.
pub(super) const NUMBERS: Column<u32> = Column::of("values.numbers", Per::Node);

/// No number.
pub(super) const NONE: u32 = u32::MAX;

/// The first record with a repeated hash: its node and the position of its words.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Kept {
    at: u64,
    first: u32,
    words: u32,
}

/// A record with the hash of a kept record but different words.
struct Collision {
    number: u32,
    first: u32,
    at: usize,
    words: usize,
}

/// The verify pass; see the module.
pub struct VerifyPass {
    /// Hash numbers of nodes from `next` on.
    numbers: ColumnReader<u32>,
    next: u32,
    /// The first record of each number.
    kept: Array<Kept>,
    words: Array<u64>,
    collisions: BudgetVec<Collision>,
    collision_words: BudgetVec<u64>,
    /// The current record: node, number, and the kept record to compare with.
    node: u32,
    number: u32,
    with: Kept,
    length: usize,
    /// True if the current record differs; then `current` holds its words.
    differs: bool,
    current: BudgetVec<u64>,
    spilled: u64,
}

/// Tells for each node, in order, whether the verify pass needs its record.
pub struct Wanted(ColumnReader<u32>);

impl Wanted {
    /// Returns true if the next node's record is needed.
    ///
    /// # Errors
    /// [`StageError::Scratch`] past the last node.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "not an iterator: every node must be there")]
    pub fn next(&mut self) -> Result<bool, StageError> {
        Ok(self.0.next()? != NONE)
    }
}

impl VerifyPass {
    /// Returns the nodes whose records the pass needs, for callers that read ahead.
    pub fn wanted(scratch: &Scratch) -> Result<Wanted, StageError> {
        ColumnReader::open(scratch, NUMBERS).map(Wanted)
    }

    pub(super) fn new(count: usize, scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        let none = Kept { at: 0, first: NONE, words: 0 };
        let mut plan = ArrayPlan::new(budget, scratch, "repeated values");
        let mut kept = plan.one(filled(count, none))?;
        let mut lengths = ColumnReader::open(scratch, LENGTHS)?;
        let mut numbers = ColumnReader::open(scratch, NUMBERS)?;
        let mut at = 0;
        for node in 0..numbers.remaining() {
            let (number, words) = (numbers.next()?, lengths.next()?);
            if number != NONE && kept.get(number as usize)?.first == NONE {
                kept.set(number as usize, Kept { at, first: node as u32, words })?;
                at += u64::from(words);
            }
        }
        scratch.discard(LENGTHS);
        Ok(Self {
            numbers: ColumnReader::open(scratch, NUMBERS)?,
            next: 0,
            kept,
            // The number of words is known only now; this array gets the rest of the budget.
            words: plan.one(filled(at as usize, 0))?,
            collisions: budget.growing("values whose hashes collide"),
            collision_words: budget.growing("values whose hashes collide"),
            node: 0,
            number: NONE,
            with: none,
            length: 0,
            differs: false,
            current: budget.growing("a value whose hash collides"),
            spilled: plan.spilled_bytes(),
        })
    }

    pub(super) fn add_spilled(&mut self, bytes: u64) {
        self.spilled += bytes;
    }

    /// Ends the pass; returns the bytes spilled by both passes.
    pub fn finish(self, scratch: &Scratch) -> u64 {
        scratch.discard(NUMBERS);
        self.spilled
    }

    /// Copies the words so far, which equal those of the kept record, on the first difference.
    #[cold]
    fn diverge(&mut self) -> Result<(), StageError> {
        self.differs = true;
        self.current.clear();
        for i in 0..self.length {
            self.current.push(self.words.get(self.with.at as usize + i)?)?;
        }
        Ok(())
    }

    /// Returns the first node with the current record, a collision.
    #[cold]
    fn collide(&mut self) -> Result<u32, StageError> {
        let same = |collision: &&Collision| {
            collision.number == self.number
                && self.collision_words[collision.at..][..collision.words] == self.current[..]
        };
        if let Some(collision) = self.collisions.iter().find(same) {
            return Ok(collision.first);
        }
        let (at, words) = (self.collision_words.len(), self.current.len());
        self.current.iter().try_for_each(|&word| self.collision_words.push(word))?;
        self.collisions.push(Collision { number: self.number, first: self.node, at, words })?;
        Ok(self.node)
    }
}

impl Records for VerifyPass {
    #[inline]
    fn begin(&mut self, node: u32) -> Result<bool, StageError> {
        self.numbers.skip(u64::from(node - self.next))?;
        self.next = node + 1;
        let number = self.numbers.next()?;
        if number == NONE {
            return Ok(false);
        }
        (self.node, self.number, self.with) = (node, number, self.kept.get(number as usize)?);
        (self.length, self.differs) = (0, false);
        Ok(true)
    }

    #[inline]
    fn word(&mut self, word: u64) -> Result<(), StageError> {
        let at = self.with.at as usize + self.length;
        if !self.differs {
            let inside = self.length < self.with.words as usize;
            // A record longer than in the hash pass is another one.
            if inside && self.with.first == self.node {
                self.words.set(at, word)?;
            } else if !inside || self.words.get(at)? != word {
                self.diverge()?;
            }
        }
        if self.differs {
            self.current.push(word)?;
        }
        self.length += 1;
        Ok(())
    }

    #[inline]
    fn end(&mut self) -> Result<u32, StageError> {
        if !self.differs && self.length != self.with.words as usize {
            self.diverge()?;
        }
        if self.differs { self.collide() } else { Ok(self.with.first) }
    }
}
