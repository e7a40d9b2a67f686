//! `heaplake lake verify`: every kind of damage is found, and named with its file.

use crate::common::{add, assert_whole, command, describe, json};
use heaplake_support::lake::{Lake, diagnostic};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A lake of three runs, and the folder of the second.
fn lake() -> (Lake, PathBuf) {
    let lake = Lake::new();
    add(&lake.path(), ("1", "a", None), 1);
    let place = add(&lake.path(), ("1", "b", Some("web")), 2);
    add(&lake.path(), ("2", "c", None), 3);
    (lake, place)
}

/// The problems of a lake in which only the run of this path may be damaged.
fn problems(lake: &Lake, place: &Path) -> Vec<Value> {
    let answer = json(command("verify").arg(lake.path()), 1);
    let runs = answer["runs"].as_array().unwrap();
    for run in runs {
        let damaged = run["path"].as_str() == place.to_str();
        assert_eq!(run["status"], if damaged { "damaged" } else { "whole" }, "{run}");
    }
    runs.iter().flat_map(|run| run["problems"].as_array().unwrap().clone()).collect()
}

/// Fails unless this file alone is damaged, and the problem says so.
fn assert_found(lake: &Lake, file: &Path, expected: &str, found: &str) {
    let problems = problems(lake, file.parent().unwrap());
    let [problem] = &problems[..] else { panic!("{}: {problems:?}", file.display()) };
    assert_eq!(problem["path"].as_str(), file.to_str(), "{problem}");
    let says = |key: &str, part: &str| problem[key].as_str().unwrap().contains(part);
    assert!(says("expected", expected) && says("found", found) && !says("advice", "\n"), "{problem}");
}

#[test]
fn a_whole_lake_is_whole() {
    let (lake, _) = lake();
    let output = command("verify").arg(lake.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(text.starts_with("3 runs, 6 tables, ") && text.ends_with(": 3 whole\n"), "{text}");
    command("verify").arg(lake.path()).arg("--quiet").assert().success().stdout("");
    for threads in ["1", "2", "7"] {
        command("verify").arg(lake.path()).args(["--threads", threads]).assert().success().stdout(text.clone());
    }
    let answer = json(command("verify").arg(lake.path()), 0);
    assert_eq!((&answer["tables"], answer["runs"].as_array().unwrap().len()), (&6.into(), 3));
    assert_whole(&lake, "a whole lake");
    let (cause, _) = diagnostic(command("verify").arg(lake.path().join("release=1/snapshot=a")), 2);
    assert!(cause.contains("this is a run"), "{cause}");
    diagnostic(command("verify").arg(lake.folder().join("missing")), 2);
}

#[test]
fn any_flipped_byte_of_any_file_is_found() {
    let (lake, place) = lake();
    for file in fs::read_dir(&place).unwrap().map(|file| file.unwrap().path()) {
        let whole = fs::read(&file).unwrap();
        let described = file.ends_with("run.json");
        for at in (0..whole.len()).step_by(whole.len() / 25) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&file, &changed).unwrap();
            let problems = problems(&lake, &place);
            // A damaged description may lead to problems of any table; its own comes first.
            assert_eq!(problems[0]["path"].as_str(), file.to_str(), "{at}: {problems:?}");
            assert!(described || problems.len() == 1, "{at}: {problems:?}");
        }
        fs::write(&file, whole).unwrap();
    }
    assert_whole(&lake, "given back");
}

#[test]
fn files_that_are_cut_off_missing_or_too_many_are_found() {
    let (lake, place) = lake();
    let file = place.join("classes.parquet");
    let whole = fs::read(&file).unwrap();
    let bytes = format!("{} bytes", whole.len());
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        assert_found(&lake, &file, &bytes, &format!("{length} bytes"));
    }
    fs::write(&file, [&whole[..], b"more"].concat()).unwrap();
    assert_found(&lake, &file, &bytes, &format!("{} bytes", whole.len() + 4));
    fs::remove_file(&file).unwrap();
    assert_found(&lake, &file, &bytes, "no such file");
    fs::create_dir(&file).unwrap();
    assert_eq!(problems(&lake, &place).len(), 1);
    fs::remove_dir(&file).unwrap();
    fs::write(&file, &whole).unwrap();
    let more = place.join("nodes.parquet");
    fs::write(&more, &whole).unwrap();
    assert_found(&lake, &more, "no table that run.json does not have", "one");
    fs::remove_file(&more).unwrap();
    // The page of a run, and notes, are not checked.
    fs::write(place.join("report.html"), "").unwrap();
    assert_whole(&lake, "given back");
}

#[test]
fn a_description_that_says_other_things_is_found() {
    let (lake, place) = lake();
    let table = place.join("chains.parquet");
    let path = place.join("run.json");
    let whole = fs::read(&path).unwrap();
    let described = String::from_utf8(whole.clone()).unwrap();
    // The seal detects any change.
    for (before, after) in
        [("\"web\"", "\"db\""), ("\"rows\":1", "\"rows\":2"), ("\n}", "\n} "), ("  \"seal", " \"seal")]
    {
        assert!(described.contains(before), "{before}");
        fs::write(&path, described.replacen(before, after, 1)).unwrap();
        assert_eq!(problems(&lake, &place)[0]["path"].as_str(), path.to_str(), "{after}");
    }
    fs::write(&path, described.replacen(&described[..described.find("\"heaplake").unwrap()], "{\n  ", 1)).unwrap();
    assert_found(&lake, &path, "a seal", "none");
    for (text, expected) in
        [("", "description of a run"), ("{", "description of a run"), ("[1]", "description of a run")]
    {
        fs::write(&path, text).unwrap();
        assert_found(&lake, &path, expected, "");
    }
    fs::remove_file(&path).unwrap();
    assert_found(&lake, &path, "description of a run", "no such file");
    fs::write(&path, &whole).unwrap();
    // With a valid seal, the tables themselves detect it.
    describe(&place, |run| run.tables[1].rows += 1);
    assert_found(&lake, &table, "1 rows", "0 rows");
    describe(&place, |run| run.tables[1].rows -= 1);
    describe(&place, |run| run.schema_version = 2);
    assert_eq!(problems(&lake, &place).len(), 2);
    describe(&place, |run| run.schema_version = heaplake_schemas::SCHEMA_VERSION);
    describe(&place, |run| run.tables[1].xxh3_64 = None);
    assert_found(&lake, &table, "a checksum", "none");
    describe(&place, |run| run.tables[1].file = "../snapshot=a/chains.parquet".to_owned());
    assert!(
        problems(&lake, &place).iter().any(|problem| problem["expected"].as_str().unwrap().contains("name of a file"))
    );
    fs::write(&path, &whole).unwrap();
    assert_whole(&lake, "given back");
}

#[test]
fn every_damaged_run_is_a_line_with_what_to_do() {
    let (lake, place) = lake();
    fs::remove_file(place.join("chains.parquet")).unwrap();
    fs::write(lake.path().join("release=2/snapshot=c/run.json"), "x\u{1b}[2J").unwrap();
    let output = command("verify").arg(lake.path()).arg("--quiet").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(1), 2), "{text}");
    for line in text.lines() {
        let shape = line.starts_with("damaged  ") && line.contains(": expected ") && line.contains(", found ");
        assert!(shape && line.contains("with --force, or drop the run") && !line.contains('\u{1b}'), "{line}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_said_to_be() {
    let (lake, place) = lake();
    let file = place.join("chains.parquet");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&file).is_ok() {
        eprintln!("SKIPPED: root reads everything");
        return;
    }
    assert_found(&lake, &file, "a file that can be read", "ermission");
}

#[test]
fn older_runs_are_checked_as_far_as_they_tell() {
    for version in [1, 2, 3] {
        let lake = Lake::new();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/fixtures/version-{version}/lake"));
        copy(&fixture, &lake.path());
        if version == 1 {
            // The fixture omits a large table.
            let lacks = lake.path().join("release=1.4/snapshot=both");
            assert_eq!(problems_of(&json(command("verify").arg(lake.path()), 1), "object_tracks.parquet").len(), 1);
            fs::remove_dir_all(lacks).unwrap();
        }
        let answer = json(command("verify").arg(lake.path()), 0);
        let runs = answer["runs"].as_array().unwrap();
        let expected = if version == 1 { 2 } else { 3 };
        assert!(runs.len() == expected && runs.iter().all(|run| run["status"] == "without_checksums"), "{answer}");
        let text = String::from_utf8(command("verify").arg(lake.path()).output().unwrap().stdout).unwrap();
        assert!(
            text.contains(" of older versions, without checksums: size, rows and schema version are right"),
            "{text}"
        );
        // Checks rows, sizes, versions, and an invalid table.
        let run = lake.path().join("release=1.4/snapshot=whole");
        let described = fs::read_to_string(run.join("run.json")).unwrap();
        let rows = |text: &str| text.replacen("\"rows\":", "\"rows\":9", 1);
        let schema = |text: &str| text.replacen(&format!("\"schema_version\": {version}"), "\"schema_version\": 0", 1);
        for changed in [rows(&described), schema(&described)] {
            assert_ne!(changed, described);
            fs::write(run.join("run.json"), changed).unwrap();
            json(command("verify").arg(lake.path()), 1);
        }
        fs::write(run.join("run.json"), described).unwrap();
        let file = run.join("classes.parquet");
        let length = fs::metadata(&file).unwrap().len() as usize;
        fs::write(&file, vec![0; length]).unwrap();
        let answer = json(command("verify").arg(lake.path()), 1);
        assert_eq!(answer["runs"].as_array().unwrap().iter().filter(|run| run["status"] == "damaged").count(), 1);
    }
}

/// The problems of files of this name.
fn problems_of(answer: &Value, file: &str) -> Vec<Value> {
    let problems =
        answer["runs"].as_array().unwrap().iter().flat_map(|run| run["problems"].as_array().unwrap().clone());
    problems.filter(|problem| problem["path"].as_str().unwrap().ends_with(file)).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => assert!(fs::copy(entry.path(), to).is_ok()),
        }
    }
}
