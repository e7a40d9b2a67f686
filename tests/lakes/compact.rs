//! `heaplake lake compact`: packed runs answer as before, whatever is killed, dropped or replaced.

use crate::common::{add_of_day, all, assert_whole, command, files, json};
use heaplake_kit::fs::files_below;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, heaplake, said};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use xxhash_rust::xxh3::xxh3_64;

/// Six runs of two releases and two days, two of each release and day but the last.
fn lake() -> Lake {
    let lake = Lake::new();
    for (release, name, day) in
        [("1", "a", 1), ("1", "b", 1), ("1", "c", 2), ("1", "d", 2), ("2", "a", 1), ("2", "b", 1), ("2", "c", 2)]
    {
        add_of_day(&lake.path(), (release, name, Some("web")), day);
    }
    lake
}

fn compact(lake: &Lake) -> Value {
    json(command("compact").arg(lake.path()), 0)
}

/// The tables that are files of runs.
fn tables_of_runs(lake: &Path) -> Vec<PathBuf> {
    files(lake).into_keys().filter(|path| is_table(path)).collect()
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "parquet")
}

/// The packs of a lake.
fn packs(lake: &Path) -> Vec<PathBuf> {
    let mut paths = files_below(&lake.join("tables")).unwrap_or_default();
    paths.retain(|path| is_table(path));
    paths.sort();
    paths
}

/// The names of the runs in the packs.
fn packed(lake: &Path) -> BTreeSet<String> {
    let of = |path: PathBuf| {
        let table =
            heaplake_support::table::Table::read(path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap());
        table
            .strings("snapshot")
            .into_iter()
            .zip(table.strings("release"))
            .map(|(name, release)| format!("{release}/{name}"))
    };
    packs(lake).into_iter().flat_map(of).collect()
}

/// What commands print of the tables of the runs.
fn answers(lake: &Lake) -> Vec<String> {
    let (path, out) = (lake.path(), lake.folder().join("compared"));
    let run = |release: &str, name: &str| path.join(format!("release={release}/snapshot={name}")).display().to_string();
    let mut answers = Vec::new();
    for words in [
        vec!["show".to_owned(), run("1", "a")],
        vec!["show".to_owned(), run("2", "b")],
        vec!["diff".to_owned(), run("1", "a"), run("2", "b"), "--json".to_owned()],
        vec![
            "trend".to_owned(),
            path.display().to_string(),
            "--out".to_owned(),
            out.display().to_string(),
            "--quiet".to_owned(),
        ],
    ] {
        let output = heaplake().args(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        answers.push(unpacked(&text).replace(&*lake.folder().to_string_lossy(), "FOLDER"));
    }
    for path in files_below(&out).unwrap().iter().filter(|path| is_table(path)) {
        answers.push(format!("{} {:x}", path.file_name().unwrap().display(), xxh3_64(&fs::read(path).unwrap())));
    }
    fs::remove_dir_all(out).unwrap();
    answers
}

/// The text of `show` with the files of runs that are not packed.
fn unpacked(text: &str) -> String {
    text.replace("tables/classes/**/*.parquet", "*/*/classes.parquet")
}

#[test]
fn packed_runs_answer_as_before() {
    let lake = lake();
    let before = answers(&lake);
    let compacted = compact(&lake);
    assert_eq!((&compacted["runs"], &compacted["packs"]), (&6.into(), &6.into()), "{compacted}");
    assert_eq!(tables_of_runs(&lake.path()).len(), 2, "those of a single run of its release and day");
    assert_eq!(packs(&lake.path()).len(), 6);
    assert_whole(&lake, "compacted");
    assert_eq!(answers(&lake), before);
    // Without the catalogue, too.
    fs::remove_dir_all(lake.path().join("catalogue")).unwrap();
    assert_eq!(answers(&lake), before);
    let again = compact(&lake);
    assert_eq!((&again["runs"], &again["packed_before"]), (&0.into(), &6.into()), "{again}");
    // One more run of a night is added to its pack.
    add_of_day(&lake.path(), ("2", "d", Some("web")), 2);
    assert_eq!(compact(&lake)["runs"], 2);
    assert_eq!(tables_of_runs(&lake.path()), [] as [PathBuf; 0]);
    assert_whole(&lake, "compacted again");
    assert_eq!(answers(&lake).len(), before.len());
}

#[test]
fn all_tables_of_real_runs_are_packed() {
    let lake = Lake::new();
    for name in ["a", "b"] {
        let options = ["--release", "1", "--snapshot", name, "--duplicates", "all"];
        lake.analyze(fixtures::path("v8/s1.heapsnapshot.zst")).args(options).assert().success();
    }
    let run = lake.path().join("release=1/snapshot=a");
    let asked = |words: &[&str]| unpacked(&said(heaplake().args(words).arg(&run)));
    let ask = || [asked(&["top"]), asked(&["show"]), asked(&["dominators"]), asked(&["top", "--class", "*"])];
    let count = || fs::read_dir(&run).unwrap().count();
    let (before, files) = (ask(), count());
    assert_eq!(compact(&lake)["runs"], 2);
    assert!(count() <= 4 && files > 10, "{files} files, then {}", count());
    assert_eq!(ask(), before);
    assert_whole(&lake, "compacted");
    // A merge brings them with files of their own.
    let other = Lake::new();
    let merged = json(command("merge").arg(lake.path()).arg("--out").arg(other.path()), 0);
    assert_eq!(merged["runs"][0]["status"], "merged", "{merged}");
    assert_whole(&other, "merged");
    let run = other.path().join("release=1/snapshot=a");
    assert_eq!(said(heaplake().arg("top").arg(run)), before[0]);
    let merged = json(command("merge").arg(lake.path()).arg("--out").arg(other.path()), 0);
    assert_eq!(merged["runs"][0]["status"], "present", "{merged}");
}

#[test]
fn dropped_and_replaced_runs_leave_no_rows() {
    let lake = lake();
    compact(&lake);
    json(command("drop").arg(lake.path()).args(["a", "--yes"]), 0);
    let expected = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(packed(&lake.path()), expected(&["1/b", "1/c", "1/d", "2/b"]));
    assert_whole(&lake, "after a drop");
    json(command("drop").arg(lake.path()).args(["--release", "2", "--yes"]), 0);
    assert_eq!(packed(&lake.path()), expected(&["1/b", "1/c", "1/d"]));
    assert!(!lake.path().join("tables/classes/release=2").exists());
    // A run that is made anew has its own tables until the next compaction.
    fs::remove_dir_all(lake.path().join("release=1/snapshot=b")).unwrap();
    add_of_day(&lake.path(), ("1", "b", None), 7);
    compact(&lake);
    assert_eq!(packed(&lake.path()), expected(&["1/c", "1/d"]));
    assert_eq!(all(&lake.path()), ["b", "c", "d"]);
    assert_whole(&lake, "after a replacement");
}

#[test]
fn damage_is_named_and_stays_where_it_is() {
    let lake = lake();
    let table = lake.path().join("release=1/snapshot=a/classes.parquet");
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&table, bytes).unwrap();
    let compacted = json(command("compact").arg(lake.path()), 1);
    assert_eq!(compacted["runs"], 4, "{compacted}");
    assert!(compacted["kept"][0].to_string().contains("snapshot=a"), "{compacted}");
    assert!(table.exists());
    // Each damaged byte of a pack is found.
    let pack = packs(&lake.path()).remove(0);
    let whole = fs::read(&pack).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&pack, damaged).unwrap();
        let verified = json(command("verify").arg(lake.path()), 1);
        let count = verified["runs"].as_array().unwrap().iter().filter(|run| run["status"] == "damaged").count();
        assert!(count >= 2, "byte {at}: {verified}");
    }
    fs::remove_file(&pack).unwrap();
    let verified = json(command("verify").arg(lake.path()), 1);
    assert!(verified.to_string().contains("no such file"), "{verified}");
}

#[test]
fn other_folders_and_lakes_in_use_are_refused() {
    let lake = lake();
    let run = lake.path().join("release=1/snapshot=a");
    diagnostic(command("compact").arg(&run), 2);
    diagnostic(command("compact").arg(lake.folder().join("none")), 2);
    fs::create_dir(lake.path().join("tables")).unwrap();
    let lock = fs::File::create(lake.path().join("tables/.heaplake-lock")).unwrap();
    lock.lock().unwrap();
    let (cause, _) = diagnostic(command("compact").arg(lake.path()), 1);
    assert!(cause.contains("another heaplake compacts this lake"), "{cause}");
    drop(lock);
    assert_eq!(compact(&lake)["runs"], 6);
}

#[test]
fn nothing_outside_of_the_lake_changes() {
    let lake = lake();
    // A folder of a release is no lake: readers would not find the packs in it.
    let (cause, _) = diagnostic(command("compact").arg(lake.path().join("release=1")), 1);
    assert!(cause.contains("is no run of a release in it"), "{cause}");
    assert_whole(&lake, "after a refusal");
    // Runs behind links stay as they are.
    let other = lake.folder().join("other");
    fs::create_dir(&other).unwrap();
    symlink(lake.path().join("release=1"), other.join("release=1")).unwrap();
    let compacted = json(command("compact").arg(&other), 1);
    assert_eq!((&compacted["runs"], compacted["kept"].as_array().unwrap().len()), (&0.into(), 4), "{compacted}");
    assert_whole(&lake, "after links");
    // Packs do not go through links, and are not deleted through them.
    let outside = lake.folder().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, lake.path().join("tables")).unwrap();
    diagnostic(command("compact").arg(lake.path()), 2);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_file(lake.path().join("tables")).unwrap();
    compact(&lake);
    fs::rename(lake.path().join("tables/classes"), outside.join("classes")).unwrap();
    symlink(outside.join("classes"), lake.path().join("tables/classes")).unwrap();
    command("drop").arg(lake.path()).args(["*", "--yes"]).output().unwrap();
    assert_eq!(files_below(&outside).unwrap().len(), 3);
}

#[test]
fn rows_of_a_run_that_cannot_be_read_now_stay() {
    let lake = lake();
    compact(&lake);
    let description = lake.path().join("release=1/snapshot=a/run.json");
    let whole = fs::read(&description).unwrap();
    fs::write(&description, &whole[..whole.len() - 20]).unwrap();
    json(command("drop").arg(lake.path()).args(["b", "--yes"]), 0);
    let (night, new) = (1, ("1", "e", Some("web")));
    add_of_day(&lake.path(), new, night);
    let compacted = json(command("compact").arg(lake.path()), 1);
    assert!(compacted["kept"].to_string().contains("snapshot=a"), "{compacted}");
    fs::write(&description, whole).unwrap();
    assert_whole(&lake, "readable again");
    assert!(packed(&lake.path()).contains("1/a"));
}

#[test]
fn packed_runs_are_found_from_any_folder() {
    let lake = lake();
    compact(&lake);
    let release = lake.path().join("release=1");
    let verified = json(command("verify").arg(".").current_dir(&release), 0);
    assert!(verified["runs"].as_array().unwrap().iter().all(|run| run["status"] == "whole"), "{verified}");
    let mut diff = heaplake();
    diff.args(["diff", "snapshot=a", "../release=1/snapshot=c", "--json"]).current_dir(&release).assert().success();
}

#[test]
fn a_run_moves_into_a_lake_that_was_compacted_since() {
    let (source, target) = (lake(), Lake::new());
    let merge = |more: &[&str], code: i32| {
        json(command("merge").arg(source.path()).arg("--out").arg(target.path()).args(more), code)
    };
    merge(&[], 0);
    compact(&target);
    // A file that the lake lacks stays, and its run.
    let extra = source.path().join("release=1/snapshot=a/report.html");
    fs::write(&extra, "a page").unwrap();
    let moved = merge(&["--move"], 1);
    assert!(moved.to_string().contains("report.html"), "{moved}");
    assert!(extra.exists() && all(&source.path()) == ["a"], "{moved}");
    fs::remove_file(&extra).unwrap();
    // Damage in a pack is found before the source goes.
    let pack = packs(&target.path()).remove(0);
    let whole = fs::read(&pack).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 3] ^= 1;
    fs::write(&pack, damaged).unwrap();
    merge(&["--move"], 1);
    assert_eq!(all(&source.path()), ["a"]);
    fs::write(&pack, whole).unwrap();
    merge(&["--move"], 0);
    assert_eq!(all(&source.path()), [] as [&str; 0]);
    assert_whole(&target, "moved");
}

#[test]
fn a_damaged_pack_keeps_no_other_from_its_drop() {
    let lake = Lake::new();
    for name in ["a", "b", "c"] {
        let options = ["--release", "1", "--snapshot", name];
        lake.analyze(fixtures::path("v8/s1.heapsnapshot.zst")).args(options).assert().success();
    }
    compact(&lake);
    // In the rows, so that the pack opens.
    let pack = packs(&lake.path()).remove(0);
    let mut bytes = fs::read(&pack).unwrap();
    bytes[40] ^= 1;
    fs::write(&pack, bytes).unwrap();
    let dropped = command("drop").arg(lake.path()).args(["c", "--yes"]).output().unwrap();
    let told = String::from_utf8_lossy(&dropped.stderr).into_owned();
    assert!(told.contains(&*pack.to_string_lossy()) && dropped.status.code() == Some(1), "{told}");
    let others: Vec<PathBuf> = packs(&lake.path()).into_iter().filter(|other| *other != pack).collect();
    assert!(others.len() > 5, "{others:?}");
    for other in others {
        let name = other.file_name().unwrap().to_str().unwrap();
        let table = heaplake_support::table::Table::read(other.parent().unwrap(), name);
        assert!(!table.strings("snapshot").contains(&"c".to_owned()), "{name}");
    }
}

/// Kills of the fast test.
const FEW: usize = 50;

#[test]
fn a_killed_compaction_leaves_every_run_whole() {
    let (mut kills, mut step) = (0, 1);
    let mut call = 1;
    let before = answers(&lake());
    loop {
        let lake = lake();
        let mut killed = Command::new(env!("CARGO_BIN_EXE_heaplake"));
        killed.args(["lake", "compact", "--quiet"]).arg(lake.path()).stdin(Stdio::null()).stderr(Stdio::null());
        let status = killed.env("HEAPLAKE_FAULT", format!("any:{call}:kill")).status().unwrap();
        assert!(status.success() || status.signal() == Some(9), "call {call}: {status:?}");
        let verified = json(command("verify").arg(lake.path()), 0);
        let runs = verified["runs"].as_array().unwrap();
        assert!(runs.len() == 7 && runs.iter().all(|run| run["status"] == "whole"), "call {call}: {verified}");
        if kills % 10 == 0 {
            assert_eq!(answers(&lake), before, "call {call}");
        }
        if status.success() {
            break;
        }
        kills += 1;
        compact(&lake);
        assert_whole(&lake, &format!("call {call}"));
        assert_eq!(tables_of_runs(&lake.path()).len(), 2, "call {call}");
        assert_eq!(packed(&lake.path()).len(), 6, "call {call}");
        // Many calls of each kind are alike.
        step = if kills < FEW { step + usize::from(kills % 8 == 0) } else { step };
        call += step;
    }
    assert!(kills >= FEW, "{kills} kills");
}
