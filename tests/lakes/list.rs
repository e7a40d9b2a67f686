//! `heaplake lake ls`.

use crate::common::{DAY, add, add_of_day, command, describe, json, names};
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use std::fs;
use std::path::Path;

/// Runs `a` to `d` of days 10, 20, 30, and of none.
fn lake() -> Lake {
    let lake = Lake::new();
    add_of_day(&lake.path(), ("1.0", "a", Some("web1")), 10);
    add_of_day(&lake.path(), ("1.1", "b", Some("web2")), 20);
    add_of_day(&lake.path(), ("2.0", "c", Some("db")), 30);
    add(&lake.path(), ("2.0", "d", None), 1);
    lake
}

#[test]
fn runs_are_chosen_by_release_label_and_time() {
    let lake = lake();
    let chosen = |options: &[&str]| names(&json(command("ls").arg(lake.path()).args(options), 0), "runs").join(" ");
    assert_eq!(chosen(&[]), "a b c d");
    assert_eq!(chosen(&["--release", "1.*"]), "a b");
    assert_eq!(chosen(&["--release", "1.0", "--release", "2.0"]), "a c d");
    assert_eq!(chosen(&["--label", "host=web*"]), "a b");
    assert_eq!(chosen(&["--label", "host=web*", "--label", "host=db", "--release", "?.0"]), "a c");
    assert_eq!(chosen(&["--since", "1970-01-21"]), "b c");
    assert_eq!(chosen(&["--since", "1970-01-21T00:00:01"]), "c");
    assert_eq!(chosen(&["--until", "1970-01-21"]), "a b");
    assert_eq!(chosen(&["--since", "1970-01-12", "--until", "1970-01-30", "--label", "host=*"]), "b");
    assert_eq!(chosen(&["--until", "7d"]), "a b c");
    assert_eq!(chosen(&["--since", "7d"]), "");
    assert_eq!(chosen(&["--release", "1.0", "--label", "host=db"]), "");
    for bad in [&["--since", "yesterday"][..], &["--until", "2026-02-30"], &["--label", "host"], &["--release", "["]] {
        command("ls").arg(lake.path()).args(bad).assert().code(2).stdout("");
    }
}

#[test]
fn a_run_is_listed_with_labels_time_and_size_on_disk() {
    let lake = lake();
    let listing = json(command("ls").arg(lake.path()), 0);
    let run = &listing["runs"][1];
    assert_eq!((&run["release"], &run["captured_at"]), (&"1.1".into(), &"1970-01-21T00:00:00Z".into()));
    assert_eq!(run["labels"], serde_json::json!({"host": "web2"}));
    let files = fs::read_dir(lake.path().join("release=1.1/snapshot=b")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert_eq!(run["disk_bytes"], bytes);
    assert_eq!(listing["runs"][3]["captured_at"], serde_json::Value::Null);
    let output = |command: &mut assert_cmd::Command| command.output().unwrap().stdout;
    let text = String::from_utf8(output(command("ls").arg(lake.path()))).unwrap();
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.contains("on disk  labels     findings") && text.contains("1970-01-21 00:00"), "{text}");
    // The command has two names.
    assert_eq!(output(heaplake().arg("ls").arg(lake.path())), text.as_bytes());
    // Without any labels there is no column of them.
    let text = String::from_utf8(output(command("ls").arg(lake.path()).args(["--release", "none"]))).unwrap();
    assert!(!text.contains("labels"), "{text}");
}

#[test]
fn descriptions_are_what_each_run_says_of_itself() {
    let lake = lake();
    let listing = json(command("ls").arg(lake.path()).arg("--descriptions"), 0);
    for run in listing["runs"].as_array().unwrap() {
        let text = fs::read(Path::new(run["path"].as_str().unwrap()).join("run.json")).unwrap();
        let said: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert!(said["tables"].as_array().is_some_and(|tables| tables.len() == 2), "{said}");
        assert_eq!(run["description"], said);
    }
    let listing = json(command("ls").arg(lake.path()), 0);
    assert_eq!(listing["runs"][0].get("description"), None);
    command("ls").arg(lake.path()).arg("--descriptions").assert().code(2);
}

#[test]
fn damaged_runs_are_named_and_dropped_ones_are_not() {
    let lake = lake();
    let place = lake.path().join("release=1.0/snapshot=a");
    describe(&place, |run| run.captured_at_us = Some(5 * DAY));
    fs::write(lake.path().join("release=1.1/snapshot=b/run.json"), "{").unwrap();
    // Leftovers of a killed drop are no run.
    fs::create_dir_all(lake.path().join(".heaplake-new/release=1.0/snapshot=z")).unwrap();
    fs::write(lake.path().join(".heaplake-new/release=1.0/snapshot=z/run.json"), "{}").unwrap();
    let listing = json(command("ls").arg(lake.path()), 0);
    assert_eq!(names(&listing, "runs"), ["a", "c", "d"]);
    assert_eq!(listing["damaged"].as_array().unwrap().len(), 1);
    let (cause, _) = diagnostic(command("ls").arg(&place), 2);
    assert!(cause.contains("this is a run, not a lake"), "{cause}");
}
