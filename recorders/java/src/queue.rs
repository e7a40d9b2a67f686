//! Records on their way to the writer, with the tables that give stacks, methods and objects their numbers.
//!
//! All of it is behind one lock, so that a definition always precedes its use. Nothing here allocates after
//! [`Queue::new`], and nothing waits: without room a sample is dropped and counted. Deaths are never dropped: they are
//! kept with the tags, which are used again only after the log has them.

use crate::options::Memory;
use heaplake_eventlog::encode::{Encoder, MethodRecord, SHORT};
use heaplake_eventlog::record::{FrameOfStack, Note, Sample};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Instant;

/// Part of a buffer that samples leave free for other records: one eighth.
const RESERVE: usize = 8;

/// Microseconds between two records of time.
const TICK: u64 = 1000;

/// Most dead objects in one record.
const MOST_DEATHS: usize = 1 << 16;

/// A hasher for keys that are random already, or addresses.
#[derive(Debug, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u128(&mut self, value: u128) {
        self.write_u64(value as u64);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

type Table<K> = HashMap<K, u32, BuildHasherDefault<Mixer>>;

/// Hash of a stack. Two of 2^32 stacks have the same one with a probability of 2^-65.
pub fn hash(frames: impl Iterator<Item = (usize, Option<u32>)>) -> u128 {
    let (mut a, mut b) = (0x243f_6a88_85a3_08d3_u64, 0x1319_8a2e_0370_7344_u64);
    for (method, position) in frames {
        let frame = (method as u64) ^ position.map_or(u64::MAX, u64::from).rotate_left(40);
        a = (a ^ frame).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        b = b.rotate_left(23) ^ frame.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        b = (b ^ (b >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    }
    u128::from(a ^ (a >> 32)) << 64 | u128::from(b ^ (b >> 29))
}

/// The queue.
pub struct Queue {
    records: Encoder,
    stacks: Table<u128>,
    methods: Table<usize>,
    most: Memory,
    /// Tags that may be used again.
    free: Vec<u32>,
    /// Tags of dead objects that the log does not have yet.
    dead: Vec<u32>,
    next_tag: u32,
    dropped: u64,
    untracked: u64,
    started: Instant,
    /// Microseconds from the start to the last record of time.
    time: u64,
    collections: u32,
}

impl Queue {
    /// Makes an empty queue with all of its memory.
    pub fn new(most: Memory, tracks: bool) -> Self {
        let tags = if tracks { most.tags } else { 0 };
        Self {
            records: Encoder::with_capacity(most.queue),
            stacks: HashMap::with_capacity_and_hasher(most.stacks, BuildHasherDefault::default()),
            methods: HashMap::with_capacity_and_hasher(most.methods, BuildHasherDefault::default()),
            most: Memory { tags, ..most },
            free: Vec::with_capacity(tags),
            dead: Vec::with_capacity(tags),
            next_tag: 0,
            dropped: 0,
            untracked: 0,
            started: Instant::now(),
            time: 0,
            collections: 0,
        }
    }

    /// Whether a record of `bytes` fits, and others after it.
    #[inline]
    fn fits(&self, bytes: usize) -> bool {
        self.records.room() >= bytes + self.most.queue / RESERVE
    }

    /// Whether the writer should come soon.
    #[inline]
    pub fn is_filling(&self) -> bool {
        self.records.bytes().len() > self.most.queue / 4
    }

    /// Drops a sample if there is no room for it.
    #[inline]
    pub fn refuses(&mut self) -> bool {
        let refuses = !self.fits(2 * SHORT);
        self.dropped += u64::from(refuses);
        refuses
    }

    /// Returns the number of a stack, if it is known.
    #[inline]
    pub fn stack(&self, hash: u128) -> Option<u32> {
        self.stacks.get(&hash).copied()
    }

    /// Returns the number of a method; 0 if it is unknown.
    #[inline]
    pub fn method(&self, key: usize) -> u32 {
        self.methods.get(&key).copied().unwrap_or(0)
    }

    /// Defines a method, unless another thread has done so. Without room it remains unknown.
    pub fn define_method(&mut self, key: usize, method: &MethodRecord<'_>) {
        if self.methods.contains_key(&key) || self.methods.len() >= self.most.methods || !self.fits(method.bound()) {
            return;
        }
        let id = self.methods.len() as u32 + 1;
        self.methods.insert(key, id);
        self.records.method(&MethodRecord { id, ..*method });
    }

    /// Defines a stack, unless another thread has done so; `None` without room.
    pub fn define_stack(
        &mut self,
        hash: u128,
        cut: bool,
        frames: impl ExactSizeIterator<Item = (usize, Option<u32>)>,
    ) -> Option<u32> {
        if let Some(known) = self.stack(hash) {
            return Some(known);
        }
        if !self.fits(SHORT + Encoder::bound_of_stack(frames.len())) {
            return None;
        }
        if self.stacks.len() >= self.most.stacks {
            self.stacks.clear();
            self.records.forget_stacks();
        }
        let id = self.stacks.len() as u32 + 1;
        self.stacks.insert(hash, id);
        let methods = &self.methods;
        let number = |key: usize| methods.get(&key).copied().unwrap_or(0);
        self.records.stack(id, cut, frames.map(|(key, position)| FrameOfStack { method: number(key), position }));
        Some(id)
    }

    /// Names a thread; false without room.
    pub fn define_thread(&mut self, id: u32, name: &[u8]) -> bool {
        let fits = self.fits(SHORT + name.len());
        if fits {
            self.records.thread(id, name);
        }
        fits
    }

    /// Adds a sample; drops it without room. Returns the tag of its object, 0 if it is not tracked.
    #[inline]
    pub fn add(&mut self, sample: Sample) -> u32 {
        if self.refuses() {
            return 0;
        }
        self.pass_time(TICK);
        let tag = if self.most.tags > 0 { self.tag() } else { 0 };
        self.records.sample(&Sample { tag, ..sample });
        tag
    }

    fn tag(&mut self) -> u32 {
        if let Some(tag) = self.free.pop() {
            return tag;
        }
        if self.next_tag as usize >= self.most.tags {
            self.untracked += 1;
            return 0;
        }
        self.next_tag += 1;
        self.next_tag
    }

    #[inline]
    fn pass_time(&mut self, least: u64) {
        let now = self.started.elapsed().as_micros() as u64;
        let passed = now.saturating_sub(self.time);
        if passed >= least {
            self.records.time(passed);
            self.time = now;
        }
    }

    /// Takes note of the death of a tracked object.
    #[inline]
    pub fn died(&mut self, tag: u32) {
        // There is room for each tag, and a tag dies once.
        if self.dead.len() < self.dead.capacity() && tag > 0 {
            self.dead.push(tag);
        }
    }

    /// Writes deaths as far as there is room, and frees their tags.
    fn bury(&mut self) {
        while !self.dead.is_empty() {
            let count = self.dead.len().min(MOST_DEATHS);
            if self.records.room() < SHORT + 5 * count {
                return;
            }
            let from = self.dead.len() - count;
            self.records.deaths(&self.dead[from..]);
            let most = self.free.capacity() - self.free.len();
            self.free.extend_from_slice(&self.dead[from..from + count.min(most)]);
            self.dead.truncate(from);
        }
    }

    /// Takes note of the start of a collection.
    pub fn collection_starts(&mut self) {
        self.bury();
        self.collections = self.collections.wrapping_add(1);
        if self.records.room() >= 2 * SHORT {
            self.pass_time(1);
            self.records.collection_start(self.collections);
        }
    }

    /// Takes note of the end of a collection.
    pub fn collection_ends(&mut self) {
        if self.records.room() >= 2 * SHORT {
            self.pass_time(1);
            self.records.collection_end(self.collections);
        }
    }

    /// Takes the records, for an empty buffer of the same size.
    pub fn take(&mut self, empty: Encoder) -> Encoder {
        self.bury();
        let mut records = std::mem::replace(&mut self.records, empty);
        if self.dropped > 0 {
            records.dropped(std::mem::take(&mut self.dropped));
        }
        if self.untracked > 0 {
            records.note(Note::Untracked, std::mem::take(&mut self.untracked));
        }
        records
    }

    /// Bytes of a buffer.
    pub fn size(&self) -> usize {
        self.most.queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_eventlog::record::{Record, Records};

    fn queue(tracks: bool) -> Queue {
        Queue::new(Memory { queue: 4096, stacks: 3, tags: 5, methods: 3 }, tracks)
    }

    fn sample(class: u32) -> Sample {
        Sample { class, size: 16, weight: 1, ..Sample::default() }
    }

    #[test]
    fn without_room_samples_are_dropped_and_counted() {
        let mut queue = queue(false);
        for class in 0..10_000 {
            queue.add(sample(class));
        }
        let records = queue.take(Encoder::with_capacity(4096));
        let (mut samples, mut dropped) = (0, 0);
        for record in Records::new(records.bytes()) {
            match record.unwrap() {
                Record::Sample(_) => samples += 1,
                Record::Dropped(count) => dropped += count,
                _ => {}
            }
        }
        assert!(samples > 100 && samples + dropped == 10_000, "{samples} {dropped}");
        assert!(!queue.refuses());
    }

    #[test]
    fn tags_are_used_again_after_the_log_has_their_deaths() {
        let mut queue = queue(true);
        assert_eq!((0..6).map(|_| queue.add(sample(1))).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 0]);
        queue.died(3);
        assert_eq!(queue.add(sample(1)), 0);
        queue.collection_starts();
        assert_eq!(queue.add(sample(1)), 3);
        let records = queue.take(Encoder::with_capacity(4096));
        let deaths: Vec<u32> = Records::new(records.bytes())
            .filter_map(|record| if let Ok(Record::Deaths(tags)) = record { Some(tags) } else { None })
            .flatten()
            .collect();
        assert_eq!(deaths, [3]);
    }

    #[test]
    fn a_full_table_of_stacks_begins_anew() {
        let mut queue = queue(false);
        let stack = |method: usize| [(method, Some(1))].into_iter();
        queue.define_method(7, &MethodRecord::default());
        assert_eq!((queue.method(7), queue.method(8)), (1, 0));
        for round in 0..4 {
            assert_eq!(queue.define_stack(hash(stack(round)), false, stack(round)), Some(round as u32 % 3 + 1));
        }
        assert_eq!(queue.stack(hash(stack(0))), None);
        assert_eq!(queue.stack(hash(stack(3))), Some(1));
        let records = queue.take(Encoder::with_capacity(4096));
        assert_eq!(Records::new(records.bytes()).filter(|it| matches!(it, Ok(Record::ForgetStacks))).count(), 1);
    }
}
