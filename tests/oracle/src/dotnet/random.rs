//! Random heaps: small, and odd in every way that a trace allows.

use super::model::{Heap, Object, Root, Static, Type, Walk};
use crate::graph::random_graph;
use crate::rng::SplitMix64;

/// Names of types.
const NAMES: [&str; 7] = ["System.String", "System.Byte[]", "<>c", "<>c", "Foo`1[System.String]", "", "Größe"];

/// A random heap of at most `most` objects per walk, with addresses that fit into 32 bits.
pub fn heap(seed: u64, most: usize) -> Heap {
    let rng = &mut SplitMix64::new(seed);
    let mut heap = Heap {
        types: Vec::new(),
        modules: vec![(0x10, "/usr/lib/Core.dll".to_owned()), (0x20, "C:\\app\\App.exe".to_owned())],
        walks: Vec::new(),
    };
    for number in 0..1 + rng.below(9) as u64 {
        let name = NAMES[rng.below(NAMES.len())].to_owned();
        heap.types.push(Type {
            id: 0x5000 + number * 8,
            module: [0x10, 0x10, 0x20, 0x30][rng.below(4)],
            token: 0x200_0000 + rng.below(3) as u32,
            array: name.ends_with("[]") || (name.is_empty() && rng.one_in(2)),
            string: name == "System.String",
            // Only earlier types, which avoids cycles.
            parameters: if number > 0 && rng.one_in(2) {
                vec![0x5000 + rng.below(number as usize) as u64 * 8]
            } else {
                vec![]
            },
            name,
        });
    }
    for _ in 0..1 + usize::from(rng.one_in(4)) * rng.below(3) {
        let walk = walk(rng, &heap.types, most);
        heap.walks.push(walk);
    }
    heap
}

fn walk(rng: &mut SplitMix64, types: &[Type], most: usize) -> Walk {
    let (addresses, objects) = objects(rng, types, most);
    let some = |rng: &mut SplitMix64| match rng.below(12) {
        0 => 0,
        1 => 0xdead_0000,
        _ => addresses[rng.below(addresses.len())],
    };
    let roots = (0..rng.below(5)).map(|_| Root {
        object: some(rng),
        kind: rng.below(9) as u8,
        flags: [0, 0, 1, 2, 8, 9][rng.below(6)],
    });
    let mut walk = Walk { roots: roots.collect(), objects, ..Walk::default() };
    for _ in 0..rng.below(4) {
        let type_id = if rng.one_in(9) { 0x8888 } else { types[rng.below(types.len())].id };
        let field = ["s_cache", "<>9", ""][rng.below(3)].to_owned();
        walk.statics.push(Static { object: some(rng), type_id, field, thread: rng.one_in(3) });
    }
    for _ in 0..rng.below(4) {
        walk.dependents.push((some(rng), some(rng)));
    }
    walk
}

/// The objects of a walk, and their addresses.
fn objects(rng: &mut SplitMix64, types: &[Type], most: usize) -> (Vec<u64>, Vec<Object>) {
    let (n, arcs) = random_graph(rng.next_u64(), most);
    // Mostly adjacent, in any order.
    let mut addresses: Vec<u64> = (0..n as u64).map(|node| 0x1_0000 + node * 24).collect();
    if rng.one_in(3) {
        addresses.iter_mut().for_each(|address| *address += 0x100_0000 * rng.below(40) as u64);
    }
    if rng.one_in(2) {
        rng.shuffle(&mut addresses);
    }
    let mut objects: Vec<Object> = addresses
        .iter()
        .map(|&address| {
            let type_id = if rng.one_in(40) { 0x9999 } else { types[rng.below(types.len())].id };
            Object { address, size: u64::from(rng.small(200)), type_id, references: Vec::new() }
        })
        .collect();
    for (from, to) in arcs {
        let target = if rng.one_in(60) { 0xdead_0000 } else { addresses[to as usize] };
        objects[from as usize].references.push(target);
    }
    (addresses, objects)
}
