//! Buffers the events between two sequence points and sorts them by time.
//!
//! Events of a thread are in order in the file, but threads are written one after the other, block by block. All events
//! before a sequence point are older than those behind it, so only the events between two of them are buffered: the raw
//! blocks, and 32 bytes per event of interest. Runtimes write a sequence point every few megabytes. All memory is
//! charged before it is allocated, and reused for the next span.

use super::cursor::Cursor;
use crate::bytes::Bytes;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// Context of an event's payload.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Number of the stack.
    pub stack: u32,
    /// Time in ticks.
    pub time: u64,
    /// True if pointers have eight bytes.
    pub wide: bool,
    /// Offset of the payload in the content of the trace.
    pub offset: u64,
}

/// Bytes per entry of the stack table, including growth.
const ENTRY: u64 = 48;

/// Bytes of a block allocated at once: a wrong size must not cost memory.
const STEP: usize = 1 << 20;

/// A buffered event.
#[derive(Clone, Copy, Debug)]
struct Held<K> {
    time: u64,
    stack: u32,
    block: u32,
    start: u32,
    length: u32,
    kind: K,
}

/// A stack of the trace.
#[derive(Clone, Copy, Debug)]
struct Known {
    block: u32,
    start: u32,
    length: u32,
    /// The reader's id of the stack, once requested.
    name: Option<u32>,
}

/// The buffered events.
pub struct Span<K> {
    blocks: Vec<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    /// Offset of each block in the file.
    offsets: Vec<u64>,
    events: Vec<Held<K>>,
    stacks: FxHashMap<u32, Known>,
    account: MemoryAccount,
    /// Number of stacks that events refer to but the trace lacks, since the last sequence point.
    pub unknown_stacks: u64,
}

/// Offset of a payload that ends too early.
pub struct Short(pub u64);

impl<K: Copy> Span<K> {
    /// Creates an empty buffer.
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            blocks: Vec::new(),
            spare: Vec::new(),
            offsets: Vec::new(),
            events: Vec::new(),
            stacks: FxHashMap::default(),
            account: MemoryAccount::new(budget, "the events between two sequence points")?,
            unknown_stacks: 0,
        })
    }

    /// Reads a block of up to `size` bytes.
    pub fn read(&mut self, bytes: &mut Bytes<'_>, size: usize) -> Result<Vec<u8>, StageError> {
        let mut block = self.spare.pop().unwrap_or_default();
        while block.len() < size {
            let more = (size - block.len()).min(STEP);
            self.account.make_room(&mut block, more)?;
            if bytes.append_to(&mut block, more)? < more {
                break;
            }
        }
        Ok(block)
    }

    /// Recycles a block that is not kept.
    pub fn give_back(&mut self, mut block: Vec<u8>) {
        block.clear();
        self.spare.push(block);
    }

    /// Number of the next kept block, by which its events and stacks refer to it.
    pub fn next_block(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Keeps a block until the end of the span; `offset` is its offset in the trace.
    pub fn keep(&mut self, block: Vec<u8>, offset: u64) {
        self.blocks.push(block);
        self.offsets.push(offset);
    }

    /// Buffers an event with a payload in a kept block.
    #[inline]
    pub fn hold(
        &mut self,
        (kind, time, stack): (K, u64, u32),
        (block, start, length): (u32, usize, usize),
    ) -> Result<(), StageError> {
        self.account.make_room(&mut self.events, 1)?;
        self.events.push(Held { time, stack, block, start: start as u32, length: length as u32, kind });
        Ok(())
    }

    /// Adds a stack with frames in a kept block.
    pub fn stack(&mut self, number: u32, (block, start, length): (u32, usize, usize)) -> Result<(), StageError> {
        if self.stacks.len() == self.stacks.capacity() {
            let more = self.stacks.capacity().max(1);
            self.account.add(more as u64 * ENTRY)?;
            self.stacks.reserve(more);
        }
        self.stacks.insert(number, Known { block, start: start as u32, length: length as u32, name: None });
        Ok(())
    }

    /// Passes all events to `event`, sorted by time, ties in file order; then clears the buffer. The inner error is a
    /// payload that ends too early, for which `event` returned false.
    pub fn release(
        &mut self,
        wide: bool,
        mut event: impl FnMut(K, &[u8], Around, &mut Stacks<'_>) -> Result<bool, StageError>,
    ) -> Result<Result<(), Short>, StageError> {
        self.account.sort_by_key(&mut self.events, |event| event.time)?;
        let mut stacks = Stacks { blocks: &self.blocks, known: &mut self.stacks, wide, unknown: 0 };
        for held in &self.events {
            let payload = &self.blocks[held.block as usize][held.start as usize..][..held.length as usize];
            let offset = self.offsets[held.block as usize] + u64::from(held.start);
            let around = Around { stack: held.stack, time: held.time, wide, offset };
            if !event(held.kind, payload, around, &mut stacks)? {
                return Ok(Err(Short(offset)));
            }
        }
        self.unknown_stacks += stacks.unknown;
        self.events.clear();
        self.stacks.clear();
        self.offsets.clear();
        self.blocks.iter_mut().for_each(Vec::clear);
        self.spare.append(&mut self.blocks);
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
    /// Returns the reader's id of a stack; on first use, `name` computes it from the frame addresses, outermost first.
    /// `None` if the trace lacks the stack, which is counted.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use heaplake_kit::Context;
    use heaplake_kit::stage::Silent;
    use std::sync::atomic::AtomicBool;

    fn read(content: usize, size: usize, limit: u64) -> Result<Vec<u8>, StageError> {
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(limit), threads: 1, progress: &Silent, cancel: &cancel };
        let mut bytes = Bytes::new(Source::of_bytes(vec![7; content], 1 << 16), &context);
        let mut span = Span::<u8>::new(&context.budget)?;
        let block = span.read(&mut bytes, size)?;
        assert!(context.budget.used() >= block.capacity() as u64);
        span.give_back(block);
        let held = context.budget.used();
        let block = span.read(&mut bytes, 0)?;
        assert!(block.is_empty() && block.capacity() > 0 && context.budget.used() == held, "it is used again");
        span.read(&mut Bytes::new(Source::of_bytes(vec![7; content], 1 << 16), &context), size)
    }

    #[test]
    fn blocks_are_counted_before_they_are_read() {
        assert!(matches!(read(9 << 20, 9 << 20, 8 << 20), Err(StageError::Budget { .. })));
        assert_eq!(read(1000, 1000, 8 << 20).unwrap().len(), 1000);
        // A wrong size costs one step, not memory.
        assert_eq!(read(1000, 1 << 31, 8 << 20).unwrap().len(), 1000);
    }
}
