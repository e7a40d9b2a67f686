//! `heaplake lake merge`.

use crate::common::{add, add_of_day, all, assert_whole, command, describe, files, json};
use heaplake_lake::place::Place;
use heaplake_support::lake::{Lake, diagnostic};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// Pages that heaplake recognises as its own.
const PAGE: &str = "<title>a · heaplake</title>";
const OTHER_PAGE: &str = "<title>b · heaplake</title>";

/// A lake of three runs, to be merged into another one.
fn source(lake: &Lake) -> PathBuf {
    let source = lake.folder().join("source");
    add_of_day(&source, ("1", "a", Some("x")), 1);
    add(&source, ("1", "b", None), 2);
    add(&source, ("2", "c", None), 3);
    fs::write(source.join("release=1/snapshot=a/report.html"), PAGE).unwrap();
    source
}

/// Status of each run, by name.
fn statuses(lake: &Lake, sources: &[&Path], options: &[&str], code: i32) -> String {
    let answer = json(command("merge").args(sources).arg("--out").arg(lake.path()).args(options), code);
    let name = |run: &serde_json::Value| run["source"].as_str().unwrap().rsplit_once('=').unwrap().1.to_owned();
    let of = |run: &serde_json::Value| format!("{} {}", name(run), run["status"].as_str().unwrap());
    answer["runs"].as_array().unwrap().iter().map(of).collect::<Vec<_>>().join(", ")
}

#[test]
fn runs_of_other_lakes_come_in_with_the_same_bytes() {
    let lake = Lake::new();
    let source = source(&lake);
    let before = files(&source);
    let output = command("merge").arg(&source).arg("--out").arg(lake.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((text.lines().count(), text.lines().last()), (4, Some("3 runs: 3 merged")), "{text}");
    assert_eq!((files(&lake.path()), files(&source)), (before.clone(), before.clone()));
    assert_whole(&lake, "merged");
    // Hard links: no byte was written twice.
    let inode = |lake: &Path| fs::metadata(lake.join("release=1/snapshot=a/classes.parquet")).unwrap().ino();
    assert_eq!(inode(&source), inode(&lake.path()));
    // Dropping a run here does not affect the source.
    command("drop").arg(lake.path()).args(["a", "--yes"]).assert().success();
    assert_eq!(files(&source), before);
    assert_eq!(statuses(&lake, &[&source], &[], 0), "a merged, b present, c present");
    assert_eq!(files(&lake.path()), before);
    command("merge").arg(&source).arg("--out").arg(lake.path()).arg("--quiet").assert().success().stdout("");
    assert!(!source.join(".heaplake-new").exists());
}

#[test]
fn a_source_is_a_lake_a_release_or_a_run() {
    let lake = Lake::new();
    let source = source(&lake);
    let other = lake.folder().join("other");
    add(&other, ("3", "d", None), 4);
    let (release, run) = (source.join("release=2"), source.join("release=1/snapshot=b"));
    assert_eq!(statuses(&lake, &[&other, &release, &run, &run], &[], 0), "d merged, c merged, b merged, b present");
    assert_eq!(all(&lake.path()), ["b", "c", "d"]);
    // Called from inside.
    let mut inside = command("merge");
    inside.current_dir(source.join("release=1/snapshot=a")).arg(".").arg("--out").arg(lake.path());
    inside.assert().success();
    assert_eq!(all(&lake.path()), ["a", "b", "c", "d"]);
    assert_whole(&lake, "merged");
}

#[test]
fn links_in_a_run_are_refused_by_name_and_nothing_comes_in() {
    let lake = Lake::new();
    let place = source(&lake).join("release=1/snapshot=a");
    let secret = lake.folder().join("secret");
    fs::write(&secret, "secret").unwrap();
    for name in ["passwords.txt", "classes.parquet", "run.json"] {
        let (link, kept) = (place.join(name), fs::read(place.join(name)).ok());
        let _ = fs::remove_file(&link);
        symlink(&secret, &link).unwrap();
        for moved in [&[][..], &["--move"]] {
            let mut merge = command("merge");
            merge.arg(&place).arg("--out").arg(lake.path()).arg("--quiet").args(moved);
            let (cause, _) = diagnostic(&mut merge, 1);
            let named = name == "run.json" || cause.contains(&format!("{}: this is a symbolic link", link.display()));
            assert!(named && !cause.contains("secret"), "{cause}");
        }
        assert_eq!((all(&lake.path()), fs::read_link(&link).unwrap()), (Vec::new(), secret.clone()), "{name}");
        fs::remove_file(&link).unwrap();
        if let Some(kept) = kept {
            fs::write(&link, kept).unwrap();
        }
    }
    // Only the description is elsewhere.
    let elsewhere = lake.folder().join("elsewhere.json");
    fs::rename(place.join("run.json"), &elsewhere).unwrap();
    symlink(&elsewhere, place.join("run.json")).unwrap();
    let (cause, _) = diagnostic(command("merge").arg(&place).arg("--out").arg(lake.path()).arg("--quiet"), 1);
    assert!(cause.contains("run.json: this is a symbolic link"), "{cause}");
    fs::rename(&elsewhere, place.join("run.json")).unwrap();
    // Folders may be links.
    let farm = lake.folder().join("farm");
    fs::create_dir(&farm).unwrap();
    symlink(lake.folder().join("source/release=1"), farm.join("release=1")).unwrap();
    assert_eq!(statuses(&lake, &[&farm], &[], 0), "a merged, b merged");
    assert_whole(&lake, "by a link to the folder");
}

#[test]
fn files_are_copied_where_no_link_can_be_made() {
    let lake = Lake::new();
    source(&lake);
    // The system reports another disk.
    let place = lake.folder().join("source/release=1/snapshot=b");
    let mut command = command("merge");
    command.env("HEAPLAKE_FAULT", "rename:1+:18:.parquet").arg(&place).arg("--out").arg(lake.path());
    command.assert().success();
    let inode = |place: &Path| fs::metadata(place.join("classes.parquet")).unwrap().ino();
    assert_ne!(inode(&place), inode(&lake.path().join("release=1/snapshot=b")));
    assert_whole(&lake, "copied");
}

#[test]
fn a_run_with_more_than_merge_brings_in_is_not_taken_away() {
    let lake = Lake::new();
    let source = source(&lake);
    let place = source.join("release=1/snapshot=a");
    let stays = |name: &str, part: &str| {
        let mut merge = command("merge");
        merge.arg(&place).arg("--out").arg(lake.path()).args(["--move", "--quiet"]);
        let (cause, _) = diagnostic(&mut merge, 1);
        assert!(cause.contains(&format!("{}: {part}", place.join(name).display())), "{cause}");
        assert_eq!(all(&source), ["a", "b", "c"], "{name}");
    };
    fs::create_dir_all(place.join("mine/deep")).unwrap();
    fs::write(place.join("mine/deep/notes.txt"), "notes").unwrap();
    stays("mine", "merge brings in no such file");
    assert_eq!(all(&lake.path()), Vec::<String>::new());
    fs::remove_dir_all(place.join("mine")).unwrap();
    fs::write(place.join(".hidden"), "").unwrap();
    stays(".hidden", "merge brings in no such file");
    // Without --move, everything other than files stays in place.
    let before = files(&source);
    assert_eq!(statuses(&lake, &[&place], &[], 0), "a merged");
    assert_eq!(files(&source), before);
    fs::remove_file(place.join(".hidden")).unwrap();
    // Moving the run would move a file of the user.
    fs::write(place.join("notes.txt"), "notes").unwrap();
    stays("notes.txt", "heaplake did not write this");
    fs::remove_file(place.join("notes.txt")).unwrap();
    // A page added later, and one changed since. The lake shares the files of the source.
    let merged = lake.path().join("release=1/snapshot=a/report.html");
    fs::remove_file(&merged).unwrap();
    fs::write(place.join("report.html"), PAGE).unwrap();
    stays("report.html", "the lake has this run without this file");
    fs::write(&merged, OTHER_PAGE).unwrap();
    stays("report.html", "the lake has this run without this file");
    fs::write(&merged, PAGE).unwrap();
    assert_eq!(statuses(&lake, &[&place], &["--move"], 0), "a present");
    assert_eq!((all(&source), all(&lake.path())), (vec!["b".into(), "c".into()], vec!["a".into()]));
}

#[test]
fn what_is_damaged_or_another_run_stays_out_and_the_others_come_in() {
    let lake = Lake::new();
    let source = source(&lake);
    add(&lake.path(), ("1", "b", None), 77);
    let before = files(&lake.path());
    let table = source.join("release=1/snapshot=a/chains.parquet");
    let mut bytes = fs::read(&table).unwrap();
    bytes[20] ^= 4;
    // A new file: the old one may be in other lakes too.
    fs::remove_file(&table).unwrap();
    fs::write(&table, bytes).unwrap();
    let output = command("merge").arg(&source).arg("--out").arg(lake.path()).arg("--quiet").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 4), "{text}");
    assert!(text.contains(&format!("{}: expected XXH3-64", table.display())), "{text}");
    assert!(text.contains("snapshot=b: the lake has another run of this name"), "{text}");
    let there: Vec<_> = files(&lake.path()).into_iter().filter(|(path, _)| !path.starts_with("release=2")).collect();
    assert_eq!(there, before.into_iter().collect::<Vec<_>>());
    assert_eq!(statuses(&lake, &[&source], &["--move"], 1), "a failed, b failed, c present");
    assert_eq!(all(&source), ["a", "b"], "what is not in the lake is not taken away");
    fs::write(source.join("release=1/snapshot=b/run.json"), "{").unwrap();
    assert_eq!(statuses(&lake, &[&source], &[], 1), "a failed, b failed");
    assert_whole(&lake, "all others");
}

#[test]
fn what_cannot_be_a_source_is_refused() {
    let lake = Lake::new();
    let source = source(&lake);
    let refused = |sources: &[&Path], code: i32, part: &str| {
        let (cause, _) = diagnostic(command("merge").args(sources).arg("--out").arg(lake.path()), code);
        assert!(cause.contains(part), "{cause}");
    };
    refused(&[&lake.folder().join("missing")], 2, "missing");
    let empty = lake.folder().join("empty");
    fs::create_dir(&empty).unwrap();
    refused(&[&source, &empty], 2, "no run in this folder");
    assert!(!lake.path().exists(), "nothing was begun");
    // Names other than its folders' would lead elsewhere.
    let moved = lake.folder().join("release=9");
    fs::rename(source.join("release=2"), &moved).unwrap();
    let (cause, _) = diagnostic(command("merge").arg(&moved).arg("--out").arg(lake.path()).arg("--quiet"), 1);
    assert!(cause.contains("expected the release of its folder, \"9\", found \"2\""), "{cause}");
    let loose = lake.folder().join("loose");
    fs::rename(source.join("release=1/snapshot=a"), &loose).unwrap();
    let (cause, _) = diagnostic(command("merge").arg(&loose).arg("--out").arg(lake.path()).arg("--quiet"), 1);
    assert!(cause.contains("in no folder release="), "{cause}");
}

#[test]
fn runs_that_are_moved_are_gone_from_the_source() {
    let lake = Lake::new();
    let source = source(&lake);
    let expected = files(&source);
    assert_eq!(statuses(&lake, &[&source.join("release=2")], &[], 0), "c merged");
    // A writer at the source keeps its run.
    let held = Place::take(&source, "1", "b").unwrap();
    assert_eq!(statuses(&lake, &[&source], &["--move"], 1), "a merged, b failed, c present");
    assert_eq!(all(&source), ["b"]);
    drop(held);
    assert_eq!(statuses(&lake, &[&source], &["--move"], 0), "b merged");
    assert_eq!(fs::read_dir(&source).unwrap().count(), 0);
    // The second time there is nothing to do.
    assert_eq!(statuses(&lake, &[&source], &["--move"], 0), "");
    assert_eq!(files(&lake.path()), expected);
    assert_whole(&lake, "moved");
}

#[test]
fn a_lake_is_never_moved_into_itself() {
    let lake = Lake::new();
    add(&lake.path(), ("1", "a", None), 1);
    let link = lake.folder().join("link");
    symlink(lake.path(), &link).unwrap();
    for same in [&lake.path(), &link] {
        let mut merge = command("merge");
        let (cause, _) = diagnostic(merge.arg(same).arg("--out").arg(lake.path()).arg("--move"), 2);
        assert!(cause.contains("the lake itself"), "{cause}");
    }
    // By a run, or by a release that is a link.
    let (run, other) = (lake.path().join("release=1/snapshot=a"), lake.folder().join("other"));
    fs::create_dir(&other).unwrap();
    symlink(lake.path().join("release=1"), other.join("release=1")).unwrap();
    for same in [&run, &other] {
        command("merge").arg(same).arg("--out").arg(lake.path()).arg("--move").output().unwrap();
        assert_eq!(all(&lake.path()), ["a"], "{}", same.display());
    }
    assert_eq!(statuses(&lake, &[&run], &[], 0), "a present");
    assert_whole(&lake, "moved into itself");
}

#[test]
fn a_run_is_taken_away_only_where_the_other_one_is_whole() {
    let lake = Lake::new();
    let source = source(&lake);
    statuses(&lake, &[&source], &[], 0);
    let table = lake.path().join("release=1/snapshot=a/chains.parquet");
    let content = fs::read(&table).unwrap();
    fs::remove_file(&table).unwrap();
    fs::write(&table, &content[1..]).unwrap();
    assert_eq!(statuses(&lake, &[&source], &["--move"], 1), "a failed, b present, c present");
    assert_eq!(all(&source), ["a"]);
}

#[test]
fn older_runs_come_in_too() {
    let lake = Lake::new();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/version-2/lake");
    assert_eq!(statuses(&lake, &[&old], &[], 0), "both merged, whole merged, small merged");
    assert_eq!(statuses(&lake, &[&old], &[], 0), "both present, whole present, small present");
    assert_eq!(files(&lake.path()), files(&old));
    describe(&lake.path().join("release=1.4/snapshot=whole"), |run| run.source = "other".to_owned());
    assert!(statuses(&lake, &[&old], &[], 1).contains("whole failed"));
}
