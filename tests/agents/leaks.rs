//! The agent on planted leaks: single snapshots, and fleets in which one host, some hosts, or all hosts of a release
//! leak. Healthy ones give no culprit.

use crate::agent::{Verdict, solve};
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::leaky::{Leak, snapshot};
use std::fs;
use std::path::Path;

/// Hosts of a fleet.
const HOSTS: u64 = 5;

/// Which hosts of the newest release leak.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    One,
    Some,
    All,
}

/// A lake of two releases, whose newer one leaks.
fn fleet(leak: Option<Leak>, shape: Shape, seed: u64) -> Lake {
    let lake = Lake::new();
    for (at, release) in ["7.1", "7.2"].into_iter().enumerate() {
        let inputs = lake.folder().join(release);
        fs::create_dir_all(&inputs).unwrap();
        for host in 0..HOSTS {
            let leaks = at == 1
                && match shape {
                    Shape::One => host == seed % HOSTS,
                    Shape::Some => host % 2 == 0,
                    Shape::All => true,
                };
            let content = snapshot(leak.filter(|_| leaks), 100 * seed + 10 * at as u64 + host);
            fs::write(inputs.join(format!("web{host}.heapsnapshot")), content).unwrap();
        }
        lake.analyze(&inputs).args(["--release", release, "--label", "host={stem}"]).assert().success();
    }
    lake
}

/// A named verdict, and whether it is right.
struct Case {
    name: String,
    verdict: Verdict,
    is_right: bool,
}

impl Case {
    fn leak(name: String, path: &Path, culprits: &[&str]) -> Self {
        let verdict = solve(path);
        let is_right = verdict.names(culprits) && verdict.is_thrifty();
        Self { name, verdict, is_right }
    }

    fn healthy(name: String, path: &Path) -> Self {
        let verdict = solve(path);
        let is_right = !verdict.accuses() && verdict.is_thrifty();
        Self { name, verdict, is_right }
    }
}

/// Prints all cases, and fails if one is wrong.
fn check(cases: &[Case]) {
    for Case { name, verdict, is_right } in cases {
        let mark = if *is_right { "right" } else { "WRONG" };
        let named = verdict.named.as_ref().map(|(severity, text)| format!("{severity}: {text:.100}"));
        eprintln!("{mark} {name}: {} calls, {} tokens, {}", verdict.calls, verdict.tokens, named.unwrap_or_default());
    }
    let wrong = cases.iter().filter(|case| !case.is_right).count();
    assert_eq!(wrong, 0, "{wrong} of {} cases are wrong", cases.len());
}

#[test]
fn leaks_of_single_snapshots_are_named() {
    let mut cases = Vec::new();
    for (at, leak) in Leak::ALL.into_iter().enumerate() {
        let lake = Lake::new();
        let input = lake.input("web.heapsnapshot", &snapshot(Some(leak), 900 + at as u64));
        lake.analyze(input).assert().success();
        cases.push(Case::leak(format!("{leak:?}"), &lake.path(), &[leak.path()]));
        // A run is served as a lake is.
        cases.push(Case::leak(format!("{leak:?}, the run"), &lake.run(), &[leak.path()]));
    }
    for (fixture, culprit) in [
        ("bun14_sessions", "sessions"),
        ("resources20", "variable cache of memoize"),
        ("resources26", "variable cache of memoize"),
    ] {
        let (lake, _) = Lake::of(fixtures::v8(fixture), &[]);
        cases.push(Case::leak(fixture.to_owned(), &lake.path(), &[culprit]));
    }
    check(&cases);
}

#[test]
fn healthy_snapshots_give_no_culprit() {
    let mut cases = Vec::new();
    for seed in [950, 951] {
        let lake = Lake::new();
        let input = lake.input("web.heapsnapshot", &snapshot(None, seed));
        lake.analyze(input).assert().success();
        cases.push(Case::healthy(format!("healthy {seed}"), &lake.path()));
    }
    // That of Deno leaks, but was thinned until what leaks is smaller than any suspect.
    for fixture in ["s1", "resources_healthy20", "small", "deno29_sessions"] {
        let (lake, _) = Lake::of(fixtures::v8(fixture), &[]);
        cases.push(Case::healthy(fixture.to_owned(), &lake.path()));
    }
    check(&cases);
}

#[test]
fn leaks_of_fleets_are_named() {
    let mut cases = Vec::new();
    for (at, leak) in Leak::ALL.into_iter().enumerate() {
        for shape in [Shape::One, Shape::Some, Shape::All] {
            let lake = fleet(Some(leak), shape, 1 + at as u64);
            cases.push(Case::leak(format!("{leak:?} on {shape:?}"), &lake.path(), &[leak.path()]));
        }
    }
    check(&cases);
}

#[test]
fn healthy_fleets_give_no_culprit() {
    let of = |seed| Case::healthy(format!("healthy fleet {seed}"), &fleet(None, Shape::All, seed).path());
    check(&[of(20), of(21)]);
}
