//! Pages of comparisons whose rows are written down here, and of a trend.

use crate::diff_tables::Cell::{Real, Text, Truth, Whole};
use crate::diff_tables::{Row, comparison, row, write};
use crate::lake::{Lake, heaplake};
use crate::written::{self, Class};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use heaplake_schemas::diff::{CHAINS, CLASSES, FINDINGS, OWNERS};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// Makes the page of a comparison.
pub fn page(folder: &TempDir) -> PathBuf {
    let page = folder.path().join("diff.html");
    let context =
        Context { budget: Budget::new(32 << 20), threads: 1, progress: &Silent, cancel: &AtomicBool::new(false) };
    heaplake_report::diff_page(folder.path(), &page, &context).unwrap();
    assert!(fs::metadata(&page).unwrap().len() < 4 << 20);
    page
}

/// The columns of a row that all tables have.
fn numbers(fingerprint: i64, status: &'static str, base: i64, target: i64, measure: &str) -> Row {
    let mut row = row(&[
        ("fingerprint", Whole(fingerprint)),
        ("status", Text(status)),
        ("base_runs", Whole(5)),
        ("target_runs", Whole(5)),
        ("base_runs_with", Whole(if base > 0 { 5 } else { 0 })),
        ("target_runs_with", Whole(if target > 0 { 4 } else { 0 })),
    ]);
    let mut add = |field: &str, cell| row.insert(format!("{field}_{measure}"), cell);
    add("base", Whole(base));
    add("target", Whole(target));
    add("delta", Whole(target - base));
    add("q", Real(if base == target { 1.0 } else { 0.004 }));
    if base > 0 {
        add("delta_percent", Real(100.0 * (target - base) as f64 / base as f64));
    }
    row
}

fn class(name: &'static str, fingerprint: i64, status: &'static str, base: i64, target: i64) -> Row {
    let mut all = numbers(fingerprint, status, base, target, "retained_bytes");
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
    let mut all = numbers(class.1 * 100 + base, status, base, target, "retained_bytes");
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
    let mut all = numbers(base + 7 * target, status, base, target, "bytes");
    all.extend(row(&[
        ("rule", Text("growing_container")),
        ("severity", Text(severity)),
        ("subject", Text("Map")),
        ("message", Text(message)),
        ("signature", Text(message)),
    ]));
    all
}

fn owner(name: &'static str, base: i64, target: i64) -> Row {
    let mut all = numbers(base, if base == target { "same" } else { "grew" }, base, target, "retained_bytes");
    all.extend(row(&[("owner", Text(name)), ("signature", Text(name))]));
    all
}

/// A cache that leaks, with 1,700 classes beside it.
pub fn usual() -> TempDir {
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
        ],
    );
    folder
}

/// Names that want to be markup, or are a megabyte long.
pub fn hostile() -> TempDir {
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

/// A comparison whose sides have no table in common.
pub fn empty() -> TempDir {
    comparison(1)
}

/// The page of a trend over four releases, in which sessions grow.
pub fn trend(lake: &Lake) -> PathBuf {
    for (at, release) in (0..4).zip(["one", "two", "three", "four"]) {
        let classes = [
            Class::plain("Session", 1000 + 500 * at, (1000 + 500 * at) * 64),
            Class::plain("Pool", 10, 4096),
            Class::plain("<b>markup</b>", 10, 100 * (at % 2)),
        ];
        written::write(&lake.path(), (release, "run", None), &classes).unwrap();
    }
    let folder = lake.folder().join("trend");
    let releases = ["release=one", "release=two", "release=three", "release=four"];
    let mut command = heaplake();
    command.arg("trend").args(releases).arg("--lake").arg(lake.path()).arg("--out").arg(&folder).assert().success();
    heaplake().arg("report").arg(&folder).assert().success();
    folder.join("trend.html")
}
