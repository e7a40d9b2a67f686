//! `heaplake trend`: growth along a series of runs.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, answer, diagnostic, heaplake, read_json, said};
use heaplake_support::table::Table;
use heaplake_support::written::{Class, write, write_as};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Runs `heaplake trend SELECTIONS --lake LAKE --out FOLDER` with further options; returns the folder.
fn followed(lake: &Lake, selections: &[&str], out: &str, options: &[&str]) -> PathBuf {
    let folder = lake.folder().join(out);
    let mut command = heaplake();
    command.arg("trend").args(selections).arg("--lake").arg(lake.path()).arg("--out").arg(&folder).args(options);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

fn json(folder: &Path) -> Value {
    read_json(folder.join("trend.json"))
}

/// The names of the steps of a series.
fn steps(folder: &Path) -> Vec<String> {
    let steps = json(folder)["steps"].as_array().unwrap().clone();
    steps.iter().map(|step| step["selection"].as_str().unwrap().to_owned()).collect()
}

fn rows(folder: &Path, file: &str, measure: &str) -> Table {
    Table::read(folder, file).only("measure", measure)
}

/// Class and shape of each subject.
fn shapes(folder: &Path) -> Vec<(String, String)> {
    let table = rows(folder, "trend_classes.parquet", "retained_bytes");
    let first = table.i64s("step").into_iter().map(|step| step == Some(0));
    let all = table.strings("class").into_iter().zip(table.strings("shape")).zip(first);
    all.filter_map(|(row, is_first)| is_first.then_some(row)).collect()
}

/// A service with classes that change along six runs.
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
        // Three of the steps lack this one: a run without a row counts as 0.
        let late = [Class::plain("Late", 50 * (step as i64 - 2), 5000 * (step as i64 - 2))];
        let classes: Vec<Class> = classes.into_iter().chain(late.into_iter().filter(|_| step > 2)).collect();
        write(&lake.path(), ("1", &format!("hour{step}"), None), &classes).unwrap();
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
    let of = |class: &str, measure: &str| rows(&folder, "trend_classes.parquet", measure).only("class", class);
    let leak = of("Leak", "retained_bytes");
    assert_eq!(leak.i64s("median"), [10_000, 15_000, 21_000, 26_000, 30_000, 36_000].map(Some));
    assert_eq!(leak.i64s("step"), [0, 1, 2, 3, 4, 5].map(Some));
    assert_eq!(of("Late", "count").i64s("median"), [0, 0, 0, 50, 100, 150].map(Some));
    assert_eq!(of("Late", "count").i64s("runs_with"), [0, 0, 0, 1, 1, 1].map(Some));
    assert_eq!(of("Leak", "native_bytes").i64s("median"), [None; 6], "no run tells it");
    assert_eq!(of("Leak", "native_bytes").f64s("slope")[0], None);
    let first_growth = |class: &str| of(class, "retained_bytes").i64s("first_growth")[0];
    assert_eq!((first_growth("Leak"), first_growth("Late")), (Some(1), Some(3)));
    assert_eq!(leak.f64s("slope"), [Some(5000.0); 6]);
    let chains = rows(&folder, "trend_chains.parquet", "retained_bytes");
    assert_eq!((chains.strings("shape")[0].as_str(), chains.strings("class")[0].as_str()), ("growing", "Leak"));
    assert_eq!(chains.rows(), 6);
    assert_eq!(json(&folder)["by"], "captured");

    let text = said(heaplake().args(["trend", "release=1", "--lake"]).arg(lake.path()));
    assert!(text.contains("6 steps by captured, 6 runs: hour0 to hour5"), "{text}");
    let leak = text.lines().find(|line| line.contains("Leak")).unwrap();
    assert!(leak.contains("▁▂▄▅▆█") && leak.contains("growing since hour1"), "{text}");
    assert!(!text.lines().any(|line| line.contains("Cache") && line.contains("growing")), "{text}");
}

/// Three releases of ten hosts each; by characters the middle one would come last.
#[test]
fn releases_are_in_the_order_of_versions_and_bytes_depend_on_nothing_else() {
    let lake = Lake::new();
    for (release, sessions) in [("7.9", 1000), ("7.10", 1100), ("7.11", 1200)] {
        for host in 0..10 {
            let noise = (host * 7) % 10 - 5;
            let mut classes: Vec<Class> =
                (0..300).map(|class| Class::plain(format!("Class{class}"), 10, 1000 + noise)).collect();
            classes.push(Class::plain("Session", sessions + noise, 100 * (sessions + noise)));
            write(&lake.path(), (release, &format!("web{host}"), Some(&format!("web{host}"))), &classes).unwrap();
        }
    }
    let folder = followed(&lake, &["release=*"], "trend", &["--by", "release"]);
    assert_eq!(steps(&folder), ["release=7.9", "release=7.10", "release=7.11"]);
    let found = shapes(&folder);
    assert_eq!(found[0], ("Session".to_owned(), "growing".to_owned()));
    assert!(found[1..].iter().all(|(_, shape)| shape == "none"), "{found:?}");
    let table = rows(&folder, "trend_classes.parquet", "retained_bytes");
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
fn a_leak_on_some_hosts_is_followed() {
    let lake = Lake::new();
    for step in 0..6 {
        for host in 0..30 {
            let mut classes = vec![Class::plain("Cache", 100, 1_000_000 + 100 * ((host * 7 + step) % 11))];
            classes.extend((host < 12).then(|| Class::plain("Leak", 100, 1_000_000 * (1 + 8 * step))));
            let run = (format!("7.{step}"), format!("web{host}"));
            write(&lake.path(), (&run.0, &run.1, Some(&run.1)), &classes).unwrap();
        }
    }
    let folder = followed(&lake, &["release=*"], "trend", &["--by", "release"]);
    assert_eq!(shapes(&folder)[0], ("Leak".to_owned(), "leaks_on_some".to_owned()));
    assert_eq!(shapes(&folder)[1].1, "none");
    let leak = rows(&folder, "trend_classes.parquet", "retained_bytes").only("class", "Leak");
    assert_eq!((leak.i64s("grown_on")[0], leak.i64s("first_growth")[0]), (Some(12), Some(1)));
    assert!(leak.strings("grown_on_names")[0].starts_with("web0, web1"));
    assert_eq!((leak.i64s("mean")[1], leak.f64s("slope")[0]), (Some(3_600_000), Some(3_200_000.0)));
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
            assert!(table.strings("shape").iter().all(|shape| shape == "none"), "{name}");
            assert!(table.rows() > 0, "{name}");
        }
    }
    let answer = answer(heaplake().args(["trend", "release=none", "--json", "--lake"]).arg(lake.path()));
    assert_eq!(answer["followed"][0]["table"], "trend_classes");
    assert_eq!(answer["steps"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_no_series_is_refused() {
    let lake = Lake::new();
    ladder(&lake);
    let refused =
        |arguments: &[&str]| diagnostic(heaplake().arg("trend").args(arguments).arg("--lake").arg(lake.path()), 2);
    let (cause, advice) = refused(&["snapshot=hour0", "snapshot=hour1"]);
    assert!(cause.contains("2 steps") && advice.contains("heaplake diff"), "{cause} {advice}");
    assert!(refused(&["snapshot=hour0", "snapshot=hour1", "snapshot=hour2", "--by", "release"]).0.contains("--by"));
    assert!(refused(&["release=1", "--by", "release"]).0.contains("1 step,"));
    assert!(refused(&["release=1", "--by", "label.host"]).0.contains("label host"));
    assert!(refused(&["release=2"]).0.contains("no run in"));
    let output = heaplake().args(["trend", "release=1", "--by", "host"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn series_of_several_formats_are_followed_format_by_format() {
    let lake = Lake::new();
    for (step, release) in ["1", "2", "3", "4"].into_iter().enumerate() {
        let leak = |count: i64| [Class::plain("Leak", count, 100 * count)];
        let step = step as i64;
        write(&lake.path(), (release, "web", None), &leak(100 + 10 * step)).unwrap();
        if step > 0 {
            write_as("hprof", &lake.path(), (release, "java", None), &leak(100 + 90 * step)).unwrap();
        }
        if step > 1 {
            write_as("dotnet", &lake.path(), (release, "net", None), &leak(100)).unwrap();
        }
    }
    let folder = followed(&lake, &["release=*"], "trend", &["--by", "release"]);
    let classes = rows(&folder, "trend_classes.parquet", "retained_bytes");
    let shown: Vec<(String, Option<i64>, Option<i64>)> = classes
        .strings("format")
        .into_iter()
        .zip(classes.i64s("step"))
        .zip(classes.i64s("sum"))
        .map(|((format, step), sum)| (format, step, sum))
        .collect();
    let series = |format: &str, sums: [Option<i64>; 4]| -> Vec<_> {
        (0..4).zip(sums).map(|(step, sum)| (format.to_owned(), Some(step), sum)).collect()
    };
    let java = series("hprof", [None, Some(19_000), Some(28_000), Some(37_000)]);
    let v8 = series("v8-heapsnapshot", [10_000, 11_000, 12_000, 13_000].map(Some));
    assert_eq!(shown, [java, v8].concat());
    assert_eq!(classes.strings("shape"), vec!["growing"; 8]);
    assert_eq!(json(&folder)["format"], "hprof, v8-heapsnapshot");
    let remarks = json(&folder)["remarks"].to_string();
    assert!(remarks.contains("2 runs are of format dotnet, which only 2 sides have"), "{remarks}");
    heaplake().arg("report").arg(&folder).assert().success();
}
