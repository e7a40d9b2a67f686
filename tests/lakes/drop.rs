//! `heaplake lake drop`.

use crate::common::{add, add_of_day, all, assert_whole, command, describe, files, json, names};
use heaplake_lake::place::Place;
use heaplake_support::lake::{Lake, diagnostic};
use std::fs;
use std::path::PathBuf;

/// Releases 1 and 2, hosts x and y, days 1 to 6; `g` has no time, and `h` neither time nor host.
fn lake() -> Lake {
    let lake = Lake::new();
    let runs = [("1", "a", "x"), ("1", "b", "y"), ("1", "c", "x"), ("2", "d", "y"), ("2", "e", "x"), ("2", "f", "y")];
    for (day, (release, snapshot, host)) in (1..).zip(runs) {
        add_of_day(&lake.path(), (release, snapshot, Some(host)), day);
    }
    add(&lake.path(), ("1", "g", Some("x")), 7);
    add(&lake.path(), ("3", "h", None), 8);
    lake
}

/// The names of the runs that would be dropped.
fn would_go(lake: &Lake, options: &[&str]) -> String {
    let answer = json(command("drop").arg(lake.path()).args(options), 0);
    assert_eq!(answer["dry_run"], true);
    names(&answer, "runs").join(" ")
}

#[test]
fn runs_are_chosen_by_name_release_label_time_and_number() {
    let lake = lake();
    let before = files(&lake.path());
    let go = |options: &[&str]| would_go(&lake, options);
    assert_eq!(go(&["a", "f"]), "a f");
    assert_eq!(go(&["[ab]", "release=2/*"]), "a b d e f");
    assert_eq!(go(&["*"]), "a b c g d e f h");
    assert_eq!(go(&[&lake.path().join("release=2/snapshot=e/").display().to_string()]), "e");
    assert_eq!(go(&[&lake.path().join("../lake/./release=2/snapshot=e").display().to_string()]), "e");
    assert_eq!(go(&["--release", "1"]), "a b c g");
    assert_eq!(go(&["--label", "host=x", "--release", "1"]), "a c g");
    assert_eq!(go(&["--older-than", "30d"]), "a b c d e f");
    assert_eq!(go(&["--older-than", "99999w"]), "");
    assert_eq!(go(&["--keep-last", "1"]), "a b d e");
    assert_eq!(go(&["--keep-last", "2", "--per", "release"]), "a d");
    assert_eq!(go(&["--keep-last", "2", "--per", "host"]), "a b");
    assert_eq!(go(&["--keep-last", "1", "--per", "host", "--release", "1"]), "a");
    assert_eq!(go(&["--keep-last", "0"]), "a b c d e f");
    assert_eq!(go(&["--keep-last", "1", "--older-than", "99999w"]), "");
    let answer = json(command("drop").arg(lake.path()).args(["--keep-last", "0", "--per", "host"]), 0);
    let kept = |list: &str| answer[list].as_array().unwrap().iter().map(ToString::to_string).collect::<String>();
    assert!(kept("kept_without_time").contains("snapshot=g") && kept("kept_without_label").contains("snapshot=h"));
    // Nothing was dropped.
    assert_eq!(files(&lake.path()), before);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let lake = lake();
    let refused = |options: &[&str], part: &str| {
        let (cause, _) = diagnostic(command("drop").arg(lake.path()).args(options), 2);
        assert!(cause.contains(part), "{cause}");
    };
    refused(&["--yes"], "nothing says which runs");
    refused(&["a", "nobody", "--yes"], "there is no run nobody");
    refused(&["z*", "--yes"], "there is no run z*");
    let other = add(&lake.folder().join("other"), ("1", "a", None), 1);
    refused(&[other.to_str().unwrap(), "--yes"], "there is no run /");
    for options in [&["a", "--per", "host"][..], &["--older-than", "30"], &["--older-than", "2026-01-01"], &["["]] {
        command("drop").arg(lake.path()).args(options).arg("--yes").assert().code(2).stdout("");
    }
    let (cause, _) = diagnostic(command("drop").arg(lake.path().join("release=1/snapshot=a")).args(["a", "--yes"]), 2);
    assert!(cause.contains("this is a run"), "{cause}");
    assert_eq!(all(&lake.path()).len(), 8);
}

#[test]
fn what_is_dropped_is_gone_and_all_else_stays() {
    let lake = lake();
    let mut expected = files(&lake.path());
    let output = command("drop").arg(lake.path()).args(["--keep-last", "1"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("4 runs, ") && text.contains("nothing is changed without --yes"), "{text}");
    assert!(text.contains("snapshot=h: nothing says when"), "{text}");
    let output = command("drop").arg(lake.path()).args(["--keep-last", "1", "--yes"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty() && text.contains(" dropped\n"), "{text}");
    expected.retain(|path, _| {
        ["snapshot=c", "snapshot=f", "snapshot=g", "snapshot=h"]
            .iter()
            .any(|name| path.to_string_lossy().contains(name))
    });
    assert_eq!(files(&lake.path()), expected);
    assert_whole(&lake, "after a drop");
    // The folder of a release goes with its last run, and the lake stays.
    command("drop").arg(lake.path()).args(["*", "--yes", "--quiet"]).assert().success().stdout("");
    assert_eq!(fs::read_dir(lake.path()).unwrap().count(), 0);
    let answer = json(command("drop").arg(lake.path()).args(["--release", "*", "--yes"]), 0);
    assert_eq!(answer["runs"].as_array().unwrap().len(), 0);
}

#[test]
fn a_run_in_the_making_stays() {
    let lake = lake();
    let making = Place::take(&lake.path(), "1", "a").unwrap();
    let new = Place::take(&lake.path(), "1", "new").unwrap();
    fs::create_dir(new.hidden()).unwrap();
    fs::write(new.hidden().join("run.json"), "{").unwrap();
    let (cause, advice) = diagnostic(command("drop").arg(lake.path()).args(["a", "--yes", "--quiet"]), 1);
    assert!(cause.contains("snapshot=a: another heaplake is making this run"), "{cause}");
    assert!(advice.contains("wait"), "{advice}");
    // The others are dropped all the same.
    let answer = json(command("drop").arg(lake.path()).args(["--release", "1", "--yes"]), 1);
    let dropped: Vec<bool> = answer["runs"].as_array().unwrap().iter().map(|run| run["dropped"] == true).collect();
    assert_eq!(dropped, [false, true, true, true]);
    assert!(new.hidden().join("run.json").exists(), "tables in the making");
    drop((making, new));
    assert_eq!(all(&lake.path()), ["a", "d", "e", "f", "h"]);
    assert_whole(&lake, "after the writers");
}

#[test]
fn a_damaged_run_goes_only_where_it_is_named() {
    let lake = lake();
    let place = lake.path().join("release=1/snapshot=a");
    let path = place.join("run.json");
    // It now claims to be a run of the host y.
    let text = fs::read_to_string(&path).unwrap().replacen("\"x\"", "\"y\"", 1);
    fs::write(&path, text).unwrap();
    fs::remove_file(lake.path().join("release=2/snapshot=d/run.json")).unwrap();
    assert_eq!(would_go(&lake, &["--label", "host=*"]), "b c g e f");
    assert_eq!(would_go(&lake, &["--older-than", "1d"]), "b c e f");
    assert_eq!(would_go(&lake, &["--keep-last", "0"]), "b c e f");
    let answer = json(command("drop").arg(lake.path()).args(["--keep-last", "0"]), 0);
    assert_eq!(answer["kept_damaged"].as_array().unwrap().len(), 2);
    assert_eq!(would_go(&lake, &["a", "d"]), "a d");
    command("drop").arg(lake.path()).args(["a", "d", "--yes"]).assert().success();
    assert_whole(&lake, "the damaged ones are gone");
}

#[test]
fn names_may_look_like_patterns() {
    let lake = Lake::new();
    for (number, name) in (1..).zip(["a[1]", "a1", "b"]) {
        add(&lake.path(), ("1", name, None), number);
    }
    let path = lake.path().join("release=1/snapshot=a[1]").display().to_string();
    assert_eq!(would_go(&lake, &[&path]), "a[1]");
    assert_eq!(would_go(&lake, &["a[[]1]"]), "a[1]");
    assert_eq!(would_go(&lake, &["b"]), "b");
}

#[test]
fn links_in_the_place_of_runs_stay_and_are_named() {
    let lake = lake();
    let elsewhere = lake.folder().join("elsewhere");
    fs::rename(lake.path().join("release=1/snapshot=a"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, lake.path().join("release=1/snapshot=a")).unwrap();
    fs::rename(lake.path().join("release=2"), lake.folder().join("release=2")).unwrap();
    std::os::unix::fs::symlink(lake.folder().join("release=2"), lake.path().join("release=2")).unwrap();
    let (cause, _) = diagnostic(command("drop").arg(lake.path()).args(["a", "--yes"]), 2);
    assert!(cause.contains("release=1/snapshot=a: this is a symbolic link"), "{cause}");
    assert!(elsewhere.join("run.json").exists() && lake.path().join("release=1/snapshot=a").is_symlink());
    fs::remove_file(lake.path().join("release=1/snapshot=a")).unwrap();
    // A release behind a link belongs to this lake.
    command("drop").arg(lake.path()).args(["d", "--yes"]).assert().success();
    assert!(!lake.folder().join("release=2/snapshot=d").exists());
    assert_eq!(all(&lake.path()), ["b", "c", "g", "e", "f", "h"]);
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    assert!(!lake.folder().join(".heaplake-new").exists());
}

#[test]
fn a_run_that_was_replaced_meanwhile_is_another_one() {
    use heaplake_lake::upkeep::choice::Choice;
    use heaplake_lake::upkeep::drop::{Outcome, Wish, carry_out, plan};
    let lake = lake();
    let names = vec!["a".parse().unwrap(), "b".parse().unwrap(), "c".parse().unwrap()];
    let wish = Wish { choice: Choice { names, ..Choice::default() }, ..Wish::default() };
    let plan = plan(&lake.path(), &wish).unwrap();
    add(&lake.path(), ("1", "a", None), 99);
    describe(&lake.path().join("release=1/snapshot=a"), |run| run.source = "new".to_owned());
    fs::remove_dir_all(lake.path().join("release=1/snapshot=b")).unwrap();
    let outcomes: Vec<Outcome> = plan.runs.iter().map(|run| carry_out(run).unwrap()).collect();
    assert_eq!(outcomes, [Outcome::Changed, Outcome::Gone, Outcome::Dropped]);
    assert_eq!(all(&lake.path()), ["a", "g", "d", "e", "f", "h"]);
}
