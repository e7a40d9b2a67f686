//! Dumps on the command line: names and folders, options, the budget.

use super::check::check;
use super::dumps::{bytes, chain, some_dump};
use heaplake_oracle::jvm::{Referents, truth};
use heaplake_support::compress::{gzip, zstd};
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic};
use heaplake_support::table::Table;
use std::fs;
use std::path::PathBuf;

#[test]
fn the_content_counts_not_the_name() {
    let dump = some_dump(8);
    let plain = bytes(&dump);
    let lake = Lake::new();
    for (name, bytes) in [
        ("a.hprof", plain.clone()),
        ("b.heapsnapshot", plain.clone()),
        ("c", gzip(&plain)),
        ("d.hprof", zstd(&plain)),
        ("e.hprof.gz", gzip(&plain)),
    ] {
        lake.analyze(lake.input(name, &bytes)).arg("--edges").assert().success();
    }
    lake.analyze("-").args(["--edges", "--snapshot", "stdin"]).write_stdin(gzip(&plain)).assert().success();
    let expected = truth(&dump, Referents::Hold);
    let runs = lake.runs();
    assert_eq!(runs.len(), 6);
    for run in runs {
        check(&expected, &run);
        let snapshot = Table::read(&run, "snapshot.parquet");
        assert_eq!(snapshot.texts("format")[0].as_deref(), Some("hprof"));
        assert_eq!(snapshot.u64s("content_bytes"), [Some(plain.len() as u64)]);
    }
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    // A V8 snapshot named as a dump.
    let v8 = fs::read(fixtures::v8("small")).unwrap();
    let lake = Lake::new();
    lake.analyze(lake.input("v8.hprof", &v8)).assert().success();
    assert_ne!(Table::read(&lake.run(), "snapshot.parquet").texts("format")[0].as_deref(), Some("hprof"));
}

#[test]
fn dumps_in_folders() {
    let lake = Lake::new();
    let plain = bytes(&chain(3));
    fs::create_dir_all(lake.folder().join("nightly/deep")).unwrap();
    lake.input("nightly/a.hprof", &plain);
    lake.input("nightly/deep/b.hprof.gz", &gzip(&plain));
    lake.input("nightly/deep/c.hprof.zst", &zstd(&plain));
    lake.input("nightly/notes.txt", b"not a dump");
    lake.analyze(lake.folder().join("nightly")).assert().success();
    assert_eq!(lake.runs().len(), 3);
}

#[test]
fn options_that_make_no_sense() {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", &bytes(&chain(3)));
    lake.analyze(&input).args(["--referents", "maybe"]).assert().code(2);
    assert!(!lake.path().exists());
    lake.analyze(&input).args(["--referents", "hold"]).assert().success();
    lake.analyze(&input).args(["--referents", "hold"]).assert().success();
    // A run with another policy does not match.
    let (cause, advice) = diagnostic(lake.analyze(&input).args(["--referents", "skip"]), 1);
    assert!(cause.contains("--referents"), "{cause}");
    assert!(advice.contains("--force"), "{advice}");
}

#[test]
fn memory_stays_within_the_budget() {
    let lake = Lake::new();
    let input = lake.input("heap.hprof", &bytes(&chain(20_000)));
    lake.analyze(&input).args(["--memory", "96MiB"]).assert().success();
    let peak = Table::read(&lake.run(), "snapshot.parquet").u64s("peak_rss_bytes")[0];
    assert!(peak.is_none_or(|peak| peak < 120 << 20), "{peak:?}");
}
