//! Output for schedulers: the JSON log, the metrics of a batch, the line with its outcomes.

use super::common::small;
use heaplake_support::lake::{Lake, heaplake};
use serde_json::Value;
use std::fs;

/// A folder with two good inputs, one of them twice, a damaged one and an empty one.
fn folder(lake: &Lake) -> std::path::PathBuf {
    let folder = lake.folder().join("night");
    fs::create_dir(&folder).unwrap();
    let good = small();
    fs::write(folder.join("a.heapsnapshot"), &good).unwrap();
    fs::write(folder.join("b.heapsnapshot"), &good[..good.len() / 2]).unwrap();
    fs::write(folder.join("c.heapsnapshot"), b"").unwrap();
    folder
}

fn events(lake: &Lake, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    let night = lake.folder().join("night");
    let mut command = heaplake();
    command.arg("analyze").arg(night).arg("--out").arg(lake.path()).args(["--log-format", "json"]).args(more);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")));
    (output.status.code(), events.collect())
}

fn of<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

#[test]
fn the_log_is_one_object_a_line() {
    let lake = Lake::new();
    folder(&lake);
    let (code, all) = events(&lake, &[]);
    assert_eq!(code, Some(1));
    assert!(all.iter().all(|event| event["timestamp"].is_string() && event["level"].is_string()), "{all:?}");
    let stages = of(&all, "stage");
    assert!(stages.iter().any(|stage| stage["stage"] == "nodes" && stage["rows"].as_u64() > Some(0)), "{stages:?}");
    for stage in &stages {
        assert!(stage["seconds"].is_f64() && stage["spilled_bytes"].is_u64(), "{stage}");
    }
    let written: u64 = stages.iter().filter_map(|stage| stage["bytes"].as_u64()).sum();
    assert!(written > 10_000, "{written}");
    let [committed] = of(&all, "committed")[..] else { panic!("{all:?}") };
    assert!(committed["path"].as_str().unwrap().contains("snapshot=a-"), "{committed}");
    let failed = of(&all, "failed");
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(failed.iter().all(|event| event["exit_code"] == 1 && event["level"] == "ERROR"), "{failed:?}");
    assert!(failed[0]["cause"].as_str().unwrap().contains("b.heapsnapshot"), "{failed:?}");
    assert_eq!(failed[0]["kind"], "damaged");
    // One key has the input, as it was named, in all events about one.
    let input = |name: &str| Value::from(lake.folder().join("night").join(name).display().to_string());
    assert!(stages.iter().all(|stage| stage["input"] == input("a.heapsnapshot")), "{stages:?}");
    assert_eq!(committed["input"], input("a.heapsnapshot"));
    assert_eq!(
        [&failed[0], &failed[1]].map(|event| &event["input"]),
        [&input("b.heapsnapshot"), &input("c.heapsnapshot")]
    );
    let [finished] = of(&all, "finished")[..] else { panic!("{all:?}") };
    let counted = ["inputs", "committed", "unchanged", "failed", "not_started"].map(|field| finished[field].as_u64());
    assert_eq!(counted, [3, 1, 0, 2, 0].map(Some), "{finished}");
    // The second time nothing is done, and with --quiet only failures are printed.
    let (_, again) = events(&lake, &[]);
    assert_eq!((of(&again, "unchanged").len(), of(&again, "stage").len()), (1, 0));
    let (_, quiet) = events(&lake, &["--quiet", "--force"]);
    assert_eq!(of(&quiet, "stage").len(), 0, "{quiet:?}");
    assert_eq!(of(&quiet, "failed").len(), 2, "{quiet:?}");
}

#[test]
fn metrics_and_the_last_line_count_the_batch() {
    let lake = Lake::new();
    let night = folder(&lake);
    let metrics = lake.folder().join("heaplake.prom");
    let mut command = heaplake();
    command.arg("analyze").arg(&night).arg("--out").arg(lake.path()).arg("--metrics").arg(&metrics);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    let [.., totals, "", header, first, advice] = lines[..] else { panic!("{said}") };
    assert_eq!(totals, "3 inputs: 1 new, 2 failed (2 damaged)");
    assert_eq!(header, "  error       inputs  first example");
    assert!(first.starts_with("  damaged          2  ") && first.contains("b.heapsnapshot: byte "), "{first}");
    assert!(advice.starts_with("                      -> "), "{advice}");
    let text = fs::read_to_string(&metrics).unwrap();
    for sample in [
        "heaplake_batch_inputs{outcome=\"committed\"} 1\n",
        "heaplake_batch_inputs{outcome=\"failed\"} 2\n",
        "heaplake_batch_failures{kind=\"damaged\"} 2\n",
        "heaplake_batch_stage_seconds{stage=\"dominators\"} ",
    ] {
        assert!(text.contains(sample), "{sample}: {text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
    let left: Vec<_> = fs::read_dir(lake.folder()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

/// Standard output and error of an analysis.
fn texts(lake: &Lake, inputs: &[&std::path::Path], more: &[&str]) -> (String, String) {
    let mut command = heaplake();
    command.arg("analyze").args(inputs).arg("--out").arg(lake.path()).args(more);
    let output = command.output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn several_inputs_are_a_line_each_and_one_is_a_summary() {
    let lake = Lake::new();
    let (one, two) = (lake.input("a.heapsnapshot", &small()), lake.input("b.heapsnapshot", &small()));
    let (said, error) = texts(&lake, &[&one, &two], &[]);
    assert_eq!(error, "", "no stages without -v");
    let lines: Vec<&str> = said.lines().collect();
    let [first, second, "", totals] = lines[..] else { panic!("{said}") };
    for (line, name) in [(first, "a"), (second, "b")] {
        assert!(line.contains(&format!("/{name}.heapsnapshot: ")) && line.contains(" nodes, "), "{line}");
        assert!(line.contains("  findings: ") && line.contains(&format!("snapshot={name}-")), "{line}");
    }
    assert_eq!(totals, "2 inputs: 2 new");
    let is_full = |said: &str| said.matches("Largest classes by retained size").count();
    assert_eq!(is_full(&texts(&lake, &[&one, &two], &["--force", "--summary"]).0), 2);
    assert_eq!(is_full(&texts(&lake, &[&one], &["--force"]).0), 1);
    let (said, error) = texts(&lake, &[&one, &two], &["--force", "-v"]);
    assert!(is_full(&said) == 0 && error.contains("a: dominators: ") && error.contains("b: dominators: "), "{error}");
}
