//! `heaplake trend`: what grows along a series of runs.

use crate::fixtures;
use crate::lake::{Lake, complaint, heaplake};
use crate::table::Table;
use crate::written::{Class, write};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// `heaplake trend SELECTIONS --lake LAKE --out FOLDER` with further options; the folder.
fn followed(lake: &Lake, selections: &[&str], out: &str, options: &[&str]) -> PathBuf {
    let folder = lake.folder().join(out);
    let mut command = heaplake();
    command.arg("trend").args(selections).arg("--lake").arg(lake.path()).arg("--out").arg(&folder).args(options);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

fn json(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("trend.json")).unwrap()).unwrap()
}

/// What each step of a series is called.
fn steps(folder: &Path) -> Vec<String> {
    let steps = json(folder)["steps"].as_array().unwrap().clone();
    steps.iter().map(|step| step["selection"].as_str().unwrap().to_owned()).collect()
}

fn texts(table: &Table, column: &str) -> Vec<String> {
    table.texts(column).into_iter().map(Option::unwrap_or_default).collect()
}

/// Class and shape of each row.
fn shapes(folder: &Path) -> Vec<(String, String)> {
    let table = Table::read(folder, "trend_classes.parquet");
    texts(&table, "class").into_iter().zip(texts(&table, "shape")).collect()
}

/// A service of which some classes change along six runs.
fn ladder(lake: &Lake) {
    let leak = [100, 150, 210, 260, 300, 360];
    let cache = [200, 400, 600, 800, 800, 800];
    let young = [900, 100, 500, 900, 120, 500];
    for (step, ((leak, cache), young)) in leak.into_iter().zip(cache).zip(young).enumerate() {
        let chains = vec![(vec![("sessions", "Map"), ("[]", "Leak")], leak, 100 * leak)];
        let classes = [
            Class { name: "Leak".to_owned(), count: leak, shallow: 16 * leak, retained: 100 * leak, chains },
            Class::plain("Cache", cache, 1000 * cache),
            Class::plain("Young", young, 10 * young),
            Class::plain("Config", 3, 300),
        ];
        // Three of the steps lack this one: a run without a row has 0 of it.
        let late = [Class::plain("Late", 50 * (step as i64 - 2), 5000 * (step as i64 - 2))];
        let classes: Vec<Class> = classes.into_iter().chain(late.into_iter().filter(|_| step > 2)).collect();
        write(&lake.path(), ("1", &format!("hour{step}"), None), &classes);
    }
}

#[test]
fn what_grew_and_is_flat_is_a_plateau() {
    let lake = Lake::new();
    ladder(&lake);
    let folder = followed(&lake, &["release=1"], "trend", &[]);
    let expected =
        [("Leak", "growing"), ("Late", "growing"), ("Cache", "plateau"), ("Config", "none"), ("Young", "none")];
    let mut found = shapes(&folder);
    found[2..].sort();
    assert_eq!(found, expected.map(|(class, shape)| (class.to_owned(), shape.to_owned())));
    let table = Table::read(&folder, "trend_classes.parquet");
    assert_eq!(table.lists("medians_retained_bytes")[0], [10_000, 15_000, 21_000, 26_000, 30_000, 36_000].map(Some));
    assert_eq!(table.lists("medians_count")[1], [0, 0, 0, 50, 100, 150].map(Some));
    assert_eq!(table.lists("medians_native_bytes")[0], [None; 6], "no run tells it");
    assert_eq!(table.f64s("slope_native_bytes")[0], None);
    assert_eq!(table.i64s("first_growth")[..2], [Some(1), Some(3)]);
    assert_eq!(
        (table.f64s("slope")[0], table.i64s("steps_with")[..2].to_vec()),
        (Some(5000.0), vec![Some(6), Some(3)])
    );
    let chains = Table::read(&folder, "trend_chains.parquet");
    assert_eq!(
        (texts(&chains, "shape"), texts(&chains, "class")),
        (vec!["growing".to_owned()], vec!["Leak".to_owned()])
    );
    assert_eq!(json(&folder)["by"], "captured");

    let output = heaplake().args(["trend", "release=1", "--lake"]).arg(lake.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("6 steps by captured, 6 runs: hour0 to hour5"), "{text}");
    let leak = text.lines().find(|line| line.contains("Leak")).unwrap();
    assert!(leak.contains("▁▂▄▅▆█") && leak.contains("growing since hour1"), "{text}");
    assert!(!text.lines().any(|line| line.contains("Cache") && line.contains("growing")), "{text}");
}

/// Three releases of ten hosts each: the middle one is named so that characters would put it last.
#[test]
fn releases_are_in_the_order_of_versions_and_bytes_depend_on_nothing_else() {
    let lake = Lake::new();
    for (release, sessions) in [("7.9", 1000), ("7.10", 1100), ("7.11", 1200)] {
        for host in 0..10 {
            let noise = (host * 7) % 10 - 5;
            let mut classes: Vec<Class> =
                (0..300).map(|class| Class::plain(format!("Class{class}"), 10, 1000 + noise)).collect();
            classes.push(Class::plain("Session", sessions + noise, 100 * (sessions + noise)));
            write(&lake.path(), (release, &format!("web{host}"), Some(&format!("web{host}"))), &classes);
        }
    }
    let folder = followed(&lake, &["release=*"], "trend", &["--by", "release"]);
    assert_eq!(steps(&folder), ["release=7.9", "release=7.10", "release=7.11"]);
    let found = shapes(&folder);
    assert_eq!(found[0], ("Session".to_owned(), "growing".to_owned()));
    assert!(found[1..].iter().all(|(_, shape)| shape == "none"), "{found:?}");
    let table = Table::read(&folder, "trend_classes.parquet");
    let (low, slope, high) = (table.f64s("slope_low")[0], table.f64s("slope")[0], table.f64s("slope_high")[0]);
    assert!(low > Some(9500.0) && low < slope && slope < high && high < Some(10_500.0), "{low:?} {slope:?} {high:?}");

    let by_name = followed(
        &lake,
        &["release=7.9", "release=7.10", "release=7.11"],
        "by-name",
        &["--threads", "1", "--memory", "64MiB"],
    );
    for file in ["trend_classes.parquet", "trend_chains.parquet"] {
        assert!(fs::read(folder.join(file)).unwrap() == fs::read(by_name.join(file)).unwrap(), "{file}");
    }
    let by_host = followed(&lake, &["release=*"], "by-host", &["--by", "label.host"]);
    assert_eq!(steps(&by_host).len(), 10);
    assert_eq!(steps(&by_host)[1], "label.host=web1");
    assert!(shapes(&by_host).iter().all(|(_, shape)| shape != "growing"));
}

#[test]
fn runs_are_in_the_order_of_their_capture() {
    let lake = Lake::new();
    for (name, hour) in [("c", 1), ("a", 2), ("b", 3)] {
        let input = lake.input(&format!("{name}.heapsnapshot"), &fixtures::content("v8/small.heapsnapshot"));
        let moment = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + 3600 * hour);
        File::options().write(true).open(&input).unwrap().set_modified(moment).unwrap();
        lake.analyze(&input).args(["--snapshot", name]).assert().success();
    }
    let folder = followed(&lake, &["release=none"], "trend", &["--by", "captured"]);
    let names = steps(&folder);
    assert!(["=c", "=a", "=b"].iter().zip(&names).all(|(end, name)| name.ends_with(end)), "{names:?}");
    for entry in fs::read_dir(&folder).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("trend_") {
            let table = Table::read(&folder, &name);
            assert!(texts(&table, "shape").iter().all(|shape| shape == "none"), "{name}");
            assert!(table.rows() > 0, "{name}");
        }
    }
    let output = heaplake().args(["trend", "release=none", "--json", "--lake"]).arg(lake.path()).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["followed"][0]["table"], "trend_classes");
    assert_eq!(answer["steps"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_no_series_is_refused() {
    let lake = Lake::new();
    ladder(&lake);
    let refused =
        |arguments: &[&str]| complaint(heaplake().arg("trend").args(arguments).arg("--lake").arg(lake.path()), 2);
    let (cause, advice) = refused(&["snapshot=hour0", "snapshot=hour1"]);
    assert!(cause.contains("2 steps") && advice.contains("heaplake diff"), "{cause} {advice}");
    assert!(refused(&["snapshot=hour0", "snapshot=hour1", "snapshot=hour2", "--by", "release"]).0.contains("--by"));
    assert!(refused(&["release=1", "--by", "release"]).0.contains("1 step,"));
    assert!(refused(&["release=1", "--by", "label.host"]).0.contains("0 steps"));
    assert!(refused(&["release=2"]).0.contains("no run in"));
    let output = heaplake().args(["trend", "release=1", "--by", "host"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
