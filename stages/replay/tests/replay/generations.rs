//! Generations of objects, ranges and roots of collections, and deaths by path of calls, against the truth.

use crate::heap::Heap;
use crate::nettrace;
use crate::simulated::simulated;
use crate::support::{Chance, EXACT, Replayed, cases, replay, replay_with, tracked, try_replay};
use heaplake_schemas::object_lifetimes::ALIVE;
use heaplake_schemas::replay::{self as columns, ABSENT};
use std::collections::{BTreeMap, BTreeSet};

const NONE: u32 = u32::MAX;

/// The rows that the truth gives: object, generation, since when and until when.
fn truth(heap: &Heap) -> Vec<[u32; 4]> {
    let mut rows = Vec::new();
    for (at, object) in heap.objects.iter().enumerate() {
        for (number, &(since, generation)) in object.generations.iter().enumerate() {
            let next = object.generations.get(number + 1).map(|&(since, _)| since);
            let until = next.or(object.died.map(|(gc, _)| gc)).unwrap_or(NONE);
            rows.push([at as u32, generation.into(), since, until]);
        }
    }
    rows
}

fn is_true(replayed: &Replayed, heap: &Heap, seed: u64) {
    let found: Vec<[u32; 4]> = replayed
        .rows(columns::OBJECT_GENERATIONS)
        .iter()
        .map(|row| [row.object, row.generation, row.since_gc, row.until_gc])
        .collect();
    // Where memory was taken after the last collection, its generation is unknown.
    let told = |row: &[u32; 4]| {
        let object = &heap.objects[row[0] as usize];
        object.died.is_some() || heap.is_told(object)
    };
    let found: Vec<[u32; 4]> = found.into_iter().filter(told).collect();
    let truth: Vec<[u32; 4]> = truth(heap).into_iter().filter(told).collect();
    assert_eq!(found, truth, "seed {seed}");
    for (row, object) in
        replayed.rows(columns::TRACKS).iter().zip(&heap.objects).filter(|(_, object)| heap.is_told(object))
    {
        let last = object.generations.last().filter(|_| object.died.is_none());
        assert_eq!(row.living, last.map_or(NONE, |&(_, generation)| generation.into()), "seed {seed}");
    }
}

/// Whether collections report their generations as they leave them or only as they find them, the answer is one.
#[test]
fn each_object_is_in_its_generation_all_its_life() {
    for seed in 0..cases(3000) / 2 {
        let heap = simulated(seed ^ 0x6e6e_0000);
        let last = heap.collections.len() as u64;
        for log in [heap.log.clone(), without_ends(&heap.log, last)] {
            let replayed = try_replay(log.as_bytes(), tracked()).unwrap();
            if replayed.metadata.tracked {
                is_true(&replayed, &heap, seed);
            }
        }
    }
}

/// The log without the ranges at the ends of collections, but those of the last.
fn without_ends(log: &str, last: u64) -> String {
    let (mut starts, mut number, mut reported) = (BTreeSet::new(), 0, false);
    let mut kept = String::new();
    for line in log.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let keep = match fields[0] {
            "G" => {
                (starts, reported, number) = (BTreeSet::new(), false, number + 1);
                true
            }
            "M" | "V" => {
                reported = true;
                true
            }
            "B" => (starts.insert(fields[2].to_owned()) && !reported) || number == last,
            _ => true,
        };
        if keep {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

/// The same from a `.nettrace`, and with a budget so small that what is seen goes to disk.
#[test]
fn neither_format_nor_budget_changes_generations() {
    for seed in 0..cases(3000) / 10 {
        let heap = simulated(seed ^ 0x6f6f_0000);
        let trace = nettrace::of_log(&heap.log, seed);
        let racing = try_replay(&trace, tracked()).unwrap();
        if racing.metadata.tracked {
            is_true(&racing, &heap, seed);
        }
        let small = replay_with(heap.log.as_bytes(), tracked(), 17 << 20, 1 << 16).unwrap();
        let large = replay_with(heap.log.as_bytes(), tracked(), 1 << 30, 1 << 16).unwrap();
        let column = columns::OBJECT_GENERATIONS;
        assert_eq!(small.rows(column), large.rows(column), "seed {seed}");
        assert_eq!(small.rows(columns::PATHS), large.rows(columns::PATHS), "seed {seed}");
    }
}

const HEAD: &str = "# clrprof 1\nT 1 X\n";

/// A generation is compacted or swept, never both; another one of the same collection may be the other.
#[test]
fn both_kinds_in_one_generation_are_an_anomaly() {
    let ranges = "B 0 100 100 100\nB 1 300 100 100\n";
    let count = |reports: &str| {
        let log = format!("{HEAD}A 1 108 1 24 0\nA 1 308 1 24 0\nG 1 11 0\n{ranges}{reports}E 1\n# end\n");
        replay(log.as_bytes(), EXACT).anomaly("generations_moved_and_surviving")
    };
    assert_eq!(count("M 108 500 18\nV 308 18\n"), 0);
    assert_eq!(count("M 108 500 18\nV 130 18\n"), 1);
    assert_eq!(count("M 108 500 18\nV 130 18\nV 308 18\nM 340 600 18\n"), 2);
    // A range outside all generations belongs to none.
    assert_eq!(count("M 108 500 18\nV 900 18\n"), 0);
}

/// Random reports against a count that looks at every range for every survivor.
#[test]
fn anomalies_equal_a_naive_count() {
    for seed in 0..cases(3000) {
        let mut chance = Chance::new(seed ^ 0x7070);
        let mut log = "# clrprof 1\nT 1 X\n".to_owned();
        let mut expected = 0;
        for gc in 1..=chance.below(4) {
            log += &format!("G {gc} 11111 0\n");
            let mut ranges = Vec::new();
            let mut start = 0x1000;
            for _ in 0..chance.below(6) {
                let (generation, used) = (chance.below(5), 0x10 * chance.below(8));
                ranges.push((generation, start, used));
                start += 0x100 + used;
            }
            chance.shuffle(&mut ranges);
            for (generation, start, used) in &ranges {
                log += &format!("B {generation} {start:x} {used:x} {used:x}\n");
            }
            let (mut moved, mut stayed) = (BTreeSet::new(), BTreeSet::new());
            for number in 0..chance.below(8) {
                let from = 0x1000 + 8 * chance.below(0x100);
                let is_moved = chance.percent(50);
                if is_moved {
                    log += &format!("M {from:x} {:x} 8\n", 0x10_0000 + number * 64);
                } else {
                    log += &format!("V {from:x} 8\n");
                }
                for &(generation, start, used) in &ranges {
                    if (start..start + used).contains(&from) {
                        (if is_moved { &mut moved } else { &mut stayed }).insert(generation);
                    }
                }
            }
            expected += moved.intersection(&stayed).count() as u64;
            log += &format!("E {gc}\n");
        }
        let replayed = replay(log.as_bytes(), EXACT);
        let found = replayed.anomaly("generations_moved_and_surviving");
        assert_eq!(found, expected, "seed {seed}\n{log}");
    }
}

#[test]
fn ranges_and_roots_of_a_collection() {
    let log = format!(
        "{HEAD}A 1 108 1 24 0\nA 1 308 1 32 0\nG 7 1 0\nB 1 300 100 120\nB 0 100 100 180\nM 108 400 18\n\
         R 400 1 0 aa\nR 400 1 0 aa\nR 310 3 4 bb\nR 308 3 2 bb\nR 0 2 0 0\nR 999 0 0 0\n\
         B 1 300 180 200\nB 0 100 0 180\nE 7\n# end\n"
    );
    let replayed = replay(log.as_bytes(), tracked());
    let bounds: Vec<_> = replayed
        .rows(columns::BOUNDS)
        .iter()
        .map(|row| (row.gc, row.moment, row.generation, row.start, row.used, row.reserved, row.moved, row.surviving))
        .collect();
    let none = ABSENT;
    assert_eq!(
        bounds,
        [
            (7, 0, 0, 0x100, 0x100, 0x180, 1, 0),
            (7, 0, 1, 0x300, 0x100, 0x120, 0, 0),
            (7, 1, 0, 0x100, 0, 0x180, none, none),
            (7, 1, 1, 0x300, 0x180, 0x200, none, none),
        ]
    );
    let roots: Vec<_> = replayed
        .rows(columns::ROOTS)
        .iter()
        .map(|row| (row.address, row.kind, row.flags, row.id, row.count, row.object, row.type_id))
        .collect();
    assert_eq!(
        roots,
        [
            (0, 1, 0, 0, 1, NONE, NONE),
            (0x308, 2, 2, 0xbb, 1, 1, 0),
            // Inside the object.
            (0x310, 2, 4, 0xbb, 1, 1, 0),
            (0x400, 0, 0, 0xaa, 2, 0, 0),
            (0x999, 3, 0, 0, 1, NONE, NONE),
        ]
    );
    let row = replayed.rows(columns::COLLECTIONS)[0];
    assert_eq!(row.roots, [2, 1, 2, 1]);
}

/// Functions of the stacks that the simulation writes, the outermost first.
const STACKS: [&[u32]; 5] = [&[], &[2, 1], &[3], &[2, 4, 4], &[2, 1, 5]];

/// Objects and bytes, inclusive and exclusive, by path and generation.
type Paths = BTreeMap<(Vec<String>, u32), [u64; 4]>;

#[test]
fn deaths_by_path_are_the_truth() {
    for seed in 0..cases(3000) / 4 {
        let heap = simulated(seed ^ 0x5252_0000);
        let replayed = try_replay(heap.log.as_bytes(), EXACT).unwrap();
        if !replayed.metadata.tracked {
            assert!(replayed.rows(columns::PATHS).is_empty());
            continue;
        }
        let mut truth = Paths::new();
        for object in heap.objects.iter().filter(|object| object.stack > 0) {
            let generation = object.died.map_or(ALIVE as u32, |(_, generation)| u32::from(generation));
            let stack: Vec<String> =
                STACKS[object.stack as usize].iter().map(|function| format!("N.C::f{function}")).collect();
            for depth in 1..=stack.len() {
                let sum = truth.entry((stack[..depth].to_vec(), generation)).or_default();
                let own = u64::from(depth == stack.len());
                for (sum, more) in sum.iter_mut().zip([1, object.bytes, own, own * object.bytes]) {
                    *sum += more;
                }
            }
        }
        assert_eq!(paths(&replayed), truth, "seed {seed}");
    }
}

fn paths(replayed: &Replayed) -> Paths {
    let names = replayed.strings(columns::STRINGS);
    let callees = replayed.rows(columns::CALLEES);
    let (mut found, mut before) = (Paths::new(), None);
    let mut path: Vec<String> = Vec::new();
    for row in replayed.rows(columns::PATHS) {
        assert!(before.replace((row.node, row.generation)) < Some((row.node, row.generation)), "rows are in order");
        let callee = callees[row.node as usize];
        assert_eq!((row.parent, row.depth, row.function_id), (callee.parent, callee.depth, callee.function_id));
        path.truncate(row.depth as usize);
        path.push(names.text(row.function as usize).into_owned());
        assert_eq!((row.inclusive_samples, row.exclusive_samples), (row.inclusive_count, row.exclusive_count));
        let amounts = [row.inclusive_count, row.inclusive_bytes, row.exclusive_count, row.exclusive_bytes];
        found.insert((path.clone(), row.generation), amounts);
    }
    found
}
