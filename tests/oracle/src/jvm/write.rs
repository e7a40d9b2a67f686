//! Writes a dump as a `.hprof` file.

use super::model::{Class, Dump, Object, ObjectData, Primitive, PrimitiveValues, Root, RootKind, Type, Value};
use crate::rng::SplitMix64;

/// Ways to write the same dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub version: &'static str,
    /// 0: texts, classes' names, stacks, then roots, classes and objects, as HotSpot does; 1: roots behind the objects,
    /// as in merged dumps; else everything in an order from this number.
    pub order: u64,
    /// Maximum number of heap records per segment; 0 for a single heap dump without segments.
    pub segment: usize,
    /// Whether a record marks the end of the segments.
    pub end: bool,
    /// Whether to add useless records: summaries, samples, unloaded classes, threads.
    pub clutter: bool,
    /// Whether to add Android's heap information among the heap records.
    pub heap_infos: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self { version: "1.0.2", order: 0, segment: usize::MAX, end: true, clutter: false, heap_infos: false }
    }
}

impl Dump {
    /// The dump as a file.
    pub fn to_bytes(&self, layout: &Layout) -> Vec<u8> {
        let mut file = header(layout.version, self.id_size, self.captured_ms);
        for record in self.records(layout) {
            file.extend(record);
        }
        file
    }

    /// The records of the file behind its header.
    pub fn records(&self, layout: &Layout) -> Vec<Vec<u8>> {
        let rng = &mut SplitMix64::new(layout.order);
        let mut names = self.name_records();
        let mut heap = self.heap_records(layout);
        if layout.order > 1 {
            rng.shuffle(&mut heap);
        }
        let segment = layout.segment.clamp(1, heap.len().max(1));
        let mut segments: Vec<Vec<u8>> = match layout.segment {
            0 => vec![record(0x0c, &heap.concat())],
            _ => heap.chunks(segment).map(|records| record(0x1c, &records.concat())).collect(),
        };
        if layout.clutter {
            names.extend(clutter(self.id_size));
            segments.push(record(0x0e, &[0; 6]));
        }
        names.extend(segments);
        if layout.order > 1 {
            rng.shuffle(&mut names);
        }
        if layout.end && layout.segment > 0 {
            names.push(record(0x2c, &[]));
        }
        names
    }

    fn name_records(&self) -> Vec<Vec<u8>> {
        let id = |value| id(self.id_size, value);
        let texts = self.strings.iter().map(|(number, text)| record(0x01, &[id(*number), text.clone()].concat()));
        let loaded = self
            .loaded
            .iter()
            .map(|class| record(0x02, &[u4(class.serial), id(class.class), u4(1), id(class.name)].concat()));
        let frames = self.frames.iter().map(|frame| {
            let ids = [frame.id, frame.method, frame.signature, frame.source].map(id).concat();
            record(0x04, &[ids, u4(frame.class_serial), u4(frame.line as u32)].concat())
        });
        let traces = self.traces.iter().map(|trace| {
            let frames: Vec<u8> = trace.frames.iter().flat_map(|&frame| id(frame)).collect();
            record(0x05, &[u4(trace.serial), u4(trace.thread), u4(trace.frames.len() as u32), frames].concat())
        });
        texts.chain(loaded).chain(frames).chain(traces).collect()
    }

    fn heap_records(&self, layout: &Layout) -> Vec<Vec<u8>> {
        let size = self.id_size;
        let roots: Vec<Vec<u8>> = self.roots.iter().map(|root| root_record(size, root)).collect();
        let classes = self.classes.iter().map(|class| class_record(size, class));
        let objects = self.objects.iter().map(|object| object_record(size, object));
        let mut records = if layout.order == 1 { Vec::new() } else { roots.clone() };
        if layout.heap_infos {
            records.extend((0..3).map(|heap| [vec![0xfe], u4(heap), id(size, 0x7000)].concat()));
        }
        records.extend(classes.chain(objects));
        if layout.order == 1 {
            records.extend(roots);
        }
        records
    }
}

pub fn header(version: &str, id_size: usize, captured_ms: u64) -> Vec<u8> {
    let text = format!("JAVA PROFILE {version}\0").into_bytes();
    [text, u4(id_size as u32), captured_ms.to_be_bytes().to_vec()].concat()
}

/// A record with its correct length.
pub fn record(tag: u8, body: &[u8]) -> Vec<u8> {
    record_of_length(tag, body.len() as u32, body)
}

pub fn record_of_length(tag: u8, length: u32, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &u4(0), &u4(length), body].concat()
}

pub fn u4(value: u32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

/// An id: the lowest bytes of the value.
pub fn id(size: usize, value: u64) -> Vec<u8> {
    value.to_be_bytes()[8 - size..].to_vec()
}

/// A root as a heap record.
pub fn root_record(size: usize, root: &Root) -> Vec<u8> {
    let rest = match root.kind {
        RootKind::JniGlobal => id(size, 0xabcd),
        RootKind::JniLocal(thread, frame)
        | RootKind::JavaFrame(thread, frame)
        | RootKind::JniMonitor(thread, frame) => [u4(thread), u4(frame as u32)].concat(),
        RootKind::NativeStack(thread) | RootKind::ThreadBlock(thread) => u4(thread),
        RootKind::Thread(thread, trace) => [u4(thread), u4(trace)].concat(),
        RootKind::Unknown | RootKind::StickyClass | RootKind::Monitor | RootKind::Android(_) => vec![],
    };
    [vec![root.kind.tag()], id(size, root.object), rest].concat()
}

/// A class as a heap record.
pub fn class_record(size: usize, class: &Class) -> Vec<u8> {
    let mut bytes = vec![0x20];
    bytes.extend(id(size, class.address));
    bytes.extend(u4(1));
    for reference in [class.parent, class.loader, class.unused[0], class.unused[1], 0, 0] {
        bytes.extend(id(size, reference));
    }
    let instance: u64 = class.fields.iter().map(|&(_, kind)| size_of(size, kind)).sum();
    bytes.extend(u4(instance as u32));
    bytes.extend((class.constants.len() as u16).to_be_bytes());
    for (index, &value) in class.constants.iter().enumerate() {
        bytes.extend((index as u16).to_be_bytes());
        bytes.push(number(value.type_of()));
        bytes.extend(value_bytes(size, value));
    }
    bytes.extend((class.statics.len() as u16).to_be_bytes());
    for field in &class.statics {
        bytes.extend(id(size, field.name));
        bytes.push(number(field.value.type_of()));
        bytes.extend(value_bytes(size, field.value));
    }
    bytes.extend((class.fields.len() as u16).to_be_bytes());
    for &(name, kind) in &class.fields {
        bytes.extend(id(size, name));
        bytes.push(number(kind));
    }
    bytes
}

/// An object as a heap record.
pub fn object_record(size: usize, object: &Object) -> Vec<u8> {
    let start = |tag: u8| [vec![tag], id(size, object.address), u4(1)].concat();
    match &object.data {
        ObjectData::Instance(class, values) => {
            let data: Vec<u8> = values.iter().flat_map(|&value| value_bytes(size, value)).collect();
            [start(0x21), id(size, *class), u4(data.len() as u32), data].concat()
        }
        ObjectData::ObjectArray(class, elements) => {
            let data: Vec<u8> = elements.iter().flat_map(|&element| id(size, element)).collect();
            [start(0x22), u4(elements.len() as u32), id(size, *class), data].concat()
        }
        ObjectData::PrimitiveArray(kind, PrimitiveValues::Known(values)) => {
            let data: Vec<u8> = values.iter().flat_map(|&bits| primitive_bytes(*kind, bits)).collect();
            [start(0x23), u4(values.len() as u32), vec![*kind as u8], data].concat()
        }
        ObjectData::PrimitiveArray(kind, PrimitiveValues::Unknown(length)) => {
            [start(0xc3), u4(*length), vec![*kind as u8]].concat()
        }
    }
}

/// Bytes of a value of a type in the file.
pub fn size_of(id_size: usize, kind: Type) -> u64 {
    match kind {
        Type::Object => id_size as u64,
        Type::Primitive(primitive) => primitive.size(),
    }
}

fn number(kind: Type) -> u8 {
    match kind {
        Type::Object => 2,
        Type::Primitive(primitive) => primitive as u8,
    }
}

fn value_bytes(size: usize, value: Value) -> Vec<u8> {
    match value {
        Value::Object(address) => id(size, address),
        Value::Primitive(kind, bits) => primitive_bytes(kind, bits),
    }
}

fn primitive_bytes(kind: Primitive, bits: u64) -> Vec<u8> {
    bits.to_be_bytes()[8 - kind.size() as usize..].to_vec()
}

/// Records without information about the heap.
fn clutter(id_size: usize) -> Vec<Vec<u8>> {
    let thread = [u4(1), id(id_size, 0x10), u4(1), [0x7000; 3].map(|name| id(id_size, name)).concat()].concat();
    vec![
        record(0x03, &u4(77)),
        record(0x06, &[0; 34]),
        record(0x07, &[0; 24]),
        record(0x0a, &thread),
        record(0x0b, &u4(1)),
        record(0x0d, &[0; 8]),
    ]
}
