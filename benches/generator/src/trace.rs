//! Traces of allocations and garbage collections, `.nettrace` version 4, of any size and with known answers.
//!
//! One thread allocates objects of a few hundred types on a few thousand stacks into generation 0. At a fixed interval
//! a garbage collection moves some of them, in ranges, to generation 1; every eighth one moves every other range of
//! generation 1 on to generation 2; every sixty-fourth one finds nothing alive in generation 2 either. This determines
//! the allocated, live and dead objects.

use std::collections::BTreeMap;
use std::io::{self, Write};

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub allocations: u64,
    /// Allocations between two garbage collections.
    pub between: u64,
    pub stacks: u32,
    pub depth: u32,
    pub types: u32,
    /// Types allocated by one stack. Programs allocate one type or a few per call site: real traces have 1.4 per stack.
    pub types_of_stack: u32,
}

impl Default for Plan {
    fn default() -> Self {
        Self { allocations: 1_000_000, between: 100_000, stacks: 2000, depth: 30, types: 200, types_of_stack: 4 }
    }
}

/// Expected results of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Allocations and bytes by type.
    pub types: BTreeMap<u64, (u64, u64)>,
    /// Live objects after each garbage collection.
    pub live: Vec<u64>,
    /// Objects that died in each.
    pub dead: Vec<u64>,
    /// Live objects at the end.
    pub alive: u64,
}

/// Allocations between two sequence points.
const SPAN: u64 = 50_000;

/// Approximate bytes of a block.
const BLOCK: usize = 100 << 10;

/// Objects in a surviving range, and objects from the start of one range to the start of the next.
const KEPT: (u64, u64) = (8, 64);

/// Addresses of the generations.
const PLACES: [u64; 3] = [0x7000_0000_0000, 0x7100_0000_0000, 0x7200_0000_0000];

/// Event ids, in this order: allocation, start, end, generation, moved, types, method.
const KINDS: [(u32, u32, u32); 7] = [(1, 20, 0), (2, 1, 2), (3, 2, 1), (4, 23, 0), (5, 22, 0), (6, 15, 0), (7, 143, 1)];

/// A range of objects in generation 1 or 2: address, bytes, objects.
type Kept = (u64, u64, u64);

/// A moved range: from, to, bytes.
type Move = (u64, u64, u64);

#[derive(Default)]
struct Heap {
    /// Objects of generation 0: offset and bytes.
    young: Vec<(u64, u64)>,
    /// Ranges of generations 1 and 2.
    old: [Vec<Kept>; 2],
    /// Bytes used in generations 1 and 2.
    old_bytes: [u64; 2],
}

impl Heap {
    fn allocate(&mut self, bytes: u64) -> u64 {
        let offset = self.used()[0];
        self.young.push((offset, bytes));
        offset
    }

    /// Bytes used in each generation.
    fn used(&self) -> [u64; 3] {
        [self.young.last().map_or(0, |(offset, bytes)| offset + bytes), self.old_bytes[0], self.old_bytes[1]]
    }

    fn objects(&self) -> u64 {
        self.young.len() as u64 + self.old.iter().flatten().map(|kept| kept.2).sum::<u64>()
    }

    /// Collects the generations up to `oldest`; returns the moved ranges.
    fn collect(&mut self, oldest: u32) -> Vec<Move> {
        let mut moves = Vec::new();
        if oldest == 2 {
            self.old[1].clear();
            self.old_bytes[1] = 0;
        }
        if oldest > 0 {
            let old = std::mem::take(&mut self.old[0]);
            self.old_bytes[0] = 0;
            for (from, bytes, objects) in old.into_iter().step_by(2) {
                moves.push((from, self.keep(1, bytes, objects), bytes));
            }
        }
        // Generation 1 is empty only if it was condemned; otherwise new ranges are appended.
        for part in std::mem::take(&mut self.young).chunks(KEPT.1 as usize) {
            let part = &part[..part.len().min(KEPT.0 as usize)];
            let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
            let bytes = last.0 + last.1 - first.0;
            moves.push((PLACES[0] + first.0, self.keep(0, bytes, part.len() as u64), bytes));
        }
        moves
    }

    /// Appends a range to generation 1 (`at` 0) or 2; returns its address.
    fn keep(&mut self, at: usize, bytes: u64, objects: u64) -> u64 {
        let to = PLACES[at + 1] + self.old_bytes[at];
        self.old[at].push((to, bytes, objects));
        self.old_bytes[at] += bytes;
        to
    }
}

struct Writer<W> {
    out: W,
    at: u64,
    block: Vec<u8>,
    time: u64,
    block_time: u64,
    stack: u32,
    kind: u32,
    length: u32,
}

/// Writes a trace; returns its planted answers.
pub fn write(plan: &Plan, out: impl Write) -> io::Result<Answers> {
    let mut writer =
        Writer { out, at: 0, block: Vec::new(), time: 1_000_000, block_time: 0, stack: 0, kind: 0, length: 0 };
    writer.begin()?;
    writer.describe(plan)?;
    let mut answers = Answers::default();
    let (mut heap, mut number) = (Heap::default(), 0);
    for at in 0..plan.allocations {
        if at % SPAN == 0 {
            writer.sequence_point()?;
            writer.stacks(plan)?;
        }
        let stack = 1 + ((at / 7).wrapping_mul(0x85eb_ca6b) >> 20) as u32 % plan.stacks;
        let which = (at.wrapping_mul(0x9e37_79b9) >> 16) % u64::from(plan.types_of_stack);
        let type_number = (u64::from(stack) * 37 + which) % u64::from(plan.types);
        let bytes = 24 + type_number % 13 * 8;
        let mut payload = [0; 30];
        payload[..8].copy_from_slice(&(PLACES[0] + heap.allocate(bytes)).to_le_bytes());
        payload[8..16].copy_from_slice(&type_handle(type_number).to_le_bytes());
        payload[16..20].copy_from_slice(&1_u32.to_le_bytes());
        payload[20..28].copy_from_slice(&bytes.to_le_bytes());
        writer.event(0, stack, &payload)?;
        let sum = answers.types.entry(type_number).or_default();
        *sum = (sum.0 + 1, sum.1 + bytes);
        if (at + 1) % plan.between == 0 {
            number += 1;
            writer.collection(number, &mut heap, &mut answers)?;
        }
    }
    answers.alive = heap.objects();
    writer.end()?;
    Ok(answers)
}

fn type_handle(number: u64) -> u64 {
    0x6000_0000 + number * 64
}

impl<W: Write> Writer<W> {
    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn object(&mut self, name: &str, version: u32) -> io::Result<()> {
        self.raw(&[5, 5, 1])?;
        self.raw(&version.to_le_bytes())?;
        self.raw(&version.to_le_bytes())?;
        self.raw(&(name.len() as u32).to_le_bytes())?;
        self.raw(name.as_bytes())?;
        self.raw(&[6])
    }

    fn whole_block(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.object(name, 2)?;
        self.raw(&(content.len() as u32).to_le_bytes())?;
        while !self.at.is_multiple_of(4) {
            self.raw(&[0])?;
        }
        self.raw(content)?;
        self.raw(&[6])
    }

    fn begin(&mut self) -> io::Result<()> {
        self.raw(b"Nettrace")?;
        self.raw(&20_u32.to_le_bytes())?;
        self.raw(b"!FastSerialization.1")?;
        self.object("Trace", 4)?;
        for part in [2026_u16, 11, 6, 21, 12, 0, 0, 0] {
            self.raw(&part.to_le_bytes())?;
        }
        self.raw(&1_000_000_u64.to_le_bytes())?;
        self.raw(&1_000_000_000_u64.to_le_bytes())?;
        for number in [8_u32, 1, 1, 1_000_000] {
            self.raw(&number.to_le_bytes())?;
        }
        self.raw(&[6])
    }

    /// Metadata of events, types and methods.
    fn describe(&mut self, plan: &Plan) -> io::Result<()> {
        let mut block = head();
        for (number, event, version) in KINDS {
            let mut payload = number.to_le_bytes().to_vec();
            utf16(&mut payload, "Microsoft-Windows-DotNETRuntime");
            payload.extend(event.to_le_bytes());
            utf16(&mut payload, "");
            payload.extend([0; 8]);
            payload.extend(version.to_le_bytes());
            payload.extend([0; 8]);
            block.push(1 | 128);
            block.push(0);
            varint(&mut block, 0);
            varint(&mut block, payload.len() as u64);
            block.extend(payload);
        }
        self.whole_block("MetadataBlock", &block)?;
        self.types(plan)?;
        self.methods()
    }

    fn types(&mut self, plan: &Plan) -> io::Result<()> {
        for number in 0..u64::from(plan.types) {
            let mut payload = 1_u32.to_le_bytes().to_vec();
            payload.extend([0; 2]);
            payload.extend(type_handle(number).to_le_bytes());
            payload.extend([0; 12]);
            payload.extend([0; 5]);
            utf16(&mut payload, &format!("Generated.Type{number}"));
            payload.extend([0; 4]);
            self.event(5, 0, &payload)?;
        }
        Ok(())
    }

    fn methods(&mut self) -> io::Result<()> {
        for number in 0..FUNCTIONS {
            let mut payload = (1 + number).to_le_bytes().to_vec();
            payload.extend(1_u64.to_le_bytes());
            payload.extend((CODE + number * 256).to_le_bytes());
            payload.extend(256_u32.to_le_bytes());
            payload.extend([0; 8]);
            utf16(&mut payload, &format!("Generated.Class{}", number / 10));
            utf16(&mut payload, &format!("Method{number}"));
            utf16(&mut payload, "void ()");
            self.event(6, 0, &payload)?;
        }
        Ok(())
    }

    /// An event of a kind (a position in [`KINDS`]).
    fn event(&mut self, kind: usize, stack: u32, payload: &[u8]) -> io::Result<()> {
        if self.block.len() > BLOCK {
            self.flush()?;
        }
        if self.block.is_empty() {
            self.block = head();
            (self.block_time, self.stack, self.kind, self.length) = (0, 0, 0, 0);
        }
        self.time += 100;
        let (number, length) = (KINDS[kind].0, payload.len() as u32);
        let flags = u8::from(number != self.kind)
            | if stack == self.stack { 0 } else { 8 }
            | if length == self.length { 0 } else { 128 };
        self.block.push(flags);
        if number != self.kind {
            varint(&mut self.block, u64::from(number));
        }
        if stack != self.stack {
            varint(&mut self.block, u64::from(stack));
        }
        varint(&mut self.block, self.time - self.block_time);
        if length != self.length {
            varint(&mut self.block, u64::from(length));
        }
        (self.kind, self.stack, self.length, self.block_time) = (number, stack, length, self.time);
        self.block.extend_from_slice(payload);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let block = std::mem::take(&mut self.block);
        if block.is_empty() { Ok(()) } else { self.whole_block("EventBlock", &block) }
    }

    fn sequence_point(&mut self) -> io::Result<()> {
        self.flush()?;
        let mut block = self.time.to_le_bytes().to_vec();
        block.extend([0; 4]);
        self.whole_block("SPBlock", &block)
    }

    fn stacks(&mut self, plan: &Plan) -> io::Result<()> {
        let mut block = 1_u32.to_le_bytes().to_vec();
        block.extend(plan.stacks.to_le_bytes());
        for stack in 0..u64::from(plan.stacks) {
            block.extend((plan.depth * 8).to_le_bytes());
            for level in (0..u64::from(plan.depth)).rev() {
                // Stacks diverge from the root downwards, like those of programs.
                let function = (stack >> (u64::from(plan.depth) - level).min(12)) * 31 + level * 17;
                block.extend((CODE + function % FUNCTIONS * 256 + 8).to_le_bytes());
            }
        }
        self.whole_block("StackBlock", &block)
    }

    fn collection(&mut self, number: u32, heap: &mut Heap, answers: &mut Answers) -> io::Result<()> {
        let oldest = if number.is_multiple_of(64) { 2 } else { u32::from(number.is_multiple_of(8)) };
        let mut payload = number.to_le_bytes().to_vec();
        payload.extend(oldest.to_le_bytes());
        payload.extend([0; 18]);
        self.event(1, 0, &payload)?;
        let used = heap.used();
        for generation in (0..3).rev() {
            let mut payload = vec![generation as u8];
            payload.extend(PLACES[generation].to_le_bytes());
            payload.extend(used[generation].to_le_bytes());
            payload.extend(used[generation].to_le_bytes());
            payload.extend([0; 2]);
            self.event(3, 0, &payload)?;
        }
        let before = heap.objects();
        self.moves(&heap.collect(oldest))?;
        let mut payload = number.to_le_bytes().to_vec();
        payload.extend([0; 6]);
        self.event(2, 0, &payload)?;
        answers.live.push(heap.objects());
        answers.dead.push(before - heap.objects());
        Ok(())
    }

    fn moves(&mut self, moves: &[Move]) -> io::Result<()> {
        for part in moves.chunks(1000) {
            let mut payload = vec![0; 4];
            payload.extend((part.len() as u32).to_le_bytes());
            payload.extend([0; 2]);
            for &(from, to, bytes) in part {
                payload.extend(from.to_le_bytes());
                payload.extend(to.to_le_bytes());
                payload.extend(bytes.to_le_bytes());
            }
            self.event(4, 0, &payload)?;
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.sequence_point()?;
        self.raw(&[1])?;
        self.out.flush()
    }
}

/// Methods, and the address of their code.
const FUNCTIONS: u64 = 1000;
const CODE: u64 = 0x5000_0000;

/// Header of an event block: its own length, flags for compressed headers, and no time range.
fn head() -> Vec<u8> {
    let mut block = vec![20, 0, 1, 0];
    block.extend([0; 16]);
    block
}

fn utf16(out: &mut Vec<u8>, text: &str) {
    text.encode_utf16().chain([0]).for_each(|unit| out.extend(unit.to_le_bytes()));
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
