//! Compares the oracle with Eclipse MAT's own output, object for object and class for class.
//!
//! `cargo run --release --example check_mat -- FILE.hprof...`
//!
//! Needs `FILE.mat.objects.csv` (address, shallow size, retained size) and `FILE.mat.histogram.csv` (class, number,
//! shallow size) beside each file. Prints the differences and fails if there are any.

#![expect(clippy::print_stdout, reason = "this program prints")]

#[path = "../check_golden/differences.rs"]
mod differences;
#[path = "../check_golden/dominators.rs"]
mod dominators;
mod read;

use heaplake_oracle::jvm::truth::truth_with;
use heaplake_oracle::jvm::{Referents, Truth};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    differences::print(check)
}

fn check(path: &Path) -> Vec<String> {
    let dump = read::dump(&std::fs::read(path).expect("the dump can be read"));
    let truth = truth_with(&dump, Referents::Hold, dominators::dominators);
    let golden = |ending| std::fs::read_to_string(path.with_extension(ending)).expect("the goldens can be read");
    let mut differences = Vec::new();
    compare("object", &objects(&truth), &golden_objects(&golden("mat.objects.csv")), &mut differences);
    compare("class", &histogram(&truth), &golden_histogram(&golden("mat.histogram.csv")), &mut differences);
    differences
}

fn compare<K: Ord + std::fmt::Display>(
    what: &str,
    mine: &BTreeMap<K, [u64; 2]>,
    golden: &BTreeMap<K, [u64; 2]>,
    differences: &mut Vec<String>,
) {
    for (key, mine) in mine {
        if golden.get(key) != Some(mine) {
            differences.push(format!("{what} {key}: {mine:?}, golden {:?}", golden.get(key)));
        }
    }
    let lost = golden.keys().filter(|key| !mine.contains_key(key));
    differences.extend(lost.map(|key| format!("{what} {key}: in the golden only")));
}

fn objects(truth: &Truth) -> BTreeMap<u64, [u64; 2]> {
    let reachable = truth.nodes.iter().filter(|node| node.distance.is_some());
    reachable.filter_map(|node| Some((node.address?, [node.shallow, node.retained]))).collect()
}

/// MAT's histogram has one row per class; rows of equal names are merged, since it does not distinguish them.
fn histogram(truth: &Truth) -> BTreeMap<String, [u64; 2]> {
    let mut rows = BTreeMap::new();
    for row in truth.classes.values() {
        let sums: &mut [u64; 2] = rows.entry(row.name.clone()).or_default();
        sums[0] += row.count;
        sums[1] += row.shallow;
    }
    rows
}

fn golden_objects(text: &str) -> BTreeMap<u64, [u64; 2]> {
    let number = |text: &str| text.parse().expect("numbers");
    let row = |line: &str| {
        let cells: Vec<u64> = line.split(',').take(3).map(number).collect();
        (cells[0], [cells[1], cells[2]])
    };
    text.lines().skip(1).map(row).collect()
}

fn golden_histogram(text: &str) -> BTreeMap<String, [u64; 2]> {
    let mut rows = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.trim_end_matches(',').rsplitn(3, ',').collect();
        let [shallow, count, name] = cells[..] else { panic!("three cells: {line}") };
        let count: u64 = count.parse().expect("a number");
        if count > 0 {
            let sums: &mut [u64; 2] = rows.entry(name.to_owned()).or_default();
            sums[0] += count;
            sums[1] += shallow.parse::<u64>().expect("a number");
        }
    }
    rows
}
