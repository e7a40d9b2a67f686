//! Signatures and fingerprints: every table matched by comparisons has them, and they agree across processes.

use crate::findings::took;
use heaplake_names::fingerprint;
use heaplake_schemas::table::TableSchema;
use heaplake_schemas::tables;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use heaplake_support::table::Table;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Texts of a column without nulls.
fn texts(table: &Table, column: &str) -> Vec<String> {
    table.texts(column).into_iter().map(Option::unwrap).collect()
}

/// Runs that together have every table.
fn runs() -> (Lake, Vec<PathBuf>) {
    let lake = Lake::new();
    for (name, options) in
        [("v8/small.heapsnapshot.zst", "--duplicates=all"), ("jvm/weakfix.hprof.zst", "--duplicates=trivial")]
    {
        lake.analyze(fixtures::path(name)).arg(options).assert().success();
    }
    for name in ["dotnet/both.log.zst", "dotnet/net8_both.nettrace.zst"] {
        heaplake().arg("replay").arg(fixtures::path(name)).arg("--out").arg(lake.path()).assert().success();
    }
    let runs = lake.runs();
    (lake, runs)
}

#[test]
fn every_row_has_a_signature_and_its_fingerprint() {
    let (_lake, runs) = runs();
    let has = |table: &TableSchema| table.columns.iter().any(|column| column.name == "fingerprint");
    let signed: Vec<&TableSchema> = tables::ALL.iter().filter(|table| table.runs.have_it() && has(table)).collect();
    assert_eq!(signed.len(), 9);
    for table in signed {
        let last = table.columns.iter().rev().take(2).map(|column| column.name);
        assert_eq!(last.collect::<Vec<_>>(), ["fingerprint", "signature"], "{}", table.name);
        let mut rows = 0;
        for run in runs.iter().filter(|run| run.join(table.file).exists()) {
            let read = Table::read(run, table.file);
            let (signatures, fingerprints) = (texts(&read, "signature"), read.u64s("fingerprint"));
            for (signature, found) in signatures.iter().zip(fingerprints) {
                assert!(!signature.is_empty() || table.name == "classes", "{}: {}", run.display(), table.name);
                if table.name != "allocation_callees" {
                    assert_eq!(found, Some(fingerprint(signature)), "{}: {signature}", table.name);
                }
            }
            rows += read.rows();
        }
        assert!(rows > 0, "{} has rows", table.name);
    }
}

/// Classes by name, with their fingerprints.
fn classes(run: &Path) -> BTreeMap<String, BTreeSet<u64>> {
    let table = Table::read(run, "classes.parquet");
    let mut classes: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for (class, fingerprint) in texts(&table, "class").into_iter().zip(table.u64s("fingerprint")) {
        classes.entry(class).or_default().insert(fingerprint.unwrap());
    }
    classes
}

/// The same program in two processes: script numbers and addresses differ, fingerprints do not.
#[test]
fn processes_agree_on_fingerprints() {
    for [one, other, class] in [
        ["v8/resources20.heapsnapshot.zst", "v8/resources_healthy20.heapsnapshot.zst", "Timeout"],
        ["v8/s1.heapsnapshot.zst", "v8/s2.heapsnapshot.zst", "Map"],
    ] {
        let run = |name| {
            let lake = Lake::new();
            lake.analyze(fixtures::path(name)).arg("--tables=classes").assert().success();
            classes(&lake.run())
        };
        let (one, other) = (run(one), run(other));
        assert!(one.contains_key(class), "{:?}", one.keys().collect::<Vec<_>>());
        let common: Vec<&String> = one.keys().filter(|class| other.contains_key(*class)).collect();
        let differ: Vec<_> = common.iter().filter(|class| one[**class].is_disjoint(&other[**class])).collect();
        assert!(common.len() > 10 && differ.is_empty(), "{differ:?} of {}", common.len());
        assert_eq!(one[class], other[class]);
    }
}

/// Recomputes signatures of call paths, each from its own row up to the root.
#[test]
fn call_paths_are_signed_by_all_their_functions() {
    let (_lake, runs) = runs();
    let mut cut = 0;
    for run in runs.iter().filter(|run| run.join("allocation_callees.parquet").exists()) {
        let functions = Table::read(run, "allocation_functions.parquet");
        let by_id: BTreeMap<u32, String> =
            functions.u32s("function_id").into_iter().map(Option::unwrap).zip(texts(&functions, "signature")).collect();
        let callees = Table::read(run, "allocation_callees.parquet");
        let (parents, of) = (callees.u32s("parent"), callees.u32s("function_id"));
        let (signatures, fingerprints) = (texts(&callees, "signature"), callees.u64s("fingerprint"));
        let mut paths = BTreeMap::new();
        for row in 0..callees.rows() {
            let up = std::iter::successors(Some(row), |&row| parents[row].map(|parent| parent as usize));
            let mut path: Vec<&str> = up.map(|row| by_id[&of[row].unwrap()].as_str()).collect();
            path.reverse();
            let shown = match path.len() {
                0..=8 => path.join(" > "),
                long => [&path[..2], &["…"], &path[long - 6..]].concat().join(" > "),
            };
            cut += usize::from(path.len() > 8);
            if path.iter().all(|function| function.chars().count() <= 120) {
                assert_eq!(signatures[row], shown);
            }
            if path.len() == 1 {
                assert_eq!(fingerprints[row], Some(fingerprint(path[0])));
            }
            // Fingerprints are equal exactly for equal paths.
            assert_eq!(*paths.entry(fingerprints[row]).or_insert(path.clone()), path);
        }
        assert_eq!(paths.values().collect::<BTreeSet<_>>().len(), paths.len());
    }
    assert!(cut > 10, "{cut} long paths");
}

/// Two programs built from the same sources by esbuild and webpack have the same classes with their maps.
#[test]
fn source_maps_undo_minification() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/minified");
    let lake = Lake::new();
    let names = ["SessionRecord", "AuditedSession", "CustomSession", "LegacyCart", "PriceBook", "OldStyle"];
    for bundle in ["esbuild", "webpack", "inline"] {
        let snapshot = lake.folder().join(format!("{bundle}.heapsnapshot"));
        if !took("node", &[&programs.join(bundle).join("app.cjs"), &snapshot]) {
            return;
        }
        let signatures = |options: &[&str]| {
            lake.analyze(&snapshot).args(["--force", "--snapshot", bundle]).args(options).assert().success();
            let run = lake.path().join(format!("release=none/snapshot={bundle}"));
            let chains = texts(&Table::read(&run, "chains.parquet"), "signature").join("\n");
            (texts(&Table::read(&run, "classes.parquet"), "signature"), chains)
        };
        let maps = programs.join(bundle).display().to_string();
        let (plain, _) = signatures(&["--min-count=20"]);
        let (mapped, chains) = signatures(&["--min-count=20", "--source-maps", &maps, "--memory=80MiB"]);
        for name in names {
            let file = if names[..3].contains(&name) { "session.ts" } else { "legacy.js" };
            let expected = format!("{name} ({file})");
            assert!(!plain.iter().any(|signature| signature.contains(name)), "{name}");
            assert_eq!(mapped.iter().filter(|signature| **signature == expected).count(), 1, "{bundle}: {expected}");
            assert!(chains.contains(&expected), "{bundle}: {expected}");
        }
        // Another run than one without maps, and the same run again.
        lake.analyze(&snapshot)
            .args(["--snapshot", bundle, "--min-count=20", "--source-maps", &maps])
            .assert()
            .success();
        let (cause, _) = diagnostic(lake.analyze(&snapshot).args(["--snapshot", bundle, "--min-count=20"]), 1);
        assert!(cause.contains("differs in --source-maps"), "{cause}");
    }
}

#[test]
fn bad_source_maps_are_refused() {
    let lake = Lake::new();
    let (snapshot, bad) = (fixtures::v8("s1"), lake.input("app.js.map", b"{\"version\":2}"));
    let (cause, advice) = diagnostic(lake.analyze(&snapshot).arg("--source-maps").arg(&bad), 2);
    assert!(cause.ends_with("app.js.map: expected a source map of version 3, found 2"), "{cause}");
    assert!(advice.contains("source map of version 3"), "{advice}");
    let (cause, _) = diagnostic(lake.analyze(&snapshot).args(["--source-maps", "/nowhere/at/all"]), 2);
    assert!(cause.starts_with("/nowhere/at/all: cannot read"), "{cause}");
    lake.assert_empty();
}

#[test]
fn rules_of_the_user_name_classes_and_functions() {
    let lake = Lake::new();
    let rules = lake.input("names.toml", b"[[rule]]\npattern = \"^Map$\"\nreplace = \"Atlas\"\n");
    let analyze = |options: &[&str]| {
        let mut command = lake.analyze(fixtures::v8("s1"));
        command.args(["--snapshot", "s1", "--tables", "classes"]).args(options);
        command
    };
    let named =
        |run: &Path| texts(&Table::read(run, "classes.parquet"), "signature").iter().any(|name| name == "Atlas");
    analyze(&[]).assert().success();
    assert!(!named(&lake.run()));
    let rules = ["--names", rules.to_str().unwrap()];
    let (cause, _) = diagnostic(&mut analyze(&rules), 1);
    assert!(cause.contains("differs in --names"), "{cause}");
    analyze(&rules).arg("--force").assert().success();
    assert!(named(&lake.run()));
    // The run keeps its rules when duplicates are added.
    heaplake().arg("duplicates").arg(lake.run()).arg("--quiet").assert().success();
    assert!(named(&lake.run()));

    let trace = Lake::new();
    let rules = trace.input("names.toml", b"[[rule]]\npattern = \"^System\\\\.\"\nreplace = \"\"\n");
    let mut replay = heaplake();
    replay.arg("replay").arg(fixtures::path("dotnet/net8_both.nettrace.zst")).arg("--out").arg(trace.path());
    replay.arg("--names").arg(rules).assert().success();
    let types = Table::read(&trace.run(), "allocation_types.parquet");
    assert!(texts(&types, "type").iter().any(|name| name.starts_with("System.")));
    assert!(!texts(&types, "signature").iter().any(|name| name.starts_with("System.")));
}
