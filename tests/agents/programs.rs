//! The agent on programs with a known culprit: those of `tests/programs` that need no package, run here, and a folder of
//! dumps that `tests/verdicts/field.tsv` describes.

use crate::agent::{Verdict, solve};
use heaplake_support::lake::Lake;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, its mode, and a text that names its culprit; without one it is healthy.
const PROGRAMS: [(&str, &str, Option<&str>); 16] = [
    ("leaks.js", "leaking", Some("SessionCache.sessions")),
    ("leaks.js", "healthy", None),
    ("resources.js", "promises", Some("waitForTurn (corpus/resources.js:51)")),
    ("resources.js", "timers", Some("resources.js:27")),
    ("resources.js", "listeners", Some("onOrder (corpus/resources.js:35)")),
    ("resources.js", "targets", Some("onAbort (corpus/resources.js:43)")),
    ("resources.js", "memo", Some("variable cache of memoize")),
    ("resources.js", "healthy", None),
    ("corpus/jest_contexts.cjs", "leaking", Some("closeSync")),
    ("corpus/jest_contexts.cjs", "healthy", None),
    ("corpus/request_listeners.cjs", "leaking", Some("Settings")),
    ("corpus/rpc_pending.cjs", "leaking", Some("RpcClient.inFlight")),
    ("corpus/rpc_pending.cjs", "healthy", None),
    ("corpus/job_deadlines.cjs", "leaking", Some("job_deadlines.cjs:16")),
    ("Service.java", "leaking", Some("Service$SessionCache.SESSIONS")),
    ("Service.java", "healthy", None),
];

fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: programs of {tool}, which cannot be run here");
    }
    found
}

/// Runs a program; returns its dump.
fn dump(file: &str, mode: &str, lake: &Lake) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs").join(file);
    let is_java = file.ends_with(".java");
    let dump = lake.folder().join(if is_java { "dump.hprof" } else { "heap.heapsnapshot" });
    let mut command = Command::new(if is_java { "java" } else { "node" });
    if is_java {
        command.args(["-Xms256m", "-Xmx256m", "-XX:+UseSerialGC"]).arg(source);
    } else {
        // Names of places have the folder.
        let folder = lake.folder().join("corpus");
        fs::create_dir_all(&folder).unwrap();
        let copy = folder.join(source.file_name().unwrap());
        fs::copy(source, &copy).unwrap();
        command.arg(copy);
    }
    let output = command.arg(mode).arg(&dump).output().unwrap();
    assert!(output.status.success(), "{file} {mode}: {}", String::from_utf8_lossy(&output.stderr));
    dump
}

fn line(name: &str, verdict: &Verdict, is_right: bool) -> bool {
    let Verdict { named, calls, tokens } = verdict;
    eprintln!("{} {name}: {calls} calls, {tokens} tokens, {named:?}", if is_right { "right" } else { "WRONG" });
    is_right
}

#[test]
#[ignore = "long"]
fn culprits_of_programs_are_named() {
    let (node, java) = (has("node"), has("java"));
    let mut wrong = 0;
    for (file, mode, culprit) in PROGRAMS {
        if !(if file.ends_with(".java") { java } else { node }) {
            continue;
        }
        let lake = Lake::new();
        let dump = dump(file, mode, &lake);
        lake.analyze(dump).assert().success();
        let verdict = solve(&lake.path());
        let is_right = verdict.is_thrifty() && culprit.map_or(!verdict.accuses(), |culprit| verdict.names(&[culprit]));
        wrong += usize::from(!line(&format!("{file} {mode}"), &verdict, is_right));
    }
    assert_eq!(wrong, 0);
}

#[test]
#[ignore = "long; needs HEAPLAKE_FIELD, a folder of the dumps of tests/verdicts/field.tsv"]
fn culprits_of_the_field_are_named() {
    let Some(folder) = std::env::var_os("HEAPLAKE_FIELD").map(PathBuf::from) else {
        eprintln!("SKIPPED: HEAPLAKE_FIELD names no folder");
        return;
    };
    let truth = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/verdicts/field.tsv");
    let (mut wrong, mut seen) = (0, 0);
    for row in fs::read_to_string(truth).unwrap().lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let endings = ["v8/NAME.heapsnapshot.zst", "jvm/NAME.hprof.zst"];
        let dump =
            endings.iter().map(|ending| folder.join(ending.replace("NAME", cells[0]))).find(|path| path.exists());
        let Some(dump) = dump else { continue };
        let lake = Lake::new();
        lake.analyze(dump).assert().success();
        let verdict = solve(&lake.path());
        let culprit = regex::Regex::new(cells[3]).unwrap();
        let names = verdict.named.as_ref().is_some_and(|(_, text)| culprit.is_match(text));
        let is_right = verdict.is_thrifty() && if cells[2] == "healthy" { !verdict.accuses() } else { names };
        seen += 1;
        wrong += usize::from(!line(cells[0], &verdict, is_right));
    }
    assert!(seen > 0, "{}: no dump of the field", folder.display());
    assert_eq!(wrong, 0, "of {seen}");
}
