//! Placeholders of `--release` and `--label`.

use super::common::{names, run_json, small};
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use std::fs;

#[test]
fn release_and_labels_are_filled_for_each_input() {
    let lake = Lake::new();
    for (release, host) in [("2.4.0", "web1"), ("2.4.1", "web2")] {
        fs::create_dir_all(lake.folder().join("night").join(release)).unwrap();
        lake.input(&format!("night/{release}/{host}.heapsnapshot"), &small());
    }
    let night = lake.folder().join("night");
    lake.analyze(&night).args(["--release", "{parent}", "--label", "host={stem}-{folder}"]).assert().success();
    let made: Vec<(String, String)> = lake
        .runs()
        .iter()
        .map(|run| (names(run).0, run_json(run)["options"]["labels"]["host"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [("2.4.0", "web1-2.4.0"), ("2.4.1", "web2-2.4.1")];
    assert_eq!(made, expected.map(|(release, host)| (release.to_owned(), host.to_owned())));
    // The same command finds the runs.
    let mut again = heaplake();
    again.arg("analyze").arg(&night).arg("--out").arg(lake.path());
    again.args(["--release", "{folder}", "--label", "host={stem}-{folder}"]);
    let said = String::from_utf8(again.output().unwrap().stdout).unwrap();
    assert!(said.ends_with("2 inputs: 2 in the lake before\n"), "{said}");
    lake.analyze(night.join("2.4.0/web1.heapsnapshot")).args(["--release", "v-{stem}"]).assert().success();
    assert!(lake.path().join("release=v-web1").is_dir());
}

#[test]
fn wrong_placeholders_are_usage_errors() {
    let lake = Lake::new();
    let input = lake.input("a.heapsnapshot", &small());
    for (option, value) in [("--release", "{parnt}"), ("--label", "host={host}"), ("--release", "a{stem")] {
        for verb in ["analyze", "replay"] {
            let mut command = heaplake();
            command.arg(verb).arg(&input).arg("--out").arg(lake.path()).args([option, value]);
            let output = command.output().unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert!(
                error.contains("there is no placeholder {") && error.contains("{stem}, {folder}, {parent}"),
                "{error}"
            );
        }
    }
    assert!(!lake.path().exists());
}

#[test]
fn a_folder_that_is_no_release_fails_alone() {
    let lake = Lake::new();
    for folder in ["a=b", "2.4.1"] {
        fs::create_dir_all(lake.folder().join(folder)).unwrap();
    }
    let bad = lake.input("a=b/web1.heapsnapshot", &small());
    let good = lake.input("2.4.1/web2.heapsnapshot", &small());
    let mut command = lake.analyze(&bad);
    let (cause, _) = diagnostic(command.arg(&good).args(["--release", "{folder}"]), 1);
    assert!(cause.contains("web1.heapsnapshot: the release \"a=b\" of --release {folder}"), "{cause}");
    assert_eq!(lake.runs().len(), 1);
}
