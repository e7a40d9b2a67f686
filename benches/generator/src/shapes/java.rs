//! Heap dumps of Java virtual machines.

use crate::rng::mix;
use std::io::{self, Write};

const UTF8: u8 = 1;
const LOAD_CLASS: u8 = 2;
const SEGMENT: u8 = 0x1c;
const END: u8 = 0x2c;

const OBJECT_KIND: u8 = 2;
const ROOT_STICKY: u8 = 5;
const ROOT_UNKNOWN: u8 = 0xff;
const CLASS: u8 = 0x20;
const INSTANCE: u8 = 0x21;
const OBJECT_ARRAY: u8 = 0x22;

/// Bytes of a segment.
const FULL: usize = 1 << 24;

/// Names, and classes by their positions in this list.
const NAMES: [&str; 8] = [
    "java/lang/Object",
    "java/lang/Class",
    "java/lang/String",
    "java/lang/Thread",
    "Part",
    "[Ljava/lang/Object;",
    "next",
    "other",
];
const OBJECT: u64 = 0;
const PART: u64 = 4;
const ARRAY: u64 = 5;
const CLASSES: u64 = 6;

/// First addresses of objects and of further classes.
const HEAP: u64 = 1 << 32;
const MORE_CLASSES: u64 = 1 << 28;
const MORE_NAMES: u64 = 1 << 20;

/// A dump being written.
pub(super) struct Dump<'a> {
    out: &'a mut dyn Write,
    segment: Vec<u8>,
}

/// Writes a dump; `objects` adds its objects.
pub(super) fn write(
    size: u64,
    objects: fn(u64, &mut Dump<'_>) -> io::Result<()>,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\x01\x8b\xcf\xe5\x68\0")?;
    let mut dump = Dump { out, segment: Vec::new() };
    for (at, name) in (0..).zip(NAMES) {
        dump.name(at, name)?;
    }
    for class in 0..CLASSES {
        dump.load(class, address_of_class(class), class)?;
    }
    for class in 0..CLASSES {
        let fields: &[u64] = if class == PART { &[6, 7] } else { &[] };
        dump.class(address_of_class(class), (class != OBJECT).then_some(address_of_class(OBJECT)), fields)?;
        dump.root(ROOT_STICKY, address_of_class(class))?;
    }
    objects(size, &mut dump)?;
    dump.flush()?;
    dump.record(END, &[])
}

fn address_of_class(class: u64) -> u64 {
    (1 << 16) + class * 256
}

/// Addresses of adjacent objects.
fn near(object: u64) -> u64 {
    HEAP + object * 32
}

impl Dump<'_> {
    fn record(&mut self, tag: u8, body: &[u8]) -> io::Result<()> {
        self.out.write_all(&[tag, 0, 0, 0, 0])?;
        self.out.write_all(&(body.len() as u32).to_be_bytes())?;
        self.out.write_all(body)
    }

    fn flush(&mut self) -> io::Result<()> {
        let segment = std::mem::take(&mut self.segment);
        if segment.is_empty() { Ok(()) } else { self.record(SEGMENT, &segment) }
    }

    fn name(&mut self, id: u64, text: &str) -> io::Result<()> {
        self.record(UTF8, &[&(id + 1).to_be_bytes()[..], text.as_bytes()].concat())
    }

    fn load(&mut self, number: u64, class: u64, name: u64) -> io::Result<()> {
        let (number, name) = ((number as u32 + 1).to_be_bytes(), (name + 1).to_be_bytes());
        self.record(LOAD_CLASS, &[&number[..], &class.to_be_bytes(), &[0; 4], &name].concat())
    }

    fn sub(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        parts.iter().for_each(|part| self.segment.extend_from_slice(part));
        if self.segment.len() >= FULL { self.flush() } else { Ok(()) }
    }

    fn class(&mut self, class: u64, above: Option<u64>, fields: &[u64]) -> io::Result<()> {
        let mut body =
            [&[CLASS][..], &class.to_be_bytes(), &[0; 4], &above.unwrap_or(0).to_be_bytes(), &[0; 40]].concat();
        body.extend((fields.len() as u32 * 8).to_be_bytes());
        body.extend([0; 4]);
        body.extend((fields.len() as u16).to_be_bytes());
        for field in fields {
            body.extend((field + 1).to_be_bytes());
            body.push(OBJECT_KIND);
        }
        self.sub(&[&body])
    }

    fn root(&mut self, kind: u8, object: u64) -> io::Result<()> {
        self.sub(&[&[kind], &object.to_be_bytes()])
    }

    fn instance(&mut self, object: u64, class: u64, references: &[u64]) -> io::Result<()> {
        let body = references.iter().flat_map(|reference| reference.to_be_bytes()).collect::<Vec<_>>();
        let bytes = (body.len() as u32).to_be_bytes();
        self.sub(&[&[INSTANCE], &object.to_be_bytes(), &[0; 4], &class.to_be_bytes(), &bytes, &body])
    }

    fn part(&mut self, object: u64, references: [u64; 2]) -> io::Result<()> {
        self.instance(object, address_of_class(PART), &references)
    }
}

/// A list at distinct addresses, spread over 2^46 bytes.
pub(super) fn far(objects: u64, dump: &mut Dump<'_>) -> io::Result<()> {
    // Multiplication by an odd number is one-to-one.
    let address = |object: u64| HEAP + ((object + 1).wrapping_mul(0x5_9e37_79b9_7f4d) % (1 << 43)) * 8;
    dump.root(ROOT_UNKNOWN, address(0))?;
    (0..objects).try_for_each(|object| {
        dump.part(address(object), [if object + 1 < objects { address(object + 1) } else { 0 }, 0])
    })
}

pub(super) fn random(objects: u64, dump: &mut Dump<'_>) -> io::Result<()> {
    dump.root(ROOT_UNKNOWN, near(0))?;
    (0..objects)
        .try_for_each(|object| dump.part(near(object), [near((object + 1) % objects), near(mix(object, 1) % objects)]))
}

/// An array with ten elements per node, which refer to a thousand objects.
pub(super) fn array(nodes: u64, dump: &mut Dump<'_>) -> io::Result<()> {
    const TARGETS: u64 = 1000;
    let elements = 10 * nodes;
    dump.root(ROOT_UNKNOWN, near(0))?;
    dump.flush()?;
    let (object, class) = (near(0).to_be_bytes(), address_of_class(ARRAY).to_be_bytes());
    dump.sub(&[&[OBJECT_ARRAY], &object, &[0; 4], &(elements as u32).to_be_bytes(), &class])?;
    for element in 0..elements {
        // Not through `sub`: a record lies in one segment.
        dump.segment.extend((near(TARGETS * TARGETS) + 64 * elements + element % TARGETS * 32).to_be_bytes());
    }
    dump.flush()?;
    (0..TARGETS).try_for_each(|target| dump.part(near(TARGETS * TARGETS) + 64 * elements + target * 32, [0, 0]))
}

pub(super) fn classes(classes: u64, dump: &mut Dump<'_>) -> io::Result<()> {
    let address = |class: u64| MORE_CLASSES + class * 256;
    for class in 0..classes {
        dump.name(MORE_NAMES + class, &format!("com/example/Part{class}"))?;
        dump.load(CLASSES + class, address(class), MORE_NAMES + class)?;
    }
    for class in 0..classes {
        dump.class(address(class), Some(address_of_class(OBJECT)), &[])?;
        dump.instance(near(class), address(class), &[])?;
        dump.root(ROOT_UNKNOWN, near(class))?;
    }
    Ok(())
}
