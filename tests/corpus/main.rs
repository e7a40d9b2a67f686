//! Findings on real programs: each leaks in a known way or is healthy. The programs of `tests/programs` run one after
//! the other, the real binary analyses their snapshots, and a table compares the findings with the truth. If a tool or
//! the npm registry is missing, the tests print a note and skip those programs.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod leak_pairs;
mod packages;
mod programs;
mod secrets;
mod verdicts;

use heaplake_support::lake::{Lake, read_json};
use packages::{install, node_version, source};
use programs::{JAVA, MORE, PACKAGES, PLAIN, Program};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use verdicts::{Verdict, judge, table as verdict_table};

/// Runs a program until it has written its snapshot and ended.
fn run(mut command: Command, program: &Program, snapshot: &Path) {
    if !program.mode.is_empty() {
        command.arg(program.mode);
    }
    let output = command.arg(snapshot).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && snapshot.exists(), "{} {}: {said}", program.file, program.mode);
}

/// The findings of a program's snapshot in this folder.
fn findings(program: &Program, folder: &Path) -> Vec<Value> {
    let lake = Lake::new();
    if program.file.ends_with(".java") {
        let dump = lake.folder().join("dump.hprof");
        let mut java = Command::new("java");
        java.args(["-Xms256m", "-Xmx256m", "-XX:+UseSerialGC"]).arg(source(program.file));
        run(java, program, &dump);
        return analyzed(&lake, &dump);
    }
    let snapshot = lake.folder().join("heap.heapsnapshot");
    let mut node = Command::new("node");
    node.arg(folder.join(Path::new(program.file).file_name().unwrap()));
    run(node, program, &snapshot);
    analyzed(&lake, &snapshot)
}

fn analyzed(lake: &Lake, snapshot: &Path) -> Vec<Value> {
    let json = lake.folder().join("findings.json");
    lake.analyze(snapshot).arg("--findings-json").arg(&json).assert().success();
    let all: Value = read_json(&json);
    all[0]["findings"].as_array().unwrap().clone()
}

/// Judges all programs that this machine can run, with these packages, and prints the table.
fn check<'a>(programs: impl IntoIterator<Item = &'a Program>, modules: Option<&Path>) {
    let (node, lake) = (node_version(), Lake::new());
    let folder = packages::copy(&lake, modules);
    let mut verdicts: Vec<Verdict> = Vec::new();
    for program in programs {
        if !program.file.ends_with(".java") && node < program.since {
            eprintln!("SKIPPED: {} needs Node.js {}, this is {node}", program.file, program.since);
            continue;
        }
        verdicts.push(judge(program, &findings(program, &folder)));
    }
    eprintln!("{}", verdict_table(&verdicts));
    let wrong: Vec<&Verdict> = verdicts.iter().filter(|verdict| verdict.wrong.is_some()).collect();
    assert!(wrong.is_empty(), "{} of {} programs are judged wrong, see the table", wrong.len(), verdicts.len());
}

fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: programs of {tool}, which cannot be run here");
    }
    found
}

#[test]
fn programs_of_node_are_judged_right() {
    if has("node") {
        check(&PLAIN, None);
    }
}

#[test]
#[ignore = "long"]
fn more_programs_of_node_are_judged_right() {
    if has("node") {
        check(&MORE, None);
    }
}

#[test]
#[ignore = "long, and needs the npm registry"]
fn programs_with_packages_are_judged_right() {
    if !has("node") {
        return;
    }
    match install() {
        Ok(modules) => check(&PACKAGES, Some(&modules)),
        Err(why) => eprintln!("SKIPPED: all {} programs with packages of npm: {why}", PACKAGES.len()),
    }
}

#[test]
#[ignore = "long"]
fn programs_of_java_are_judged_right() {
    if has("java") {
        check(&JAVA, None);
    }
}
