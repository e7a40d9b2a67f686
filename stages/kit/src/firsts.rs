//! The first node with each value, out of core.
//!
//! A value is a record of words, of any length. Two passes over the records, in the order of nodes, find for each node the
//! first one with the same record, exactly and in any memory:
//!
//! 1. [`Proposals`] takes hashes only, and brings them into partitions; in each of them, a table of hashes proposes first
//!    nodes. Where a partition has more hashes than the table has room for, the others wait for the next round.
//! 2. [`Firsts`] takes the records of the nodes whose hash came more than once. It keeps that of each proposed first node,
//!    and compares the others with it, word by word. Nothing is read at random but those few kept records.
//!
//! Memory: in the first pass [`MOST_PARTITIONS`] buffers of [`BUFFER_BYTES`]; then 4 bytes per node and a table of 12 to 24
//! bytes per hash of a partition, or what there is; then 4 bytes per node, and per repeated value its record and 16 bytes,
//! where the budget allows, paged where not. Disk: 16 bytes per node. Records that have the hash of another one but are not
//! equal to it are kept as well, and compared one after the other: hashes of 64 bits do not collide but where they are
//! made to.

use crate::naming::mix;
use crate::{
    Array, ArrayPlan, Budget, BudgetVec, ColumnReader, ColumnWriter, Context, ReadAt, Reservation, Scratch, StageError,
    WriteAt,
};
use bytemuck::{Pod, Zeroable};
use heaplake_schemas::scratch::Column;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;

/// Most partitions of hashes, each with a file.
const MOST_PARTITIONS: usize = 64;
/// Nodes per partition at which its table still stays in the second-level cache.
const NODES_PER_PARTITION: u64 = 1 << 16;
/// Bytes of one partition's buffer.
const BUFFER_BYTES: usize = BUFFER * size_of::<Entry>();
const BUFFER: usize = 4096;
/// Entries of a table at least.
const LEAST_TABLE: usize = 1 << 10;

/// Bytes of budget that the second pass has at least, where there are so many.
const LEAST_LATER: u64 = 4 << 20;

/// Words of the record of each node, 0 where there is none.
const LENGTHS: Column<u32> = Column::new("values.lengths");

/// No number.
const NONE: u32 = u32::MAX;

/// Takes records of nodes, in ascending order of the nodes.
pub trait Records {
    /// Begins the record of a node; says whether it is wanted. If not, nobody has the same one.
    ///
    /// # Errors
    /// [`StageError::Io`].
    fn begin(&mut self, node: u32) -> Result<bool, StageError>;

    /// Takes the next word of the record.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    fn word(&mut self, word: u64) -> Result<(), StageError>;

    /// Ends the record; gives the first node with the same one, as far as it is known in this pass.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    fn end(&mut self) -> Result<u32, StageError>;
}

/// Hash and node.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    hash: [u32; 2],
    node: u32,
}

impl Entry {
    fn hash(self) -> u64 {
        bytemuck::cast(self.hash)
    }
}

/// Entries in the order in which they came.
struct Entries {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    buffer: Vec<Entry>,
}

impl Entries {
    fn new(scratch: &Scratch, number: usize) -> Self {
        let path = scratch.file(&format!("values.{number}"));
        Self { path, file: None, written: 0, buffer: Vec::new() }
    }

    fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    #[inline]
    fn push(&mut self, entry: Entry) -> Result<(), StageError> {
        self.buffer.push(entry);
        if self.buffer.len() == BUFFER { self.flush() } else { Ok(()) }
    }

    #[cold]
    fn flush(&mut self) -> Result<(), StageError> {
        if self.file.is_none() {
            let file = File::options().read(true).write(true).create(true).truncate(true).open(&self.path);
            self.file = Some(file.map_err(|error| StageError::io(&self.path, "create", error))?);
        }
        if let Some(file) = &mut self.file {
            file.write_all(bytemuck::cast_slice(&self.buffer))
                .map_err(|error| StageError::io(&self.path, "write", error))?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Hands all of them out, and gives the disk space back.
    fn drain(mut self, mut each: impl FnMut(Entry) -> Result<(), StageError>) -> Result<(), StageError> {
        if let Some(file) = &mut self.file {
            file.rewind().map_err(|error| StageError::io(&self.path, "read", error))?;
            let mut block = vec![Entry::zeroed(); BUFFER];
            for _ in 0..self.written / BUFFER as u64 {
                file.read_exact(bytemuck::cast_slice_mut(&mut block))
                    .map_err(|error| StageError::io(&self.path, "read", error))?;
                block.iter().try_for_each(|&entry| each(entry))?;
            }
            // A file that stays is only space; the whole folder goes at the end.
            let _ = fs::remove_file(&self.path);
        }
        self.buffer.iter().try_for_each(|&entry| each(entry))
    }
}

/// The first pass: see the module.
pub struct Proposals<'a> {
    scratch: &'a Scratch,
    partitions: Vec<Entries>,
    /// How far to shift a hash for the number of its partition.
    shift: u32,
    lengths: ColumnWriter<u32>,
    nodes: u32,
    node: u32,
    hash: u64,
    length: u32,
    _buffers: Reservation,
}

impl<'a> Proposals<'a> {
    /// Bytes of budget that both passes need for so many nodes, beside the records that are kept.
    #[must_use]
    pub fn bytes(nodes: u64) -> u64 {
        nodes * 4 + Self::table_bytes(nodes) + (MOST_PARTITIONS * BUFFER_BYTES) as u64
    }

    fn partitions(nodes: u64) -> usize {
        (nodes.div_ceil(NODES_PER_PARTITION).clamp(1, MOST_PARTITIONS as u64) as usize).next_power_of_two()
    }

    fn table_bytes(nodes: u64) -> u64 {
        let entries = nodes.div_ceil(Self::partitions(nodes) as u64);
        ((entries + entries / 2).next_power_of_two().max(LEAST_TABLE as u64)) * 8
    }

    /// For nodes below `nodes`.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn new(nodes: u32, scratch: &'a Scratch, budget: &Budget) -> Result<Self, StageError> {
        let count = Self::partitions(nodes.into());
        Ok(Self {
            scratch,
            partitions: (0..count).map(|number| Entries::new(scratch, number)).collect(),
            shift: u64::BITS - count.trailing_zeros(),
            lengths: ColumnWriter::create(scratch, LENGTHS)?,
            nodes,
            node: 0,
            hash: 0,
            length: 0,
            _buffers: budget.reserve("values", (count * BUFFER_BYTES) as u64)?,
        })
    }

    /// Ends the pass. Leaves `for_others` bytes of the budget where it can.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
    pub fn finish(mut self, for_others: u64, context: &Context<'_>) -> Result<Firsts, StageError> {
        (self.lengths.len()..self.nodes.into()).try_for_each(|_| self.lengths.push(0))?;
        self.lengths.finish()?;
        self.scratch.measure();
        let budget = &context.budget;
        let kept = budget.reserve("values", for_others.min(budget.free() / 4))?;
        let later = budget.reserve("values", LEAST_LATER.min(budget.free() / 2))?;
        let most = budget.free() / 4 / 8;
        let capacity = (Self::table_bytes(self.nodes.into()) / 8).min(most.next_power_of_two() / 2);
        let mut table = budget.zeroed("values", (capacity as usize).max(LEAST_TABLE))?;
        let mut room = ArrayPlan::plan(budget, self.scratch, "values", &[u64::from(self.nodes) * 4]);
        let mut numbers = room.array(self.nodes as usize, NONE)?;
        let mut count = 0;
        let mut spilled = room.spilled_bytes();
        for entries in self.partitions {
            spilled += entries.written * size_of::<Entry>() as u64;
            propose(entries, &mut table, &mut numbers, &mut count, self.scratch, context)?;
        }
        drop((table, later));
        let mut firsts = Firsts::new(numbers, count as usize, self.scratch, budget)?;
        drop(kept);
        firsts.spilled += spilled;
        Ok(firsts)
    }
}

impl Records for Proposals<'_> {
    #[inline]
    fn begin(&mut self, node: u32) -> Result<bool, StageError> {
        (self.node, self.hash, self.length) = (node, 0, 0);
        Ok(true)
    }

    #[inline]
    fn word(&mut self, word: u64) -> Result<(), StageError> {
        self.hash = mix(self.hash, word);
        self.length += 1;
        Ok(())
    }

    #[inline]
    fn end(&mut self) -> Result<u32, StageError> {
        while self.lengths.len() < self.node.into() {
            self.lengths.push(0)?;
        }
        self.lengths.push(self.length)?;
        // A single partition needs no bits, and so a shift by all of them.
        let partition = self.hash.checked_shr(self.shift).unwrap_or(0) as usize;
        self.partitions[partition].push(Entry { hash: bytemuck::cast(self.hash), node: self.node })?;
        Ok(self.node)
    }
}

/// Numbers the hashes that come more than once; the nodes of each get its number.
fn propose(
    mut entries: Entries,
    table: &mut BudgetVec<u64>,
    numbers: &mut Array<u32>,
    count: &mut u32,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let (mask, most) = (table.len() - 1, table.len() / 4 * 3);
    for round in 0.. {
        table.fill(0);
        let mut met = 0;
        let mut left = Entries::new(scratch, MOST_PARTITIONS + round % 2);
        context.check()?;
        entries.drain(|entry| {
            // The upper half of the hash, and one more than the node.
            let own = entry.hash() & !u64::from(u32::MAX) | u64::from(entry.node + 1);
            let mut place = entry.hash() as usize & mask;
            while table[place] != 0 && (table[place] ^ own) >> 32 != 0 {
                place = (place + 1) & mask;
            }
            if table[place] != 0 {
                let first = (table[place] as u32 - 1) as usize;
                let mut number = numbers.get(first)?;
                if number == NONE {
                    number = *count;
                    *count += 1;
                    numbers.set(first, number)?;
                }
                numbers.set(entry.node as usize, number)?;
                Ok(())
            } else if met < most {
                met += 1;
                table[place] = own;
                Ok(())
            } else {
                left.push(entry)
            }
        })?;
        if left.len() == 0 {
            break;
        }
        entries = left;
    }
    Ok(())
}

/// A value that is proposed for several nodes: its first node, and where its record is kept.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Kept {
    at: u64,
    first: u32,
    words: u32,
}

/// A record that has the hash of a kept one, and is another.
struct Stray {
    number: u32,
    first: u32,
    at: usize,
    words: usize,
}

/// The second pass: see the module.
pub struct Firsts {
    /// Number of the proposed value of each node.
    numbers: Array<u32>,
    kept: Array<Kept>,
    words: Array<u64>,
    strays: BudgetVec<Stray>,
    stray_words: BudgetVec<u64>,
    /// The record at hand: its node, number, and what it is compared with.
    node: u32,
    number: u32,
    with: Kept,
    length: usize,
    /// Its words, as soon as it differs from that.
    differs: bool,
    other: BudgetVec<u64>,
    spilled: u64,
}

impl Firsts {
    fn new(mut numbers: Array<u32>, count: usize, scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        let none = Kept { at: 0, first: NONE, words: 0 };
        // How many words there are is known only then; they get what is left.
        let mut room = ArrayPlan::plan(budget, scratch, "repeated values", &[count as u64 * 16, 0]);
        let mut kept = room.array(count, none)?;
        let mut lengths = ColumnReader::open(scratch, LENGTHS)?;
        let mut at = 0;
        for node in 0..numbers.count() {
            let (number, words) = (numbers.get(node)?, lengths.next()?);
            if number != NONE && kept.get(number as usize)?.first == NONE {
                kept.set(number as usize, Kept { at, first: node as u32, words })?;
                at += u64::from(words);
            }
        }
        scratch.discard(LENGTHS);
        let mut more = ArrayPlan::plan(budget, scratch, "words of repeated values", &[at * 8]);
        Ok(Self {
            numbers,
            kept,
            words: more.array(at as usize, 0)?,
            strays: budget.growing("values whose hashes collide"),
            stray_words: budget.growing("values whose hashes collide"),
            node: 0,
            number: NONE,
            with: none,
            length: 0,
            differs: false,
            other: budget.growing("a value whose hash collides"),
            spilled: room.spilled_bytes() + more.spilled_bytes(),
        })
    }

    /// Bytes that went to files.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled
    }

    /// Remembers the words so far of a record that turns out to differ.
    #[cold]
    fn part(&mut self) -> Result<(), StageError> {
        self.differs = true;
        self.other.clear();
        for i in 0..self.length {
            self.other.push(self.words.get(self.with.at as usize + i)?)?;
        }
        Ok(())
    }

    /// The first node with the record at hand, which is not the one that was proposed.
    #[cold]
    fn astray(&mut self) -> Result<u32, StageError> {
        let same = |stray: &&Stray| {
            stray.number == self.number && self.stray_words[stray.at..][..stray.words] == self.other[..]
        };
        if let Some(stray) = self.strays.iter().find(same) {
            return Ok(stray.first);
        }
        let stray =
            Stray { number: self.number, first: self.node, at: self.stray_words.len(), words: self.other.len() };
        self.other.iter().try_for_each(|&word| self.stray_words.push(word))?;
        self.strays.push(stray)?;
        Ok(self.node)
    }
}

impl Records for Firsts {
    #[inline]
    fn begin(&mut self, node: u32) -> Result<bool, StageError> {
        let number = self.numbers.get(node as usize)?;
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
            // A first record that grew since the first pass is no longer the one that others were compared with.
            if inside && self.with.first == self.node {
                self.words.set(at, word)?;
            } else if !inside || self.words.get(at)? != word {
                self.part()?;
            }
        }
        if self.differs {
            self.other.push(word)?;
        }
        self.length += 1;
        Ok(())
    }

    #[inline]
    fn end(&mut self) -> Result<u32, StageError> {
        if !self.differs && self.length != self.with.words as usize {
            self.part()?;
        }
        if self.differs { self.astray() } else { Ok(self.with.first) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Silent;
    use std::collections::HashMap;
    use std::sync::atomic::AtomicBool;

    /// Makes all that came before in a record disappear from its hash.
    const BLIND: u64 = 0xd1b5_4a32_d192_ed03;

    /// The first node with each record, in two passes, and naively; nothing for nodes without one.
    fn compare(records: &[Option<Vec<u64>>], limit: u64) {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(limit), threads: 1, progress: &Silent, cancel: &cancel };
        let mut pass = Proposals::new(records.len() as u32, &scratch, &context.budget).unwrap();
        through(records, &mut pass, |_, _| ());
        let mut pass = pass.finish(0, &context).unwrap();
        let mut known = HashMap::new();
        through(records, &mut pass, |node, first| {
            let expected = records[node as usize].as_ref().map_or(node, |record| *known.entry(record).or_insert(node));
            assert_eq!(first, expected, "node {node}");
        });
    }

    fn through(records: &[Option<Vec<u64>>], pass: &mut impl Records, mut done: impl FnMut(u32, u32)) {
        for (node, record) in (0..).zip(records) {
            let mut first = node;
            if let Some(record) = record
                && pass.begin(node).unwrap()
            {
                record.iter().for_each(|&word| pass.word(word).unwrap());
                first = pass.end().unwrap();
            }
            done(node, first);
        }
    }

    /// Records of up to `longest` words out of an alphabet, for two nodes of three.
    fn random(nodes: usize, longest: u64, words: u64, seed: u64) -> Vec<Option<Vec<u64>>> {
        let mut state = seed;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let record = |next: &mut dyn FnMut(u64) -> u64| (0..next(longest + 1)).map(|_| next(words)).collect();
        (0..nodes).map(|_| (next(3) > 0).then(|| record(&mut next))).collect()
    }

    #[test]
    fn equals_the_naive_answer() {
        for seed in 0..200 {
            compare(&random(300, 3, 4, seed), 1 << 22);
        }
        compare(&[], 1 << 22);
        // Every record is the same, and of no length.
        compare(&vec![Some(Vec::new()); 100], 1 << 22);
    }

    #[test]
    fn hashes_propose_and_comparison_decides() {
        for seed in 0..50 {
            let mut records = random(400, 3, 3, seed);
            // All have one hash now, whatever came before, also at one length.
            records.iter_mut().flatten().for_each(|record| record.push(BLIND));
            compare(&records, 1 << 22);
        }
    }

    #[test]
    fn a_table_that_is_too_small_takes_rounds() {
        let records: Vec<_> = (0..60_000u64).map(|node| Some(vec![node * node % 40_009, 7])).collect();
        assert!(Proposals::table_bytes(60_000) > 1 << 19);
        compare(&records, 1 << 20);
    }

    #[test]
    fn arrays_that_do_not_fit_are_paged() {
        let records: Vec<_> =
            (0..1_000_000u64).map(|node| (node % 7 > 0).then(|| vec![node / 3 % 100_000; 3])).collect();
        compare(&records, 6 << 20);
    }
}
