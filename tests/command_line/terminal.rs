//! What people read on the terminal: the help of every verb, a plan, the summary of an analysis.
//!
//! The texts are in `snapshots`, and any difference fails. Where one is intended, accept the new texts, look through
//! them and commit them:
//!
//!     INSTA_UPDATE=always cargo test -p heaplake --test command_line terminal

use super::common::{analyze, small, stdout};
use crate::lake::{Lake, heaplake};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/command_line/snapshots")
}

/// Compares a text with the accepted one of this name. Times, sizes of memory and paths differ from run to run.
fn assert_accepted(name: &str, text: &str, lake: Option<&Lake>) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    if let Some(lake) = lake {
        settings.add_filter(&lake.folder().display().to_string(), "FOLDER");
    }
    settings.add_filter(r"\d+\.\d+ s\b", "TIME s");
    // Sizes of compressed tables depend on the length of paths in them.
    settings.add_filter(r" +[\d.]+ [KM]iB( +[\d,]+ rows? )", "  SIZE$1");
    settings.add_filter(r"peak memory [\d.]+ [KMG]iB, scratch [\d.]+ [KMG]iB", "peak memory SIZE, scratch SIZE");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Help as a terminal of 100 columns shows it.
fn help(verb: &[&str]) -> String {
    stdout(heaplake().args(verb).arg("--help").env("COLUMNS", "100"))
}

/// The verbs that the help lists.
fn verbs() -> Vec<String> {
    let help = help(&[]);
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    // Lines that go on are indented more.
    let verbs = lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    verbs.map(|line| line.split_whitespace().next().unwrap().to_owned()).filter(|verb| verb != "help").collect()
}

#[test]
fn help_of_every_verb() {
    assert_accepted("help", &help(&[]), None);
    for verb in verbs() {
        assert_accepted(&format!("help-{verb}"), &help(&[&verb]), None);
    }
    // No text is left of a verb that is gone.
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let accepted: BTreeSet<String> =
        files.filter_map(|file| Some(file.strip_prefix("help-")?.strip_suffix(".snap")?.to_owned())).collect();
    assert_eq!(accepted, verbs().into_iter().collect());
}

#[test]
fn a_plan_and_a_summary() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    let memory = ["--memory", "256MiB"];
    assert_accepted("plan", &stdout(heaplake().arg("plan").arg(&input).args(memory)), Some(&lake));
    let output = analyze(&lake).arg(&input).args(memory).args(["--threads", "2"]).output().unwrap();
    assert_accepted("summary", &String::from_utf8(output.stdout).unwrap(), Some(&lake));
}
