//! Property tests: the comparison equals naive ones.

use super::made::{Made, MadeRun, class_of, compared, folder, rows, tally};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const CLASSES: [&str; 5] = [",A", "1,2,3,A", ",B", ",(string)", "2,2,2,C"];

/// A minimal budget, and one that holds everything.
const BUDGETS: [u64; 2] = [64 << 20, 512 << 20];

fn node() -> impl Strategy<Value = Made> {
    let id = prop_oneof![4 => 0..40u64, 1 => Just(u64::MAX), 1 => (0..3u64).prop_map(|high| high << 40)];
    (id, 0..5u32, 0..3u64, 0..200u64, any::<bool>()).prop_map(|(id, class, shallow, more, garbage)| Made {
        id,
        class,
        shallow: shallow * 8,
        retained: shallow * 8 + more,
        unreachable: garbage,
        properties: Vec::new(),
    })
}

/// A snapshot; ids are usually unique.
fn snapshot() -> impl Strategy<Value = Vec<Made>> {
    (prop::collection::vec(node(), 0..40), prop::bool::weighted(0.8)).prop_map(|(mut nodes, unique)| {
        let mut seen = BTreeSet::new();
        nodes.retain(|node| !unique || seen.insert(node.id));
        nodes
    })
}

/// Shallow sizes of counting nodes by class and id, in order.
fn counted(nodes: &[Made], v8: bool) -> BTreeMap<(&'static str, u64), Vec<u64>> {
    let mut counted: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| if v8 { node.shallow > 0 } else { !node.unreachable }) {
        counted.entry((CLASSES[node.class as usize], node.id)).or_default().push(node.shallow);
    }
    counted
}

/// By class: count of new, deleted and kept objects, then their bytes.
fn naive(base: &[Made], target: &[Made], v8: bool) -> BTreeMap<&'static str, [u64; 6]> {
    let (old, new) = (counted(base, v8), counted(target, v8));
    let mut sums: BTreeMap<_, [u64; 6]> = BTreeMap::new();
    let none = Vec::new();
    for key in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let (before, after) = (old.get(key).unwrap_or(&none), new.get(key).unwrap_or(&none));
        let both = before.len().min(after.len());
        let sum = sums.entry(key.0).or_default();
        let of = [(0, &after[both..]), (1, &before[both..]), (2, &after[..both])];
        for (at, sizes) in of {
            sum[at] += sizes.len() as u64;
            sum[at + 3] += sizes.iter().sum::<u64>();
        }
    }
    sums
}

fn check_classes(folder: &Path, expected: &BTreeMap<&'static str, [u64; 6]>) {
    let numbers = ["new_count", "deleted_count", "kept_count", "new_bytes", "deleted_bytes", "kept_bytes"];
    let found = rows(folder, "diff_object_classes.parquet", &["class_key"], &numbers);
    let found: BTreeMap<String, Vec<u64>> = found
        .into_iter()
        .map(|(mut texts, numbers)| (texts.remove(0), numbers.into_iter().flatten().collect()))
        .collect();
    let expected: BTreeMap<String, Vec<u64>> =
        expected.iter().map(|(key, sums)| ((*key).to_owned(), sums.to_vec())).collect();
    assert_eq!(found, expected);
    // The rows of objects add up to the same.
    let objects = rows(folder, "diff_objects.parquet", &["class_key", "status"], &["shallow_bytes"]);
    let counts = tally(objects.iter().map(|(texts, _)| (texts[0].as_str(), texts[1].as_str())));
    for (key, sums) in &expected {
        let of = ["new", "deleted", "kept"].map(|status| counts.get(&(key.as_str(), status)).copied().unwrap_or(0));
        assert_eq!(of[..], sums[..3], "{key}");
    }
    assert_eq!(objects.len() as u64, expected.values().flat_map(|sums| &sums[..3]).sum::<u64>());
}

fn check_candidates(folder: &Path, [base, target, last]: [&[Made]; 3]) {
    let ids = |nodes: &[Made]| nodes.iter().map(|node| node.id).collect::<BTreeSet<_>>();
    let (base, target) = (ids(base), ids(target));
    let wanted = last.iter().enumerate().filter(|(_, node)| target.contains(&node.id) && !base.contains(&node.id));
    let mut wanted: Vec<_> = wanted.map(|(at, node)| (node, at as u64)).collect();
    wanted.sort_by_key(|(node, at)| (std::cmp::Reverse(node.retained), node.id, *at));
    let wanted: Vec<_> = wanted
        .into_iter()
        .map(|(node, at)| {
            let name = Some(class_of(CLASSES[node.class as usize]).to_owned());
            (name, vec![Some(node.id), Some(at), Some(node.shallow), Some(node.retained)])
        })
        .collect();
    let numbers = ["id", "node", "shallow_bytes", "retained_bytes"];
    let found = rows(folder, "diff_leak_candidates.parquet", &["class"], &numbers);
    let found: Vec<_> = found.into_iter().map(|(mut texts, numbers)| (texts.pop(), numbers)).collect();
    assert_eq!(found, wanted);
}

/// Contents of all tables.
fn bytes(folder: &Path) -> Vec<Vec<u8>> {
    let mut files: Vec<_> = fs::read_dir(folder.join("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

fn check(snapshots: [&[Made]; 3], v8: bool, old: bool) {
    let folder = folder();
    for (nodes, name) in snapshots.iter().zip(["base", "target", "last"]) {
        let format = if v8 { "v8-heapsnapshot" } else { "hprof" };
        MadeRun { format, classes: &CLASSES, nodes, edges: false, old }.write(&folder.path().join(name));
    }
    let mut expected = None;
    for (budget, threads) in BUDGETS.into_iter().zip([1, 3]) {
        compared(folder.path(), true, budget, threads).unwrap();
        check_classes(folder.path(), &naive(snapshots[0], snapshots[1], v8));
        check_candidates(folder.path(), snapshots);
        let written = bytes(folder.path());
        assert!(*expected.get_or_insert_with(|| written.clone()) == written, "budget or threads change bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
    ))]

    #[test]
    fn equal_to_naive_joins(
        base in snapshot(), target in snapshot(), last in snapshot(), v8 in any::<bool>(), old in any::<bool>()
    ) {
        check([&base, &target, &last], v8, old);
    }
}

/// The minimal budget forces several sorted runs.
#[test]
fn large_snapshots_are_compared_in_parts() {
    let nodes = |first: u64, step: u64, count: u64| -> Vec<Made> {
        let node = |at: u64| {
            let id = first + (at * step).wrapping_mul(0x9e37_79b9) % (1 << 32);
            Made { id, class: (id % 5) as u32, shallow: id % 7 * 8, retained: id % 1000, ..Made::default() }
        };
        (0..count).map(node).collect()
    };
    let (base, target, last) = (nodes(7, 1, 500_000), nodes(7, 2, 400_000), nodes(7, 3, 300_000));
    check([&base, &target, &last], true, false);
}

/// With tables of edges, plain objects of the base get the interfaces of the target.
#[test]
fn plain_objects_of_the_base_have_interfaces_of_the_target() {
    let made = |id: u64, class: u32, properties: &[&'static str]| Made {
        id,
        class,
        shallow: 16,
        retained: 16,
        properties: properties.to_vec(),
        ..Made::default()
    };
    let both: [&[&'static str]; 2] = [&["a", "b", "c", "own1"], &["b", "a", "c", "own2"]];
    // {a, b} is more popular in the base, {a, c} in the target.
    let base = [
        made(1, 0, &["a", "b"]),
        made(2, 0, &["a", "b"]),
        made(3, 0, &["a", "b"]),
        made(4, 1, &["a", "c"]),
        made(5, 1, &["a", "c"]),
        made(6, 0, both[0]),
        made(7, 0, both[1]),
        made(8, 2, &["z"]),
    ];
    let mut target = base.to_vec();
    target.extend([made(9, 1, &["a", "c"]), made(10, 1, &["a", "c"]), made(11, 3, &["z"])]);
    (target[5].class, target[6].class, target[7].class) = (1, 1, 3);
    let classes = [",{a, b}", ",{a, c}", ",Object", ",{z}"];
    let compare = |edges: bool| {
        let folder = folder();
        for (name, nodes) in [("base", &base[..]), ("target", &target)] {
            MadeRun { edges, ..MadeRun::v8(&classes, nodes) }.write(&folder.path().join(name));
        }
        let answer = compared(folder.path(), false, BUDGETS[0], 2).unwrap();
        (answer.total.new_count, answer.total.deleted_count, answer.total.kept_count, answer.remarks.len())
    };
    assert_eq!(compare(true), (3, 0, 8, 0));
    assert_eq!(compare(false), (6, 3, 5, 2));
}
