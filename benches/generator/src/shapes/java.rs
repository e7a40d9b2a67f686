//! Heap dumps of Java virtual machines.

use crate::hprof::{Dump, ROOT_STICKY, ROOT_UNKNOWN};
use crate::rng::mix;
use std::io::{self, Write};

const OBJECT_ARRAY: u8 = 0x22;

/// Names, whose identifiers begin at 1, and classes by their positions in this list.
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
const FIELDS: [u64; 2] = [7, 8];

/// First addresses of objects and of further classes.
const HEAP: u64 = 1 << 32;
const MORE_CLASSES: u64 = 1 << 28;
const MORE_NAMES: u64 = 1 << 20;

/// Writes a dump; `objects` adds its objects.
pub(super) fn write(
    size: u64,
    objects: fn(u64, &mut Dump<'_>) -> io::Result<()>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut dump = Dump::begin(out)?;
    for (id, name) in (1..).zip(NAMES) {
        dump.name(id, name)?;
    }
    for class in 0..CLASSES {
        dump.load(class + 1, address_of_class(class), class + 1)?;
    }
    for class in 0..CLASSES {
        let superclass = if class == OBJECT { 0 } else { address_of_class(OBJECT) };
        dump.class(address_of_class(class), superclass, if class == PART { &FIELDS } else { &[] })?;
        dump.root(ROOT_STICKY, address_of_class(class))?;
    }
    objects(size, &mut dump)?;
    dump.end()
}

fn address_of_class(class: u64) -> u64 {
    (1 << 16) + class * 256
}

/// Addresses of adjacent objects.
fn near(object: u64) -> u64 {
    HEAP + object * 32
}

fn part(dump: &mut Dump<'_>, object: u64, references: [u64; 2]) -> io::Result<()> {
    dump.instance(object, address_of_class(PART), &references)
}

/// A list at distinct addresses, spread over 2^46 bytes.
pub(super) fn far(objects: u64, dump: &mut Dump<'_>) -> io::Result<()> {
    // Multiplication by an odd number is one-to-one.
    let address = |object: u64| HEAP + ((object + 1).wrapping_mul(0x5_9e37_79b9_7f4d) % (1 << 43)) * 8;
    dump.root(ROOT_UNKNOWN, address(0))?;
    (0..objects).try_for_each(|object| {
        part(dump, address(object), [if object + 1 < objects { address(object + 1) } else { 0 }, 0])
    })
}

pub(super) fn random(objects: u64, dump: &mut Dump<'_>) -> io::Result<()> {
    dump.root(ROOT_UNKNOWN, near(0))?;
    (0..objects)
        .try_for_each(|object| part(dump, near(object), [near((object + 1) % objects), near(mix(object, 1) % objects)]))
}

/// An array with ten elements per node, which refer to a thousand objects.
pub(super) fn array(nodes: u64, dump: &mut Dump<'_>) -> io::Result<()> {
    const TARGETS: u64 = 1000;
    let elements = 10 * nodes;
    dump.root(ROOT_UNKNOWN, near(0))?;
    dump.flush()?;
    let (object, class) = (near(0).to_be_bytes(), address_of_class(ARRAY).to_be_bytes());
    dump.add(&[&[OBJECT_ARRAY], &object, &[0; 4], &(elements as u32).to_be_bytes(), &class])?;
    for element in 0..elements {
        dump.add_part(&(near(TARGETS * TARGETS) + 64 * elements + element % TARGETS * 32).to_be_bytes());
    }
    dump.flush()?;
    (0..TARGETS).try_for_each(|target| part(dump, near(TARGETS * TARGETS) + 64 * elements + target * 32, [0, 0]))
}

pub(super) fn classes(classes: u64, dump: &mut Dump<'_>) -> io::Result<()> {
    let address = |class: u64| MORE_CLASSES + class * 256;
    for class in 0..classes {
        dump.name(MORE_NAMES + class, &format!("com/example/Part{class}"))?;
        dump.load(CLASSES + class + 1, address(class), MORE_NAMES + class)?;
    }
    for class in 0..classes {
        dump.class(address(class), address_of_class(OBJECT), &[])?;
        dump.instance(near(class), address(class), &[])?;
        dump.root(ROOT_UNKNOWN, near(class))?;
    }
    Ok(())
}
