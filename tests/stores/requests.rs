//! Numbers of requests of a command, and answers that do not depend on what saves requests.

use crate::common::{OTHER, SMALL, World, content};
use crate::proxy::{Act, Asked};
use std::collections::BTreeMap;

/// A store with two inputs and the lake of their runs.
fn world() -> World {
    let world = World::new();
    world.server.put("in/a.heapsnapshot.zst", &content(SMALL));
    world.server.put("in/b.heapsnapshot.zst", &content(OTHER));
    world
}

/// Analyses both inputs, each a release of its own.
fn analyze(world: &World) {
    for (release, input) in [("1", "in/a.heapsnapshot.zst"), ("2", "in/b.heapsnapshot.zst")] {
        world.analyze(world.url(input)).args(["--release", release, "--label", "host={stem}"]).assert().success();
    }
}

/// The requests of a command.
fn asked(world: &World, command: impl FnOnce()) -> Vec<Asked> {
    world.proxy.rule(|_| Act::Pass);
    command();
    world.proxy.asked()
}

fn count(asked: &[Asked], is_counted: impl Fn(&Asked) -> bool) -> usize {
    asked.iter().filter(|asked| is_counted(asked)).count()
}

fn is_list(asked: &Asked) -> bool {
    asked.path.contains("list-type=2")
}

fn heads(asked: &[Asked]) -> usize {
    count(asked, |asked| asked.method == "HEAD")
}

/// Tables longer than 256 KiB, which take several requests.
const LONG: [&str; 2] = ["nodes.parquet", "edges.parquet"];

/// Fails if a short object is read more often than once.
fn assert_read_once(asked: &[Asked]) {
    let is_short = |asked: &&Asked| !LONG.iter().any(|table| asked.path.ends_with(table));
    let mut reads: BTreeMap<&str, usize> = BTreeMap::new();
    for asked in asked.iter().filter(is_short).filter(|asked| asked.method == "GET" && !is_list(asked)) {
        *reads.entry(&asked.path).or_default() += 1;
    }
    let often: Vec<_> = reads.iter().filter(|(_, reads)| **reads > 1).collect();
    assert!(often.is_empty(), "{often:?}");
}

#[test]
fn a_run_is_made_with_few_requests_beside_its_tables() {
    let world = world();
    let asked = asked(&world, || analyze(&world));
    let is_table = |asked: &Asked| asked.method == "PUT" && asked.path.contains("/tables-");
    let tables = count(&asked, |asked| is_table(asked) && asked.path.ends_with(".parquet"));
    assert!(tables > 20, "{tables}");
    // An existing lake and release, the input and its length, the place, the mark, the listing, the description; and
    // the catalogue: the description again, two tables and a listing.
    let others = asked.len() - tables;
    assert!(others <= 2 * 17, "{others}: {asked:#?}");
    assert!(heads(&asked) <= 2 * 2, "{}", heads(&asked));
}

#[test]
fn an_unchanged_input_is_known_by_its_tag() {
    let world = world();
    analyze(&world);
    let keys = world.server.keys("lake/");
    let again = asked(&world, || analyze(&world));
    assert_eq!(count(&again, |asked| asked.method == "GET" && asked.path.contains("/in/")), 0, "{again:#?}");
    assert!(again.len() <= 2 * 6, "{again:#?}");
    assert_eq!(world.server.keys("lake/"), keys);
    // The same bytes under another tag are read; other bytes of the same length are another input.
    let moved = world.url("in/a.heapsnapshot.zst");
    world.server.put("in/a.heapsnapshot.zst", &content(OTHER));
    let other = asked(&world, || {
        world.analyze(&moved).args(["--release", "1", "--label", "host={stem}"]).assert().success();
    });
    assert!(count(&other, |asked| asked.method == "GET" && asked.path.contains("/in/")) > 0);
    assert!(world.server.keys("lake/release=1/").len() > keys.len() / 2 + 5, "a second run is there");
}

#[test]
fn a_lake_is_listed_once_and_with_the_catalogue_no_run_is_read() {
    let world = world();
    analyze(&world);
    let mut listed = None;
    let list = |world: &World| world.json(&["ls", &world.url("lake")], 0);
    let with = asked(&world, || listed = Some(list(&world)));
    assert_eq!(count(&with, |asked| asked.path.contains("run.json") && asked.method == "GET"), 0, "{with:#?}");
    assert!(with.len() <= 8 && heads(&with) <= 1, "{with:#?}");
    let verified = world.verified("with a catalogue");
    for key in world.server.keys("lake/catalogue/") {
        world.server.delete(&key);
    }
    let mut read = None;
    let without = asked(&world, || read = Some(list(&world)));
    assert_eq!(listed, read, "the catalogue changes no answer");
    assert!(without.len() <= 8 && count(&without, is_list) <= 4, "{without:#?}");
    assert_read_once(&without);
    assert_eq!(verified, world.verified("without a catalogue"));
}

#[test]
fn a_short_table_is_read_once_by_comparisons_and_checks() {
    let world = world();
    analyze(&world);
    let tables = world.server.keys("lake/").iter().filter(|key| key.ends_with(".parquet")).count();
    let out = |name: &str| world.scratch().join(name).display().to_string();
    let lake = world.url("lake");
    let diff = asked(&world, || {
        let (out, sides) = (out("diff"), ["release=1", "release=2", "--lake"]);
        world.heaplake().arg("diff").args(sides).args([&lake, "--quiet", "--out", &out]).assert().success();
    });
    let rollup = asked(&world, || {
        world.heaplake().args(["fleet", "rollup", &lake, "--quiet", "--out", &out("roll")]).assert().success();
    });
    let verify = asked(&world, || drop(world.verified("once")));
    for (asked, what) in [(&diff, "diff"), (&rollup, "rollup"), (&verify, "verify")] {
        assert_read_once(asked);
        assert!(heads(asked) <= 3, "{what}: {asked:#?}");
        assert!(count(asked, is_list) <= 6, "{what}: {asked:#?}");
    }
    // Two runs, each long table in three requests at most.
    assert!(verify.len() <= tables + 2 * 2 * LONG.len() + 10, "{} for {tables} tables", verify.len());
}
