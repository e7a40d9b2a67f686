//! Pipes without a writer: they are not opened unless named, and waiting for one reacts to signals.

use crate::common::{CASES, heaplake};
use heaplake_support::lake::{Lake, diagnostic};
use heaplake_support::processes::{end, signal, wait_until_it_hears};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Interrupts a process that waits or reads; it must exit with 130.
fn interrupt(mut child: Child) {
    wait_until_it_hears(&mut child);
    assert!(child.try_wait().unwrap().is_none(), "it did not wait");
    signal(&child, "-TERM");
    assert_eq!(end(&mut child).code(), Some(130));
}

#[test]
fn a_pipe_in_a_folder_is_named_and_the_files_beside_it_are_analysed() {
    let lake = Lake::new();
    let inputs = lake.folder().join("inputs");
    fs::create_dir(&inputs).unwrap();
    let case = &CASES[0];
    fs::rename(case.input(&lake), inputs.join("b.heapsnapshot")).unwrap();
    make_pipe(&inputs.join("a.heapsnapshot"));
    let (cause, _) = diagnostic(&mut lake.analyze(&inputs), 1);
    assert!(cause.contains("a.heapsnapshot: this is a pipe"), "{cause}");
    assert_eq!(lake.runs().len(), 1);
}

#[test]
fn waiting_for_a_writer_hears_signals() {
    for verb in ["analyze", "replay"] {
        let lake = Lake::new();
        let pipe = lake.folder().join("it.heapsnapshot");
        make_pipe(&pipe);
        interrupt(heaplake(verb).arg(&pipe).arg("--out").arg(lake.path()).spawn().unwrap());
        lake.assert_empty();
    }
}

#[test]
fn a_pipe_with_a_writer_is_read() {
    for case in [&CASES[0], &CASES[1], &CASES[3]] {
        let lake = Lake::new();
        let input = case.input(&lake);
        let pipe = lake.folder().join("pipe");
        make_pipe(&pipe);
        let child = case.command(&lake, &pipe).spawn().unwrap();
        fs::write(&pipe, fs::read(&input).unwrap()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{} {}", case.name, String::from_utf8_lossy(&output.stderr));
        assert_eq!(lake.runs().len(), 1);
    }
}

/// Pipes without a writer and endless devices, given where a command reads a whole file.
#[test]
fn files_of_rules_names_and_symbols_are_regular_files() {
    let lake = Lake::new();
    let input = CASES[0].input(&lake);
    let folder = lake.folder().join("odd");
    fs::create_dir(&folder).unwrap();
    make_pipe(&folder.join("a.js.map"));
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.js")).unwrap();
    for odd in ["a.js.map", "zero.js"].map(|name| folder.join(name)) {
        for option in ["--source-maps", "--owners", "--names"] {
            let mut analyze = lake.analyze(&input);
            let (cause, _) = diagnostic(analyze.arg(option).arg(&odd), 2);
            assert!(cause.contains(&format!("{}: cannot read: this is no regular file", odd.display())), "{cause}");
        }
    }
    // Optional files are skipped.
    for odd in [&folder, &folder.join("a.js.map"), &folder.join("zero.js")] {
        let mut analyze = heaplake("analyze");
        let output =
            analyze.arg(&input).arg("--out").arg(lake.path()).arg("--force").arg("--symbols").arg(odd).output();
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("this is no regular file"), "{}: {text}", odd.display());
    }
}

#[test]
fn a_pipe_in_place_of_a_run_is_an_error() {
    let case = &CASES[1];
    let lake = Lake::new();
    let input = case.input(&lake);
    let place = lake.path().join("release=none/snapshot=n");
    fs::create_dir_all(&place).unwrap();
    make_pipe(&place.join("run.json"));
    let (cause, _) = diagnostic(lake.analyze(&input).args(["--snapshot", "n"]), 1);
    assert!(cause.contains("run.json: cannot read: this is no regular file"), "{cause}");
}

#[test]
fn hashing_hears_signals() {
    let case = &CASES[1];
    let lake = Lake::new();
    let input = case.input(&lake);
    assert!(lake.analyze(&input).args(["--snapshot", "n"]).output().unwrap().status.success());
    // As many bytes as the run's input, slowly: only checking for signals ends it in time.
    let mut command = heaplake("analyze");
    command.arg(&input).arg("--out").arg(lake.path()).args(["--snapshot", "n", "--quiet"]);
    let large = lake.folder().join("large.hprof");
    let mut content = fs::read(&input).unwrap();
    content.resize(1 << 28, 0);
    fs::write(&large, content).unwrap();
    let run = lake.run().join("run.json");
    let text = fs::read_to_string(&run).unwrap();
    let before = format!("\"input_bytes\": {}", fs::metadata(&input).unwrap().len());
    let text = text.replace(&before, &format!("\"input_bytes\": {}", 1 << 28));
    // The seal is the first member.
    let unsealed = format!("{{\n{}", text.split_once(",\n").unwrap().1);
    fs::write(&run, heaplake_lake::seal::sealed(&unsealed).0).unwrap();
    let mut command = heaplake("analyze");
    command.arg(&large).arg("--out").arg(lake.path()).args(["--snapshot", "n", "--quiet"]);
    interrupt(command.env("HEAPLAKE_FAULT", "read:1+:short:large.hprof").spawn().unwrap());
}
