//! Events between two sequence points, held back until all threads' are there, and then handed on in order of time.
//!
//! Each thread's events are in order in the file, but threads are written one after the other, block by block. A sequence
//! point says that everything before it is older than everything behind it, so that is how much must be held: blocks as
//! they are, and 32 bytes per event that means something. Runtimes write a sequence point every few megabytes.

use super::cursor::Cursor;
use super::read::Events;
use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// What stands around the payload of an event.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Number of the stack.
    pub stack: u32,
    /// When, in ticks.
    pub time: u64,
    /// Whether pointers have eight bytes.
    pub wide: bool,
    /// Where the payload begins in the content of the trace.
    pub offset: u64,
}

/// Bytes of an entry of the table of stacks.
const ENTRY: u64 = 48;

/// An event that is held.
#[derive(Clone, Copy, Debug)]
struct Held<K> {
    time: u64,
    stack: u32,
    block: u32,
    start: u32,
    length: u32,
    kind: K,
}

/// A stack that the trace has written.
#[derive(Clone, Copy, Debug)]
struct Known {
    block: u32,
    start: u32,
    length: u32,
    /// What its reader calls it, once it was asked for.
    name: Option<u32>,
}

/// What is held.
pub struct Span<K> {
    blocks: Vec<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    /// Where in the file each block begins.
    offsets: Vec<u64>,
    events: Vec<Held<K>>,
    stacks: FxHashMap<u32, Known>,
    charge: Charge,
    charged: u64,
    /// Stacks that events name and the trace has not written since the last sequence point.
    pub unknown_stacks: u64,
}

/// A payload that ends too early: where it begins.
pub struct Short(pub u64);

impl<K: Copy> Span<K> {
    /// Nothing yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            blocks: Vec::new(),
            spare: Vec::new(),
            offsets: Vec::new(),
            events: Vec::new(),
            stacks: FxHashMap::default(),
            charge: Charge::new(budget, "the events between two sequence points")?,
            charged: 0,
            unknown_stacks: 0,
        })
    }

    fn count(&mut self, bytes: u64) -> Result<(), StageError> {
        self.charged += bytes;
        self.charge.add(bytes)
    }

    /// An empty block to be filled.
    #[must_use]
    pub fn block(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// The number of the block that is kept next, by which its events and stacks name it.
    #[must_use]
    pub fn next_block(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Keeps a block until the span is over; `offset` is where it begins in the trace.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn keep(&mut self, block: Vec<u8>, offset: u64) -> Result<(), StageError> {
        self.count(block.capacity() as u64)?;
        self.blocks.push(block);
        self.offsets.push(offset);
        Ok(())
    }

    /// Holds an event whose payload is a part of a kept block.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn hold(
        &mut self,
        (kind, time, stack): (K, u64, u32),
        (block, start, length): (u32, usize, usize),
    ) -> Result<(), StageError> {
        let before = self.events.capacity();
        self.events.push(Held { time, stack, block, start: start as u32, length: length as u32, kind });
        if self.events.capacity() == before {
            return Ok(());
        }
        // Sorting takes half as much again.
        self.count((self.events.capacity() - before) as u64 * size_of::<Held<K>>() as u64 * 3 / 2)
    }

    /// A stack whose frames are a part of a kept block.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn stack(&mut self, number: u32, (block, start, length): (u32, usize, usize)) -> Result<(), StageError> {
        self.count(ENTRY)?;
        self.stacks.insert(number, Known { block, start: start as u32, length: length as u32, name: None });
        Ok(())
    }

    /// Hands all events on, in order of time; of equal times, in order of the file. Then nothing is held any more. The
    /// inner error is a payload that ends too early.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn release(&mut self, wide: bool, reader: &mut impl Events<Kind = K>) -> Result<Result<(), Short>, StageError> {
        self.events.sort_by_key(|event| event.time);
        let mut stacks = Stacks { blocks: &self.blocks, known: &mut self.stacks, wide, unknown: 0 };
        for event in &self.events {
            let payload = &self.blocks[event.block as usize][event.start as usize..][..event.length as usize];
            let offset = self.offsets[event.block as usize] + u64::from(event.start);
            let around = Around { stack: event.stack, time: event.time, wide, offset };
            if !reader.event(event.kind, payload, around, &mut stacks)? {
                return Ok(Err(Short(offset)));
            }
        }
        self.unknown_stacks += stacks.unknown;
        self.events.clear();
        self.stacks.clear();
        self.offsets.clear();
        self.blocks.iter_mut().for_each(Vec::clear);
        self.spare.append(&mut self.blocks);
        let kept = self.spare.iter().map(|block| block.capacity() as u64).sum::<u64>()
            + self.events.capacity() as u64 * size_of::<Held<K>>() as u64 * 3 / 2;
        self.charge.sub(self.charged.saturating_sub(kept));
        self.charged = self.charged.min(kept);
        Ok(Ok(()))
    }
}

/// The stacks of a span.
pub struct Stacks<'a> {
    blocks: &'a [Vec<u8>],
    known: &'a mut FxHashMap<u32, Known>,
    wide: bool,
    unknown: u64,
}

impl Stacks<'_> {
    /// What the reader calls a stack: `name` says it, given the addresses of its frames from the outermost one on, the
    /// first time that it is asked for. Nothing where the trace has not written the stack, which is counted.
    ///
    /// # Errors
    /// Those of `name`.
    #[inline]
    pub fn named(
        &mut self,
        stack: u32,
        name: impl FnOnce(&mut dyn Iterator<Item = u64>) -> Result<u32, StageError>,
    ) -> Result<Option<u32>, StageError> {
        let Some(known) = self.known.get_mut(&stack) else {
            self.unknown += 1;
            return Ok(None);
        };
        if known.name.is_none() {
            let frames = &self.blocks[known.block as usize][known.start as usize..][..known.length as usize];
            let (wide, width) = (self.wide, if self.wide { 8 } else { 4 });
            // The innermost frame comes first.
            let mut frames = frames.rchunks_exact(width).map(|frame| Cursor(frame).pointer(wide).unwrap_or_default());
            known.name = Some(name(&mut frames)?);
        }
        Ok(known.name)
    }
}
