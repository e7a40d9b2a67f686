//! Gates of a comparison, and its page.

use heaplake_support::lake::{Lake, heaplake};
use heaplake_support::written::{Class, write};
use std::fs;
use std::path::{Path, PathBuf};

/// Five runs per release; sessions grow in the second.
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
    // Another run replaces the files; a CI step's summary is appended to.
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

/// Exit code, standard output and standard error of a diff of both releases.
fn ended(lake: &Lake, options: &[&str]) -> (Option<i32>, String, String) {
    let output = diff(lake, options).output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), out, error)
}

const CALM: [&str; 2] = ["--fail-if", "retained_bytes.delta > 1GiB"];
const FAILING: [&str; 2] = ["--fail-if", "class ~ \"^Sess\" and retained_bytes.delta_percent > 5"];

#[test]
fn a_run_that_is_not_seen_fails_the_gate() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("cut off", |run| fs::write(run.join("run.json"), b"{\"seal\": \"0").unwrap()),
        ("without run.json", |run| fs::remove_file(run.join("run.json")).unwrap()),
        ("newer", |run| {
            let text = fs::read_to_string(run.join("run.json")).unwrap();
            let said: serde_json::Value = serde_json::from_str(&text).unwrap();
            let version = format!("\"schema_version\": {}", said["schema_version"]);
            fs::write(run.join("run.json"), text.replacen(&version, "\"schema_version\": 999", 1)).unwrap();
        }),
        ("without a table", |run| fs::remove_file(run.join("classes.parquet")).unwrap()),
    ];
    for (what, damage) in damages {
        let lake = lake();
        let (xml, xml_name) = file(&lake, "gates.xml");
        let (markdown, markdown_name) = file(&lake, "gates.md");
        damage(&lake.path().join("release=two/snapshot=run2"));
        let files = ["--junit", &xml_name, "--markdown", &markdown_name, "-q"];
        let (code, out, error) = ended(&lake, &[&CALM[..], &files].concat());
        assert_eq!(code, Some(1), "{what}: {error}");
        assert!(error.contains("release=two/snapshot=run2: not seen: ") && error.contains("--skip-damaged"), "{error}");
        assert!(
            out.contains("passes; 1 run was not seen")
                && out.contains("not seen: ")
                && out.contains("release=two/snapshot=run2"),
            "{what}: {out}"
        );
        let text = fs::read_to_string(&xml).unwrap();
        assert!(text.contains("tests=\"2\" failures=\"0\" errors=\"1\""), "{what}: {text}");
        assert!(text.contains("<error message=\"not seen: "), "{what}: {text}");
        let text = fs::read_to_string(&markdown).unwrap();
        assert!(text.contains("❌") && text.contains("1 run was not seen"), "{what}: {text}");
        // A failing gate takes precedence; a run that no side selects does not count.
        assert_eq!(ended(&lake, &FAILING).0, Some(4), "{what}");
        let (code, out, _) = ended(&lake, &["--json"]);
        let said: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, said["missed"].as_array().map(Vec::len)), (Some(1), Some(1)), "{what}: {out}");
        let mut trend = heaplake();
        trend.args(["trend", "release=one", "release=two", "snapshot=*", "--quiet", "--lake"]).arg(lake.path());
        trend.assert().code(1);
        let mut other = heaplake();
        other.args(["diff", "release=one", "release=one", "--lake"]).arg(lake.path()).args(CALM).assert().success();
        // With permission it is only a remark.
        let (code, out, error) = ended(&lake, &[&CALM[..], &["--skip-damaged"]].concat());
        assert_eq!((code, error.as_str()), (Some(0), ""), "{what}");
        assert!(out.contains("snapshot=run2 is ") && !out.contains("not seen"), "{what}: {out}");
    }
}

#[test]
fn a_gate_does_not_pass_where_a_run_has_no_such_table() {
    let lake = lake();
    let run = lake.path().join("release=two/snapshot=run2");
    let text = fs::read_to_string(run.join("run.json")).unwrap();
    let mut said: serde_json::Value = serde_json::from_str(&text).unwrap();
    said["tables"].as_array_mut().unwrap().retain(|table| table["file"] != "chains.parquet");
    said.as_object_mut().unwrap().remove("seal");
    fs::write(run.join("run.json"), heaplake_lake::seal::sealed(&said.to_string()).0).unwrap();
    fs::remove_file(run.join("chains.parquet")).unwrap();
    let (code, out, error) = ended(&lake, &["--fail-if", "chains: share > 5"]);
    assert_eq!(code, Some(4), "{error}");
    assert!(out.contains("not seen: chains is compared without 1 run"), "{out}");
    assert_eq!(ended(&lake, &CALM).0, Some(0), "other tables are whole");
}

#[test]
fn a_comparison_that_fails_is_an_error_in_the_files_of_its_gates() {
    let lake = lake();
    let (xml, xml_name) = file(&lake, "gates.xml");
    let (markdown, markdown_name) = file(&lake, "gates.md");
    let files = [&CALM[..], &["--junit", &xml_name, "--markdown", &markdown_name, "-q"]].concat();
    assert_eq!(ended(&lake, &files).0, Some(0));
    for run in 0..5 {
        fs::write(lake.path().join(format!("release=two/snapshot=run{run}/run.json")), "{").unwrap();
    }
    let (code, _, error) = ended(&lake, &files);
    assert_eq!(code, Some(1), "{error}");
    let text = fs::read_to_string(&xml).unwrap();
    assert!(text.contains("failures=\"0\" errors=\"1\"") && text.contains("release=two"), "{text}");
    assert!(fs::read_to_string(&markdown).unwrap().contains("❌"));
}
