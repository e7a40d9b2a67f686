//! Different values are never called exact duplicates, and equal ones are: the pairs and twins of
//! `tests/programs/pairs.cjs`, in trimmed snapshots of two versions of Node.js (`trim-pairs.py`), in one of the
//! installed version, and in those of versions from the registry.

use super::duplicate_sets::sets;
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Verdict on the two values of a pair or twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Exact,
    Possible,
    Apart,
}

/// The verdicts of all pairs and twins, by name.
fn verdicts(snapshot: &Path) -> BTreeMap<String, Verdict> {
    let (_lake, run) = Lake::of(snapshot, &["--duplicates", "all", "--edges"]);
    let edges = Table::read(&run, "edges.parquet");
    let (from, to, labels) = (edges.u32s("from"), edges.u32s("to"), edges.texts("name"));
    let mut holders = BTreeMap::new();
    let mut values: BTreeMap<u32, [Option<u32>; 2]> = BTreeMap::new();
    for row in 0..edges.rows() {
        let (Some(label), from, to) = (&labels[row], from[row].unwrap(), to[row].unwrap()) else { continue };
        match label.as_str() {
            "first" => values.entry(from).or_default()[0] = Some(to),
            "second" => values.entry(from).or_default()[1] = Some(to),
            name if name.starts_with("pair_") || name.starts_with("twin_") => {
                holders.insert(name.to_owned(), to);
            }
            _ => {}
        }
    }
    let sets = sets(&run);
    let of = Table::read(&run, "nodes.parquet").u32s("duplicate_set");
    let verdict = |holder: u32| {
        let [Some(first), Some(second)] = values[&holder] else { panic!("two values") };
        assert_ne!(first, second);
        match (of[first as usize], of[second as usize]) {
            (Some(one), Some(other)) if one == other => match sets[one as usize].status.as_str() {
                "exact" => Verdict::Exact,
                _ => Verdict::Possible,
            },
            _ => Verdict::Apart,
        }
    };
    holders.into_iter().map(|(name, holder)| (name, verdict(holder))).collect()
}

/// Checks a snapshot with or without captured numbers.
fn check(snapshot: &Path, captured: bool) {
    let verdicts = verdicts(snapshot);
    let count = |prefix: &str| verdicts.keys().filter(|name| name.starts_with(prefix)).count();
    assert!(count("pair_") >= 90 && count("twin_") >= 15, "{} of {}", count("pair_"), snapshot.display());
    let wrong = verdicts.iter().filter(|&(name, &verdict)| match (name.starts_with("pair_"), captured) {
        (true, _) => verdict == Verdict::Exact,
        (false, true) => verdict != Verdict::Exact,
        // Objects might differ in numbers.
        (false, false) => verdict == Verdict::Apart,
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [], "{}", snapshot.display());
}

/// Takes both snapshots with a program and checks them.
fn check_with(node: &Path, lake: &Lake) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/pairs.cjs");
    for mode in ["num", "plain"] {
        let snapshot = lake.folder().join(format!("{mode}.heapsnapshot"));
        let taken = Command::new(node).arg(&program).arg(&snapshot).arg(mode).output().unwrap();
        assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
        check(&snapshot, mode == "num");
    }
}

#[test]
fn pairs_of_two_versions_are_told_apart() {
    for name in ["pairs_node20", "pairs_node26"] {
        check(&fixtures::v8(name), true);
    }
}

#[test]
fn pairs_of_the_installed_version_are_told_apart() {
    if let Err(error) = Command::new("node").arg("--version").output() {
        return eprintln!("SKIPPED: node cannot be run here: {error}");
    }
    check_with(Path::new("node"), &Lake::new());
}

#[test]
#[ignore = "long, and needs the npm registry"]
fn pairs_of_many_versions_are_told_apart() {
    for version in ["20.20.2", "22.23.3", "24.21.0", "26.10.0"] {
        let lake = Lake::new();
        match installed(version, lake.folder()) {
            Some(node) => check_with(&node, &lake),
            None => eprintln!("SKIPPED: npm does not install node@{version} here"),
        }
    }
}

fn installed(version: &str, folder: &Path) -> Option<PathBuf> {
    std::fs::write(folder.join("package.json"), "{}").unwrap();
    let install = ["install", "--no-audit", "--no-fund", &format!("node@{version}")].map(str::to_owned);
    let done = Command::new("npm").args(install).current_dir(folder).output().ok()?;
    let node = folder.join("node_modules/node/bin/node");
    (done.status.success() && node.exists()).then_some(node)
}
