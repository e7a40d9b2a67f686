//! The example of "Object tracking in the profiling API": ten objects, of which three die and the others close up.

use heaplake_kit::Budget;
use heaplake_replay::track::{Condemned, Object, Objects, Pass, Survival};
use std::fs;
use std::time::Duration;

const BEFORE: [u64; 10] = [8, 9, 10, 12, 13, 15, 16, 17, 18, 19];

/// The first table of the document: where each object is afterwards.
const AFTER: [Option<u64>; 10] = [Some(7), None, Some(8), Some(10), None, Some(11), Some(12), Some(13), Some(14), None];

/// The second one: as the runtime reports it.
const RANGES: [Survival; 3] = [
    Survival { from: 8, to: 7, length: 1 },
    Survival { from: 10, to: 8, length: 3 },
    Survival { from: 15, to: 11, length: 4 },
];

fn object(address: u64, serial: u64) -> Object {
    Object { address, bytes: 1, born_at: 0, born: 0, type_id: 0, cell: 0, moves: 0, serial }
}

#[test]
fn ten_objects_of_the_document() {
    let mut objects = Objects::new(&Budget::new(64 << 20)).unwrap();
    for (&address, serial) in BEFORE.iter().zip(0..) {
        objects.allocate(object(address, serial)).unwrap();
    }
    let mut dead = Vec::new();
    let condemned = [Condemned { start: 7, end: 20, generation: 0 }];
    let done = objects
        .collect(Pass::stopped(&condemned, &RANGES), |object, generation| {
            dead.push((object.serial, generation));
            Ok(())
        })
        .unwrap();
    assert_eq!(dead, [(1, 0), (4, 0), (9, 0)]);
    assert_eq!((done.survived, done.moved, done.dead, done.overrun), (7, 7, 3, 0));
    let mut found = [None; 10];
    objects.iter().for_each(|object| found[object.serial as usize] = Some(object.address));
    assert_eq!(found, AFTER);
    assert_eq!(objects.alive(), (7, 7));
}

/// The document gives the second range a length of 2, which leaves out the object at 12 that its first table keeps. Taken
/// at its word, that object is not reported, and so it is dead.
#[test]
fn what_is_not_reported_is_dead() {
    let mut objects = Objects::new(&Budget::new(64 << 20)).unwrap();
    for (&address, serial) in BEFORE.iter().zip(0..) {
        objects.allocate(object(address, serial)).unwrap();
    }
    let mut ranges = RANGES;
    ranges[1].length = 2;
    let mut dead = Vec::new();
    let condemned = [Condemned { start: 7, end: 20, generation: 0 }];
    objects
        .collect(Pass::stopped(&condemned, &ranges), |object, _| {
            dead.push(object.address);
            Ok(())
        })
        .unwrap();
    assert_eq!(dead, [9, 12, 13, 19]);
}

/// Processor time of this thread so far: the time of day goes on while other programs work. Zero where the system does not
/// show it.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/stat").unwrap_or_default();
    // The name comes first, and may contain anything. Then the state; eleven fields on, user time and system time, in
    // hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    Duration::from_millis(10 * fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
}

/// A collection costs what it condemns: the objects elsewhere are not looked at, however many.
#[test]
fn objects_elsewhere_are_left_alone() {
    let mut objects = Objects::new(&Budget::new(1 << 30)).unwrap();
    for serial in 0..2_000_000 {
        objects.allocate(object(0x1_0000_0000 + serial * 24, serial)).unwrap();
    }
    objects.settle().unwrap();
    let before = processor_time();
    let condemned = [Condemned { start: 0x1000, end: 0x2_0000, generation: 0 }];
    for round in 0..2000 {
        objects.allocate(object(0x1000 + round * 8, 2_000_000 + round)).unwrap();
        let done = objects.collect(Pass::stopped(&condemned, &[]), |_, _| Ok(())).unwrap();
        assert_eq!(done.dead, 1);
    }
    // Looking at two million objects two thousand times would take many seconds.
    let work = processor_time() - before;
    assert!(work < Duration::from_secs(5), "{work:?}");
    assert_eq!(objects.alive().0, 2_000_000);
}
