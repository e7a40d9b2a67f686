//! Tampered runs: commands that compare runs skip them, and each names the skipped run.

use crate::common::{command, describe, json};
use heaplake_support::lake::{Lake, diagnostic, heaplake, read_json};
use heaplake_support::written::{Class, write};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Three runs of release `one`, and three of `two`, one of which, `leak`, retains far more.
fn lake() -> Lake {
    let lake = Lake::new();
    for (release, snapshot, sessions) in [
        ("one", "a", 1000),
        ("one", "b", 1001),
        ("one", "c", 1002),
        ("two", "a", 1003),
        ("two", "b", 1004),
        ("two", "leak", 9000),
    ] {
        let classes = [Class::plain("Session", sessions, sessions * 64), Class::plain("Pool", 10, 4096)];
        write(&lake.path(), (release, snapshot, None), &classes).unwrap();
    }
    lake
}

fn run(lake: &Path, name: &str) -> PathBuf {
    lake.join("release=two").join(format!("snapshot={name}"))
}

const GATE: [&str; 2] = ["--fail-if", "classes: retained_bytes.delta > 100KiB"];

/// Commands that compare runs of the lake at `path`.
fn comparing<'a>(path: &'a str, out: &'a str) -> [Vec<&'a str>; 3] {
    [
        ["diff", "release=one", "release=two", "--lake", path].into_iter().chain(GATE).collect(),
        vec!["trend", "snapshot=*", "--by", "captured", "--lake", path],
        vec!["fleet", "rollup", path, "--out", out],
    ]
}

/// Fails unless every command reports the skipped run `named` with the reason `said`, and exits with 1.
fn assert_told(lake: &Lake, what: &str, (named, said): (&str, &str)) {
    let (path, out) = (lake.path().display().to_string(), lake.folder().join("rolled").display().to_string());
    for command in comparing(&path, &out) {
        let output = heaplake().args(&command).arg("--quiet").output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{what}: {command:?}: {error}");
        assert!(error.contains(named) && error.contains(said), "{what}: {command:?}: {error}");
        heaplake().args(&command).args(["--quiet", "--skip-damaged"]).assert().success();
    }
    let verified = json(command("verify").arg(lake.path()), 1);
    let damaged = |run: &&Value| run["status"] == "damaged" && run["path"].as_str().unwrap().contains(named);
    assert!(verified["runs"].as_array().unwrap().iter().any(|run| damaged(&run)), "{what}: {verified}");
}

#[test]
fn a_table_of_another_run_is_not_believed() {
    type Change = fn(&Path, &Path);
    let changes: [(&str, &str, Change); 4] = [
        ("another table", "as run.json says", |one, other| assert!(fs::copy(one, other).is_ok())),
        ("a longer one", "bytes", |one, other| {
            let mut bytes = fs::read(one).unwrap();
            bytes.push(0);
            fs::write(other, bytes).unwrap();
        }),
        ("a flipped bit", "XXH3-64", |_, other| {
            let mut bytes = fs::read(other).unwrap();
            bytes[10] ^= 1;
            fs::write(other, bytes).unwrap();
        }),
        ("a link to another table", "symbolic link", |one, other| {
            fs::remove_file(other).unwrap();
            symlink(one, other).unwrap();
        }),
    ];
    for (what, said, change) in changes {
        let lake = lake();
        let table = |name: &str| run(&lake.path(), name).join("classes.parquet");
        change(&table("a"), &table("leak"));
        assert_told(&lake, what, ("snapshot=leak", said));
        // One of two runs cannot be compared.
        let leak = run(&lake.path(), "leak").display().to_string();
        let other = run(&lake.path(), "a").display().to_string();
        diagnostic(heaplake().args(["diff", &other, &leak, "--quiet"]).args(GATE), 1);
    }
}

#[test]
fn a_gate_that_fails_besides_ends_with_4() {
    let lake = lake();
    fs::copy(run(&lake.path(), "a").join("classes.parquet"), run(&lake.path(), "b").join("classes.parquet")).unwrap();
    let failing = ["--fail-if", "classes: retained_bytes.delta > 1"];
    let path = lake.path().display().to_string();
    let arguments = ["diff", "release=one", "release=two", "--lake", &path, "--quiet"];
    let output = heaplake().args(arguments).args(failing).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{error}");
    assert!(error.contains("snapshot=b"), "{error}");
}

#[test]
fn a_rollup_does_not_take_in_a_table_that_changed_since() {
    let lake = lake();
    let out = lake.folder().join("rolled");
    let rollup = |code: i32| {
        let mut command = heaplake();
        command.args(["fleet", "rollup"]).arg(lake.path()).arg("--out").arg(&out).arg("--json");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let runs_of = |answer: &Value| -> usize {
        answer["groups"].as_array().unwrap().iter().map(|group| group["runs"].as_array().unwrap().len()).sum()
    };
    assert_eq!(runs_of(&rollup(0)), 6);
    write(&lake.path(), ("two", "new", None), &[Class::plain("Session", 5, 5)]).unwrap();
    let changed = run(&lake.path(), "new").join("classes.parquet");
    let mut bytes = fs::read(&changed).unwrap();
    bytes[10] ^= 1;
    fs::write(&changed, &bytes).unwrap();
    assert_eq!(runs_of(&rollup(1)), 6);
    bytes[10] ^= 1;
    fs::write(&changed, &bytes).unwrap();
    assert_eq!(runs_of(&rollup(0)), 7);
}

#[test]
fn a_description_that_changed_is_not_believed() {
    type Change = fn(&Path);
    let path = |run: &Path| run.join("run.json");
    let changes: [(&str, &str, Change); 4] = [
        ("a flipped bit", "seal", |run| {
            let text = fs::read_to_string(run.join("run.json")).unwrap();
            fs::write(run.join("run.json"), text.replacen("\"source\": \"w", "\"source\": \"v", 1)).unwrap();
        }),
        ("without its seal", "seal", |run| {
            let mut said: Value = read_json(run.join("run.json"));
            said.as_object_mut().unwrap().remove("seal");
            fs::write(run.join("run.json"), said.to_string()).unwrap();
        }),
        ("of another release", "release of its folder", |run| describe(run, |said| said.release = "three".to_owned())),
        ("of another name", "name of its folder", |run| describe(run, |said| said.snapshot = "calm".to_owned())),
    ];
    for (what, said, change) in changes {
        let lake = lake();
        let leak = run(&lake.path(), "leak");
        let before = fs::read(path(&leak)).unwrap();
        change(&leak);
        assert_ne!(fs::read(path(&leak)).unwrap(), before, "{what}");
        assert_told(&lake, what, ("snapshot=leak", said));
        let listed = json(command("ls").arg(lake.path()), 0);
        assert_eq!(listed["damaged"].as_array().unwrap().len(), 1, "{what}: {listed}");
        let (cause, _) = diagnostic(heaplake().arg("show").arg(&leak), 1);
        assert!(cause.contains(said), "{what}: {cause}");
    }
}

#[test]
fn what_hides_a_run_is_told() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("a dangling link", |run| symlink("nowhere", run).unwrap()),
        ("a link to itself", |run| symlink(run, run).unwrap()),
        ("a file", |run| fs::write(run, "").unwrap()),
        ("a pipe", |run| {
            let made = std::process::Command::new("mkfifo").arg(run).status().unwrap();
            assert!(made.success());
        }),
        ("a name that is no UTF-8", |run| fs::create_dir(run.with_file_name(name(run, b"\xff"))).unwrap()),
    ];
    for (what, change) in changes {
        for hidden in ["release=two/snapshot=leak", "release=three"] {
            let lake = lake();
            // Harmless files of the user.
            fs::write(lake.path().join("README"), "").unwrap();
            fs::write(lake.path().join(".gitignore"), "").unwrap();
            fs::create_dir(lake.path().join(".git")).unwrap();
            symlink("nowhere", lake.path().join("latest")).unwrap();
            json(command("verify").arg(lake.path()), 0);
            let place = lake.path().join(hidden);
            let _ = fs::remove_dir_all(&place);
            change(&place);
            let (path, out) = (lake.path().display().to_string(), lake.folder().join("rolled").display().to_string());
            let last = hidden.rsplit('/').next().unwrap();
            for command in &comparing(&path, &out)[1..] {
                let output = heaplake().args(command).arg("--quiet").output().unwrap();
                let error = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(1), "{what}: {command:?}: {error}");
                assert!(error.contains(last), "{what}: {command:?}: {error}");
                heaplake().args(command).args(["--quiet", "--skip-damaged"]).assert().success();
            }
            let verified = json(command("verify").arg(lake.path()), 1);
            assert_eq!(verified["runs"].to_string().matches("\"damaged\"").count(), 1, "{what}: {verified}");
            let listed = json(command("ls").arg(lake.path()), 0);
            assert_eq!(listed["damaged"].as_array().unwrap().len(), 1, "{what}: {listed}");
        }
    }
}

/// The name of a path with bytes appended.
fn name(path: &Path, end: &[u8]) -> std::ffi::OsString {
    OsStr::from_bytes(&[path.file_name().unwrap().as_bytes(), end].concat()).to_owned()
}

#[test]
fn objects_are_not_asked_of_tables_of_other_runs() {
    let lake = lake();
    let leak = run(&lake.path(), "leak");
    fs::copy(run(&lake.path(), "a").join("classes.parquet"), leak.join("classes.parquet")).unwrap();
    // The summary is in run.json, which is intact.
    heaplake().arg("show").arg(&leak).assert().success();
    let (cause, _) = diagnostic(heaplake().arg("report").arg(&leak), 1);
    assert!(cause.contains("classes.parquet") && cause.contains("as run.json says"), "{cause}");
}
