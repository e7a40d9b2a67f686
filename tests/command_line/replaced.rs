//! An output that would replace an input or another output of the command is refused before any work.

use crate::common::small;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use heaplake_support::written::{Class, write};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Fails unless the command exits with 2, names the file, and leaves it unchanged.
fn assert_refused(words: &[&str], file: &Path) {
    let before = fs::read(file).ok();
    let (cause, _) = diagnostic(heaplake().args(words), 2);
    assert!(cause.starts_with(&text(file)), "{words:?}: {cause}");
    assert_eq!(fs::read(file).ok(), before, "{words:?}");
}

#[test]
fn inputs_are_not_replaced() {
    let lake = Lake::new();
    let input = text(&lake.input("mine.heapsnapshot", &small()));
    let (link, hard) = (lake.folder().join("link"), lake.folder().join("hard"));
    symlink(&input, &link).unwrap();
    fs::hard_link(&input, &hard).unwrap();
    let rules = lake.input("rules.toml", b"");
    let path = text(&lake.path());
    for output in [Path::new(&input), &link, &hard] {
        for option in ["--findings-json", "--metrics"] {
            assert_refused(&["analyze", &input, "--out", &path, option, &text(output)], output);
        }
        assert_refused(&["duplicates", &input, "--out", &path, "--metrics", &text(output)], output);
    }
    assert_refused(&["analyze", &input, "--out", &path, "--names", &text(&rules), "--metrics", &text(&rules)], &rules);
    assert_refused(&["analyze", &input, "--out", &path, "--owners", &text(&rules), "--metrics", &text(&rules)], &rules);
    lake.assert_empty();
}

#[test]
fn outputs_do_not_replace_each_other() {
    let lake = Lake::new();
    for release in ["1", "2"] {
        write(&lake.path(), (release, "a", None), &[Class::plain("A", 1, 1)]).unwrap();
    }
    let path = text(&lake.path());
    let gates = lake.input("gates.toml", b"");
    let diff = |options: &[&str], file: &Path| {
        let words = [&["diff", "release=1", "release=2", "--lake", &path, "--fail-if", "false"], options].concat();
        assert_refused(&words, file);
    };
    diff(&["--gates", &text(&gates), "--junit", &text(&gates)], &gates);
    // Neither exists yet; the paths are those of one file.
    let (new, other): (PathBuf, PathBuf) = (lake.folder().join("new"), lake.folder().join("lake/../new"));
    diff(&["--junit", &text(&other), "--markdown", &text(&new)], &new);
    diff(&["--markdown", &text(&other), "--report", &text(&new)], &new);
    symlink("new", lake.folder().join("dangling")).unwrap();
    diff(&["--junit", &text(&lake.folder().join("dangling")), "--report", &text(&new)], &new);
    let out = lake.folder().join("out");
    diff(&["--out", &text(&out), "--report", &text(&out.join("diff.json"))], &out.join("diff.json"));
    assert!(!new.exists() && !out.exists());
    let metrics = lake.folder().join("rolled/rollup.json");
    let rolled = text(&lake.folder().join("rolled"));
    assert_refused(&["fleet", "rollup", &path, "--out", &rolled, "--metrics", &text(&metrics)], &metrics);
    // Standard output may be named twice.
    let twice = ["--junit", "/dev/null", "--markdown", "/dev/null", "--fail-if", "false", "--quiet"];
    heaplake().args(["diff", "release=1", "release=2", "--lake", &path]).args(twice).assert().success();
}

#[test]
fn files_of_runs_and_comparisons_are_not_replaced() {
    let lake = Lake::new();
    for release in ["1", "2"] {
        write(&lake.path(), (release, "a", None), &[Class::plain("A", 1, 1)]).unwrap();
    }
    let run = lake.path().join("release=1/snapshot=a");
    for file in ["run.json", "classes.parquet", "nodes.parquet"] {
        assert_refused(&["report", &text(&run), "-o", &text(&run.join(file))], &run.join(file));
    }
    let (path, out) = (text(&lake.path()), lake.folder().join("out"));
    let diff = ["diff", "release=1", "release=2", "--lake", &path, "--quiet", "--out"];
    heaplake().args(diff).arg(&out).assert().success();
    for file in ["diff.json", "diff_classes.parquet"] {
        assert_refused(&["report", &text(&out), "-o", &text(&out.join(file))], &out.join(file));
    }
    // The same comparison is repeated, with its page beside it.
    heaplake().args(diff).arg(&out).arg("--report").arg(out.join("diff.html")).assert().success();
    let nowhere = lake.folder().join("nowhere/page.html");
    let (cause, _) = diagnostic(heaplake().arg("report").arg(&run).arg("-o").arg(&nowhere), 2);
    assert!(cause.contains("nowhere"), "{cause}");
}
