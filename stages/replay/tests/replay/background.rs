//! Collections beside the program: of each object it must be known when and in which generation it died.

use crate::beside::{Done, Heap};
use crate::nettrace;
use crate::support::{EXACT, Replayed, cases, replay, tracked, try_replay};
use heaplake_schemas::object_lifetimes::ALIVE;
use heaplake_schemas::replay as columns;

fn is_true(replayed: &Replayed, heap: &Heap, seed: u64) {
    assert!(replayed.metadata.anomalies.is_empty(), "seed {seed}: {:?}", replayed.metadata.anomalies);
    if !replayed.metadata.tracked {
        return;
    }
    for (row, truth) in replayed.rows(columns::TRACKS).iter().zip(&heap.objects) {
        let died = truth.died.map_or((u32::MAX, u32::MAX), |(gc, generation)| (gc, u32::from(generation)));
        let object = format!("seed {seed}, object {} at {:x}", row.object, row.first_address);
        assert_eq!((row.died_at_gc, row.generation), died, "{object}");
        let found = (row.bytes, row.first_address, row.last_address, row.moves, row.allocated_at_gc);
        assert_eq!(found, (truth.bytes, truth.first_address, truth.address, truth.moves, truth.born), "{object}");
    }
    let rows = replayed.rows(columns::COLLECTIONS);
    let found = rows.iter().map(|row| Done {
        gc: row.gc,
        dead: row.dead_objects,
        dead_bytes: row.dead_bytes,
        moved: row.moved_objects,
        live: row.live_objects,
    });
    assert!(found.eq(heap.collections.iter().copied()), "seed {seed}: {:?}", heap.collections);
    for row in &rows {
        assert!(
            matches!((row.walk_missing, row.walk_extra), (0, 0) | (columns::ABSENT, columns::ABSENT)),
            "seed {seed}"
        );
        assert_eq!(row.doubtful_objects, 0, "seed {seed}");
    }
    let alive = heap.objects.iter().filter(|object| object.died.is_none()).count() as u64;
    let lifetimes = replayed.rows(columns::LIFETIMES);
    let counted = |of: &dyn Fn(usize) -> bool| -> u64 {
        lifetimes.iter().filter(|row| of(row.generation as usize)).map(|row| row.count).sum()
    };
    assert_eq!(counted(&|generation| generation == ALIVE), alive, "seed {seed}");
    for generation in 0..5 {
        let died = heap.objects.iter().filter(|object| object.died.is_some_and(|died| died.1 == generation)).count();
        assert_eq!(counted(&|found| found == usize::from(generation)), died as u64, "seed {seed}");
    }
}

#[test]
fn each_object_dies_where_that_can_be_known() {
    for seed in 0..cases(1500) {
        let heap = Heap::new(seed).live();
        is_true(&replay(heap.log.as_bytes(), tracked()), &heap, seed);
    }
}

/// The same heaps, as traces of threads that race.
#[test]
fn threads_that_race_change_nothing() {
    for seed in 0..cases(1500) / 4 {
        let heap = Heap::new(seed ^ 0x3333_0000).live();
        let trace = nettrace::of_log(&heap.log, seed);
        is_true(&try_replay(&trace, tracked()).unwrap(), &heap, seed);
    }
}

/// What the last row of `collections` says: dead, alive, doubtful; and doubtful ones in all.
fn last(log: &str) -> (u64, u64, u64, u64) {
    let replayed = replay(format!("# clrprof 1\nT 1 X\n{log}# end\n").as_bytes(), EXACT);
    let row = *replayed.rows(columns::COLLECTIONS).last().unwrap();
    (row.dead_objects, row.live_objects, row.doubtful_objects, replayed.metadata.doubtful_count)
}

/// Three objects in a region of generation 0 and one that is frozen; a collection that stops the program keeps them.
const THREE: &str = "A 1 1000 1 32 0\nA 1 1020 1 32 0\nA 1 1040 1 32 0\nA 1 9000 1 32 0\n\
                     G 1 10000 0\nB 0 1000 60 1000\nV 1000 60\nB 1 1000 60 1000\nE 1\n";

#[test]
fn what_is_not_in_the_report_is_dead() {
    let log = format!(
        "{THREE}G 2 11111 0 1\nB 1 1000 60 1000\nA 1 2000 1 32 0\nV 1000 20\nV 2000 20\nA 1 1020 1 32 0\nE 2\n"
    );
    assert_eq!(last(&log), (2, 4, 0, 0));
}

/// Whether these survived is not known; what was written over did not.
#[test]
fn a_report_that_is_missing_leaves_doubt() {
    let begun = format!("{THREE}G 2 11111 0 1\nB 1 1000 60 1000\nA 1 1010 1 32 0\n");
    assert_eq!(last(&format!("{begun}E 2\n")), (2, 3, 1, 1));
    // The next report of the whole heap tells, though the region is gone.
    let told = format!("{begun}E 2\nG 3 11111 0\nB 2 3000 0 1000\nV 1010 20\nB 2 3000 0 1000\nE 3\n");
    assert_eq!(last(&told), (1, 2, 0, 1));
}

/// The end of the trace comes first: nothing is said of what was not written over.
#[test]
fn a_collection_that_never_ends_reclaims_what_was_written_over() {
    let log = format!("{THREE}G 2 11111 0 1\nB 1 1000 60 1000\nA 1 1020 1 32 0\nV 1000 20\n");
    assert_eq!(last(&log), (1, 0, 2, 2));
    let replayed = replay(format!("# clrprof 1\nT 1 X\n{log}# end\n").as_bytes(), EXACT);
    assert_eq!(replayed.metadata.live_count, 4);
    assert_eq!(replayed.metadata.anomalies["starts_without_end"], 1);
}

/// An object that ends behind the report of its memory is not what was reported.
#[test]
fn an_object_that_is_cut_by_the_report_is_dead() {
    assert_eq!(last(&format!("{THREE}G 2 11111 0 1\nB 1 1000 60 1000\nV 1000 30\nE 2\n")), (2, 2, 0, 0));
}

/// Before there were regions, young generations lie behind each other, and stay.
#[test]
fn segments_keep_their_young() {
    let condemned = |ranges: &str| {
        let log = format!("{THREE}G 2 11111 0 1\n{ranges}V 1000 60\nE 2\n");
        let replayed = replay(format!("# clrprof 1\nT 1 X\n{log}# end\n").as_bytes(), EXACT);
        replayed.rows(columns::COLLECTIONS).last().unwrap().condemned
    };
    assert_eq!(condemned("B 2 800 800 800\nB 1 1000 40 40\nB 0 1040 20 1000\nB 3 5000 0 10\n"), 0b1100);
    assert_eq!(condemned("B 2 800 700 800\nB 1 1000 60 1000\nB 0 2028 20 1000\nB 3 5000 0 10\n"), 0b1111);
}
