//! A profiler log as the `.nettrace` of a runtime with several threads: each line is an event with its own time, each
//! event is in a block of some thread, and blocks and threads come in any order between two sequence points.

use crate::support::Chance;
use heaplake_oracle::dotnet::container::{Event, begin, block, description, head, text, varint};
use std::collections::BTreeMap;

/// Where the code of functions lies.
const CODE: u64 = 0x5000_0000;

/// Threads that allocate, and after them one per heap that collects.
const ALLOCATING: u64 = 4;
const HEAPS: u64 = 2;

/// Kinds of events: number and version. Their descriptions are numbered from 1 on.
const KINDS: [(u32, u32); 9] = [(20, 0), (1, 2), (2, 1), (23, 0), (22, 0), (21, 0), (18, 0), (15, 0), (143, 1)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Allocated = 1,
    Start,
    End,
    Range,
    Moved,
    Surviving,
    Nodes,
    Types,
    Method,
}

struct Writer {
    out: Vec<u8>,
    chance: Chance,
    time: u64,
    /// Events since the last sequence point, by thread.
    held: BTreeMap<u64, Vec<Event>>,
    sequences: BTreeMap<u64, u32>,
    /// Functions of each stack, innermost first.
    stacks: BTreeMap<u32, Vec<u64>>,
    /// Numbers that the stacks have from this sequence point to the next.
    numbers: BTreeMap<u32, u32>,
    index: u32,
}

/// Turns the log of a simulated heap into a trace. No event is lost.
pub(crate) fn of_log(log: &str, seed: u64) -> Vec<u8> {
    let mut writer = Writer {
        out: begin(1_000_000, 8),
        chance: Chance::new(seed),
        time: 1_000_000,
        held: BTreeMap::new(),
        sequences: BTreeMap::new(),
        stacks: BTreeMap::new(),
        numbers: BTreeMap::new(),
        index: 0,
    };
    writer.describe();
    for line in log.lines().filter(|line| !line.starts_with('#')) {
        if writer.chance.percent(3) {
            writer.sequence_point();
        }
        writer.line(line);
    }
    writer.sequence_point();
    writer.out.push(1);
    writer.out
}

impl Writer {
    fn describe(&mut self) {
        let mut content = head(false);
        for (kind, (event, version)) in (1..).zip(KINDS) {
            description(kind, event, version).write_plain(&mut content);
        }
        block(&mut self.out, "MetadataBlock", &content);
    }

    fn line(&mut self, line: &str) {
        let racing = 1 + self.chance.below(ALLOCATING);
        let fields = Fields(line.split(' ').collect());
        let decimal = |at: usize| fields.decimal(at);
        match fields.0[0] {
            "T" => self.event(Kind::Types, racing, 0, fields.type_entry()),
            "F" => self.event(Kind::Method, racing, 0, fields.method()),
            "S" => drop(self.stacks.insert(decimal(1) as u32, (2..fields.0.len()).map(decimal).collect())),
            "A" => {
                let stack = self.stack(decimal(5) as u32);
                self.event(Kind::Allocated, racing, stack, fields.allocation());
            }
            "G" => self.event(Kind::Start, 100, 0, fields.start()),
            "B" => self.event(Kind::Range, collecting(fields.hex(2)), 0, fields.range()),
            "M" => self.bulk(Kind::Moved, collecting(fields.hex(1)), &[fields.hex(1), fields.hex(2), fields.hex(3)]),
            "V" => self.bulk(Kind::Surviving, collecting(fields.hex(1)), &[fields.hex(1), fields.hex(2)]),
            "O" => self.bulk(Kind::Nodes, 100, &[fields.hex(1), 24, decimal(2), 0]),
            "E" => self.event(Kind::End, 100, 0, pack(&[&(decimal(1) as u32).to_le_bytes(), &[0; 6]])),
            other => panic!("{other}"),
        }
    }

    fn bulk(&mut self, kind: Kind, thread: u64, entry: &[u64]) {
        self.index += 1;
        let entry: Vec<u8> = entry.iter().flat_map(|part| part.to_le_bytes()).collect();
        let payload = pack(&[&self.index.to_le_bytes(), &1_u32.to_le_bytes(), &[0; 2], &entry]);
        self.event(kind, thread, 0, payload);
    }

    fn event(&mut self, kind: Kind, thread: u64, stack: u32, payload: Vec<u8>) {
        self.time += 1 + self.chance.below(50);
        let sequence = self.sequences.entry(thread).or_default();
        *sequence += 1;
        let event = Event { kind: kind as u32, time: self.time, thread, sequence: *sequence, stack, payload };
        self.held.entry(thread).or_default().push(event);
    }

    /// The number that a stack has until the next sequence point.
    fn stack(&mut self, stack: u32) -> u32 {
        if stack == 0 {
            return 0;
        }
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry(stack).or_insert(next)
    }

    /// Writes the pending stacks, then blocks with some events of some threads each. The events of a thread stay in order.
    fn sequence_point(&mut self) {
        self.write_stacks();
        let mut held = std::mem::take(&mut self.held);
        held.values_mut().for_each(|events| events.reverse());
        while !held.is_empty() {
            self.write_block(&mut held);
        }
        let mut content = self.time.to_le_bytes().to_vec();
        content.extend((self.sequences.len() as u32).to_le_bytes());
        for (thread, sequence) in &self.sequences {
            content.extend(thread.to_le_bytes());
            content.extend(sequence.to_le_bytes());
        }
        block(&mut self.out, "SPBlock", &content);
        self.numbers.clear();
    }

    fn write_stacks(&mut self) {
        let mut numbers: Vec<(u32, u32)> = self.numbers.iter().map(|(&stack, &number)| (number, stack)).collect();
        numbers.sort_unstable();
        if numbers.is_empty() {
            return;
        }
        let mut content = pack(&[&1_u32.to_le_bytes(), &(numbers.len() as u32).to_le_bytes()]);
        for (_, stack) in numbers {
            let frames = &self.stacks[&stack];
            content.extend((frames.len() as u32 * 8).to_le_bytes());
            frames.iter().for_each(|function| content.extend((CODE + function * 256 + 8).to_le_bytes()));
        }
        block(&mut self.out, "StackBlock", &content);
    }

    /// A block with some of the events, which are taken from the end of each thread's list.
    fn write_block(&mut self, held: &mut BTreeMap<u64, Vec<Event>>) {
        let compressed = self.chance.percent(70);
        let mut content = head(compressed);
        let mut before = (0, 0, 0, 0, 0_u64);
        for _ in 0..1 + self.chance.below(20) {
            let threads: Vec<u64> = held.keys().copied().collect();
            if threads.is_empty() {
                break;
            }
            let thread = threads[self.chance.below(threads.len() as u64) as usize];
            let events = held.get_mut(&thread).unwrap();
            let event = events.pop().unwrap();
            if events.is_empty() {
                held.remove(&thread);
            }
            if compressed { squeeze(&mut content, &event, &mut before) } else { event.write_plain(&mut content) }
        }
        block(&mut self.out, "EventBlock", &content);
    }
}

/// The thread that collects the heap of an address. What is of no one heap comes from the first of them.
fn collecting(address: u64) -> u64 {
    100 + (address >> 12) % HEAPS
}

/// The fields of a line of the log, as payloads of events.
struct Fields<'a>(Vec<&'a str>);

const RUNTIME: [u8; 2] = [0; 2];

impl Fields<'_> {
    fn hex(&self, at: usize) -> u64 {
        u64::from_str_radix(self.0[at], 16).unwrap()
    }

    fn decimal(&self, at: usize) -> u64 {
        self.0[at].parse().unwrap()
    }

    fn type_entry(&self) -> Vec<u8> {
        let mut payload = pack(&[&1_u32.to_le_bytes(), &RUNTIME, &self.decimal(1).to_le_bytes(), &[0; 17]]);
        text(&mut payload, self.0[2]);
        payload.extend([0; 4]);
        payload
    }

    fn method(&self) -> Vec<u8> {
        let (number, (namespace, name)) = (self.decimal(1), self.0[2].split_once("::").unwrap());
        let start = CODE + number * 256;
        let mut payload = pack(&[&number.to_le_bytes(), &[0; 8], &start.to_le_bytes(), &[0, 1, 0, 0], &[0; 8]]);
        [namespace, name, ""].iter().for_each(|name| text(&mut payload, name));
        payload
    }

    fn allocation(&self) -> Vec<u8> {
        let (address, type_id, bytes) = (self.hex(2), self.decimal(3), self.decimal(4));
        pack(&[&address.to_le_bytes(), &type_id.to_le_bytes(), &1_u32.to_le_bytes(), &bytes.to_le_bytes(), &RUNTIME])
    }

    fn start(&self) -> Vec<u8> {
        let oldest = [1, 2, 5].iter().position(|&length| self.0[2].trim_end_matches('0').len() == length);
        let (number, oldest) = (self.decimal(1) as u32, oldest.unwrap() as u32);
        let kind = u32::from(self.0.get(4) == Some(&"1"));
        pack(&[&number.to_le_bytes(), &oldest.to_le_bytes(), &[0; 4], &kind.to_le_bytes(), &[0; 10]])
    }

    fn range(&self) -> Vec<u8> {
        let sizes = [self.hex(2), self.hex(3), self.hex(4)].map(u64::to_le_bytes);
        pack(&[&[self.decimal(1) as u8], &sizes[0], &sizes[1], &sizes[2], &RUNTIME])
    }
}

/// An event of which only what differs from the one before is written: kind, sequence, stack, length, time.
fn squeeze(block: &mut Vec<u8>, event: &Event, before: &mut (u32, u32, u32, usize, u64)) {
    let length = event.payload.len();
    let kind = event.kind != before.0;
    block.push(u8::from(kind) | 2 | u8::from(event.stack != before.2) << 3 | u8::from(length != before.3) << 7);
    if kind {
        varint(block, event.kind.into());
    }
    // One is added for the event itself.
    varint(block, u64::from(event.sequence.wrapping_sub(before.1).wrapping_sub(1)));
    varint(block, event.thread);
    varint(block, 0);
    if event.stack != before.2 {
        varint(block, u64::from(event.stack));
    }
    // Threads race: time goes back where the next event is another one's.
    varint(block, event.time.wrapping_sub(before.4));
    if length != before.3 {
        varint(block, length as u64);
    }
    block.extend(&event.payload);
    *before = (event.kind, event.sequence, event.stack, length, event.time);
}

fn pack(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}
