//! `heaplake fleet analyze` runs a Python that has the package.

use heaplake_support::lake::{Lake, diagnostic, heaplake};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// A replacement for Python. It has the packages if `status` is 0, and prints its arguments.
fn python(lake: &Lake, status: u8) -> PathBuf {
    let path = lake.folder().join(format!("python{status}"));
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = -c ]; then exit {status}; fi\nprintf '%s\\n' \"$HEAPLAKE_BINARY\" \"$@\"\nexit 3\n"
    );
    let text = lake.input("python.sh", script.as_bytes());
    // A file written here may still be open for writing in another thread's child, and then it cannot be executed.
    assert!(Command::new("cp").arg(text).arg(&path).status().unwrap().success());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn words_environment_and_exit_code_are_those_of_the_package() {
    let lake = Lake::new();
    let words = ["night", "--out", "lake", "--label", "host={stem}", "--address", "head:6379", "--memory", "1GiB"];
    let mut command = heaplake();
    command.args(["--log-format", "json", "fleet", "analyze"]).args(words).env("HEAPLAKE_PYTHON", python(&lake, 0));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    let mut lines = text.lines();
    assert!(lines.next().unwrap().ends_with("/heaplake"), "{text}");
    let expected = [&["-m", "heaplake.fleet", "analyze"][..], &words, &["--log-format", "json"]].concat();
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}

#[test]
fn a_python_without_the_packages_is_refused() {
    let lake = Lake::new();
    let said = |python: PathBuf| {
        let mut command = heaplake();
        command.args(["fleet", "analyze", "night", "--out", "lake"]).env("HEAPLAKE_PYTHON", python);
        let (cause, advice) = diagnostic(&mut command, 2);
        assert!(advice.starts_with("pip install 'heaplake[ray]'"), "{advice}");
        cause
    };
    assert!(said(python(&lake, 1)).ends_with("it has no package heaplake"));
    assert!(said(python(&lake, 2)).ends_with("it has no package ray"));
    assert!(said(lake.folder().join("none")).contains("No such file"));
}
