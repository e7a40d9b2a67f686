//! `heaplake duplicates` on an existing run: its sets equal those of a run with duplicates from the start.

use super::duplicate_sets::sets;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of the files of a run, without those that contain times.
fn files(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let kept = files.filter(|path| !["run.json", "snapshot.parquet"].contains(&name(path).as_str()));
    kept.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// Analyses a snapshot without duplicates and then finds them; returns its file, its run, and the run's files.
fn looked_for_later(lake: &Lake) -> (PathBuf, PathBuf, BTreeMap<String, Vec<u8>>) {
    let input = lake.input("Heap.heapsnapshot", &fixtures::content("v8/small.heapsnapshot"));
    lake.analyze(&input).args(["--duplicates", "none", "--label", "a=b", "--report"]).assert().success();
    let run = lake.run();
    assert!(!run.join("duplicate_sets.parquet").exists());
    let page = run.join("report.html");
    let before = fs::read(&page).unwrap();
    heaplake().arg("duplicates").arg(&run).arg("--quiet").assert().success();
    assert_eq!(lake.run(), run);
    assert!(lake.leftovers().is_empty());
    assert_ne!(fs::read(&page).unwrap(), before, "the page is of the new run");
    fs::remove_file(&page).unwrap();
    let files = files(&run);
    (input, run, files)
}

#[test]
fn duplicates_can_be_looked_for_later() {
    let lake = Lake::new();
    let (input, run, later) = looked_for_later(&lake);
    assert!(fs::read_to_string(run.join("run.json")).unwrap().contains("\"a\": \"b\""));
    lake.analyze(&input).args(["--duplicates", "all", "--force"]).assert().success();
    assert_eq!(files(&run), later, "the same as at once");
    // With a budget that pages nearly everything, and one thread.
    let small = heaplake::engine::admission::smallest_budget().to_string();
    lake.analyze(&input)
        .args(["--duplicates", "all", "--force", "--threads", "1", "--memory", &small])
        .assert()
        .success();
    assert_eq!(files(&run), later, "the same with less memory");

    // Some classes only.
    heaplake()
        .arg("duplicates")
        .arg(&run)
        .args(["--quiet", "--duplicates", "trivial", "--duplicates-of", "Arr*"])
        .assert()
        .success();
    for set in sets(&run).iter().filter(|set| set.class == "Array") {
        assert_ne!(set.status, "exact");
    }
}

#[test]
fn a_foreign_run_json_moves_no_folder() {
    let lake = Lake::new();
    lake.analyze(fixtures::v8("small")).assert().success();
    let (run, home) = (lake.run(), lake.folder().join("home/docs"));
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("thesis.txt"), "mine").unwrap();
    let json = run.join("run.json");
    let whole = fs::read_to_string(&json).unwrap();
    let name = run.file_name().unwrap().to_string_lossy().replace("snapshot=", "");
    for (release, snapshot) in [("x/../../home", "y/../docs"), ("none", "../../../home/docs"), ("other", name.as_str())]
    {
        let mut foreign: serde_json::Value = serde_json::from_str(&whole).unwrap();
        (foreign["release"], foreign["snapshot"]) = (release.into(), snapshot.into());
        foreign.as_object_mut().unwrap().remove("seal");
        fs::write(&json, heaplake_lake::seal::sealed(&foreign.to_string()).0).unwrap();
        let (cause, _) = diagnostic(heaplake().arg("duplicates").arg(&run).arg("--quiet"), 1);
        assert!(cause.contains(release), "{cause}");
        assert_eq!(fs::read_to_string(home.join("thesis.txt")).unwrap(), "mine");
    }
}

#[test]
fn duplicates_need_the_input_of_the_run() {
    let lake = Lake::new();
    let (input, run, later) = looked_for_later(&lake);
    let diagnostic = |run: &Path| diagnostic(heaplake().arg("duplicates").arg(run), 1).0;
    let moved = lake.folder().join("moved.heapsnapshot");
    fs::rename(&input, &moved).unwrap();
    assert!(diagnostic(&run).contains("its input is gone"));
    fs::write(&input, fixtures::content("v8/s1.heapsnapshot")).unwrap();
    assert!(diagnostic(&run).contains("is not what it was made from"));
    heaplake().arg("duplicates").arg(&run).arg("--quiet").arg("--input").arg(&moved).assert().success();
    assert_eq!(files(&run), later);
    assert!(diagnostic(&moved).contains("needs a lake"));
}
