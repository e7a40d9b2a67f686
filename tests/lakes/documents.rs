//! Oversized descriptions, and files that a check leaves alone.

use crate::common::{add, all, command, json, names};
use assert_cmd::Command;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use std::fs::{self, File};
use std::path::Path;

/// A terabyte that takes no space: a command that reads it takes longer than the test, or runs out of memory.
fn make_huge(path: &Path) {
    File::create(path).unwrap().set_len(1 << 40).unwrap();
}

/// The binary with little address space.
fn confined(words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 8000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_heaplake")]).args(words);
    command
}

#[test]
fn a_run_with_a_huge_description_is_damaged_and_the_others_are_read() {
    let lake = Lake::new();
    let (good, bad) = (add(&lake.path(), ("1", "good", None), 1), add(&lake.path(), ("1", "bad", None), 2));
    add(&lake.path(), ("2", "good", None), 3);
    make_huge(&bad.join("run.json"));
    let path = lake.path().display().to_string();
    let listed = json(&mut confined(&["ls", &path]), 0);
    assert_eq!(names(&listed, "runs"), ["good", "good"]);
    assert!(listed["damaged"][0]["problem"].as_str().unwrap().contains("at most 67108864 bytes"), "{listed}");
    let verified = json(&mut confined(&["lake", "verify", &path]), 1);
    let damaged = verified["runs"].as_array().unwrap().iter().find(|run| run["status"] == "damaged").unwrap();
    assert!(damaged["path"].as_str().unwrap().ends_with("snapshot=bad"), "{damaged}");
    confined(&["show", &good.display().to_string()]).assert().success();
    for words in [&["show", &bad.display().to_string()][..], &["report", &bad.display().to_string()]] {
        let (cause, _) = diagnostic(&mut confined(words), 1);
        assert!(cause.contains("run.json") && cause.contains("at most"), "{cause}");
    }
    // The result of a rollup with a damaged run does not matter here, only that it ends.
    let rollup = lake.folder().join("rollup").display().to_string();
    let output = confined(&["fleet", "rollup", &path, "--out", &rollup]).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    confined(&["lake", "drop", &path, "bad", "--yes"]).assert().success();
    assert_eq!(all(&lake.path()), ["good", "good"]);
}

#[test]
fn huge_documents_of_comparisons_and_rollups_are_refused() {
    for (name, codes) in [("diff.json", [1, 1]), ("trend.json", [1, 1]), ("rollup.json", [1, 3])] {
        let folder = tempfile::tempdir().unwrap();
        make_huge(&folder.path().join(name));
        let output = confined(&["report", &folder.path().display().to_string()]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(codes.contains(&output.status.code().unwrap()) && told.lines().count() == 2, "{name}: {told}");
    }
    // An invalid manifest is not replaced.
    let lake = Lake::new();
    add(&lake.path(), ("1", "a", None), 1);
    let (path, rollup) = (lake.path().display().to_string(), lake.folder().join("rollup"));
    let roll = || confined(&["fleet", "rollup", &path, "--quiet", "--out", &rollup.display().to_string()]);
    roll().assert().success();
    make_huge(&rollup.join("rollup.json"));
    let told = String::from_utf8(roll().assert().code(1).get_output().stderr.clone()).unwrap();
    assert!(told.contains("rollup.json: cannot read: expected at most"), "{told}");
    assert_eq!(fs::metadata(rollup.join("rollup.json")).unwrap().len(), 1 << 40);
}

#[test]
fn a_check_removes_nothing_that_a_killed_command_left() {
    let lake = Lake::new();
    add(&lake.path(), ("1", "a", None), 1);
    let left = lake.path().join(".heaplake-new/release=1/snapshot=z");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("nodes.parquet"), "half").unwrap();
    let answer = json(command("verify").arg(lake.path()), 0);
    assert_eq!(answer["left"][0]["path"].as_str().map(Path::new), Some(&*left), "{answer}");
    let text = command("verify").arg(lake.path()).output().unwrap().stdout;
    assert!(String::from_utf8(text).unwrap().contains("snapshot=z: of a run in the making"), "{answer}");
    assert!(left.join("nodes.parquet").exists());
    // The next command that changes the lake removes it.
    heaplake().args(["lake", "drop"]).arg(lake.path()).args(["nobody", "--yes"]).output().unwrap();
    assert!(!left.exists());
}
