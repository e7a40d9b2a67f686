//! Inputs of `heaplake analyze`: files in all forms, patterns, folders, standard input.

use super::common::{analyze, names, run_json, small, stdout};
use heaplake_schemas::{classes, edges, findings, nodes, snapshot};
use heaplake_support::compress::{gzip, zstd};
use heaplake_support::generated::generated;
use heaplake_support::lake::{Lake, diagnostic};
use heaplake_support::table::Table;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

#[test]
fn the_same_snapshot_in_all_forms() {
    let plain = small();
    let lake = Lake::new();
    let inputs = [
        lake.input("a.heapsnapshot", &plain),
        lake.input("b.heapsnapshot.gz", &gzip(&plain)),
        lake.input("c.heapsnapshot.zst", &zstd(&plain)),
        // The content counts, not the name.
        lake.input("d.heapsnapshot", &gzip(&plain)),
    ];
    lake.analyze("-").args(["--edges", "--snapshot", "stdin"]).write_stdin(plain).assert().success().stdout("");
    lake.analyze(&inputs[0]).args(&inputs[1..]).arg("--edges").assert().success().stdout("");
    let runs = lake.runs();
    assert_eq!(runs.len(), 5);
    for file in [nodes::TABLE.file, classes::TABLE.file, edges::TABLE.file, findings::TABLE.file] {
        let tables: Vec<Table> = runs.iter().map(|run| Table::read(run, file)).collect();
        assert!(tables[0].rows() > 0);
        // The first two columns name the run.
        assert!(tables.iter().all(|table| table.0.columns()[2..] == tables[0].0.columns()[2..]), "{file}");
    }
    let sizes: Vec<_> = runs.iter().map(|run| Table::read(run, snapshot::TABLE.file).u64s("content_bytes")).collect();
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    let stdin = runs.iter().find(|run| names(run).1 == "stdin").unwrap();
    assert_eq!(run_json(stdin)["source"], "standard input");
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn files_patterns_and_folders_in_one_call() {
    let lake = Lake::new();
    let small = small();
    for folder in ["nightly/deep/deeper", "nightly/.hidden", "other"] {
        fs::create_dir_all(lake.folder().join(folder)).unwrap();
    }
    lake.input("nightly/a.heapsnapshot", &small);
    lake.input("nightly/deep/b.heapsnapshot.gz", &gzip(&small));
    lake.input("nightly/deep/deeper/c.heapsnapshot.zst", &zstd(&small));
    lake.input("nightly/notes.txt", b"not a snapshot");
    lake.input("nightly/.hidden/x.heapsnapshot", b"not a snapshot");
    lake.input("other/d1.heapsnapshot", &small);
    lake.input("other/d2.heapsnapshot", &small);
    let single = lake.input("e.json", &small);
    let mut command = analyze(&lake);
    command.arg("--json").arg("--quiet").arg(lake.folder().join("nightly")).arg(lake.folder().join("other/d?.heap*"));
    // A file named twice is analysed once.
    command.arg(&single).arg(lake.folder().join("nightly/a.heapsnapshot"));
    let reports: Value = serde_json::from_str(&stdout(&mut command)).unwrap();
    let inputs: Vec<_> = reports.as_array().unwrap().iter().map(|report| report["input"].as_str().unwrap()).collect();
    let expected = [
        "nightly/a.heapsnapshot",
        "nightly/deep/b.heapsnapshot.gz",
        "nightly/deep/deeper/c.heapsnapshot.zst",
        "other/d1.heapsnapshot",
        "other/d2.heapsnapshot",
        "e.json",
    ];
    assert_eq!(inputs, expected.map(|path| lake.folder().join(path).display().to_string()));
    let stems: Vec<String> = lake.runs().iter().map(|run| names(run).1[..2].to_owned()).collect();
    assert_eq!(stems, ["a-", "b-", "c-", "d1", "d2", "e."]);
}

#[test]
fn a_bad_file_among_good_ones() {
    let lake = Lake::new();
    let good = [lake.input("a.heapsnapshot", &small()), lake.input("c.heapsnapshot", &generated(2, 200_000))];
    let bad = lake.input("b.heapsnapshot", b"{\"snapshot\":");
    let mut command = lake.analyze(&good[0]);
    let (cause, _) = diagnostic(command.arg(&bad).arg(&good[1]), 1);
    assert!(cause.starts_with(&format!("{}: byte 12: expected a value", bad.display())), "{cause}");
    assert_eq!(lake.runs().iter().map(|run| names(run).1[..2].to_owned()).collect::<Vec<_>>(), ["a-", "c-"]);
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn a_folder_of_the_other_kind_names_the_command_for_it() {
    let lake = Lake::new();
    for folder in ["traces", "snapshots", "mixed"] {
        fs::create_dir_all(lake.folder().join(folder)).unwrap();
    }
    for name in ["traces/a.jfr", "traces/b.nettrace.gz", "mixed/c.jfr"] {
        lake.input(name, b"FLR");
    }
    lake.input("snapshots/a.heapsnapshot", &small());
    lake.input("mixed/d.heapsnapshot", &small());
    let (cause, _) = diagnostic(&mut lake.analyze(lake.folder().join("traces")), 1);
    assert!(cause.contains("but 2 files that heaplake replay reads"), "{cause}");
    let mut replay = heaplake_support::lake::heaplake();
    replay.args(["replay", "--quiet", "--out"]).arg(lake.path()).arg(lake.folder().join("snapshots"));
    let (cause, _) = diagnostic(&mut replay, 1);
    assert!(cause.contains("but 1 file that heaplake analyze reads"), "{cause}");
    let mixed = lake.folder().join("mixed");
    let output = analyze(&lake).arg(&mixed).args(["--release", "{folder}", "--label", "host=a"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    // One line, with the command for it.
    let (mixed, out) = (mixed.display(), lake.path().display().to_string());
    let expected = format!(
        "heaplake: note: {mixed}: 1 file is left out, which heaplake replay reads: heaplake replay {mixed} --out {out} \
         --release '{{folder}}' --label host=a\n"
    );
    assert!(output.status.success() && error == expected, "{error}");
}
