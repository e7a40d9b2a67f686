//! `heaplake diff`: growth between two sides.

use heaplake_oracle::SplitMix64;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, heaplake, read_json};
use heaplake_support::table::Table;
use heaplake_support::written::{self, Class};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// `heaplake diff BASE TARGET --lake LAKE --out FOLDER` with further options.
fn diff(lake: &Lake, sides: [&str; 2], out: &str, options: &[&str]) -> Output {
    let mut command = heaplake();
    command.arg("diff").args(sides).arg("--lake").arg(lake.path()).arg("--out").arg(lake.folder().join(out));
    command.args(options).output().unwrap()
}

fn write(lake: &Path, run: (&str, &str, Option<&str>), classes: &[Class]) {
    written::write(lake, run, classes).unwrap();
}

/// The folder of a comparison that must succeed.
fn compared(lake: &Lake, sides: [&str; 2], options: &[&str]) -> PathBuf {
    let output = diff(lake, sides, "diff", options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    lake.folder().join("diff")
}

/// The rows of the measure that ranks classes and chains.
fn main_rows(folder: &Path, file: &str) -> Table {
    Table::read(folder, file).only("measure", "retained_bytes")
}

/// Status of each row by a column; one row per subject for classes and chains.
fn statuses(folder: &Path, file: &str, by: &str) -> Vec<(String, String)> {
    let is_ranked = file.ends_with("classes.parquet") || file.ends_with("chains.parquet");
    let table = if is_ranked { main_rows(folder, file) } else { Table::read(folder, file) };
    table.strings(by).into_iter().zip(table.strings("status")).collect()
}

#[test]
fn a_run_against_itself_is_the_same_in_every_row() {
    let lake = Lake::new();
    for input in ["v8/small.heapsnapshot.zst", "jvm/dupfix.hprof.zst"] {
        lake.analyze(fixtures::path(input)).args(["--release", "1", "--duplicates", "all"]).assert().success();
    }
    for run in lake.runs() {
        let run = run.to_str().unwrap();
        let folder = compared(&lake, [run, run], &[]);
        let mut tables = 0;
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with("diff_") {
                assert!(statuses(&folder, &name, "signature").iter().all(|(_, status)| status == "same"), "{name}");
                tables += 1;
            }
        }
        assert_eq!(tables, 5, "{run}");
    }
}

#[test]
fn different_formats_and_empty_sides_are_refused_by_name() {
    let lake = Lake::new();
    lake.analyze(fixtures::v8("small")).args(["--release", "1"]).assert().success();
    lake.analyze(fixtures::path("jvm/dupfix.hprof.zst")).args(["--release", "2"]).assert().success();
    let refused = |sides: [&str; 2], with_lake: bool| {
        let mut command = heaplake();
        command.arg("diff").args(sides);
        if with_lake {
            command.arg("--lake").arg(lake.path());
        }
        diagnostic(&mut command, 2).0
    };
    let cause = refused(["release=1", "release=2"], true);
    assert!(cause.contains("v8-heapsnapshot") && cause.contains("hprof"), "{cause}");
    assert!(refused(["release=1", "release=3"], true).contains("no run in"));
    assert!(refused(["release=1", "release=2"], false).contains("needs a lake"));
    assert!(refused(["release=1", "host=a"], true).contains("label.NAME"));
    assert!(refused(["release=1", lake.folder().to_str().unwrap()], true).contains("no run in this folder"));
    assert!(!lake.folder().join("diff").exists());
}

/// A class `Session` in runs of two formats, and a run of a third one in the second release.
fn mixed(v8: [i64; 2], java: [i64; 2]) -> Lake {
    let lake = Lake::new();
    for (at, release) in ["1", "2"].into_iter().enumerate() {
        let session = |count: i64| [Class::plain("Session", count, 100 * count), Class::plain("Config", 3, 300)];
        write(&lake.path(), (release, "web", None), &session(v8[at]));
        written::write_as("hprof", &lake.path(), (release, "java", None), &session(java[at])).unwrap();
    }
    written::write_as("dotnet", &lake.path(), ("2", "net", None), &[Class::plain("Session", 9, 9000)]).unwrap();
    lake
}

#[test]
fn runs_of_several_formats_are_compared_format_by_format() {
    let lake = mixed([100, 110], [1000, 1900]);
    let folder = compared(&lake, ["release=1", "release=2"], &[]);
    let classes = main_rows(&folder, "diff_classes.parquet");
    let row = |at: usize| {
        let [class, format, status, evidence] =
            ["class", "format", "status", "evidence"].map(|name| classes.strings(name)[at].clone());
        (class, format, status, evidence, classes.i64s("delta_sum")[at])
    };
    let told = |class: &str, format: &str, status: &str, evidence: &str, delta: i64| {
        (class.to_owned(), format.to_owned(), status.to_owned(), evidence.to_owned(), Some(delta))
    };
    assert_eq!(classes.rows(), 4);
    // The fleet's bytes rank, whatever the format.
    assert_eq!(row(0), told("Session", "hprof", "grew", "difference", 90_000));
    assert_eq!(row(1), told("Session", "v8-heapsnapshot", "grew", "difference", 1000));
    assert!((2..4).all(|at| row(at).2 == "same"));
    assert_eq!(classes.i64s("target_runs"), vec![Some(1); 4]);
    let said: Value = read_json(folder.join("diff.json"));
    assert_eq!(said["format"], "hprof, v8-heapsnapshot");
    let remark = "1 run is of format dotnet, which only release=2 has: they are not compared.";
    assert!(said["remarks"].as_array().unwrap().iter().any(|said| said == remark), "{}", said["remarks"]);
    // One format alone gives the same result.
    let alone = compared(&lake, ["release=1,format=v8*", "release=2,format=v8*"], &[]);
    assert_eq!(main_rows(&alone, "diff_classes.parquet").i64s("delta_sum"), [Some(1000), Some(0)]);
    assert_eq!(main_rows(&alone, "diff_classes.parquet").strings("format"), vec!["v8-heapsnapshot"; 2]);
}

#[test]
fn gates_and_what_is_told_are_about_all_formats() {
    let lake = mixed([100, 110], [1000, 1900]);
    let page = lake.folder().join("page.html");
    let told = |options: &[&str]| diff(&lake, ["release=1", "release=2"], "diff", options);
    let code = |gate: &str| told(&["--fail-if", gate]).status.code();
    assert_eq!(code("retained_bytes.delta > 50 kB"), Some(4));
    assert_eq!(code("format = \"hprof\" and status = \"grew\""), Some(4));
    assert_eq!(code("format like \"v8%\" and retained_bytes.delta > 50 kB"), Some(0));
    // A gate without a format has not seen the run of the third one.
    assert_eq!(code("retained_bytes.delta > 50 MB"), Some(4));
    let output = told(&["--report", page.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("classes of hprof by retained_bytes: 1 grew, 1 same"), "{text}");
    assert!(text.contains("classes of v8-heapsnapshot by retained_bytes: 1 grew, 1 same"), "{text}");
    assert!(text.contains("1 run is of format dotnet"), "{text}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("\"format\":") && page.contains("hprof, v8-heapsnapshot"));
    let json: Value = serde_json::from_slice(&told(&["--json"]).stdout).unwrap();
    let formats: Vec<&str> =
        json["compared"].as_array().unwrap().iter().map(|of| of["format"].as_str().unwrap()).collect();
    assert_eq!(&formats[..2], ["hprof", "v8-heapsnapshot"]);
}

/// Sessions retained by a cache; with `second`, also by a list.
fn service(sessions: i64, second: i64) -> Vec<Class> {
    let mut chains = vec![(vec![("cache", "Map"), ("[]", "Session")], sessions, 100 * sessions)];
    if second > 0 {
        chains.push((vec![("pending", "Array"), ("[]", "Session")], second, 100 * second));
    }
    let all = sessions + second;
    vec![
        Class { name: "Session".to_owned(), count: all, shallow: 16 * all, retained: 100 * all, chains },
        Class::plain("Config", 3, 300),
    ]
}

#[test]
fn a_second_holder_beside_an_old_one_is_a_new_path_with_its_name() {
    let lake = Lake::new();
    write(&lake.path(), ("1", "a", None), &service(1000, 0));
    write(&lake.path(), ("2", "a", None), &service(1010, 400));
    write(&lake.path(), ("3", "a", None), &service(1410, 0));
    let folder = compared(&lake, ["release=1", "release=2"], &[]);
    let classes = main_rows(&folder, "diff_classes.parquet");
    assert_eq!(statuses(&folder, "diff_classes.parquet", "class")[0], ("Session".to_owned(), "new_path".to_owned()));
    assert!(classes.strings("grew_through")[0].contains("pending"), "{:?}", classes.strings("grew_through"));
    assert_eq!(classes.i64s("grew_through_bytes")[0], Some(40_000));
    assert_eq!((classes.i64s("delta_sum")[0], classes.i64s("delta_mean")[0]), (Some(41_000), Some(41_000)));
    let chains = main_rows(&folder, "diff_chains.parquet");
    assert_eq!(chains.strings("status"), ["new_path", "grew"]);
    let shares: Vec<f64> = chains.f64s("share").into_iter().flatten().collect();
    assert!((shares[0] - 40.0 / 41.0).abs() < 1e-9 && (shares[1] - 1.0 / 41.0).abs() < 1e-9, "{shares:?}");
    // More of the same retainer is no new path.
    let folder = compared(&lake, ["release=1", "release=3"], &[]);
    assert_eq!(statuses(&folder, "diff_classes.parquet", "class")[0].1, "grew");
}

#[test]
fn chains_that_one_side_did_not_look_for_are_not_new() {
    let lake = Lake::new();
    write(&lake.path(), ("1", "a", None), &[Class::plain("Session", 900, 90_000)]);
    write(&lake.path(), ("2", "a", None), &service(1000, 0));
    let folder = compared(&lake, ["release=1", "release=2"], &[]);
    let sessions = &statuses(&folder, "diff_classes.parquet", "class")[0];
    assert_eq!(sessions.1, "grew", "{sessions:?}");
    let chains = main_rows(&folder, "diff_chains.parquet");
    assert_eq!((chains.i64s("base_mean")[0], chains.strings("status")[0].as_str()), (None, "grew"));
}

/// About normal, variance 1.
fn normal(random: &mut SplitMix64) -> f64 {
    let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    (0..12).map(|_| unit()).sum::<f64>() - 6.0
}

/// Runs of two releases with noise of 10 % per run and class; the class `planted` grew by a tenth.
fn fleet(lake: &Lake, runs: usize, classes: usize, planted: Option<usize>) {
    let mut random = SplitMix64::new(7);
    for release in ["1", "2"] {
        for run in 0..runs {
            let class = |at: usize| {
                let size = 20_000.0 * (1 + at % 17) as f64;
                let grown = if release == "2" && planted == Some(at) { 1.1 } else { 1.0 };
                let retained = size * grown * (0.1 * normal(&mut random)).exp();
                Class::plain(format!("Class{at}"), (retained / 200.0) as i64, retained as i64)
            };
            let rows: Vec<Class> = (0..classes).map(class).collect();
            write(&lake.path(), (release, &format!("run{run:03}"), Some(&format!("web{}", run % 10))), &rows);
        }
    }
}

#[test]
fn growth_in_many_runs_is_told_from_noise() {
    let lake = Lake::new();
    fleet(&lake, 60, 100, Some(42));
    let folder = compared(&lake, ["release=1", "release=2,label.host=web*"], &[]);
    let classes = main_rows(&folder, "diff_classes.parquet");
    let rows = statuses(&folder, "diff_classes.parquet", "class");
    assert_eq!(rows[0], ("Class42".to_owned(), "grew".to_owned()));
    assert!(rows[1..].iter().all(|(_, status)| status == "within_noise"), "{rows:?}");
    let (low, high) = (classes.f64s("shift_low")[0].unwrap(), classes.f64s("shift_high")[0].unwrap());
    let planted = 0.1 * 20_000.0 * f64::from(1 + 42 % 17);
    assert!(low < planted && planted < high, "{low} {high}");
    assert_eq!(classes.i64s("target_hosts_with")[0], Some(10));
    assert_eq!((classes.i64s("base_runs")[0], classes.i64s("target_runs_with")[0]), (Some(60), Some(60)));
}

/// Runs of one release on hosts; `leak` gives the bytes of the class Leak on each.
fn hosts(lake: &Lake, release: &str, hosts: usize, leak: impl Fn(usize) -> i64) {
    let mut random = SplitMix64::new(release.len() as u64 + 77);
    for host in 0..hosts {
        let noise = (1e4 * normal(&mut random)) as i64;
        let mut classes = vec![Class::plain("Cache", 100, 1_000_000 + noise), Class::plain("Config", 3, 300)];
        classes
            .extend(Some(leak(host)).filter(|&bytes| bytes > 0).map(|bytes| Class::plain("Leak", bytes / 100, bytes)));
        write(&lake.path(), (release, &format!("run{host}"), Some(&format!("web{host}"))), &classes);
    }
}

/// Status of a class, number of hosts on which it changed, and their names.
fn told(folder: &Path, class: &str) -> (String, Option<i64>, String) {
    let rows = main_rows(folder, "diff_classes.parquet").only("class", class);
    (rows.strings("status")[0].clone(), rows.i64s("changed_on")[0], rows.strings("changed_on_names")[0].clone())
}

#[test]
fn growth_on_some_hosts_is_seen_and_they_are_named() {
    let lake = Lake::new();
    hosts(&lake, "1", 60, |host| if host < 3 { 5_000_000 } else { 0 });
    hosts(&lake, "22", 60, |host| if host < 21 { 5_000_000 + host as i64 } else { 0 });
    for pair in ["none", "label.host"] {
        let folder = compared(&lake, ["release=1", "release=22"], &["--pair", pair]);
        let (status, on, names) = told(&folder, "Leak");
        assert_eq!(status, "grew_on_some", "{pair}");
        assert!(names.contains("web20") || names.contains("web19"), "{names}");
        assert_eq!(on, Some(21), "{pair}");
        assert_eq!(statuses(&folder, "diff_classes.parquet", "class")[0].0, "Leak");
        let rows = main_rows(&folder, "diff_classes.parquet").only("class", "Leak");
        assert_eq!((rows.i64s("base_hosts")[0], rows.i64s("target_hosts_with")[0]), (Some(60), Some(21)));
        assert_eq!(rows.i64s("delta_sum")[0], Some(18 * 5_000_000 + 210));
    }
    let gate = |text: &str| diff(&lake, ["release=1", "release=22"], "diff", &["--fail-if", text]).status.code();
    assert_eq!(gate("class = \"Leak\" and retained_bytes.percent > 5 % and q < 0.05"), Some(4));
}

#[test]
fn few_runs_that_lie_apart_have_grown_and_gates_fail() {
    for runs in [1, 2, 3, 4] {
        let lake = Lake::new();
        hosts(&lake, "1", runs, |host| 100_000 + 100 * host as i64);
        hosts(&lake, "22", runs, |host| 2_400_000 + 1000 * host as i64);
        let folder = compared(&lake, ["release=1", "release=22"], &[]);
        assert_eq!(told(&folder, "Leak").0, "grew", "{runs} runs");
        assert_eq!(told(&folder, "Leak").1, Some(runs as i64));
        let rows = main_rows(&folder, "diff_classes.parquet").only("class", "Leak");
        let evidence = if runs == 1 { "difference" } else { "separation" };
        assert!([evidence, "tests"].contains(&rows.strings("evidence")[0].as_str()), "{runs} runs");
        let code = |options: &[&str]| diff(&lake, ["release=1", "release=22"], "diff", options).status.code();
        assert_eq!(code(&["--fail-if", "status = \"grew\" and retained_bytes.delta > 1 MiB"]), Some(4), "{runs} runs");
        // A gate on a missing statistic is undecided.
        if runs < 4 {
            let asks = ["--fail-if", "class = \"Leak\" and q < 0.05"];
            assert_eq!(code(&asks), Some(4), "{runs} runs");
            assert_eq!(code(&[&asks[..], &["--undecided", "pass"]].concat()), Some(0), "{runs} runs");
        }
    }
}

#[test]
fn the_same_hosts_show_what_different_ones_hide() {
    let lake = Lake::new();
    // Hosts differ tenfold; each grows by a twentieth.
    hosts(&lake, "1", 30, |host| 1_000_000 * (1 + host as i64 % 10));
    hosts(&lake, "22", 30, |host| 1_050_000 * (1 + host as i64 % 10));
    let status = |options: &[&str]| told(&compared(&lake, ["release=1", "release=22"], options), "Leak");
    assert_eq!(status(&["--pair", "none"]).0, "within_noise");
    assert_eq!((status(&[]).0.as_str(), status(&[]).1), ("grew", Some(30)));
}

#[test]
fn tables_are_the_same_bytes_at_any_threads_and_budget() {
    let lake = Lake::new();
    fleet(&lake, 12, 3000, Some(5));
    let mut tables = Vec::new();
    for options in [
        ["--threads", "1", "--memory", "1GiB"],
        ["--threads", "7", "--memory", "1GiB"],
        ["--threads", "2", "--memory", "30MiB"],
    ] {
        let folder = compared(&lake, ["release=1", "release=2"], &options);
        tables.push(fs::read(folder.join("diff_classes.parquet")).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    }
    assert!(tables[0] == tables[1] && tables[0] == tables[2]);
}

#[test]
fn what_is_missing_is_told_and_the_rest_compared() {
    let lake = Lake::new();
    write(&lake.path(), ("1", "a", None), &service(10, 0));
    write(&lake.path(), ("2", "a", None), &service(20, 0));
    write(&lake.path(), ("2", "b", None), &service(20, 0));
    fs::remove_file(lake.path().join("release=2/snapshot=b/classes.parquet")).unwrap();
    fs::create_dir_all(lake.path().join("release=2/snapshot=half")).unwrap();
    // An error that does not prevent comparing the rest, unless allowed.
    let output = diff(&lake, ["release=1", "release=2"], "diff", &[]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.matches(": not seen: ").count(), 2, "{error}");
    let json = |folder: &Path| -> Value { read_json(folder.join("diff.json")) };
    assert_eq!(json(&lake.folder().join("diff"))["missed"].as_array().unwrap().len(), 2);
    let folder = compared(&lake, ["release=1", "release=2"], &["--skip-damaged"]);
    let json = json(&folder);
    assert_eq!(json.get("missed"), None);
    let remarks = json["remarks"].to_string();
    assert!(
        remarks.contains("snapshot=half") && remarks.contains("snapshot=b") && remarks.contains("classes.parquet"),
        "{remarks}"
    );
    assert_eq!(Table::read(&folder, "diff_classes.parquet").i64s("target_runs")[0], Some(1));
    assert_eq!(Table::read(&folder, "diff_chains.parquet").i64s("target_runs")[0], Some(2));
    // A run with a damaged table is skipped, and the others are compared.
    fs::write(lake.path().join("release=2/snapshot=a/classes.parquet"), b"PAR1 no").unwrap();
    let output = diff(&lake, ["release=1", "release=2"], "diff", &[]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("release=2/snapshot=a: not seen: classes.parquet: expected"), "{error}");
    assert_eq!(Table::read(&folder, "diff_chains.parquet").i64s("target_runs")[0], Some(1));
}

#[test]
fn gates_end_with_4_and_leave_the_tables() {
    let lake = Lake::new();
    write(&lake.path(), ("1", "a", None), &service(1000, 0));
    write(&lake.path(), ("2", "a", None), &service(1010, 400));
    let gate = |text: &str| diff(&lake, ["release=1", "release=2"], "diff", &["--fail-if", text]).status.code();
    assert_eq!(gate(r#"class ~ "^Sess" and retained_bytes.delta_percent > 5"#), Some(4));
    assert_eq!(gate(r#"class ~ "^Sess" and retained_bytes.delta_percent > 50"#), Some(0));
    assert_eq!(gate("klass = 1"), Some(2));
    assert!(lake.folder().join("diff/diff.json").exists());
}
