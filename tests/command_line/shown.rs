//! Hostile names: terminal control sequences, and characters that hide or reverse text, are shown as escapes.

use assert_cmd::Command;
use heaplake_kit::text::is_unseen;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, heaplake, read_json};
use serde_json::Value;
use std::fs;

/// Clears the screen, sets the title, colours, begins a new line, reverses the following text, hides.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[31mRED\r\nFAKE line\u{202e}\u{200b}\u{9b}2J\u{e0041}";

/// Runs a command; its output contains no terminal control sequences except its own colours.
fn assert_inert(command: &mut Command) -> String {
    let output = command.env("CLICOLOR_FORCE", "1").output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    for text in &said {
        assert!(!text.contains("\u{1b}[31mRED"), "{text:?}");
        let without_colours = text.split("\u{1b}[").enumerate().map(|(at, piece)| match piece.split_once('m') {
            Some((code, rest)) if at > 0 && code.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';')) => rest,
            _ => piece,
        });
        let plain: String = without_colours.collect();
        let unseen: Vec<char> = plain.chars().filter(|&c| c != '\n' && is_unseen(c)).collect();
        assert!(unseen.is_empty(), "{unseen:?} in {text:?}");
        assert!(!plain.lines().any(|line| line.trim_start().starts_with("FAKE")), "{text}");
    }
    said.concat()
}

/// A run of a snapshot with a class of this name, in a file of this name.
fn analysed(lake: &Lake) -> String {
    let text = fixtures::text("v8/node24_app.heapsnapshot");
    let name = serde_json::to_string(&format!("Customer{HOSTILE}")).unwrap();
    assert!(text.contains("\"Customer\","));
    let text = text.replace("\"Customer\",", &format!("{name},"));
    let input = lake.input(&format!("in{HOSTILE}.heapsnapshot"), text.as_bytes());
    assert_inert(heaplake().arg("analyze").arg(input).arg("--out").arg(lake.path()))
}

#[test]
fn names_of_snapshots_and_files_are_inert() {
    let lake = Lake::new();
    let summary = analysed(&lake);
    assert!(summary.contains(r"\u{1b}[2J"), "{summary}");
    let run = lake.run();
    for verb in ["show", "top", "dominators", "report"] {
        assert_inert(heaplake().arg(verb).arg(&run));
    }
    assert_inert(heaplake().arg("show").arg(&run).arg("--json"));
    assert_inert(heaplake().arg("top").arg(&run).args(["--json", "-n", "1000"]));
    let classes = assert_inert(heaplake().arg("top").arg(&run).args(["--class", "Customer*"]));
    assert!(classes.contains(r"Customer\u{1b}[2J"), "{classes}");
    assert_inert(heaplake().arg("ls").arg(lake.path()));
    assert_inert(heaplake().arg("diff").arg(&run).arg(&run));
}

/// Appends the hostile text to every text of a document.
fn spoil(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(HOSTILE),
        Value::Array(list) => list.iter_mut().for_each(spoil),
        Value::Object(object) => object.values_mut().for_each(spoil),
        _ => {}
    }
}

#[test]
fn run_json_is_inert() {
    let lake = Lake::new();
    analysed(&lake);
    let path = lake.run().join("run.json");
    let mut run: Value = read_json(&path);
    let whole = run.clone();
    // One field at a time: an unknown value of an enumeration makes the whole document unreadable.
    let fields: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
    let summary: Vec<String> = whole["summary"].as_object().unwrap().keys().cloned().collect();
    let all = fields.iter().map(|field| (None, field)).chain(summary.iter().map(|field| (Some("summary"), field)));
    for (inside, field) in all {
        run.clone_from(&whole);
        spoil(match inside {
            Some(outer) => &mut run[outer][field.as_str()],
            None => &mut run[field.as_str()],
        });
        let mut unsealed = run.clone();
        unsealed.as_object_mut().unwrap().remove("seal");
        fs::write(&path, heaplake_lake::seal::sealed(&unsealed.to_string()).0).unwrap();
        assert_inert(heaplake().arg("show").arg(lake.run()));
        assert_inert(heaplake().arg("ls").arg(lake.path()));
        assert_inert(heaplake().arg("top").arg(lake.run()));
    }
}

#[test]
fn words_of_the_command_line_are_inert() {
    let word = format!("x{HOSTILE}");
    let told = assert_inert(heaplake().arg("show").arg(&word));
    assert!(told.contains(r"x\u{1b}[2J"), "{told}");
    assert_inert(heaplake().arg(format!("--{word}")));
    assert_inert(heaplake().arg("analyze").arg(&word).args(["--out", "/proc/none"]));
    assert_inert(heaplake().arg("analyze").arg("a").arg("--out").arg(&word).args(["--memory", &word]));
    assert_inert(heaplake().arg("ls").arg(&word));
}
