//! The rows of a rollup, against a naive sum over the tables of the runs.

use crate::shared::{files, groups, releases, rollup, run};
use heaplake_support::lake::{Lake, diagnostic, heaplake, read_json};
use heaplake_support::table::Table;
use heaplake_support::written::{Class, write};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A class in the runs of a release: run, host, retained bytes, count.
type Said = Vec<(String, Option<String>, i64, i64)>;

/// By release and signature.
fn said(lake: &Path) -> BTreeMap<(String, String), Said> {
    let mut said: BTreeMap<_, Said> = BTreeMap::new();
    for found in heaplake_lake::selection::runs(lake).unwrap().found {
        let table = Table::read(&found.place, "classes.parquet");
        let host = found.run.labels.get("host").map(str::to_owned);
        let rows = table.texts("signature").into_iter().zip(table.i64s("retained_bytes")).zip(table.i64s("count"));
        for ((signature, retained), count) in rows {
            let key = (found.run.release.to_string(), signature.unwrap());
            let row = (found.run.snapshot.to_string(), host.clone(), retained.unwrap(), count.unwrap());
            said.entry(key).or_default().push(row);
        }
    }
    said
}

/// Type 7 of Hyndman and Fan, rounded half away from zero; values are not negative here.
fn quantile(sorted: &[i64], part: f64) -> i64 {
    let place = (sorted.len() - 1) as f64 * part;
    let (low, high) = (sorted[place.floor() as usize] as f64, sorted[place.ceil() as usize] as f64);
    (low + (high - low) * (place - place.floor()) + 1e-6).round() as i64
}

/// Sum, mean, minimum, median, two quantiles, maximum.
fn summed(mut values: Vec<i64>) -> [i64; 7] {
    values.sort_unstable();
    let sum: i64 = values.iter().sum();
    let mean = (sum as f64 / values.len() as f64).round() as i64;
    let [median, p90, p99] = [0.5, 0.9, 0.99].map(|part| quantile(&values, part));
    [sum, mean, values[0], median, p90, p99, values[values.len() - 1]]
}

#[test]
fn rows_are_sums_over_the_runs() {
    let lake = releases();
    let out = lake.folder().join("out");
    rollup(&lake.path(), &out, &[]);
    let mut expected = said(&lake.path());
    for group in groups(&out) {
        let table = Table::read(&group, "rollup_classes.parquet");
        let number = |name: &str| table.i64s(name);
        let [runs, runs_with, hosts_with] = ["runs", "runs_with", "hosts_with"].map(number);
        let amounts = ["sum", "mean", "min", "median", "p90", "p99", "max"].map(number);
        let [releases, signatures, worst, measures] =
            ["release", "signature", "worst_snapshot", "measure"].map(|name| table.texts(name));
        for row in 0..table.rows() {
            let key = (releases[row].clone().unwrap(), signatures[row].clone().unwrap());
            let measure = measures[row].as_deref().unwrap();
            if !["retained_bytes", "count"].contains(&measure) {
                continue;
            }
            let said = &expected[&key];
            let of = |(.., retained, count): &(_, _, i64, i64)| if measure == "count" { *count } else { *retained };
            let values = said.iter().map(of).collect();
            assert_eq!(amounts.each_ref().map(|column| column[row].unwrap()), summed(values), "{key:?} {measure}");
            let most = said.iter().map(|(.., retained, _)| *retained).max();
            let first = said.iter().find(|(.., retained, _)| Some(*retained) == most).unwrap();
            let hosts: BTreeSet<&String> = said.iter().filter_map(|(_, host, ..)| host.as_ref()).collect();
            assert_eq!((runs[row], runs_with[row]), (Some(4), Some(said.len() as i64)), "{key:?}");
            assert_eq!(hosts_with[row], Some(hosts.len() as i64), "{key:?}");
            assert_eq!(worst[row].as_ref(), Some(&first.0), "{key:?}");
            // `count` comes after `retained_bytes`.
            if measure == "count" {
                expected.remove(&key);
            }
        }
    }
    assert!(expected.is_empty(), "{expected:?}");
}

#[test]
fn runs_are_grouped_by_what_is_asked_for() {
    let lake = releases();
    let out = lake.folder().join("out");
    let answer = rollup(&lake.path(), &out, &["--by", "label.host"]);
    let groups = answer["groups"].as_array().unwrap();
    // Three hosts, and the runs without one.
    assert_eq!(groups.len(), 4);
    assert!(groups.iter().all(|group| group["release"].is_null()));
    let hosts: Vec<&Value> = groups.iter().map(|group| &group["labels"]).collect();
    assert!(hosts.contains(&&json!({})) && hosts.contains(&&json!({ "host": "host1" })), "{hosts:?}");
    let runs: usize = groups.iter().map(|group| group["runs"].as_array().unwrap().len()).sum();
    assert_eq!(runs, 12);
    // Another grouping is another rollup, in the same folder too.
    let answer = rollup(&lake.path(), &out, &["--by", "release,label.host"]);
    assert_eq!(answer["updated_groups"], answer["groups"].as_array().unwrap().len());
    heaplake().args(["fleet", "rollup"]).arg(lake.path()).args(["--by", "host"]).assert().code(2);
}

#[test]
fn the_bytes_are_the_same_with_any_threads_and_memory() {
    let lake = releases();
    let of = |name: &str, more: &[&str]| {
        let out = lake.folder().join(name);
        rollup(&lake.path(), &out, more);
        files(&out)
    };
    let one = of("one", &["--threads", "1"]);
    assert!(one == of("four", &["--threads", "4"]));
    assert!(one == of("little", &["--memory", "64MiB"]));
}

#[test]
fn what_cannot_be_summed_up_is_said() {
    let lake = releases();
    let out = lake.folder().join("out");
    fs::write(lake.runs()[0].join("run.json"), "{").unwrap();
    let answer = rollup(&lake.path(), &out, &["--skip-damaged"]);
    assert_eq!(answer["groups"][0]["runs"].as_array().unwrap().len(), 3);
    assert!(answer["remarks"][0].as_str().unwrap().contains("is left out"), "{answer}");
    // Runs of a version without fingerprints.
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/version-1/lake");
    let (cause, _) = diagnostic(heaplake().args(["fleet", "rollup"]).arg(&old).arg("--out").arg(&out), 2);
    assert!(cause.contains("no run to sum up"), "{cause}");
    let empty = heaplake_support::lake::Lake::new();
    fs::create_dir_all(empty.path()).unwrap();
    diagnostic(heaplake().args(["fleet", "rollup"]).arg(empty.path()), 2);
    diagnostic(heaplake().args(["fleet", "rollup"]).arg(empty.path().join("nowhere")), 2);
}

#[test]
fn damaged_tables_of_runs_are_named() {
    let lake = releases();
    run(&lake, "3.0", "run0", 77);
    let path = lake.path().join("release=3.0/snapshot=run0/classes.parquet");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let out = lake.folder().join("out");
    let (cause, _) = diagnostic(heaplake().args(["fleet", "rollup"]).arg(lake.path()).arg("--out").arg(&out), 1);
    assert!(cause.contains("release=3.0") && cause.contains("classes.parquet"), "{cause}");
    // The others are rolled up.
    let rollup: serde_json::Value = read_json(out.join("rollup.json"));
    assert_eq!((rollup["missed"].as_array().unwrap().len(), rollup["groups"].as_array().unwrap().len()), (1, 3));
}

/// A leak on all runs ranks above one large run.
#[test]
fn first_rows_are_those_with_the_most_on_all_runs() {
    let lake = Lake::new();
    for run in 0..4 {
        let classes: Vec<Class> = (0..30)
            .map(|at| Class::plain(format!("Cache{at}"), 1, if run == 0 { 1000 + at } else { 1 }))
            .chain([Class::plain("Leak", 4, 400)])
            .collect();
        let name = format!("run{run}");
        write(&lake.path(), ("1", &name, None), &classes).unwrap();
    }
    let answer = rollup(&lake.path(), &lake.folder().join("out"), &[]);
    let top = &answer["groups"][0]["brief"][0]["top"];
    assert!(top[0]["signature"].as_str().unwrap().contains("Leak"), "{top}");
    assert_eq!((top[0]["sum"].as_i64(), top[0]["max"].as_i64()), (Some(1600), Some(400)));
    assert!(top[1]["signature"].as_str().unwrap().contains("Cache29"), "{top}");
}
