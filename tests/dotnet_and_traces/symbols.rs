//! `--symbols`: names and lines from assemblies, portable PDBs and source maps, given or beside the trace.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake, read_json};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    fixtures::path(&format!("symbols/{name}"))
}

fn texts(table: &Table, column: &str) -> Vec<Option<String>> {
    table.texts(column)
}

/// Counts from 1.
fn line_of(source: &Path, text: &str) -> u32 {
    let source = fs::read_to_string(source).unwrap();
    source.lines().position(|line| line.contains(text)).unwrap() as u32 + 1
}

/// File, line and their source, for each function.
type Places = BTreeMap<String, (Option<String>, Option<u32>, Option<String>)>;

fn places(run: &Path) -> Places {
    let table = Table::read(run, "allocation_functions.parquet");
    let lines = table.u32s("line").into_iter().zip(texts(&table, "line_from"));
    let places = texts(&table, "file").into_iter().zip(lines).map(|(file, (line, from))| (file, line, from));
    texts(&table, "function").into_iter().map(Option::unwrap).zip(places).collect()
}

/// Functions of the program, and texts in their first lines.
const FUNCTIONS: [(&str, &str); 3] = [
    ("Shop.Order::.ctor", "public Order(int number)"),
    ("Shop.Program::Fill", "long bytes = 0;"),
    ("Shop.Program+<Ship>d__2::MoveNext", "await Task.Yield();"),
];

fn assert_lines(places: &Places) {
    for (function, text) in FUNCTIONS {
        let line = line_of(&fixture("Orders.cs"), text);
        let expected = (Some("/src/shop/Orders.cs".to_owned()), Some(line), Some("pdb".to_owned()));
        assert_eq!(places[function], expected, "{function}");
    }
}

fn remarks(run: &Path) -> String {
    let run: serde_json::Value = read_json(run.join("run.json"));
    run["replay"]["facts"]["remarks"].to_string() + &run["summary"]["remarks"].to_string()
}

#[test]
fn lines_come_from_pdbs_given_and_beside_the_trace() {
    let plain = Lake::new();
    replay(&plain, fixture("traces/shop.nettrace.zst")).assert().success();
    assert!(places(&plain.run()).values().all(|place| *place == (None, None, None)));
    for file in ["Shop.pdb", "embedded/Shop.dll"] {
        let given = Lake::new();
        replay(&given, fixture("traces/shop.nettrace.zst")).arg("--symbols").arg(fixture(file)).assert().success();
        assert_lines(&places(&given.run()));
        assert!(remarks(&given.run()).contains("first statements"), "{}", remarks(&given.run()));
    }
    let beside = Lake::new();
    let trace = beside.input("shop.nettrace.zst", &fs::read(fixture("traces/shop.nettrace.zst")).unwrap());
    beside.input("Shop.pdb", &fs::read(fixture("Shop.pdb")).unwrap());
    replay(&beside, &trace).args(["--pprof", "--memory=64MiB"]).assert().success();
    assert_lines(&places(&beside.run()));
    let signatures = |run: &Path| texts(&Table::read(run, "allocation_functions.parquet"), "signature");
    assert_eq!(signatures(&plain.run()), signatures(&beside.run()));
    // The run without the PDB is another one.
    fs::remove_file(beside.folder().join("Shop.pdb")).unwrap();
    let output = replay(&beside, &trace).args(["--pprof"]).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("differs in --symbols"));
}

#[test]
fn pdbs_of_other_builds_are_told_and_not_used() {
    let lake = Lake::new();
    replay(&lake, fixture("traces/shop.nettrace.zst"))
        .arg("--symbols")
        .arg(fixture("other/Shop.pdb"))
        .assert()
        .success();
    assert!(places(&lake.run()).values().all(|(_, line, _)| line.is_none()));
    let told = heaplake().arg("show").arg(lake.run()).output().unwrap().stdout;
    let told = String::from_utf8(told).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("Shop.pdb is of build") && told.contains("so it is not used"), "{told}");
}

#[test]
fn damaged_files_are_named_in_one_line_and_the_run_goes_on() {
    let lake = Lake::new();
    let cut = |name: &str| {
        let whole = fs::read(fixture(name)).unwrap();
        whole[..whole.len() / 2].to_vec()
    };
    let files =
        [("Shop.pdb", cut("Shop.pdb")), ("Shop.dll", cut("Shop.dll")), ("a.js.map", b"{\"version\":2}".to_vec())];
    let mut command = heaplake();
    command.arg("replay").arg(fixture("traces/shop.nettrace.zst")).arg("--out").arg(lake.path());
    for (name, content) in &files {
        command.arg("--symbols").arg(lake.input(name, content));
    }
    let output = command.output().unwrap();
    assert!(output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    let warnings: Vec<&str> = told.lines().filter(|line| line.starts_with("heaplake: warning: ")).collect();
    assert_eq!(warnings.len(), files.len(), "{told}");
    for ((name, _), warning) in files.iter().zip(warnings) {
        assert!(warning.contains(name) && warning.ends_with("the run goes on without it"), "{warning}");
    }
    assert!(places(&lake.run()).values().all(|(_, line, _)| line.is_none()));
}

#[test]
fn functions_of_logs_are_found_by_name() {
    let log = b"# clrprof 1\nT 1 System.Byte[]\nF 1 Shop.Order::.ctor\nF 2 Shop.Program::Main\nF 3 Nobody::Knows\n\
                S 1 1 2 3\nA 0 1000 1 64 1\n# end\n";
    let lake = Lake::new();
    let log = lake.input("agent.log", log);
    let mut command = replay(&lake, &log);
    for file in ["Shop.dll", "Shop.pdb", "other/Shop.pdb"] {
        command.arg("--symbols").arg(fixture(file));
    }
    command.assert().success();
    let places = places(&lake.run());
    let line = line_of(&fixture("Orders.cs"), "public Order(int number)");
    assert_eq!(places["Shop.Order::.ctor"].1, Some(line));
    assert!(places["Shop.Program::Main"].1.is_some() && places["Nobody::Knows"].1.is_none());
}

#[test]
fn types_of_walks_have_the_names_of_assemblies() {
    let classes = |run: &Path| -> BTreeMap<String, Option<i64>> {
        let table = Table::read(run, "classes.parquet");
        texts(&table, "class").into_iter().map(Option::unwrap).zip(table.i64s("count")).collect()
    };
    let plain = Lake::new();
    plain.analyze(fixture("traces/walk.nettrace.zst")).assert().success();
    let before = classes(&plain.run());
    assert_eq!(before["[Shop.dll!0x02000002]"], Some(1000));
    let named = Lake::new();
    named.analyze(fixture("traces/walk.nettrace.zst")).arg("--symbols").arg(fixture("Shop.dll")).assert().success();
    let after = classes(&named.run());
    assert_eq!(after["Shop.Order"], Some(1000));
    assert_eq!(after["Shop.Basket`1[Shop.Order]"], Some(1));
    assert_eq!(before.values().flatten().sum::<i64>(), after.values().flatten().sum::<i64>());
    // Types of modules not given keep their tokens.
    assert!(after.keys().any(|class| class.starts_with("[System.Private.CoreLib.dll!0x0200")), "{after:?}");
    assert!(remarks(&named.run()).contains("types have no names"), "{}", remarks(&named.run()));
    let other = Lake::new();
    other
        .analyze(fixture("traces/walk.nettrace.zst"))
        .arg("--symbols")
        .arg(fixture("other/Shop.dll"))
        .assert()
        .success();
    assert_eq!(classes(&other.run()), before);
    assert!(remarks(&other.run()).contains("so it is not used"));
}

/// A profile of esbuild's bundle of `tests/programs/minified/src`.
#[test]
fn functions_of_scripts_have_their_originals() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/minified");
    let lake = Lake::new();
    replay(&lake, fixture("traces/minified.heapprofile.zst"))
        .arg("--symbols")
        .arg(programs.join("esbuild"))
        .arg("--memory=64MiB")
        .assert()
        .success();
    let table = Table::read(&lake.run(), "allocation_functions.parquet");
    let rows = texts(&table, "function").into_iter().zip(texts(&table, "original_file")).zip(
        texts(&table, "original_name").into_iter().zip(table.u32s("original_line").into_iter().zip(table.u32s("line"))),
    );
    let mut found = BTreeMap::new();
    for ((function, file), (name, (original, line))) in rows {
        if let (Some(file), Some(name)) = (file, name) {
            found.insert(name, (function.unwrap(), file, original.unwrap(), line.unwrap()));
        }
    }
    for (name, minified, file, text) in [
        ("SessionRecord", "e", "session.ts", "constructor(public readonly id"),
        ("CustomSession", "s", "session.ts", "constructor(id: number)"),
        ("LegacyCart", "o", "legacy.js", "export function LegacyCart"),
        ("PriceBook", "a", "legacy.js", "constructor(seed)"),
    ] {
        let (function, original, line, generated) = &found[name];
        assert_eq!((function.as_str(), *generated), (minified, 1), "{name}");
        assert!(original.ends_with(file), "{original}");
        assert_eq!(*line, line_of(&programs.join("src").join(file), text), "{name}");
    }
    let told = heaplake().arg("show").arg(lake.run()).output().unwrap().stdout;
    assert!(String::from_utf8(told).unwrap().contains(" (main.ts:1)"));
}
