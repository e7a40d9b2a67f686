//! Reads a lake in polars, pandas, pyarrow, DuckDB and Spark, without a cast.
//!
//! The scripts are in `tests/notebooks`. `HEAPLAKE_PYTHON` names the Python that runs them; `make test-notebooks`
//! installs the packages for one. Missing readers are skipped, unless `HEAPLAKE_NOTEBOOKS=all` requires all.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake, said};
use heaplake_support::table::Table;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Release names that look like a number and a date.
const AWKWARD: [&str; 2] = ["1.4", "2024-01-01"];

const READERS: [&str; 5] = ["polars", "pandas", "pyarrow", "duckdb", "spark"];

/// A lake of two releases; the inputs are the same program at two moments.
fn lake(releases: [&str; 2]) -> Lake {
    let lake = Lake::new();
    for (input, release) in ["s1", "s2"].into_iter().zip(releases) {
        let input = fixtures::path(&format!("v8/{input}.heapsnapshot.zst"));
        lake.analyze(input).args(["--duplicates", "all", "--report", "--release", release]).assert().success();
    }
    lake
}

fn python(arguments: &[&str], folder: &Path) -> std::io::Result<Output> {
    let python = env::var("HEAPLAKE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    Command::new(python).args(arguments).current_dir(folder).env("PYTHONWARNINGS", "ignore").output()
}

/// Whether Python has the packages of a reader; prints a note if not.
fn has(reader: &str) -> bool {
    let module = if reader == "spark" { "pyspark" } else { reader };
    let imports = match reader {
        "pandas" => "import pandas, pyarrow".to_owned(),
        _ => format!("import {module}"),
    };
    let java = reader != "spark" || Command::new("java").arg("-version").output().is_ok();
    let there = java
        && python(&["-c", &imports], Path::new(env!("CARGO_MANIFEST_DIR"))).is_ok_and(|output| output.status.success());
    assert!(there || env::var("HEAPLAKE_NOTEBOOKS").is_err(), "{reader} is not there; make test-notebooks installs it");
    if !there {
        eprintln!("SKIPPED: {reader} cannot be run here; make test-notebooks installs it");
    }
    there
}

fn succeeded(output: &Output, what: &str) -> String {
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn five_analyses_in_every_reader() {
    let lake = lake(AWKWARD);
    let expected = expected(&lake.runs());
    let growth: Vec<i64> = expected["growth"].as_array().unwrap().iter().map(|row| row[1].as_i64().unwrap()).collect();
    assert!(growth.first() < Some(&0) && growth.last() > Some(&0), "some classes shrink and some grow: {growth:?}");
    for analysis in ["top_classes", "owner_shares", "chains", "duplicates"] {
        assert!(!expected[analysis].as_array().unwrap().is_empty(), "{analysis}");
    }
    for reader in READERS.into_iter().filter(|reader| has(reader)) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/notebooks/in_{reader}.py"));
        let output = python(&["-B", &script.display().to_string()], lake.folder()).unwrap();
        let answers: Value = serde_json::from_str(&succeeded(&output, reader)).unwrap();
        for (analysis, rows) in expected.as_object().unwrap() {
            assert_eq!(answers[analysis], *rows, "{analysis} in {reader}");
        }
    }
}

/// The answers, from the tables of the two runs.
fn expected(runs: &[PathBuf]) -> Value {
    let [old, new] = runs else { panic!("two runs: {runs:?}") };
    let (old_classes, new_classes) = (by_class(old), by_class(new));
    let mut total: BTreeMap<&String, [i64; 2]> = BTreeMap::new();
    for (class, [retained, count]) in old_classes.iter().chain(&new_classes) {
        let sums = total.entry(class).or_default();
        *sums = [sums[0] + retained, sums[1] + count];
    }
    let mut top: Vec<_> = total.into_iter().map(|(class, [retained, count])| (-retained, class, count)).collect();
    top.sort();
    let mut growth: Vec<(i64, &String)> =
        new_classes.iter().filter_map(|(class, [new, _])| Some((new - old_classes.get(class)?[0], class))).collect();
    growth.sort();
    let of_both = |rows: fn(&Path) -> Vec<Vec<Value>>| -> Vec<Value> {
        AWKWARD
            .iter()
            .zip(runs)
            .flat_map(|(release, run)| rows(run).into_iter().map(move |row| told(release, row)))
            .collect()
    };
    json!({
        "top_classes": top.iter().take(10).map(|(retained, class, count)| json!([class, -retained, count])).collect::<Vec<_>>(),
        "growth": growth.iter().map(|(growth, class)| json!([class, growth])).collect::<Vec<_>>(),
        "owner_shares": of_both(owner_shares),
        "chains": of_both(chains_to_arrays),
        "duplicates": of_both(duplicates),
    })
}

fn told(release: &str, row: Vec<Value>) -> Value {
    Value::Array([vec![release.into()], row].concat())
}

fn signed(table: &Table, column: &str) -> Vec<i64> {
    table.u64s(column).into_iter().map(|number| number.unwrap() as i64).collect()
}

fn texts(table: &Table, column: &str) -> Vec<String> {
    table.texts(column).into_iter().map(Option::unwrap).collect()
}

/// Retained bytes and counts by name.
fn by_class(run: &Path) -> BTreeMap<String, [i64; 2]> {
    let table = Table::read(run, "classes.parquet");
    let mut classes: BTreeMap<String, [i64; 2]> = BTreeMap::new();
    let numbers = signed(&table, "retained_bytes").into_iter().zip(signed(&table, "count"));
    for (class, (retained, count)) in texts(&table, "class").into_iter().zip(numbers) {
        let sums = classes.entry(class).or_default();
        *sums = [sums[0] + retained, sums[1] + count];
    }
    classes
}

fn owner_shares(run: &Path) -> Vec<Vec<Value>> {
    let table = Table::read(run, "owners.parquet");
    let retained = signed(&table, "retained_bytes");
    let total: i64 = retained.iter().sum();
    let mut owners: Vec<_> = texts(&table, "owner").into_iter().zip(retained).collect();
    owners.sort();
    let share = |bytes: i64| format!("{:.6}", bytes as f64 / total as f64);
    owners.into_iter().map(|(owner, bytes)| vec![owner.into(), share(bytes).into()]).collect()
}

fn chains_to_arrays(run: &Path) -> Vec<Vec<Value>> {
    let table = Table::read(run, "chains.parquet");
    let (classes, kinds, texts) = (texts(&table, "class"), texts(&table, "kind"), texts(&table, "text"));
    let (counts, retained) = (signed(&table, "count"), signed(&table, "retained_bytes"));
    (0..table.rows())
        .filter(|&row| classes[row] == "Array" && kinds[row] == "reference")
        .map(|row| vec![texts[row].clone().into(), counts[row].into(), retained[row].into()])
        .collect()
}

fn duplicates(run: &Path) -> Vec<Vec<Value>> {
    let table = Table::read(run, "duplicate_sets.parquet");
    let (classes, status) = (texts(&table, "class"), texts(&table, "status"));
    let (held, bytes) = (table.u32s("held_by"), signed(&table, "additional_bytes"));
    let mut by_class: BTreeMap<&String, [i64; 2]> = BTreeMap::new();
    for row in (0..table.rows()).filter(|&row| status[row] == "exact" && held[row].is_none()) {
        let sums = by_class.entry(&classes[row]).or_default();
        *sums = [sums[0] + 1, sums[1] + bytes[row]];
    }
    by_class.into_iter().map(|(class, [sets, bytes])| vec![class.clone().into(), sets.into(), bytes.into()]).collect()
}

/// Python code blocks on a page.
fn blocks(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page)).unwrap();
    let starts = text.split("```python\n").skip(1);
    starts.map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

#[test]
fn what_the_pages_show_runs_when_pasted() {
    let lake = lake(["2.4.0", "2.4.1"]);
    let mut readers = Vec::new();
    for block in ["docs/tour.md", "docs/tables.md"].into_iter().flat_map(blocks) {
        let reader = READERS.into_iter().find(|reader| block.contains(&format!("import {reader}")));
        let reader = reader.or_else(|| block.contains("pyspark").then_some("spark")).unwrap();
        readers.push(reader);
        if has(reader) {
            let output = python(&["-c", &block], lake.folder()).unwrap();
            let printed = succeeded(&output, &block);
            assert!(printed.contains("2.4.0") && printed.contains("2.4.1"), "{block}\n{printed}");
        }
    }
    assert!(READERS.iter().all(|reader| readers.contains(reader)), "{readers:?}");
}

#[test]
fn the_line_of_the_summary_runs_when_pasted() {
    let lake = lake(AWKWARD);
    let shown = said(heaplake().arg("show").arg(&lake.runs()[0]));
    let (_, line) = shown.split_once("All runs in polars: ").unwrap();
    let line = line.lines().next().unwrap();
    if has("polars") {
        let program = format!("import polars as pl\nprint(sorted(set(({line}).get_column('release'))))");
        let output = python(&["-c", &program], lake.folder()).unwrap();
        assert_eq!(succeeded(&output, &program).trim(), "['1.4', '2024-01-01']");
    }
}
