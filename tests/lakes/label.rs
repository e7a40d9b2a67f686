//! `heaplake lake label`.

use crate::common::{add, add_of_day, assert_whole, command, describe, files, json, names};
use heaplake_lake::place::Place;
use heaplake_lake::seal::{self, Seal};
use heaplake_support::lake::{Lake, diagnostic, read_json};
use serde_json::{Value, json as value};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs `a` and `b` of release 1 and `c` of release 2, of days 1 to 3; `d` has neither time nor host.
fn lake() -> Lake {
    let lake = Lake::new();
    for (day, (release, name, host)) in (1..).zip([("1", "a", "x"), ("1", "b", "y"), ("2", "c", "x")]) {
        add_of_day(&lake.path(), (release, name, Some(host)), day);
    }
    add(&lake.path(), ("2", "d", None), 4);
    lake
}

fn label(lake: &Lake, words: &[&str]) -> Value {
    json(command("label").arg(lake.path()).args(words), 0)
}

/// The runs of a plan, by name.
fn planned(answer: &Value) -> String {
    let name = |run: &Value| run["path"].as_str().unwrap().rsplit('=').next().unwrap().to_owned();
    answer["runs"].as_array().unwrap().iter().map(name).collect::<Vec<_>>().join(" ")
}

fn labels(run: &Path) -> Value {
    read_json::<Value>(run.join("run.json"))["options"]["labels"].clone()
}

/// The lines of a description without its seal and its labels.
fn others(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let begin = lines.iter().position(|line| line.starts_with("    \"labels\": {")).unwrap();
    let end = begin
        + lines[begin..].iter().position(|line| line.trim_start().starts_with('}') || line.ends_with("},")).unwrap();
    lines.drain(begin..=end);
    lines.retain(|line| !line.starts_with("  \"seal\""));
    lines
}

#[test]
fn runs_are_chosen_by_name_release_label_and_time() {
    let lake = lake();
    let before = files(&lake.path());
    let chosen = |words: &[&str]| planned(&label(&lake, &[words, &["--set", "k=v"]].concat()));
    assert_eq!(chosen(&["*"]), "a b c d");
    assert_eq!(chosen(&["[ab]"]), "a b");
    assert_eq!(chosen(&[&lake.path().join("release=2/snapshot=c").display().to_string()]), "c");
    assert_eq!(chosen(&["--release", "1"]), "a b");
    assert_eq!(chosen(&["--label", "host=x"]), "a c");
    assert_eq!(chosen(&["--since", "1970-01-03", "--until", "1970-01-03"]), "b");
    // Without --yes nothing is changed.
    assert_eq!(files(&lake.path()), before);
    let text = String::from_utf8(
        command("label").arg(lake.path()).args(["a", "--set", "host=z", "--set", "k=v"]).output().unwrap().stdout,
    );
    let text = text.unwrap();
    assert!(
        text.contains("snapshot=a  host=z (was x), k=v\n1 run would change; nothing is changed without --yes"),
        "{text}"
    );
}

#[test]
fn only_labels_and_seal_change() {
    let lake = lake();
    json(command("index").arg(lake.path()), 0);
    let before = files(&lake.path());
    let answer = label(&lake, &["--release", "1", "--set", "stage=a \"b\"", "--set", "host=z", "--yes"]);
    assert_eq!((planned(&answer), &answer["unchanged"], &answer["dry_run"]), ("a b".into(), &0.into(), &false.into()));
    assert_eq!(answer["runs"][0]["before"], value!({"host": "x"}));
    let after = files(&lake.path());
    for (path, content) in &before {
        let is_changed = path.ends_with("run.json") && path.starts_with("release=1");
        assert_eq!(*content == after[path], !is_changed, "{}", path.display());
        if is_changed {
            assert!(matches!(seal::of(&after[path]), Seal::Whole(_)), "{}", path.display());
            assert_eq!(others(content), others(&after[path]), "{}", path.display());
        }
    }
    assert_whole(&lake, "after a change");
    // Lists and the catalogue have the new labels.
    let listed = json(command("ls").arg(lake.path()).args(["--label", "stage=a*"]), 0);
    assert_eq!(names(&listed, "runs"), ["a", "b"]);
    assert_eq!(listed["runs"][1]["labels"], value!({"host": "z", "stage": "a \"b\""}));
    // What is like that already stays as it is, and labels go.
    let answer = label(&lake, &["--release", "1", "--set", "host=z", "--yes"]);
    assert_eq!((planned(&answer), &answer["unchanged"]), (String::new(), &2.into()));
    label(&lake, &["*", "--remove", "host", "--remove", "none", "--yes"]);
    let place = |name: &str| lake.path().join(name);
    assert_eq!(labels(&place("release=1/snapshot=a")), value!({"stage": "a \"b\""}));
    assert_eq!(labels(&place("release=2/snapshot=c")), value!({}));
    // And come back, to the byte.
    label(&lake, &["c", "--set", "host=x", "--yes"]);
    assert_eq!(
        files(&lake.path())[Path::new("release=2/snapshot=c/run.json")],
        before[Path::new("release=2/snapshot=c/run.json")]
    );
    assert_whole(&lake, "after all changes");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let lake = lake();
    let refused = |words: &[&str], part: &str| {
        let (cause, _) = diagnostic(command("label").arg(lake.path()).args(words), 2);
        assert!(cause.contains(part), "{cause}");
    };
    refused(&["--set", "k=v"], "nothing says which runs");
    refused(&["*"], "nothing says which labels");
    refused(&["*", "--set", "k=v", "--remove", "k"], "k is both set and removed");
    refused(&["z", "--set", "k=v"], "there is no run z");
    refused(&["--release", "3", "--set", "k=v"], "no run has the release 3");
    command("label").arg(lake.path()).args(["*", "--set", "k"]).assert().code(2);
    let (cause, _) =
        diagnostic(command("label").arg(lake.path().join("release=1/snapshot=a")).args(["*", "--set", "k=v"]), 2);
    assert!(cause.contains("this is a run, not a lake"), "{cause}");
}

#[test]
fn runs_in_the_making_and_damaged_ones_stay() {
    let lake = lake();
    let before = files(&lake.path());
    let held = Place::take(&lake.path(), "1", "a").unwrap();
    fs::write(lake.path().join("release=1/snapshot=b/run.json"), "{").unwrap();
    let answer = json(command("label").arg(lake.path()).args(["--release", "1", "--set", "k=v", "--yes"]), 1);
    assert_eq!((planned(&answer), &answer["runs"][0]["changed"]), ("a".into(), &false.into()));
    assert_eq!(answer["kept_damaged"].as_array().unwrap().len(), 1);
    drop(held);
    let description = Path::new("release=1/snapshot=a/run.json");
    assert_eq!(files(&lake.path())[description], before[description]);
}

#[test]
fn a_run_of_an_older_version_without_a_seal_gets_none() {
    let lake = lake();
    let place = lake.path().join("release=1/snapshot=a");
    describe(&place, |run| run.tables.iter_mut().for_each(|table| table.xxh3_64 = None));
    let text = fs::read_to_string(place.join("run.json")).unwrap();
    let unsealed = seal::unsealed(&text).unwrap();
    fs::write(place.join("run.json"), &unsealed).unwrap();
    label(&lake, &["a", "--set", "k=v", "--yes"]);
    let text = fs::read_to_string(place.join("run.json")).unwrap();
    assert_eq!(seal::of(text.as_bytes()), Seal::Missing);
    assert_eq!(labels(&place), value!({"host": "x", "k": "v"}));
}

/// Descriptions of a lake by path.
fn descriptions(lake: &Lake) -> BTreeMap<PathBuf, Vec<u8>> {
    files(&lake.path()).into_iter().filter(|(path, _)| path.ends_with("run.json")).collect()
}

/// Minimum number of kills.
const KILLS: usize = 50;

#[test]
fn a_killed_change_leaves_the_old_description_or_the_new_one() {
    for (kills, call) in (1..).enumerate() {
        let lake = lake();
        json(command("index").arg(lake.path()), 0);
        let before = files(&lake.path());
        let mut change = Command::new(env!("CARGO_BIN_EXE_heaplake"));
        change.args(["lake", "label"]).arg(lake.path()).args(["--release", "1", "--set", "stage=canary", "--yes"]);
        change.stdout(Stdio::null()).stderr(Stdio::null());
        let status = change.env("HEAPLAKE_FAULT", format!("any:{call}:kill")).status().unwrap();
        assert!(status.success() || status.signal() == Some(9), "call {call}: {status:?}");
        for (path, text) in descriptions(&lake) {
            assert!(matches!(seal::of(&text), Seal::Whole(_)), "call {call}: {}", path.display());
            let labels: Value = serde_json::from_slice::<Value>(&text).unwrap()["options"]["labels"].clone();
            match labels.get("stage") {
                None => assert!(text == before[&path], "call {call}: {}", path.display()),
                Some(_) => assert_eq!(others(&text), others(&before[&path]), "call {call}: {}", path.display()),
            }
        }
        // The same command completes it.
        label(&lake, &["--release", "1", "--set", "stage=canary", "--yes"]);
        let listed = json(command("ls").arg(lake.path()).args(["--label", "stage=canary"]), 0);
        assert_eq!(names(&listed, "runs"), ["a", "b"], "call {call}");
        assert_eq!(files(&lake.path()).len(), before.len(), "call {call}");
        if status.success() {
            eprintln!("{kills} kills of changes of labels survived");
            assert!(kills >= KILLS, "{kills}");
            assert_whole(&lake, "at the end");
            return;
        }
    }
}
