//! Dumps of valid records that contradict each other: cycles of superclasses, missing classes, repeated addresses.

use super::dumps::{accepted, assert_means, assert_survives, bytes, chain};
use heaplake_oracle::jvm::Layout;
use heaplake_oracle::jvm::model::{
    Class, LoadedClass, Object, ObjectData, Primitive, PrimitiveValues, Root, RootKind, Type, Value,
};
use heaplake_schemas::options::AnalysisOptions;
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;

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
                let file = dump.to_bytes(&Layout { order, ..Layout::default() });
                assert_survives(&file);
                // With `salvage` the cycle is cut, and the run reports it.
                let (lake, options) = (Lake::new(), Analysis::default().options);
                let analysis =
                    Analysis { options: AnalysisOptions { salvage: true, ..options }, ..Analysis::default() };
                let run = analyze(&lake.path(), &lake.input("heap.hprof", &file), analysis).unwrap().run;
                let partial = run.summary.partial.unwrap();
                assert!(partial.contains("expected a chain of superclasses that ends"), "{partial}");
            }
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
    // A reference field at each level: the field lists of all classes together grow quadratically.
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
        // The address of the node for the boot loader.
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
    let failure = analyze(&lake.path(), &input, Analysis::default()).err().map(|failure| failure.to_string());
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

/// No array indexed by address fits into memory.
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
