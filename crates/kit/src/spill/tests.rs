//! Compares the groups with a stable sort.

use super::pairs::Pair;
use super::{Divided, PairSpill};
use crate::stage::Silent;
use crate::{Budget, ColumnMap, Context, Residents, Scratch};
use heaplake_schemas::scratch::Column;
use std::sync::atomic::AtomicBool;

const SIZES: Column<u32> = Column::new("sizes");
const VALUES: Column<u32> = Column::new("values");

/// Returns the groups; checks that they do not depend on memory limits.
fn grouped(pairs: &[Pair], keys: usize, memory: u64, announced: u64) -> (Vec<u32>, Vec<u32>) {
    let on_disk = grouped_within(None, pairs, keys, memory, announced);
    for room in [100, 40_000, 1 << 20, 1 << 30] {
        assert!(grouped_within(Some(room), pairs, keys, memory, announced) == on_disk, "{room}");
    }
    on_disk
}

fn grouped_within(room: Option<u64>, pairs: &[Pair], keys: usize, memory: u64, announced: u64) -> (Vec<u32>, Vec<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let residents = room.map(Residents::new);
    let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
    let scratch = match &residents {
        Some(residents) => scratch.with_residents(residents.clone()),
        None => scratch,
    };
    let budget = Budget::new(memory);
    let cancel = AtomicBool::new(false);
    let context = Context { budget: budget.clone(), threads: 1, progress: &Silent, cancel: &cancel };
    let mut spill = PairSpill::create(&budget, &scratch, "spill", keys, announced).unwrap();
    // Some pushed one by one, others in bulk.
    let mut divided = Divided::default();
    for (nth, some) in pairs.chunks(5000).enumerate() {
        if nth % 3 == 0 {
            some.iter().for_each(|&[key, value]| spill.push(key, value).unwrap());
        } else {
            let keys: Vec<u32> = some.iter().map(|pair| pair[0]).collect();
            spill.divider().divide(&keys, some.iter().map(|pair| pair[1]), &mut divided);
            spill.append(&divided).unwrap();
        }
    }
    assert!(room != Some(1 << 30) || spill.spilled_bytes() == 0);
    spill.write_groups(&scratch, &context, 1, SIZES, VALUES).unwrap();
    assert_eq!(budget.used(), 0);
    let read = |column| ColumnMap::uncounted(&scratch, column).unwrap().to_vec();
    (read(SIZES), read(VALUES))
}

/// The expected result: a stable sort.
fn expected(pairs: &[Pair], keys: usize) -> (Vec<u32>, Vec<u32>) {
    let mut sorted: Vec<Pair> = pairs.iter().copied().filter(|pair| pair[0] >= 1).collect();
    sorted.sort_by_key(|pair| std::cmp::Reverse(pair[0]));
    let mut sizes = vec![0; keys];
    sorted.iter().for_each(|pair| sizes[pair[0] as usize] += 1);
    (sizes[1..].iter().rev().copied().collect(), sorted.iter().map(|pair| pair[1]).collect())
}

#[test]
fn groups_equal_a_stable_sort() {
    let mut state = 7u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 4
    };
    let (few, many) = (20_000, 1 << 28);
    // The last three have partitions of 18, 20 and 24 key bits; the last one has several partitions.
    for (keys, count, announced) in [
        (1, 0, 0),
        (2, 10, 10),
        (1000, few, few),
        (1000, few, many),
        (1 << 18, few, few),
        (1 << 22, few, 1 << 20),
        (3 << 23, few, few),
    ] {
        let pairs: Vec<Pair> = (0..count).map(|i| [random() % keys, i]).collect();
        let groups = grouped(&pairs, keys as usize, 256 << 20, announced.into());
        assert_eq!(groups, expected(&pairs, keys as usize), "{keys} keys, {count} pairs");
    }
}

#[test]
fn the_last_value_of_a_key_is_written() {
    const LAST: Column<i32> = Column::new("last");
    for (keys, announced) in [(1, 0), (1000, 1 << 28), (1 << 18, 1 << 20), (3 << 23, 20_000)] {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let (budget, cancel) = (Budget::new(256 << 20), AtomicBool::new(false));
        let context = Context { budget: budget.clone(), threads: 1, progress: &Silent, cancel: &cancel };
        let mut spill = PairSpill::create(&budget, &scratch, "spill", keys, announced).unwrap();
        let mut expected = vec![-1; keys];
        for value in 0..20_000u32 {
            let key = value.wrapping_mul(2_654_435_761) as usize % keys;
            spill.push(key as u32, value).unwrap();
            expected[key] = value.cast_signed();
        }
        spill.write_last(&scratch, &context, -1, LAST).unwrap();
        assert!(*ColumnMap::uncounted(&scratch, LAST).unwrap() == expected, "{keys}");
        assert_eq!(budget.used(), 0);
    }
}

#[test]
fn a_hub_that_does_not_fit_is_streamed() {
    // One key with 100,000 values among others; the budget allows 65,536 values.
    let pairs: Vec<Pair> = (0..150_000u32).map(|i| [if i % 3 == 0 { i % 40 } else { 17 }, i]).collect();
    assert_eq!(grouped(&pairs, 40, 1 << 20, 150_000), expected(&pairs, 40));
}

#[test]
fn hubs_that_do_not_fit_together_are_taken_apart() {
    // More keys than are split at once, each with more values than fit, and some in between.
    let (hubs, values) = (70u32, 66_000);
    let pairs: Vec<Pair> =
        (0..hubs * values).map(|i| [if i % 50 == 0 { i % 700 } else { 10 * (i % hubs) }, i]).collect();
    assert_eq!(grouped(&pairs, 700, 1 << 20, 1 << 17), expected(&pairs, 700));
}
