//! Small runs, and commands on a lake.

use heaplake_lake::seal;
use heaplake_schemas::run::{self, Run};
use heaplake_support::lake::{Lake, heaplake, read_json};
use heaplake_support::written::{Class, write};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A day in microseconds.
pub(crate) const DAY: i64 = 86_400_000_000;

/// Adds a run of two tables to a lake. `number` determines its content.
pub(crate) fn add(lake: &Path, (release, snapshot, host): (&str, &str, Option<&str>), number: i64) -> PathBuf {
    write(lake, (release, snapshot, host), &[Class::plain(format!("Class{number}"), 1 + number, 100)]).unwrap();
    heaplake_lake::place::path(lake, release, snapshot)
}

/// Changes the description of a run, and seals it again.
pub(crate) fn describe(place: &Path, change: impl FnOnce(&mut Run)) {
    let path = place.join(run::FILE);
    let mut run: Run = read_json(&path);
    change(&mut run);
    let sealed = seal::sealed(&serde_json::to_string_pretty(&Run { seal: None, ..run }).unwrap()).0;
    fs::write(path, sealed).unwrap();
}

/// Adds a run captured `day` days after 1970.
pub(crate) fn add_of_day(lake: &Path, named: (&str, &str, Option<&str>), day: i64) -> PathBuf {
    let place = add(lake, named, day);
    describe(&place, |run| run.captured_at_us = Some(day * DAY));
    place
}

/// `heaplake lake VERB`.
pub(crate) fn command(verb: &str) -> assert_cmd::Command {
    let mut command = heaplake();
    command.args(["lake", verb]);
    command
}

/// Output of a command as JSON; the command must exit with this code.
pub(crate) fn json(command: &mut assert_cmd::Command, code: i32) -> Value {
    let output = command.arg("--json").output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The names of the runs in a list of an answer.
pub(crate) fn names(answer: &Value, list: &str) -> Vec<String> {
    let runs = answer[list].as_array().unwrap().iter();
    runs.map(|run| run["snapshot"].as_str().unwrap().to_owned()).collect()
}

/// The names of the runs of a lake.
pub(crate) fn all(lake: &Path) -> Vec<String> {
    names(&json(command("ls").arg(lake), 0), "runs")
}

/// The files of all runs of a lake, by relative path, with their contents.
pub(crate) fn files(lake: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let list = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let of_release = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("release=");
    let releases = list(lake).into_iter().filter(of_release);
    let files = releases.flat_map(|release| list(&release)).flat_map(|run| list(&run));
    files.map(|path| (path.strip_prefix(lake).unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

/// Fails unless every run of a lake is whole, and nothing else is in it.
pub(crate) fn assert_whole(lake: &Lake, what: &str) {
    let answer = json(command("verify").arg(lake.path()), 0);
    for run in answer["runs"].as_array().unwrap() {
        assert_eq!(run["status"], "whole", "{what}: {run}");
    }
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new(), "{what}");
}
