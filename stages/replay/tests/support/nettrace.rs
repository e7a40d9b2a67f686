//! A profiler log as the `.nettrace` that a runtime with several threads would have written: each line an event with a time
//! of its own, each event in a block of some thread, blocks and threads in any order between two sequence points.

use super::Chance;
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

struct Event {
    kind: Kind,
    time: u64,
    thread: u64,
    sequence: u32,
    stack: u32,
    payload: Vec<u8>,
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
pub fn of_log(log: &str, seed: u64) -> Vec<u8> {
    let mut writer = Writer {
        out: Vec::new(),
        chance: Chance::new(seed),
        time: 1_000_000,
        held: BTreeMap::new(),
        sequences: BTreeMap::new(),
        stacks: BTreeMap::new(),
        numbers: BTreeMap::new(),
        index: 0,
    };
    writer.begin();
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
    fn object(&mut self, name: &str, version: u32) {
        self.out.extend([5, 5, 1]);
        self.out.extend(version.to_le_bytes());
        self.out.extend(version.to_le_bytes());
        self.out.extend((name.len() as u32).to_le_bytes());
        self.out.extend(name.as_bytes());
        self.out.push(6);
    }

    fn block(&mut self, name: &str, content: &[u8]) {
        self.object(name, 2);
        self.out.extend((content.len() as u32).to_le_bytes());
        while !self.out.len().is_multiple_of(4) {
            self.out.push(0);
        }
        self.out.extend(content);
        self.out.push(6);
    }

    fn begin(&mut self) {
        self.out.extend(b"Nettrace\x14\0\0\0!FastSerialization.1");
        self.object("Trace", 4);
        for part in [2026_u16, 11, 6, 21, 12, 0, 0, 0] {
            self.out.extend(part.to_le_bytes());
        }
        self.out.extend(1_000_000_u64.to_le_bytes());
        self.out.extend(1_000_000_000_u64.to_le_bytes());
        for number in [8_u32, 1, 4, 1_000_000] {
            self.out.extend(number.to_le_bytes());
        }
        self.out.push(6);
        let mut block = head(1);
        for (number, (event, version)) in (1_u32..).zip(KINDS) {
            let mut payload = number.to_le_bytes().to_vec();
            utf16(&mut payload, "Microsoft-Windows-DotNETRuntime");
            payload.extend(event.to_le_bytes());
            utf16(&mut payload, "");
            payload.extend([0; 8]);
            payload.extend(version.to_le_bytes());
            payload.extend([0; 8]);
            block.extend([1 | 128, 0, 0]);
            varint(&mut block, payload.len() as u64);
            block.extend(payload);
        }
        self.block("MetadataBlock", &block);
    }

    fn line(&mut self, line: &str) {
        let fields: Vec<&str> = line.split(' ').collect();
        let hex = |at: usize| u64::from_str_radix(fields[at], 16).unwrap();
        let decimal = |at: usize| fields[at].parse::<u64>().unwrap();
        let racing = 1 + self.chance.below(ALLOCATING);
        // Each heap has a thread that collects it; what is not of one heap comes from the first of them.
        let collecting = |address: u64| 100 + (address >> 12) % HEAPS;
        let clr = [0; 2];
        match fields[0] {
            "T" => {
                let mut payload = pack(&[&1_u32.to_le_bytes(), &clr, &decimal(1).to_le_bytes(), &[0; 17]]);
                utf16(&mut payload, fields[2]);
                payload.extend([0; 4]);
                self.event(Kind::Types, racing, 0, payload);
            }
            "F" => {
                let (number, (namespace, name)) = (decimal(1), fields[2].split_once("::").unwrap());
                let start = CODE + number * 256;
                let mut payload = pack(&[&number.to_le_bytes(), &[0; 8], &start.to_le_bytes(), &[0, 1, 0, 0], &[0; 8]]);
                [namespace, name, ""].iter().for_each(|text| utf16(&mut payload, text));
                self.event(Kind::Method, racing, 0, payload);
            }
            "S" => {
                self.stacks.insert(decimal(1) as u32, (2..fields.len()).map(decimal).collect());
            }
            "A" => {
                let stack = self.stack(decimal(5) as u32);
                let (address, type_id, bytes) = (hex(2), decimal(3), decimal(4));
                let sizes: [&[u8]; 5] =
                    [&address.to_le_bytes(), &type_id.to_le_bytes(), &1_u32.to_le_bytes(), &bytes.to_le_bytes(), &clr];
                self.event(Kind::Allocated, racing, stack, pack(&sizes));
            }
            "G" => {
                let oldest = [1, 2, 5].iter().position(|&length| fields[2].trim_end_matches('0').len() == length);
                let (number, oldest) = (decimal(1) as u32, oldest.unwrap() as u32);
                self.event(Kind::Start, 100, 0, pack(&[&number.to_le_bytes(), &oldest.to_le_bytes(), &[0; 18]]));
            }
            "B" => {
                let (generation, start, used, reserved) = (decimal(1) as u8, hex(2), hex(3), hex(4));
                let sizes = [start, used, reserved].map(u64::to_le_bytes);
                let payload = pack(&[&[generation], &sizes[0], &sizes[1], &sizes[2], &clr]);
                self.event(Kind::Range, collecting(start), 0, payload);
            }
            "M" => {
                let parts = [hex(1), hex(2), hex(3)].map(u64::to_le_bytes);
                self.bulk(Kind::Moved, collecting(hex(1)), &parts.concat());
            }
            "V" => {
                let parts = [hex(1), hex(2)].map(u64::to_le_bytes);
                self.bulk(Kind::Surviving, collecting(hex(1)), &parts.concat());
            }
            "O" => {
                let parts = [hex(1), 24, decimal(2), 0].map(u64::to_le_bytes);
                self.bulk(Kind::Nodes, 100, &parts.concat());
            }
            "E" => self.event(Kind::End, 100, 0, pack(&[&(decimal(1) as u32).to_le_bytes(), &[0; 6]])),
            other => panic!("{other}"),
        }
    }

    fn bulk(&mut self, kind: Kind, thread: u64, entry: &[u8]) {
        self.index += 1;
        let payload = pack(&[&self.index.to_le_bytes(), &1_u32.to_le_bytes(), &[0; 2], entry]);
        self.event(kind, thread, 0, payload);
    }

    fn event(&mut self, kind: Kind, thread: u64, stack: u32, payload: Vec<u8>) {
        self.time += 1 + self.chance.below(50);
        let sequence = self.sequences.entry(thread).or_default();
        *sequence += 1;
        let event = Event { kind, time: self.time, thread, sequence: *sequence, stack, payload };
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

    /// Writes what is held: stacks, then blocks, of which each has some events of some threads. A thread's own events stay
    /// in order.
    fn sequence_point(&mut self) {
        let mut numbers: Vec<(u32, u32)> = self.numbers.iter().map(|(&stack, &number)| (number, stack)).collect();
        numbers.sort_unstable();
        if !numbers.is_empty() {
            let mut block = pack(&[&1_u32.to_le_bytes(), &(numbers.len() as u32).to_le_bytes()]);
            for (_, stack) in numbers {
                let frames = &self.stacks[&stack];
                block.extend((frames.len() as u32 * 8).to_le_bytes());
                frames.iter().for_each(|function| block.extend((CODE + function * 256 + 8).to_le_bytes()));
            }
            self.block("StackBlock", &block);
        }
        let mut held = std::mem::take(&mut self.held);
        held.values_mut().for_each(|events| events.reverse());
        while !held.is_empty() {
            let compressed = self.chance.percent(70);
            let mut block = head(u16::from(compressed));
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
                if compressed { squeeze(&mut block, &event, &mut before) } else { plain(&mut block, &event) }
            }
            self.block("EventBlock", &block);
        }
        let mut block = self.time.to_le_bytes().to_vec();
        block.extend((self.sequences.len() as u32).to_le_bytes());
        for (thread, sequence) in &self.sequences {
            block.extend(thread.to_le_bytes());
            block.extend(sequence.to_le_bytes());
        }
        self.block("SPBlock", &block);
        self.numbers.clear();
    }
}

/// An event of which only what differs from the one before is written: kind, sequence, stack, length, time.
fn squeeze(block: &mut Vec<u8>, event: &Event, before: &mut (u32, u32, u32, usize, u64)) {
    let length = event.payload.len();
    let kind = event.kind as u32 != before.0;
    block.push(u8::from(kind) | 2 | u8::from(event.stack != before.2) << 3 | u8::from(length != before.3) << 7);
    if kind {
        varint(block, event.kind as u64);
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
    *before = (event.kind as u32, event.sequence, event.stack, length, event.time);
}

fn plain(block: &mut Vec<u8>, event: &Event) {
    let length = event.payload.len() as u32;
    let sizes: [&[u8]; 10] = [
        &(76 + length).to_le_bytes(),
        &(event.kind as u32).to_le_bytes(),
        &event.sequence.to_le_bytes(),
        &event.thread.to_le_bytes(),
        &event.thread.to_le_bytes(),
        &[0; 4],
        &event.stack.to_le_bytes(),
        &event.time.to_le_bytes(),
        &[0; 32],
        &length.to_le_bytes(),
    ];
    block.extend(pack(&sizes));
    block.extend(&event.payload);
    while !block.len().is_multiple_of(4) {
        block.push(0);
    }
}

fn pack(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn head(flags: u16) -> Vec<u8> {
    let mut block = vec![20, 0];
    block.extend(flags.to_le_bytes());
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
