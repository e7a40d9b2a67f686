//! Writing records.

use crate::record::{
    CLASS, COLLECTION_END, COLLECTION_START, COUNTS, DEATHS, DROPPED, END, FORGET_STACKS, FrameOfStack,
};
use crate::record::{METHOD, NOTE, Note, SAMPLE, STACK, Sample, THREAD, TIME, TRACKED};
use crate::varint::{LONGEST, put, zigzag};

/// Most bytes of a record without texts or lists: a tag and seven numbers.
pub const SHORT: usize = 1 + 7 * LONGEST;

/// A method, as a record defines it.
#[derive(Clone, Copy, Debug, Default)]
pub struct MethodRecord<'a> {
    /// Its number.
    pub id: u32,
    /// Name of its class.
    pub class: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub signature: &'a [u8],
    /// Its source file; empty if unknown.
    pub file: &'a [u8],
    /// First positions in its code and their lines, ascending by position.
    pub lines: &'a [(u32, u32)],
}

impl MethodRecord<'_> {
    /// Most bytes of its record.
    pub fn bound(&self) -> usize {
        SHORT + self.class.len() + self.name.len() + self.signature.len() + self.file.len() + self.lines.len() * 10
    }
}

/// Records in memory, until a frame takes them.
///
/// Grows like a vector; with [`Self::with_capacity`] and checks of [`Self::room`] before each record it never allocates.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
    count: u32,
}

impl Encoder {
    /// Makes one with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), count: 0 }
    }

    /// The records so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Their number.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Bytes that fit without an allocation.
    pub fn room(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// Removes all records, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    fn begin(&mut self, tag: u8) {
        self.bytes.push(tag);
        self.count += 1;
    }

    fn numbers<const N: usize>(&mut self, tag: u8, numbers: [u64; N]) {
        self.begin(tag);
        for number in numbers {
            put(&mut self.bytes, number);
        }
    }

    fn text(&mut self, text: &[u8]) {
        put(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    /// Names a class.
    pub fn class(&mut self, id: u32, name: &[u8]) {
        self.numbers(CLASS, [id.into()]);
        self.text(name);
    }

    /// Names a thread.
    pub fn thread(&mut self, id: u32, name: &[u8]) {
        self.numbers(THREAD, [id.into()]);
        self.text(name);
    }

    /// Defines a method.
    pub fn method(&mut self, method: &MethodRecord<'_>) {
        self.numbers(METHOD, [method.id.into()]);
        for text in [method.class, method.name, method.signature, method.file] {
            self.text(text);
        }
        put(&mut self.bytes, method.lines.len() as u64);
        let mut before = (0, 0);
        for &(position, line) in method.lines {
            put(&mut self.bytes, u64::from(position.wrapping_sub(before.0)));
            put(&mut self.bytes, zigzag(i64::from(line) - i64::from(before.1)));
            before = (position, line);
        }
    }

    /// Defines a stack, innermost frame first; `cut` if outer frames are left out.
    pub fn stack(&mut self, id: u32, cut: bool, frames: impl ExactSizeIterator<Item = FrameOfStack>) {
        self.numbers(STACK, [id.into(), (frames.len() as u64) << 1 | u64::from(cut)]);
        for frame in frames {
            put(&mut self.bytes, frame.method.into());
            put(&mut self.bytes, frame.position.map_or(0, |position| u64::from(position) + 1));
        }
    }

    /// Most bytes of the record of a stack.
    pub fn bound_of_stack(frames: usize) -> usize {
        SHORT + 2 * 5 * frames
    }

    /// Adds to the counts of classes: class, objects and bytes of each.
    pub fn counts(&mut self, counts: impl IntoIterator<Item = (u32, u64, u64), IntoIter: ExactSizeIterator>) {
        let counts = counts.into_iter();
        self.numbers(COUNTS, [counts.len() as u64]);
        for (class, objects, bytes) in counts {
            put(&mut self.bytes, class.into());
            put(&mut self.bytes, objects);
            put(&mut self.bytes, bytes);
        }
    }

    /// Adds an object with size and stack.
    #[inline]
    pub fn sample(&mut self, sample: &Sample) {
        let tag = if sample.tag == 0 { SAMPLE } else { TRACKED };
        let Sample { class, size, weight, stack, thread, .. } = *sample;
        self.numbers(tag, [class.into(), size, weight.into(), stack.into(), thread.into()]);
        if sample.tag != 0 {
            put(&mut self.bytes, sample.tag.into());
        }
    }

    /// Says that tracked objects are dead; their tags may be used again.
    pub fn deaths(&mut self, tags: &[u32]) {
        self.numbers(DEATHS, [tags.len() as u64]);
        let mut before = 0;
        for &tag in tags {
            put(&mut self.bytes, zigzag(i64::from(tag) - i64::from(before)));
            before = tag;
        }
    }

    /// Begins a collection.
    pub fn collection_start(&mut self, number: u32) {
        self.numbers(COLLECTION_START, [number.into()]);
    }

    /// Ends a collection.
    pub fn collection_end(&mut self, number: u32) {
        self.numbers(COLLECTION_END, [number.into()]);
    }

    /// Advances the time, by microseconds since the last such record, or since the start.
    #[inline]
    pub fn time(&mut self, microseconds: u64) {
        self.numbers(TIME, [microseconds]);
    }

    /// Says that samples were dropped here.
    pub fn dropped(&mut self, samples: u64) {
        self.numbers(DROPPED, [samples]);
    }

    /// Says that the numbers of stacks begin anew.
    pub fn forget_stacks(&mut self) {
        self.begin(FORGET_STACKS);
    }

    /// Adds to one of the recorder's own counts.
    pub fn note(&mut self, note: Note, count: u64) {
        self.numbers(NOTE, [note as u64, count]);
    }

    /// Ends the log.
    pub fn end(&mut self) {
        self.begin(END);
    }
}
