//! Heap dumps of Java virtual machines that are not as they should be.
//!
//! Whatever is wrong, there is one line that says what and where and how many objects were read, one that says what to
//! do, the right exit code, and nothing left behind. And what is only unusual works.

#![allow(clippy::unwrap_used)] // helpers of tests may fail loudly

#[path = "support/jvm.rs"]
mod jvm;
mod support;

use heaplake::analyze::Failure;
use heaplake_oracle::jvm::model::{
    Class, Dump, LoadedClass, Object, ObjectData, Primitive, PrimitiveValues, Root, RootKind, Type, Value,
};
use heaplake_oracle::jvm::write::{self, header, id, record, record_of_length, root_record, u4};
use heaplake_oracle::jvm::{Draft, Layout, Referents, truth};
use heaplake_oracle::strategies;
use proptest::prelude::*;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use support::{Lake, Table, complaint, gzip, zstd};

/// A dump of some classes and objects, one of which holds the next.
fn chain(objects: usize) -> Dump {
    let mut dump = Dump::new(8);
    let base = dump.add_base_classes();
    let text = Value::Object(0);
    let node = dump.add_class(
        "app/Node",
        Some(base.object),
        &[("next", text), ("count", Value::Primitive(Primitive::Int, 0))],
    );
    dump.roots.push(Root { kind: RootKind::StickyClass, object: base.object });
    let mut next = 0;
    for count in 0..objects as u64 {
        next = dump.add_instance(node, &[Value::Object(next), Value::Primitive(Primitive::Int, count)]);
    }
    dump.roots.push(Root { kind: RootKind::JniGlobal, object: next });
    dump
}

/// A dump of 50 kilobytes and more, with something of everything.
fn large() -> Dump {
    let mut dumps = (0..).map(|seed| Draft::random(seed, 3000).build());
    dumps.find(|dump| bytes(dump).len() > 50_000).unwrap()
}

/// Analyses bytes that must be refused, in a lake of their own; the failure and how the input is called.
fn failure(bytes: &[u8]) -> (Failure, String) {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", bytes);
    let failure = lake.analyze_here(&input, 2).map(|outcome| outcome.place).unwrap_err();
    lake.assert_empty();
    assert_eq!(failure.to_string().lines().count(), 1, "{failure}");
    assert_eq!(failure.advice().lines().count(), 1, "{failure}");
    (failure, input.display().to_string())
}

/// Asserts that bytes are refused at this offset; the message from there on.
fn refused(bytes: &[u8], offset: usize) -> String {
    let (failure, file) = failure(bytes);
    let message = failure.to_string();
    let wanted = format!("{file}: byte {offset}: expected ");
    assert!(message.starts_with(&wanted) && message.contains(", found "), "\n{message}\n{wanted}");
    assert!(!failure.is_resource() && !failure.is_cancelled(), "{message}");
    message[wanted.len()..].to_owned()
}

/// Runs a file that must be accepted; the lake with the run.
fn accepted(bytes: &[u8]) -> (Lake, PathBuf) {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", bytes);
    let run = lake.analyze_here(&input, 2).unwrap_or_else(|failure| panic!("{failure}")).place;
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    (lake, run)
}

/// Asserts that bytes mean a dump.
fn assert_means(bytes: &[u8], dump: &Dump) {
    let (_lake, run) = accepted(bytes);
    jvm::check(&truth(dump, Referents::Hold), &run);
}

/// A file of these heap records behind the texts and names of a dump, and where each begins.
fn file_of(dump: &Dump, heap: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let names = Dump { classes: Vec::new(), objects: Vec::new(), roots: Vec::new(), ..dump.clone() };
    let mut file = names.to_bytes(&Layout { end: false, ..Layout::default() });
    file.extend(record(0x1c, &heap.concat()));
    let mut at = file.len();
    let mut starts: Vec<usize> = heap.iter().rev().map(|record| (at -= record.len(), at).1).collect();
    starts.reverse();
    (file, starts)
}

/// The heap records of a dump, in the order of HotSpot.
fn heap(dump: &Dump) -> Vec<Vec<u8>> {
    let size = dump.id_size;
    let roots = dump.roots.iter().map(|root| root_record(size, root));
    let classes = dump.classes.iter().map(|class| write::class_record(size, class));
    let objects = dump.objects.iter().map(|object| write::object_record(size, object));
    roots.chain(classes).chain(objects).collect()
}

fn bytes(dump: &Dump) -> Vec<u8> {
    dump.to_bytes(&Layout::default())
}

// Beginnings.

#[test]
fn the_good_one_is_good() {
    for dump in [chain(3), jvm::some_dump(4), jvm::some_dump(8)] {
        assert_means(&bytes(&dump), &dump);
        let (file, _) = file_of(&dump, &heap(&dump));
        assert_means(&file, &dump);
    }
}

#[test]
fn no_dump_at_all() {
    let good = header("1.0.2", 8, 0);
    for (bytes, offset) in [
        (&b"JAVA PROFILE 1.0.2"[..], 18),
        (b"JAVA PROFILE 9.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0", 0),
        (b"JAVA PROFILE 1.0.2 and then no zero for a very long time, much longer than a version", 0),
        (&good[..20], 19),
        (&good[..30], 19),
        (&good, good.len()),
    ] {
        let message = refused(bytes, offset);
        assert!(!message.is_empty());
    }
    for size in [0, 1, 2, 3, 5, 7, 9, 16, 0xffff_ffff] {
        let mut file = bytes(&chain(1));
        file[19..23].copy_from_slice(&u4(size));
        let message = refused(&file, 19);
        assert!(message.starts_with("ids of 4 or 8 bytes") && message.contains(&size.to_string()), "{message}");
    }
    // Neither snapshot nor dump.
    let lake = Lake::new();
    for bytes in [&b""[..], b"JAVA", b"PK\x03\x04 a zip", b"\0\0\0\0"] {
        let (cause, _) = complaint(&mut lake.analyze(lake.input("heap.hprof", bytes)), 1);
        assert!(cause.contains("heap.hprof: byte 0: expected"), "{cause}");
        lake.assert_empty();
    }
}

// Ends.

#[test]
fn cut_off_at_every_kilobyte() {
    let whole = bytes(&large());
    accepted(&whole);
    for length in (1000..whole.len()).step_by(1000) {
        let (failure, file) = failure(&whole[..length]);
        let message = failure.to_string();
        let offset = message.strip_prefix(&format!("{file}: byte ")).and_then(|rest| rest.split_once(": expected "));
        let offset: usize = offset.unwrap_or_else(|| panic!("{length}: {message}")).0.parse().unwrap();
        assert!(offset <= length, "{length}: {message}");
        assert!(message.contains("objects)"), "{length}: {message}");
        assert!(failure.advice().contains("--salvage"), "{length}: {}", failure.advice());
    }
}

#[test]
fn cut_off_at_every_byte_of_a_small_dump() {
    let dump = chain(2);
    let (whole, starts) = file_of(&dump, &heap(&dump));
    let first = starts[0];
    for length in 0..whole.len() {
        let lake = Lake::new();
        let input = lake.input("heap.hprof", &whole[..length]);
        let failure = lake.analyze_here(&input, 2).map(|outcome| outcome.place).unwrap_err();
        lake.assert_empty();
        let message = failure.to_string();
        assert!(message.contains(": byte ") && message.lines().count() == 1, "{length}: {message}");
        if length > first {
            // Those that are whole; classes are objects too.
            let ends = starts.iter().skip(1).copied().chain([whole.len()]);
            let read = ends.skip(dump.roots.len()).filter(|&end| end <= length).count();
            assert!(message.ends_with(&format!("(after {read} objects)")), "{length}: {message}");
        }
    }
}

/// What `--salvage` makes of a file.
fn salvaged(bytes: &[u8]) -> (Lake, PathBuf) {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", bytes);
    lake.analyze(&input).args(["--salvage", "--edges"]).assert().success();
    let run = lake.run();
    (lake, run)
}

#[test]
fn salvage_analyses_what_was_read_and_says_so() {
    let dump = chain(40);
    let records = heap(&dump);
    let (whole, starts) = file_of(&dump, &records);
    for kept in [dump.roots.len() + 1, dump.roots.len() + 5, 20, 43, records.len() - 1] {
        // In the middle of a record: those before it are whole.
        let cut = starts[kept] + records[kept].len() / 2;
        let (_lake, run) = salvaged(&whole[..cut]);
        let objects = kept - dump.roots.len();
        let classes = objects.min(dump.classes.len());
        let mut rest = dump.clone();
        rest.classes.truncate(classes);
        rest.objects.truncate(objects - classes);
        jvm::check(&truth(&rest, Referents::Hold), &run);
        assert_partial(&run, true);
    }
    // A whole dump is not partial, though salvage was asked for.
    let (_lake, run) = salvaged(&whole);
    jvm::check(&truth(&dump, Referents::Hold), &run);
    assert_partial(&run, false);
}

/// Whether a run says everywhere that it is one of a part.
fn assert_partial(run: &Path, expected: bool) {
    let snapshot = Table::read(run, "snapshot.parquet");
    assert_eq!(snapshot.bools("partial"), [Some(expected)]);
    assert_eq!(snapshot.texts("partial_reason")[0].is_some(), expected);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    assert_eq!(json["summary"]["partial"].is_string(), expected, "{json}");
    let shown = support::heaplake().arg("show").arg(run).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(text.contains("PARTIAL"), expected, "{text}");
}

#[test]
fn nothing_to_salvage() {
    let dump = chain(3);
    let (whole, starts) = file_of(&dump, &heap(&dump));
    for cut in [10, 25, 31, 60, starts[0] - 4] {
        let lake = Lake::new();
        let input = lake.input("heap.hprof", &whole[..cut]);
        complaint(lake.analyze(&input).arg("--salvage"), 1);
        lake.assert_empty();
    }
}

#[test]
fn compressed_and_damaged() {
    let whole = bytes(&large());
    for (kind, packed) in [("gzip", gzip(&whole)), ("zstd", zstd(&whole))] {
        accepted(&packed);
        let cuts = [20, packed.len() / 3, packed.len() / 2, packed.len() - 9, packed.len() - 1];
        let mut damaged: Vec<Vec<u8>> = cuts.iter().map(|&cut| packed[..cut].to_vec()).collect();
        let mut flipped = packed.clone();
        flipped[packed.len() / 2] ^= 0xff;
        damaged.push(flipped);
        for bytes in damaged {
            let (failure, file) = failure(&bytes);
            assert!(failure.to_string().starts_with(&format!("{file}: byte ")), "{kind}: {failure}");
        }
    }
    let packed = gzip(&bytes(&chain(20_000)));
    let (_lake, run) = salvaged(&packed[..packed.len() - packed.len() / 4]);
    assert_partial(&run, true);
}

// Records that cannot be.

/// A file whose last heap record is this one, and its offset.
fn with_last(dump: &Dump, last: &[u8]) -> (Vec<u8>, usize) {
    let mut records = heap(dump);
    records.push(last.to_vec());
    let (file, starts) = file_of(dump, &records);
    (file, *starts.last().unwrap())
}

#[test]
fn unknown_tags() {
    for tag in [0x00, 0x09, 0x0d, 0x24, 0x7f, 0x88, 0x91, 0xc0, 0xc4, 0xf0, 0xfd] {
        let (file, offset) = with_last(&chain(3), &[&[tag][..], &[0; 40]].concat());
        let message = refused(&file, offset);
        assert!(message.contains(&format!("{tag:#04x}")), "{message}");
    }
    let good = bytes(&chain(3));
    for tag in [0x00, 0x08, 0x0f, 0x1d, 0x50, 0xff] {
        let file = [&good[..], &record(tag, &[1, 2, 3])].concat();
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
        // And with something behind it.
        let file = [&file[..], &record(0x2c, &[])].concat();
        failure(&file);
    }
    // Texts, names, frames and stacks that are too short or promise more than there is.
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
    // Android leaves out elements, so the dump is short and the array is not.
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
        // Types that there are none of: in the constant pool, of a static field, of an instance field.
        [u2(1), u2(1), vec![3], vec![0; 8], u2(0), u2(0)].concat(),
        [u2(0), u2(1), id(8, 0x7000), vec![12], vec![0; 8], u2(0)].concat(),
        [u2(0), u2(0), u2(1), id(8, 0x7000), vec![0]].concat(),
    ] {
        let (file, _) = with_last(&dump, &[head(0), rest].concat());
        failure(&file);
    }
}

/// A class of no fields.
fn class(address: u64, parent: u64) -> Class {
    let (unused, constants, statics, fields) = ([0; 2], Vec::new(), Vec::new(), Vec::new());
    Class { address, parent, loader: 0, unused, constants, statics, fields }
}

#[test]
fn superclasses_in_a_circle() {
    for length in [1_u64, 2, 3, 1000] {
        let mut dump = chain(5);
        let address = |at: u64| 0x9000_0000 + 64 * (at % length);
        for at in 0..length {
            let mut class = class(address(at), address(at + 1));
            class.fields.push((dump.strings[0].0, Type::Object));
            dump.classes.push(class);
            let name = dump.strings[0].0;
            dump.loaded.push(LoadedClass { serial: 1000 + at as u32, class: address(at), name });
        }
        // Without an instance, and with one.
        for instances in 0..2 {
            if instances == 1 {
                dump.add_instance(address(0), &[Value::Object(0); 8]);
            }
            for order in [0, 1, 5] {
                assert_survives(&dump.to_bytes(&Layout { order, ..Layout::default() }));
            }
        }
    }
}

/// Asserts that bytes are accepted or refused in one line, and that nothing is left behind in the latter case.
fn assert_survives(bytes: &[u8]) {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", bytes);
    match lake.analyze_here(&input, 2) {
        Ok(outcome) => {
            assert!(outcome.place.join("run.json").exists());
            assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
        }
        Err(failure) => {
            assert_eq!(failure.to_string().lines().count(), 1, "{failure}");
            assert!(!failure.is_cancelled(), "{failure}");
            lake.assert_empty();
        }
    }
}

#[test]
fn superclasses_in_a_long_row() {
    let mut dump = chain(1);
    let object = dump.classes[0].address;
    let rows = 60_000;
    let address = |at: u64| 0x9000_0000 + 64 * at;
    for at in 0..rows {
        dump.classes.push(class(address(at), if at == 0 { object } else { address(at - 1) }));
        let name = dump.strings[0].0;
        dump.loaded.push(LoadedClass { serial: 1000 + at as u32, class: address(at), name });
    }
    let first = dump.classes.len() - rows as usize;
    dump.objects.push(Object { address: 0x10, data: ObjectData::Instance(address(rows - 1), Vec::new()) });
    for order in [0, 5] {
        assert_survives(&dump.to_bytes(&Layout { order, ..Layout::default() }));
    }
    // A reference at each level: what is known of all classes together grows with the square of their number.
    dump.objects.pop();
    let name = dump.strings[0].0;
    dump.classes[first..].iter_mut().for_each(|class| class.fields.push((name, Type::Object)));
    assert_survives(&bytes(&dump));
}

#[test]
fn what_is_missing() {
    let good = chain(5);
    // Texts, then names of classes, then classes, one after the other.
    for at in 0..good.strings.len() {
        let mut dump = good.clone();
        dump.strings.remove(at);
        assert_survives(&bytes(&dump));
    }
    for at in 0..good.loaded.len() {
        let mut dump = good.clone();
        dump.loaded.remove(at);
        assert_survives(&bytes(&dump));
    }
    for at in 0..good.classes.len() {
        let mut dump = good.clone();
        dump.classes.remove(at);
        assert_survives(&bytes(&dump));
    }
    let mut dump = good.clone();
    dump.strings.clear();
    dump.loaded.clear();
    assert_survives(&bytes(&dump));
    dump.classes.clear();
    assert_survives(&bytes(&dump));
    dump.roots.clear();
    assert_survives(&bytes(&dump));
    dump.objects.clear();
    assert_survives(&bytes(&dump));
}

#[test]
fn instances_that_do_not_fit_their_class() {
    let good = chain(5);
    let node = good.classes[3].address;
    for values in [0, 1, 3, 20] {
        let mut dump = good.clone();
        dump.objects
            .push(Object { address: 0x10, data: ObjectData::Instance(node, vec![Value::Object(node); values]) });
        assert_survives(&bytes(&dump));
    }
    // Of an array's class, of an object that is no class, of itself.
    for class in [good.objects[0].address, 0x10, 0] {
        let mut dump = good.clone();
        dump.objects.push(Object { address: 0x10, data: ObjectData::Instance(class, Vec::new()) });
        dump.objects.push(Object { address: 0x20, data: ObjectData::ObjectArray(class, vec![0x10, 0x20]) });
        assert_survives(&bytes(&dump));
    }
}

#[test]
fn addresses_told_twice() {
    let good = chain(5);
    let (first, second) = (good.objects[0].clone(), good.objects[1].address);
    for (address, data) in [
        (first.address, first.data.clone()),
        (second, ObjectData::PrimitiveArray(Primitive::Byte, PrimitiveValues::Known(vec![1, 2]))),
        (good.classes[0].address, ObjectData::ObjectArray(good.classes[0].address, vec![second])),
        // The place of what stands for the boot loader.
        (0, first.data.clone()),
    ] {
        let mut dump = good.clone();
        dump.objects.push(Object { address, data });
        let (failure, _) = failure_or_run(&bytes(&dump));
        if let Some(message) = failure {
            assert!(message.contains("byte "), "{message}");
        }
    }
    let mut dump = good.clone();
    dump.classes.push(good.classes[0].clone());
    assert_survives(&bytes(&dump));
}

fn failure_or_run(bytes: &[u8]) -> (Option<String>, Lake) {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", bytes);
    let failure = lake.analyze_here(&input, 2).err().map(|failure| failure.to_string());
    (failure, lake)
}

#[test]
fn addresses_of_all_sizes() {
    for (id_size, addresses) in [
        (8, vec![1, 2, 3, u64::MAX, u64::MAX - 1, 1 << 32, (1 << 32) + 1, 1 << 63, (1 << 32) - 1]),
        (4, vec![1, 2, 3, u64::from(u32::MAX), u64::from(u32::MAX) - 1, 1 << 31]),
    ] {
        let mut dump = chain(1);
        dump.id_size = id_size;
        let mut next = 0;
        for address in addresses {
            let data = ObjectData::ObjectArray(dump.classes[0].address, vec![next, address]);
            dump.objects.push(Object { address, data });
            dump.roots.push(Root { kind: RootKind::Unknown, object: address });
            next = address;
        }
        assert_means(&bytes(&dump), &dump);
    }
}

/// Objects so far apart that no table of memory could hold what lies between them.
#[test]
fn addresses_far_apart() {
    let mut dump = chain(1);
    let class = dump.classes[0].address;
    let address = |at: u64| 0x1_0000_0000_u64.wrapping_mul(at) + 8 * (at * at % 1000);
    for at in 1..40_000 {
        let data = ObjectData::ObjectArray(class, vec![address(at - 1)]);
        dump.objects.push(Object { address: address(at), data });
    }
    dump.roots.push(Root { kind: RootKind::Unknown, object: address(39_999) });
    let (_lake, run) = accepted(&bytes(&dump));
    let nodes = Table::read(&run, "nodes.parquet");
    let reached = nodes.bools("reachable").into_iter().filter(|&reached| reached == Some(true)).count();
    assert_eq!(reached, dump.objects.len() - 1 + 1 + dump.classes.len() + 2);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(600),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    /// Some bytes of a dump are others, or it ends somewhere: an answer or a line, but no panic, and nothing left behind.
    #[test]
    fn damage_of_any_kind(
        draft in strategies::dump_drafts(20),
        layout in strategies::dump_layouts(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut file = draft.build().to_bytes(&layout);
        for (at, value) in changes {
            let at = at.index(file.len() - 31) + 31;
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        assert_survives(&file);
    }
}

/// A dump with three arrays of bytes, all zero, and an object behind them that holds them; its heap records, each with
/// the number of zeros that follow it.
fn huge(lengths: [u32; 3]) -> (Dump, Vec<(Vec<u8>, u64)>) {
    let mut dump = chain(5);
    let mut parts = Vec::new();
    // The oracle need not know the zeros.
    let array = |length| ObjectData::PrimitiveArray(Primitive::Byte, PrimitiveValues::Unknown(length));
    let arrays = lengths.map(|length| dump.add(array(length)));
    for (address, length) in arrays.into_iter().zip(lengths) {
        parts.push(([vec![0x23], id(8, address), u4(1), u4(length), vec![8]].concat(), length.into()));
    }
    let holder = dump.add(ObjectData::ObjectArray(dump.classes[0].address, arrays.to_vec()));
    dump.roots.push(Root { kind: RootKind::Unknown, object: holder });
    let mut records = heap(&dump);
    parts.push((records.pop().unwrap(), 0));
    records.truncate(records.len() - lengths.len());
    parts.insert(0, (records.concat(), 0));
    (dump, parts)
}

/// A heap dump in one record of more than 4 GiB: its stated length is what is left of the real one in 32 bits, which may
/// be nothing.
#[test]
#[ignore = "long"]
fn heap_dumps_of_more_than_four_gibibytes() {
    const LONG: u32 = 0x7fff_fff0;
    let bytes = |parts: &[(Vec<u8>, u64)]| parts.iter().map(|(bytes, zeros)| bytes.len() as u64 + zeros).sum::<u64>();
    let lake = Lake::new();
    for overflow in [0, 1 << 20] {
        let rest = (1 << 32) + overflow - bytes(&huge([LONG, LONG - 4096, 0]).1);
        let (dump, parts) = huge([LONG, LONG - 4096, rest as u32]);
        assert_eq!(bytes(&parts), (1 << 32) + overflow);
        let names = Dump { classes: Vec::new(), objects: Vec::new(), roots: Vec::new(), ..dump.clone() };
        let mut front = names.to_bytes(&Layout { end: false, ..Layout::default() });
        front.extend(record_of_length(0x0c, overflow as u32, &[]));
        let path = lake.folder().join("huge.hprof");
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(&front).unwrap();
        for (bytes, zeros) in parts {
            file.write_all(&bytes).unwrap();
            file.seek(SeekFrom::Current(zeros as i64)).unwrap();
        }
        drop(file);
        lake.analyze(&path).args(["--edges", "--force", "--snapshot", "huge"]).assert().success();
        jvm::check(&truth(&dump, Referents::Hold), &lake.run());
    }
}

// As the user sees it.

#[test]
fn the_content_counts_not_the_name() {
    let dump = jvm::some_dump(8);
    let plain = bytes(&dump);
    let lake = Lake::new();
    for (name, bytes) in [
        ("a.hprof", plain.clone()),
        ("b.heapsnapshot", plain.clone()),
        ("c", gzip(&plain)),
        ("d.hprof", zstd(&plain)),
        ("e.hprof.gz", gzip(&plain)),
    ] {
        lake.analyze(lake.input(name, &bytes)).arg("--edges").assert().success();
    }
    lake.analyze("-").args(["--edges", "--snapshot", "stdin"]).write_stdin(gzip(&plain)).assert().success();
    let expected = truth(&dump, Referents::Hold);
    let runs = lake.runs();
    assert_eq!(runs.len(), 6);
    for run in runs {
        jvm::check(&expected, &run);
        let snapshot = Table::read(&run, "snapshot.parquet");
        assert_eq!(snapshot.texts("format")[0].as_deref(), Some("hprof"));
        assert_eq!(snapshot.u64s("content_bytes"), [Some(plain.len() as u64)]);
    }
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    // A snapshot of V8 that is called a dump.
    let v8 = fs::read(support::fixtures().join("small.heapsnapshot.zst")).unwrap();
    let lake = Lake::new();
    lake.analyze(lake.input("v8.hprof", &v8)).assert().success();
    assert_ne!(Table::read(&lake.run(), "snapshot.parquet").texts("format")[0].as_deref(), Some("hprof"));
}

#[test]
fn dumps_in_folders() {
    let lake = Lake::new();
    let plain = bytes(&chain(3));
    fs::create_dir_all(lake.folder().join("nightly/deep")).unwrap();
    lake.input("nightly/a.hprof", &plain);
    lake.input("nightly/deep/b.hprof.gz", &gzip(&plain));
    lake.input("nightly/deep/c.hprof.zst", &zstd(&plain));
    lake.input("nightly/notes.txt", b"not a dump");
    lake.analyze(lake.folder().join("nightly")).assert().success();
    assert_eq!(lake.runs().len(), 3);
}

#[test]
fn options_that_make_no_sense() {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", &bytes(&chain(3)));
    lake.analyze(&input).args(["--referents", "maybe"]).assert().code(2);
    assert!(!lake.path().exists());
    lake.analyze(&input).args(["--referents", "hold"]).assert().success();
    lake.analyze(&input).args(["--referents", "hold"]).assert().success();
    // Another policy is another run: it must not pass for the same.
    let (cause, advice) = complaint(lake.analyze(&input).args(["--referents", "skip"]), 1);
    assert!(cause.contains("--referents"), "{cause}");
    assert!(advice.contains("--force"), "{advice}");
}

/// The budget is an upper bound, whatever the dump says.
#[test]
fn memory_stays_within_the_budget() {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", &bytes(&chain(20_000)));
    lake.analyze(&input).args(["--memory", "96MiB"]).assert().success();
    let peak = Table::read(&lake.run(), "snapshot.parquet").u64s("peak_rss_bytes")[0];
    assert!(peak.is_none_or(|peak| peak < 120 << 20), "{peak:?}");
}
