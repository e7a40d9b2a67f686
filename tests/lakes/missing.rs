//! A missing lake, release, label or run is an error, and never looks like an empty lake.

use crate::common::add;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use std::fs;

fn lake() -> Lake {
    let lake = Lake::new();
    add(&lake.path(), ("3.8", "web1", Some("web1")), 1);
    add(&lake.path(), ("3.10", "web2", Some("web2")), 2);
    lake
}

#[test]
fn a_lake_that_does_not_exist_is_an_error_of_every_command() {
    let lake = lake();
    let missing = lake.folder().join("laek").display().to_string();
    for command in [
        &["ls", &missing][..],
        &["lake", "verify", &missing],
        &["lake", "drop", &missing, "--release", "3.8"],
        &["fleet", "rollup", &missing],
        &["diff", "release=3.8", "release=3.10", "--lake", &missing],
        &["trend", "label.host=*", "--lake", &missing],
    ] {
        let (cause, _) = diagnostic(heaplake().args(command), 2);
        assert!(cause.contains("there is no such lake"), "{command:?}: {cause}");
        assert!(cause.contains(&lake.path().display().to_string()), "{command:?} names the nearest: {cause}");
    }
    let out = lake.folder().join("out").display().to_string();
    diagnostic(heaplake().args(["lake", "merge", &missing, "--out", &out]), 2);
    assert!(!lake.folder().join("laek").exists());
    // An empty folder is an empty lake.
    fs::create_dir_all(&missing).unwrap();
    heaplake().args(["ls", &missing]).assert().success();
}

#[test]
fn what_is_no_lake_is_not_taken_for_an_empty_one() {
    let lake = lake();
    fs::write(lake.folder().join("notes.txt"), "").unwrap();
    let (cause, _) = diagnostic(heaplake().args(["lake", "verify"]).arg(lake.folder()), 2);
    assert!(cause.contains("this is no lake; the nearest: ") && cause.contains("lake"), "{cause}");
    let empty = lake.folder().join("empty");
    fs::create_dir(&empty).unwrap();
    heaplake().args(["lake", "verify"]).arg(&empty).assert().success();
    diagnostic(heaplake().args(["fleet", "rollup"]).arg(&empty), 2);
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0, "a rollup of nothing leaves nothing");
}

#[test]
fn what_no_run_is_like_is_named_with_the_nearest() {
    let lake = lake();
    let path = lake.path().display().to_string();
    for (command, said) in [
        (&["ls", &path, "--release", "3.9"][..], "no run has the release 3.9; the nearest: 3."),
        (&["lake", "drop", &path, "--release", "3.9"], "no run has the release 3.9; the nearest: 3."),
        (&["lake", "drop", &path, "web3"], "there is no run web3; the nearest: web1, web2"),
        (&["ls", &path, "--label", "hots=web1"], "no run has a label hots; the nearest: host"),
        (&["ls", &path, "--label", "host=wbe1"], "no run has the label host=wbe1; the nearest: web1"),
        (&["diff", "release=3.8", "release=3.9", "--lake", &path], "no run has the release 3.9"),
        (&["diff", "release=3.8", "snapshot=web", "--lake", &path], "no run has the name web; the nearest: web1"),
        (&["trend", "label.host=db", "--lake", &path], "no run has the label host=db"),
        (&["trend", "snapshot=*", "--by", "label.hots", "--lake", &path], "no run has a label hots; the nearest: host"),
        (&["fleet", "rollup", &path, "--by", "label.hots"], "no run has a label hots; the nearest: host"),
        (&["duplicates", &format!("{path}/release=3.8/snapshot=web"), "--quiet"], "the nearest: "),
    ] {
        let (cause, _) = diagnostic(heaplake().args(command), 2);
        assert!(cause.contains(said), "{command:?}: {cause}");
    }
    for (place, near) in [("release=3.10/snapshot=web", "snapshot=web2"), ("release=3.9/snapshot=web1", "release=3.")] {
        let (cause, _) = diagnostic(heaplake().arg("show").arg(lake.path().join(place)), 2);
        assert!(cause.contains("the nearest: ") && cause.contains(near), "{cause}");
    }
    // Each condition holds for some run, so nothing is misspelt; that no run matches is still reported.
    let output = heaplake().args(["ls", &path, "--release", "3.8", "--label", "host=web2"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && error.contains("no run is like that"), "{error}");
}
