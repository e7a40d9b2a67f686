//! The walks of a trace, read the simplest way: all in memory, blocks in the order of the file.
//!
//! Fit for traces in which one thread walks the heap, with headers that say only what changed.

use super::{Heap, Object, Root, Static, Type, Walk};
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

/// Takes a trace apart. Panics where it is not of the format.
#[must_use]
pub fn read(file: &[u8]) -> Heap {
    let mut heap = Heap::default();
    let mut names: BTreeMap<u64, (String, u64)> = BTreeMap::new();
    let mut walk = Walk::default();
    let (mut edges, mut counts) = (Vec::new(), Vec::new());
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
        if !matches!(name.as_str(), "MetadataBlock" | "EventBlock") {
            continue;
        }
        for (number, payload) in events(block) {
            let mut fields = Fields(payload);
            if name == "MetadataBlock" {
                let number = fields.number(4);
                let provider = fields.text();
                names.insert(number, (provider, fields.number(4)));
                continue;
            }
            let (provider, event) = &names[&number];
            let runtime = provider == "Microsoft-Windows-DotNETRuntime";
            match event {
                152..=154 if *event != 152 || runtime => {
                    let module = fields.number(8);
                    fields.number(16);
                    heap.modules.push((module, fields.text()));
                }
                _ if !runtime => {}
                2 if !counts.is_empty() => {
                    let mut edges = std::mem::take(&mut edges).into_iter();
                    for (object, count) in walk.objects.iter_mut().zip(std::mem::take(&mut counts)) {
                        object.references = edges.by_ref().take(count as usize).collect();
                    }
                    heap.walks.push(std::mem::take(&mut walk));
                }
                15 | 16 | 18 | 19 | 38 => {
                    entries(*event, &mut fields, &mut heap.types, &mut walk, &mut edges, &mut counts);
                }
                _ => {}
            }
        }
    }
    heap
}

fn entries(
    event: u64,
    fields: &mut Fields<'_>,
    types: &mut Vec<Type>,
    walk: &mut Walk,
    edges: &mut Vec<u64>,
    counts: &mut Vec<u64>,
) {
    if (16..=19).contains(&event) {
        fields.number(4);
    }
    let count = fields.number(4);
    fields.number(if event == 38 { 10 - 2 } else { 0 });
    fields.number(2);
    for _ in 0..count {
        match event {
            15 => {
                let (id, module, token) = (fields.number(8), fields.number(8), fields.number(4) as u32);
                let (flags, element, name) = (fields.number(4), fields.number(1), fields.text());
                let parameters = (0..fields.number(4)).map(|_| fields.number(8)).collect();
                types.retain(|of| of.id != id);
                let (array, string) = (flags & 8 != 0, element == 14);
                types.push(Type { id, module, token, array, string, name, parameters });
            }
            16 => {
                let (object, kind, flags) = (fields.number(8), fields.number(1) as u8, fields.number(4) as u32);
                fields.number(8);
                walk.roots.push(Root { object, kind, flags });
            }
            18 => {
                let (address, size, type_id) = (fields.number(8), fields.number(8), fields.number(8));
                walk.objects.push(Object { address, size, type_id, references: Vec::new() });
                counts.push(fields.number(8));
            }
            19 => {
                edges.push(fields.number(8));
                fields.number(4);
            }
            _ => {
                fields.number(8);
                let (object, type_id, thread) = (fields.number(8), fields.number(8), fields.number(4) & 1 == 1);
                walk.statics.push(Static { object, type_id, field: fields.text(), thread });
            }
        }
    }
}

/// Numbers of descriptions and payloads.
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
        if flags & 2 != 0 {
            for _ in 0..3 {
                fields.varint();
            }
        }
        if flags & 4 != 0 {
            fields.varint();
        }
        if flags & 8 != 0 {
            fields.varint();
        }
        fields.varint();
        for flag in [16, 32] {
            if flags & flag != 0 {
                fields.number(8);
                fields.number(8);
            }
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
