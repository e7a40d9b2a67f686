//! Thousands of random heaps: replay must find every identity, death and age exactly.

use crate::heap::{Collection, Heap};
use crate::nettrace;
use crate::support::{Chance, EXACT, Replayed, cases, folder, replay_with, tracked, try_replay};
use heaplake_input::bytes::Bytes;
use heaplake_input::source::Source;
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context, Scratch};
use heaplake_replay::log;
use heaplake_replay::replay::Replay;
use heaplake_schemas::object_lifetimes::ALIVE;
use heaplake_schemas::options::Recording;
use heaplake_schemas::replay as columns;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

pub(crate) fn simulated(seed: u64) -> Heap {
    let mut heap = Heap::new(seed);
    let mut chance = Chance::new(!seed);
    let (steps, collects) = (20 + chance.below(300), 1 + chance.below(10));
    for _ in 0..steps {
        if chance.percent(collects) { heap.collect() } else { heap.allocate() }
    }
    heap.log += "# end\n";
    heap
}

/// Objects, bytes, collections lived through in all, and at most.
type Ages = (u64, u64, u64, u32);

fn ages(heap: &Heap) -> BTreeMap<(u64, usize), Ages> {
    let mut ages: BTreeMap<(u64, usize), Ages> = BTreeMap::new();
    let now = heap.collections.len() as u32;
    for object in &heap.objects {
        let (end, generation) = object.died.map_or((now, ALIVE), |(gc, generation)| (gc, usize::from(generation)));
        let age = end - object.born;
        let sum = ages.entry((object.type_id, generation)).or_default();
        *sum = (sum.0 + 1, sum.1 + object.bytes, sum.2 + u64::from(age), sum.3.max(age));
    }
    ages
}

#[test]
fn identities_deaths_and_ages_are_exact() {
    for seed in 0..cases(3000) {
        let heap = simulated(seed);
        let size = [1, 7, 100, 1 << 16][seed as usize % 4];
        let replayed = replay_with(heap.log.as_bytes(), EXACT, 64 << 20, size).unwrap();
        is_true(&replayed, &heap, seed);
    }
}

/// The same heap, written by four threads that race and by the collecting threads of two heaps: nothing but times differs.
#[test]
fn threads_that_race_are_brought_into_order() {
    for seed in 0..cases(3000) / 4 {
        let heap = simulated(seed ^ 0x7777_0000);
        let trace = nettrace::of_log(&heap.log, seed);
        let size = [3, 64, 1000, 1 << 16][seed as usize % 4];
        let racing = replay_with(&trace, EXACT, 64 << 20, size).unwrap();
        is_true(&racing, &heap, seed);
        let alone = try_replay(heap.log.as_bytes(), EXACT).unwrap();
        assert_eq!(calls(&racing), calls(&alone), "seed {seed}");
        assert_eq!(racing.rows(columns::TYPES), alone.rows(columns::TYPES), "seed {seed}");
        // What dies where and at which age, but for seconds.
        let ages = |replayed: &Replayed| -> Vec<(u32, u32, u64, u32)> {
            let rows = replayed.rows(columns::LIFETIMES);
            rows.iter().map(|row| (row.type_id, row.generation, row.count, row.max_age_gcs)).collect()
        };
        assert_eq!(ages(&racing), ages(&alone), "seed {seed}");
    }
}

/// Call trees by names: which number a function has depends on who comes first. Objects and bytes of each path.
fn calls(replayed: &Replayed) -> BTreeMap<String, (u64, u64)> {
    let names = replayed.strings(columns::STRINGS);
    let functions: BTreeMap<u32, String> = replayed
        .rows(columns::FUNCTIONS)
        .iter()
        .map(|row| (row.function_id, names.text(row.name as usize).into_owned()))
        .collect();
    let mut calls = BTreeMap::new();
    let mut path: Vec<&str> = Vec::new();
    for row in replayed.rows(columns::CALLEES) {
        path.truncate(row.depth as usize);
        path.push(&functions[&row.function_id]);
        calls.insert(path.join(";"), (row.exclusive_count, row.inclusive_bytes));
    }
    for row in replayed.rows(columns::CALLERS) {
        path.truncate(row.depth as usize);
        path.push(&functions[&row.function_id]);
        let key = format!("{} {}", row.type_id, path.join("<"));
        calls.insert(key, (row.estimated_count, row.estimated_bytes));
    }
    calls
}

/// Deaths by allocating function are the truth, whatever is sampled: those in generation 0 follow from the others.
#[test]
fn sites_are_exact() {
    for seed in 0..cases(3000) / 4 {
        let heap = simulated(seed ^ 0x5150_0000);
        let recording = Recording { sample_interval: [1, 10][seed as usize % 2], seed, ..EXACT };
        let replayed = try_replay(heap.log.as_bytes(), recording).unwrap();
        if !replayed.metadata.tracked {
            continue;
        }
        // The innermost functions of the stacks, as the simulation writes them.
        let innermost = |stack: u64| [0, 1, 3, 4, 5][stack as usize];
        let mut truth: BTreeMap<(String, u32), (u64, u64)> = BTreeMap::new();
        for object in heap.objects.iter().filter(|object| object.stack > 0) {
            let generation = object.died.map_or(ALIVE as u32, |(_, generation)| u32::from(generation));
            let name = format!("N.C::f{}", innermost(object.stack));
            let sum = truth.entry((name, generation)).or_default();
            *sum = (sum.0 + 1, sum.1 + object.bytes);
        }
        let names = replayed.strings(columns::STRINGS);
        let mut found: BTreeMap<(String, u32), (u64, u64)> = BTreeMap::new();
        for row in replayed.rows(columns::SITES) {
            let name = names.text(row.function as usize).into_owned();
            let sum = found.entry((name, row.generation)).or_default();
            *sum = (sum.0 + row.count, sum.1 + row.bytes);
        }
        assert_eq!(found, truth, "seed {seed}");
    }
}

fn is_true(replayed: &Replayed, heap: &Heap, seed: u64) {
    let rows = replayed.rows(columns::COLLECTIONS);
    assert_eq!(rows.len(), heap.collections.len(), "seed {seed}");
    for (row, truth) in rows.iter().zip(&heap.collections) {
        let found = Collection {
            moved_ranges: row.moved_ranges,
            surviving_ranges: row.surviving_ranges,
            moved: row.moved_objects,
            dead: row.dead_objects,
            dead_bytes: row.dead_bytes,
            survived: row.survived_objects,
            live: row.live_objects,
        };
        assert_eq!(found, *truth, "seed {seed}, collection {}", row.gc);
        assert!(matches!((row.walk_missing, row.walk_extra), (0, 0) | (columns::ABSENT, columns::ABSENT)));
    }
    if replayed.metadata.tracked {
        let names: BTreeMap<u32, u64> = types(replayed);
        let found: BTreeMap<(u64, usize), Ages> = replayed
            .rows(columns::LIFETIMES)
            .iter()
            .map(|row| {
                let all = (row.mean_age_gcs * row.count as f64).round() as u64;
                ((names[&row.type_id], row.generation as usize), (row.count, row.bytes, all, row.max_age_gcs))
            })
            .collect();
        assert_eq!(found, ages(heap), "seed {seed}");
    }
    assert!(replayed.metadata.anomalies.is_empty(), "seed {seed}: {:?}", replayed.metadata.anomalies);
}

/// Numbers of the log by numbers of the run, from the names.
fn types(replayed: &Replayed) -> BTreeMap<u32, u64> {
    let names = replayed.strings(columns::TYPE_NAMES);
    let number = |type_id: u32| names.text(type_id as usize).trim_start_matches("Type.Number").parse().unwrap();
    replayed.rows(columns::TYPES).iter().map(|row| (row.type_id, number(row.type_id))).collect()
}

#[test]
fn each_object_is_where_it_went() {
    let folder = folder();
    let scratch = Scratch::reopen(folder.path()).unwrap();
    let cancel = AtomicBool::new(false);
    for seed in 0..cases(3000) {
        let heap = simulated(seed ^ 0xabcd_0000);
        let budget = Budget::new(64 << 20);
        let context = Context { budget: budget.clone(), threads: 1, progress: &Silent, cancel: &cancel };
        let mut replay = Replay::new(&EXACT, &scratch, &budget).unwrap();
        let mut bytes = Bytes::new(Source::of_bytes(heap.log.as_bytes(), 1 << 16), &context);
        log::read(&mut bytes, &mut replay, &budget).unwrap();
        replay.finish().unwrap();
        let found: BTreeMap<u64, (u64, u64, u32)> =
            replay.objects.iter().map(|object| (object.serial, (object.address, object.bytes, object.moves))).collect();
        let truth: BTreeMap<u64, (u64, u64, u32)> = heap
            .alive()
            .iter()
            .map(|&at| (at as u64, (heap.objects[at].address, heap.objects[at].bytes, heap.objects[at].moves)))
            .collect();
        assert_eq!(found, truth, "seed {seed}");
    }
}

/// The rows of `object_tracks` are the truth itself.
#[test]
fn each_way_is_recorded() {
    for seed in 0..cases(3000) / 4 {
        let heap = simulated(seed ^ 0x1234_0000);
        let replayed = try_replay(heap.log.as_bytes(), tracked()).unwrap();
        let rows = replayed.rows(columns::TRACKS);
        if !replayed.metadata.tracked {
            // The log tells of no survivor, so nothing is said of objects.
            assert!(rows.is_empty() && !replayed.scratch().has(columns::MOVES), "seed {seed}");
            continue;
        }
        assert_eq!(rows.len(), heap.objects.len());
        for (row, truth) in rows.iter().zip(&heap.objects) {
            let found = (row.bytes, row.first_address, row.last_address, row.moves, row.allocated_at_gc);
            assert_eq!(
                found,
                (truth.bytes, truth.first_address, truth.address, truth.moves, truth.born),
                "seed {seed}"
            );
            let died = truth.died.map_or((u32::MAX, u32::MAX), |(gc, generation)| (gc, u32::from(generation)));
            assert_eq!((row.died_at_gc, row.generation), died, "seed {seed}");
            assert_eq!(row.stack == u32::MAX, truth.stack == 0, "seed {seed}");
        }
        let moved: u64 = heap.collections.iter().map(|collection| collection.moved).sum();
        assert_eq!(moved > 0, !replayed.rows(columns::MOVES).is_empty());
    }
}
