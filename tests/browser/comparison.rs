//! Pages of comparisons with rows given here, and of a trend.

use crate::diff_tables::Cell::{Real, Text, Truth, Whole};
use crate::diff_tables::{self, Cell, Row, comparison, row};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use heaplake_schemas::diff::{CHAINS, CLASSES, DiffTable, FINDINGS, OWNERS};
use heaplake_support::lake::{Lake, heaplake};
use heaplake_support::written::{self, Class};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// Writes the page of a comparison.
pub(crate) fn page(folder: &TempDir) -> PathBuf {
    let page = folder.path().join("diff.html");
    let context =
        Context { budget: Budget::new(32 << 20), threads: 1, progress: &Silent, cancel: &AtomicBool::new(false) };
    heaplake_report::diff_page(folder.path(), &page, &context).unwrap();
    assert!(fs::metadata(&page).unwrap().len() < 4 << 20);
    page
}

/// A subject's columns common to all tables; `base` and `target` are the values of each of five runs.
fn numbers(fingerprint: i64, status: &'static str, base: i64, target: i64) -> Row {
    let decided = status != "same";
    let mut row = row(&[
        ("fingerprint", Whole(fingerprint)),
        ("status", Text(status)),
        ("evidence", Text(if decided { "tests" } else { "none" })),
        ("base_runs", Whole(5)),
        ("target_runs", Whole(5)),
        ("base_runs_with", Whole(if base > 0 { 5 } else { 0 })),
        ("target_runs_with", Whole(if target > 0 { 4 } else { 0 })),
        ("target_hosts", Whole(5)),
        ("delta_sum", Whole(target.saturating_sub(base).saturating_mul(5))),
        ("delta_mean", Whole(target - base)),
        ("delta_median", Whole(target - base)),
        ("q", Real(if decided { 0.004 } else { 1.0 })),
    ]);
    for (side, value) in [("base", base), ("target", target)] {
        let mut add = |field: &str, value| row.insert(format!("{side}_{field}"), Whole(value));
        add("sum", value.saturating_mul(5));
        for field in ["mean", "median", "p90", "max"] {
            add(field, value);
        }
    }
    if decided {
        row.insert("changed_on".to_owned(), Whole(4));
        row.insert("changed_on_names".to_owned(), Text("web1, web2"));
    }
    if base > 0 {
        row.insert("percent_sum".to_owned(), Real(100.0 * (target - base) as f64 / base as f64));
    } else if target > 0 {
        row.insert("percent_sum".to_owned(), Real(f64::INFINITY));
    }
    row
}

/// Writes subjects: a row per measure; only the first has sums, means and medians.
fn write(folder: &Path, table: &DiffTable, subjects: &[Row]) {
    let of_first = |(name, cell): (&String, &Cell)| match name.contains("_sum") || name.contains("_me") {
        true => (format!("{name}_{}", table.measures[0]), cell.clone()),
        false => (name.clone(), cell.clone()),
    };
    let subjects: Vec<Row> = subjects.iter().map(|subject| subject.iter().map(of_first).collect()).collect();
    diff_tables::write(folder, table, &subjects);
}

/// The subject as a part of another subject's growth.
fn part_of(whole: i64, mut subject: Row) -> Row {
    subject.insert("part_of".to_owned(), Whole(whole));
    subject
}

fn class(name: &'static str, fingerprint: i64, status: &'static str, base: i64, target: i64) -> Row {
    let mut all = numbers(fingerprint, status, base, target);
    all.extend(row(&[("class", Text(name)), ("class_key", Text(name)), ("signature", Text(name))]));
    all
}

fn chain(
    text: &'static str,
    class: (&'static str, i64),
    status: &'static str,
    base: i64,
    target: i64,
    share: f64,
) -> Row {
    let mut all = numbers(class.1 * 100 + base, status, base, target);
    all.extend(row(&[
        ("kind", Text("reference")),
        ("class", Text(class.0)),
        ("text", Text(text)),
        ("signature", Text(text)),
        ("class_fingerprint", Whole(class.1)),
        ("share", Real(share)),
    ]));
    all
}

fn finding(message: &'static str, severity: &'static str, status: &'static str, base: i64, target: i64) -> Row {
    let mut all = numbers(base + 7 * target, status, base, target);
    all.extend(row(&[
        ("rule", Text("growing_container")),
        ("severity", Text(severity)),
        ("subject", Text("Map")),
        ("message", Text(message)),
        ("signature", Text(message)),
    ]));
    all
}

/// A finding about possible duplicates.
fn possible(message: &'static str, base: i64, target: i64) -> Row {
    let mut all = finding(message, "low", "appeared", base, target);
    all.insert("rule".to_owned(), Text("possible-duplicates"));
    all
}

fn owner(name: &'static str, base: i64, target: i64) -> Row {
    let mut all = numbers(base, if base == target { "same" } else { "grew" }, base, target);
    all.extend(row(&[("owner", Text(name)), ("signature", Text(name))]));
    all
}

/// A leaking cache, with 1,700 classes beside it.
pub(crate) fn usual() -> TempDir {
    let folder = comparison(5);
    let mut leak = class("Session", 1, "new_path", 1 << 20, 9 << 20);
    leak.extend(row(&[
        ("grew_through", Text("reference: .cache.Map → Session")),
        ("grew_through_text", Text("(GC roots) › .cache Map › Session")),
        ("grew_through_bytes", Whole(7 << 20)),
        ("grew_through_new", Truth(true)),
    ]));
    let mut rows = vec![
        leak,
        class("Buffer", 2, "grew", 4 << 20, 6 << 20),
        class("Fresh", 3, "appeared", 0, 1 << 20),
        part_of(1, class("Entry", 6, "grew_on_some", 1 << 18, 3 << 18)),
        class("Pool", 4, "shrank", 5 << 20, 2 << 20),
        class("Old", 5, "vanished", 1 << 20, 0),
    ];
    rows.extend((0..1700).map(|at| class("Steady", 1000 + at, "same", 1700 - at, 1700 - at)));
    write(folder.path(), &CLASSES, &rows);
    let session = ("Session", 1);
    write(
        folder.path(),
        &CHAINS,
        &[
            chain("(GC roots) › .cache Map › Session", session, "appeared", 0, 7 << 20, 0.875),
            chain("(GC roots) › .table Array › Session", session, "grew", 1 << 20, 2 << 20, 0.125),
            part_of(
                100,
                chain("(GC roots) › .cache Map › Session › Entry", ("Entry", 6), "grew", 1 << 18, 3 << 18, 1.0),
            ),
            chain("(GC roots) › .pool Pool", ("Pool", 4), "shrank", 5 << 20, 2 << 20, 0.0),
        ],
    );
    write(folder.path(), &OWNERS, &[owner("(application)", 6 << 20, 14 << 20), owner("node", 3 << 20, 3 << 20)]);
    write(
        folder.path(),
        &FINDINGS,
        &[
            finding("A Map of 9,000 Session objects grows", "high", "appeared", 0, 7 << 20),
            finding("Buffers are held by closures", "medium", "grew", 4 << 20, 6 << 20),
            finding("An old cache", "low", "vanished", 1 << 20, 0),
            possible("Strings that may be alike", 0, 9 << 20),
        ],
    );
    folder
}

/// Names that try to be markup, or are a megabyte long.
pub(crate) fn hostile() -> TempDir {
    let folder = comparison(1);
    let markup = "x</script><img src=x onerror=window.hacked=1><b onclick=\"a\">'\u{202e}\u{2028}{{data}}";
    let long: &'static str = "A".repeat(1 << 20).leak();
    let mut leak = class(markup, 1, "grew", 1 << 20, 2 << 20);
    leak.extend(row(&[("grew_through_text", Text(markup)), ("grew_through_new", Truth(true))]));
    write(folder.path(), &CLASSES, &[leak, class(long, 2, "appeared", 0, i64::MAX / 2)]);
    write(
        folder.path(),
        &CHAINS,
        &[chain(markup, (markup, 1), "grew", 1, 2, 1.0), chain(long, (long, 2), "grew", 1, 2, 1.0)],
    );
    write(folder.path(), &OWNERS, &[owner(markup, 1, 2), owner(long, 1, 2)]);
    write(folder.path(), &FINDINGS, &[finding(markup, "high", "appeared", 0, 1), finding(long, "low", "grew", 1, 2)]);
    folder
}

pub(crate) fn empty() -> TempDir {
    comparison(1)
}

/// The page of a trend over four releases on twenty hosts, in which sessions grow, and a cache grows on eight.
pub(crate) fn trend(lake: &Lake) -> PathBuf {
    for (at, release) in (0..4).zip(["one", "two", "three", "four"]) {
        for host in 0..20 {
            let cache = if host < 8 { (1 + at) << 10 } else { 1 << 10 };
            let classes = [
                Class::plain("Session", 1000 + 500 * at, (1000 + 500 * at) * 64),
                Class::plain("Cache", 10, cache + host),
                Class::plain("Pool", 10, 4096),
                Class::plain("<b>markup</b>", 10, 100 * (at % 2)),
            ];
            let name = format!("web{host}");
            written::write(&lake.path(), (release, &name, Some(&name)), &classes).unwrap();
        }
    }
    let folder = lake.folder().join("trend");
    let releases = ["release=one", "release=two", "release=three", "release=four"];
    let mut command = heaplake();
    command.arg("trend").args(releases).arg("--lake").arg(lake.path()).arg("--out").arg(&folder).assert().success();
    heaplake().arg("report").arg(&folder).assert().success();
    folder.join("trend.html")
}
