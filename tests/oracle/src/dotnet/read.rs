//! Reads the walks of a trace the simplest way: all in memory, blocks in file order.
//!
//! Supports traces in which one thread walks the heap, with compressed headers.

use super::model::{Heap, Object, Root, Static, Type, Walk};
use std::collections::BTreeMap;

/// Fields, front to back.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn number(&mut self, bytes: usize) -> u64 {
        let (head, tail) = self.0.split_at(bytes);
        self.0 = tail;
        head.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    fn varint(&mut self) -> u64 {
        let byte = self.number(1);
        if byte < 0x80 { byte } else { (byte & 0x7f) | self.varint() << 7 }
    }

    fn text(&mut self) -> String {
        let mut units = Vec::new();
        loop {
            match self.number(2) as u16 {
                0 => return String::from_utf16_lossy(&units),
                unit => units.push(unit),
            }
        }
    }
}

/// Parses a trace; panics on any other format.
pub fn read(file: &[u8]) -> Heap {
    let mut reader = Reader::default();
    let mut at = 8 + 4 + 20;
    while file[at] != 1 {
        let mut fields = Fields(&file[at + 3..]);
        fields.number(8);
        let length = fields.number(4) as usize;
        let name = String::from_utf8_lossy(&file[at + 15..at + 15 + length]).into_owned();
        at += 16 + length;
        if name == "Trace" {
            at += 48 + 1;
            continue;
        }
        let size = Fields(&file[at..]).number(4) as usize;
        let start = (at + 4).next_multiple_of(4);
        let block = &file[start..start + size];
        at = start + size + 1;
        match name.as_str() {
            "MetadataBlock" => events(block).into_iter().for_each(|(_, payload)| reader.describe(Fields(payload))),
            "EventBlock" => events(block).into_iter().for_each(|(kind, payload)| reader.event(kind, Fields(payload))),
            _ => {}
        }
    }
    reader.heap
}

#[derive(Default)]
struct Reader {
    heap: Heap,
    /// Event provider and number of each metadata id.
    names: BTreeMap<u64, (String, u64)>,
    /// The unfinished walk, the references of all its objects, and their number per object.
    walk: Walk,
    edges: Vec<u64>,
    counts: Vec<u64>,
}

impl Reader {
    fn describe(&mut self, mut fields: Fields<'_>) {
        let number = fields.number(4);
        let provider = fields.text();
        self.names.insert(number, (provider, fields.number(4)));
    }

    fn event(&mut self, description: u64, mut fields: Fields<'_>) {
        let (provider, event) = &self.names[&description];
        let (runtime, event) = (provider == "Microsoft-Windows-DotNETRuntime", *event);
        match event {
            152..=154 if event != 152 || runtime => {
                let module = fields.number(8);
                fields.number(16);
                self.heap.modules.push((module, fields.text()));
            }
            _ if !runtime => {}
            2 if !self.counts.is_empty() => self.end_walk(),
            15 | 16 | 18 | 19 | 38 => self.entries(event, &mut fields),
            _ => {}
        }
    }

    fn end_walk(&mut self) {
        let mut edges = std::mem::take(&mut self.edges).into_iter();
        for (object, count) in self.walk.objects.iter_mut().zip(std::mem::take(&mut self.counts)) {
            object.references = edges.by_ref().take(count as usize).collect();
        }
        self.heap.walks.push(std::mem::take(&mut self.walk));
    }

    fn entries(&mut self, event: u64, fields: &mut Fields<'_>) {
        if (16..=19).contains(&event) {
            fields.number(4);
        }
        let count = fields.number(4);
        fields.number(if event == 38 { 10 - 2 } else { 0 });
        fields.number(2);
        for _ in 0..count {
            match event {
                15 => self.type_entry(fields),
                16 => {
                    let (object, kind, flags) = (fields.number(8), fields.number(1) as u8, fields.number(4) as u32);
                    fields.number(8);
                    self.walk.roots.push(Root { object, kind, flags });
                }
                18 => {
                    let (address, size, type_id) = (fields.number(8), fields.number(8), fields.number(8));
                    self.walk.objects.push(Object { address, size, type_id, references: Vec::new() });
                    self.counts.push(fields.number(8));
                }
                19 => {
                    self.edges.push(fields.number(8));
                    fields.number(4);
                }
                _ => {
                    fields.number(8);
                    let (object, type_id, thread) = (fields.number(8), fields.number(8), fields.number(4) & 1 == 1);
                    self.walk.statics.push(Static { object, type_id, field: fields.text(), thread });
                }
            }
        }
    }

    fn type_entry(&mut self, fields: &mut Fields<'_>) {
        let (id, module, token) = (fields.number(8), fields.number(8), fields.number(4) as u32);
        let (flags, element, name) = (fields.number(4), fields.number(1), fields.text());
        let parameters = (0..fields.number(4)).map(|_| fields.number(8)).collect();
        self.heap.types.retain(|of| of.id != id);
        let (array, string) = (flags & 8 != 0, element == 14);
        self.heap.types.push(Type { id, module, token, array, string, name, parameters });
    }
}

/// Metadata ids and payloads.
fn events(block: &[u8]) -> Vec<(u64, &[u8])> {
    let head = Fields(block).number(2) as usize;
    let mut fields = Fields(&block[head..]);
    let (mut number, mut size) = (0, 0);
    let mut events = Vec::new();
    while !fields.0.is_empty() {
        let flags = fields.number(1);
        if flags & 1 != 0 {
            number = fields.varint();
        }
        // Sequence number with the capturing thread and processor; thread; stack; the time, which is always present.
        let skipped = [(2, 3), (4, 1), (8, 1)].iter().filter(|(flag, _)| flags & flag != 0).map(|(_, count)| count);
        for _ in 0..skipped.sum::<u64>() + 1 {
            fields.varint();
        }
        for _ in [16, 32].iter().filter(|&flag| flags & flag != 0) {
            fields.number(8);
            fields.number(8);
        }
        if flags & 128 != 0 {
            size = fields.varint() as usize;
        }
        let (payload, rest) = fields.0.split_at(size);
        fields.0 = rest;
        events.push((number, payload));
    }
    events
}
