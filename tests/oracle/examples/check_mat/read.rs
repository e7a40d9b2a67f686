//! Reads a dump from a file, all in memory and without tolerance for damage.

use heaplake_oracle::jvm::model::{
    Class, Dump, Frame, LoadedClass, Object, ObjectData, Primitive, PrimitiveValues, Root, RootKind, Static, Trace,
    Type, Value,
};
use std::collections::HashMap;

/// Reads a whole file.
pub(super) fn dump(bytes: &[u8]) -> Dump {
    let end = bytes.iter().position(|&byte| byte == 0).expect("a version");
    let mut file = Reader { bytes, at: end + 1, id_size: 0 };
    file.id_size = file.u4() as usize;
    let mut dump = Dump::new(file.id_size);
    dump.captured_ms = file.number(8);
    let mut instances = Vec::new();
    while file.at < bytes.len() {
        let tag = file.u1();
        file.u4();
        let length = file.u4() as usize;
        let body = &bytes[file.at..file.at + length];
        file.at += length;
        top_level(tag, Reader { bytes: body, at: 0, id_size: file.id_size }, &mut dump, &mut instances);
    }
    let fields: HashMap<u64, &Class> = dump.classes.iter().map(|class| (class.address, class)).collect();
    let decoded: Vec<Object> = instances.iter().map(|instance| decode(instance, &fields, file.id_size)).collect();
    dump.objects.extend(decoded);
    dump
}

/// An instance whose class may come later.
struct Instance<'a> {
    address: u64,
    class: u64,
    data: &'a [u8],
}

fn decode(instance: &Instance<'_>, classes: &HashMap<u64, &Class>, id_size: usize) -> Object {
    let mut data = Reader { bytes: instance.data, at: 0, id_size };
    let mut values = Vec::new();
    let mut level = classes.get(&instance.class);
    while let Some(class) = level {
        values.extend(class.fields.iter().map(|&(_, kind)| data.value(kind)));
        level = classes.get(&class.parent);
    }
    assert_eq!(data.at, instance.data.len(), "the fields of {:x} fill it", instance.address);
    Object { address: instance.address, data: ObjectData::Instance(instance.class, values) }
}

fn top_level<'a>(tag: u8, mut body: Reader<'a>, dump: &mut Dump, instances: &mut Vec<Instance<'a>>) {
    match tag {
        0x01 => {
            let id = body.id();
            dump.strings.push((id, body.bytes[body.at..].to_vec()));
        }
        0x02 => {
            let (serial, class, _, name) = (body.u4(), body.id(), body.u4(), body.id());
            dump.loaded.push(LoadedClass { serial, class, name });
        }
        0x04 => dump.frames.push(Frame {
            id: body.id(),
            method: body.id(),
            signature: body.id(),
            source: body.id(),
            class_serial: body.u4(),
            line: body.u4() as i32,
        }),
        0x05 => {
            let (serial, thread, count) = (body.u4(), body.u4(), body.u4());
            let frames = (0..count).map(|_| body.id()).collect();
            dump.traces.push(Trace { serial, thread, frames });
        }
        0x0c | 0x1c => {
            while body.at < body.bytes.len() {
                heap_record(&mut body, dump, instances);
            }
        }
        _ => {}
    }
}

fn heap_record<'a>(body: &mut Reader<'a>, dump: &mut Dump, instances: &mut Vec<Instance<'a>>) {
    let tag = body.u1();
    match tag {
        0x20 => {
            let class = body.class();
            dump.classes.push(class);
        }
        0x21 => {
            let (address, _, class) = (body.id(), body.u4(), body.id());
            let length = body.u4() as usize;
            let data = &body.bytes[body.at..body.at + length];
            body.at += length;
            instances.push(Instance { address, class, data });
        }
        0x22 => {
            let (address, _, length, class) = (body.id(), body.u4(), body.u4(), body.id());
            let elements = (0..length).map(|_| body.id()).collect();
            dump.objects.push(Object { address, data: ObjectData::ObjectArray(class, elements) });
        }
        0x23 => {
            let (address, _, length, kind) = (body.id(), body.u4(), body.u4(), primitive(body.u1()));
            let values = (0..length).map(|_| body.number(kind.size() as usize)).collect();
            let data = ObjectData::PrimitiveArray(kind, PrimitiveValues::Known(values));
            dump.objects.push(Object { address, data });
        }
        0xc3 => {
            let (address, _, length, kind) = (body.id(), body.u4(), body.u4(), primitive(body.u1()));
            let data = ObjectData::PrimitiveArray(kind, PrimitiveValues::Unknown(length));
            dump.objects.push(Object { address, data });
        }
        0xfe => {
            body.u4();
            body.id();
        }
        _ => {
            let root = body.root(tag);
            dump.roots.push(root);
        }
    }
}

fn primitive(number: u8) -> Primitive {
    Primitive::ALL.into_iter().find(|&kind| kind as u8 == number).expect("a primitive type")
}

fn kind(number: u8) -> Type {
    if number == 2 { Type::Object } else { Type::Primitive(primitive(number)) }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    id_size: usize,
}

impl Reader<'_> {
    fn number(&mut self, size: usize) -> u64 {
        let value = self.bytes[self.at..self.at + size].iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
        self.at += size;
        value
    }

    fn u1(&mut self) -> u8 {
        self.number(1) as u8
    }

    fn u4(&mut self) -> u32 {
        self.number(4) as u32
    }

    fn id(&mut self) -> u64 {
        self.number(self.id_size)
    }

    fn value(&mut self, kind: Type) -> Value {
        match kind {
            Type::Object => Value::Object(self.id()),
            Type::Primitive(kind) => Value::Primitive(kind, self.number(kind.size() as usize)),
        }
    }

    fn class(&mut self) -> Class {
        let (address, _, parent, loader) = (self.id(), self.u4(), self.id(), self.id());
        let unused = [self.id(), self.id()];
        self.id();
        self.id();
        self.u4();
        let constants = self.list(|file| {
            file.number(2);
            let kind = kind(file.u1());
            file.value(kind)
        });
        let statics = self.list(|file| {
            let (name, kind) = (file.id(), kind(file.u1()));
            Static { name, value: file.value(kind) }
        });
        let fields = self.list(|file| (file.id(), kind(file.u1())));
        Class { address, parent, loader, unused, constants, statics, fields }
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.number(2);
        (0..count).map(|_| item(self)).collect()
    }

    fn root(&mut self, tag: u8) -> Root {
        let object = self.id();
        let kind = match tag {
            0xff => RootKind::Unknown,
            0x01 => {
                self.id();
                RootKind::JniGlobal
            }
            0x02 => RootKind::JniLocal(self.u4(), self.u4() as i32),
            0x03 => RootKind::JavaFrame(self.u4(), self.u4() as i32),
            0x04 => RootKind::NativeStack(self.u4()),
            0x05 => RootKind::StickyClass,
            0x06 => RootKind::ThreadBlock(self.u4()),
            0x07 => RootKind::Monitor,
            0x08 => RootKind::Thread(self.u4(), self.u4()),
            0x89..=0x8d => RootKind::Android(tag),
            0x8e => RootKind::JniMonitor(self.u4(), self.u4() as i32),
            _ => panic!("heap record {tag:x} at {}", self.at),
        };
        Root { kind, object }
    }
}
