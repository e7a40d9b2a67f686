//! Gates of a comparison, and its page.

use crate::lake::{Lake, heaplake};
use crate::written::{Class, write};
use std::fs;
use std::path::{Path, PathBuf};

/// Five runs of a release; sessions grow in the second.
fn lake() -> Lake {
    let lake = Lake::new();
    for (release, sessions) in [("one", 1000), ("two", 3000)] {
        for run in 0..5 {
            let classes = [
                Class::plain("Session", sessions + run, (sessions + run) * 64),
                Class::plain("Order", 500, 64_000 + 10 * run),
                Class::plain("Pool", 10, 4096),
            ];
            write(&lake.path(), (release, &format!("run{run}"), None), &classes).unwrap();
        }
    }
    lake
}

/// `heaplake diff` of both releases.
fn diff(lake: &Lake, options: &[&str]) -> assert_cmd::Command {
    let mut command = heaplake();
    command.args(["diff", "release=one", "release=two", "--lake"]).arg(lake.path()).args(options);
    command.env_remove("GITHUB_STEP_SUMMARY");
    command
}

fn file(lake: &Lake, name: &str) -> (PathBuf, String) {
    let path = lake.folder().join(name);
    (path.clone(), path.display().to_string())
}

#[test]
fn a_gate_that_fails_ends_with_4_and_names_the_rows() {
    let lake = lake();
    let (xml, xml_name) = file(&lake, "gates.xml");
    let (markdown, markdown_name) = file(&lake, "gates.md");
    let failing = "class ~ \"^Sess\" and retained_bytes.delta_percent > 5 and q < 0.05";
    let options = ["--fail-if", failing, "--fail-if", "retained_bytes.delta > 1GiB", "--junit", &xml_name];
    let mut command = diff(&lake, &options);
    let output = command.args(["--markdown", &markdown_name, "--quiet"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("1 of 2 gates does not pass") && said.contains("FAIL") && said.contains("Session"), "{said}");
    assert!(said.contains("half would show a growth of"), "{said}");
    let text = fs::read_to_string(&xml).unwrap();
    assert!(text.contains("tests=\"2\" failures=\"1\" errors=\"0\""), "{text}");
    assert!(fs::read_to_string(&markdown).unwrap().contains("1 of 2 gates pass"));
    // Another run replaces the files; the summary of a step is continued.
    let replaced = |options: &[&str]| diff(&lake, options).args(["--markdown", &markdown_name]).output().unwrap();
    assert_eq!(replaced(&["--fail-if", "false"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&markdown).unwrap().matches("## heaplake").count(), 1);
    let mut appended = diff(&lake, &["--fail-if", "false", "--markdown", &markdown_name]);
    appended.env("GITHUB_STEP_SUMMARY", &markdown_name).assert().success();
    assert_eq!(fs::read_to_string(&markdown).unwrap().matches("## heaplake").count(), 2);
}

#[test]
fn what_is_wrong_with_a_gate_comes_before_the_work() {
    let lake = Lake::new();
    for (options, said) in [
        (&["--fail-if", "clas ~ \"a\""][..], "\n  | clas ~ \"a\"\n  | ^^^^\n  -> did you mean class?\n"),
        (&["--fail-if", "chainz: share > 1"], "there is no table chainz\n  -> did you mean chains?"),
        (&["--gates", "/nowhere/gates.toml"], "/nowhere/gates.toml: cannot read"),
        (&["--junit", "gates.xml"], "--junit: there is no gate"),
    ] {
        let output = diff(&lake, options).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_comparison_has_a_page() {
    let lake = lake();
    let (folder, name) = file(&lake, "diff");
    diff(&lake, &["--out", &name]).assert().success();
    heaplake().args(["report", &name]).assert().success();
    let page = fs::read_to_string(folder.join("diff.html")).unwrap();
    assert!(page.contains("Session") && page.contains("default-src 'none'"));
    let again = |to: &Path| heaplake().arg("report").arg(&folder).arg("-o").arg(to).assert().success();
    let other = lake.folder().join("page.html");
    again(&other);
    assert_eq!(fs::read_to_string(other).unwrap(), page);
}
