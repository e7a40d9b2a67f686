//! Invalid records of dumps: unknown tags, wrong lengths, arrays of absurd length.

use super::dumps::{assert_means, bytes, chain, failure, heap, refused, with_last};
use heaplake_oracle::jvm::Layout;
use heaplake_oracle::jvm::model::{Dump, ObjectData, Primitive, PrimitiveValues, Root, RootKind};
use heaplake_oracle::jvm::write::{id, record, record_of_length, u4};

#[test]
fn unknown_tags() {
    for tag in [0x00, 0x09, 0x0d, 0x24, 0x7f, 0x88, 0x91, 0xc0, 0xc4, 0xf0, 0xfd] {
        let (file, offset) = with_last(&chain(3), &[&[tag][..], &[0; 40]].concat());
        let message = refused(&file, offset);
        assert!(message.contains(&format!("{tag:#04x}")), "{message}");
    }
    // At the top, those with a length that leads nowhere.
    let good = bytes(&chain(3));
    for tag in [0x00, 0x08, 0x0f, 0x1d, 0x50, 0xff] {
        let file = [&good[..], &record_of_length(tag, 4, &[1, 2, 3])].concat();
        let message = refused(&file, good.len());
        assert!(message.contains(&format!("{tag:#04x}")), "{message}");
    }
}

#[test]
fn lengths_that_lie() {
    let dump = chain(5);
    let good = bytes(&dump);
    let names = Dump { classes: Vec::new(), objects: Vec::new(), roots: Vec::new(), ..dump.clone() };
    let front = names.to_bytes(&Layout { end: false, ..Layout::default() });
    let body = heap(&dump).concat();
    for (length, tag) in [
        (body.len() as u32 + 1, 0x1c),
        (u32::MAX, 0x1c),
        (u32::MAX, 0x0c),
        (body.len() as u32 - 1, 0x1c),
        (body.len() as u32 - 30, 0x0c),
        (1, 0x1c),
        (0, 0x1c),
    ] {
        let file = [&front[..], &record_of_length(tag, length, &body)].concat();
        failure(&file);
        // And with another record after it.
        let file = [&file[..], &record(0x2c, &[])].concat();
        failure(&file);
    }
    // Texts, names, frames and stacks that are too short, or have too large counts.
    for (tag, body) in [
        (0x01, vec![1, 2, 3]),
        (0x02, vec![0; 23]),
        (0x04, vec![0; 39]),
        (0x05, vec![0; 11]),
        (0x05, [u4(1), u4(1), u4(u32::MAX)].concat()),
        (0x05, [u4(1), u4(1), u4(2), id(8, 7)].concat()),
    ] {
        let file = [&good[..good.len() - 9], &record(tag, &body)].concat();
        failure(&file);
    }
    for length in [10_000, u32::MAX] {
        let file = [&good[..], &record_of_length(0x01, length, b"short")].concat();
        refused(&file, good.len());
    }
}

#[test]
fn arrays_of_absurd_length() {
    let dump = chain(5);
    let class = id(8, dump.classes[0].address);
    for length in [1 << 20, 0x7fff_ffff, 0xffff_ffff] {
        for last in [
            [vec![0x22], id(8, 0x10), u4(1), u4(length), class.clone(), vec![0; 64]].concat(),
            [vec![0x23], id(8, 0x10), u4(1), u4(length), vec![11], vec![0; 64]].concat(),
            [vec![0x23], id(8, 0x10), u4(1), u4(length), vec![8], vec![0; 64]].concat(),
            [vec![0x21], id(8, 0x10), u4(1), class.clone(), u4(length), vec![0; 64]].concat(),
        ] {
            let (file, offset) = with_last(&dump, &last);
            let message = refused(&file, offset);
            assert!(message.contains("objects"), "{message}");
        }
    }
    // Android omits elements, so the file is shorter than the array.
    for length in [0, 1, 0x7fff_ffff, 0xffff_ffff] {
        let mut dump = chain(5);
        let array = dump.add(ObjectData::PrimitiveArray(Primitive::Long, PrimitiveValues::Unknown(length)));
        dump.roots.push(Root { kind: RootKind::Monitor, object: array });
        assert_means(&bytes(&dump), &dump);
    }
    for element in [0, 1, 2, 3, 12, 255] {
        for tag in [0x23, 0xc3] {
            let last = [vec![tag], id(8, 0x10), u4(1), u4(0), vec![element]].concat();
            let (file, offset) = with_last(&dump, &last);
            refused(&file, offset);
        }
    }
}

#[test]
fn classes_that_cannot_be() {
    let dump = chain(5);
    let head = |parent: u64| {
        let ids = [parent, 0, 0, 0, 0, 0].map(|value| id(8, value)).concat();
        [vec![0x20], id(8, 0x10), u4(1), ids, u4(0)].concat()
    };
    let u2 = |value: u16| value.to_be_bytes().to_vec();
    for rest in [
        u2(0xffff),
        [u2(0), u2(0xffff)].concat(),
        [u2(0), u2(0), u2(0xffff)].concat(),
        // Invalid types: in the constant pool, of a static field, of an instance field.
        [u2(1), u2(1), vec![3], vec![0; 8], u2(0), u2(0)].concat(),
        [u2(0), u2(1), id(8, 0x7000), vec![12], vec![0; 8], u2(0)].concat(),
        [u2(0), u2(0), u2(1), id(8, 0x7000), vec![0]].concat(),
    ] {
        let (file, _) = with_last(&dump, &[head(0), rest].concat());
        failure(&file);
    }
}
