//! Rollups of some of the runs of a lake.

use crate::shared::{assert_same, releases, rollup, run, taken};
use heaplake_support::lake::{diagnostic, heaplake, read_json};
use serde_json::{Value, json};
use std::path::Path;

fn runs(answer: &Value) -> Vec<String> {
    let groups = answer["groups"].as_array().unwrap().iter();
    let runs = groups.flat_map(|group| group["runs"].as_array().unwrap());
    runs.map(|run| format!("{}/{}", run["release"].as_str().unwrap(), run["snapshot"].as_str().unwrap())).collect()
}

#[test]
fn conditions_are_those_of_ls_and_are_recorded() {
    let lake = releases();
    for (day, release) in (10..).zip(["1.0", "1.1", "2.0"]) {
        taken(&lake, release, "run1", 24 * day);
    }
    let out = lake.folder().join("out");
    let of = |more: &[&str]| runs(&rollup(&lake.path(), &out, more));
    assert_eq!(of(&["--since", "1970-01-12"]), ["1.1/run1", "2.0/run1"]);
    assert_eq!(of(&["--since", "1970-01-12", "--until", "1970-01-12"]), ["1.1/run1"]);
    assert_eq!(of(&["--until", "7d"]).len(), 3);
    assert_eq!(of(&["--release", "1.*", "--label", "host=host1"]), ["1.0/run1", "1.1/run3"]);
    assert_eq!(of(&["--release", "2.0", "--release", "1.0"]).len(), 8);
    let conditions = || read_json::<Value>(out.join("rollup.json"))["conditions"].clone();
    of(&["--release", "1.*", "--label", "host=host1", "--since", "1970-01-02", "--until", "1970-01-12"]);
    let expected = json!({
        "since": "1970-01-02T00:00:00Z", "before": "1970-01-13T00:00:00Z",
        "releases": ["1.*"], "labels": ["host=host1"]
    });
    assert_eq!(conditions(), expected);
    assert_eq!(of(&[]).len(), 12);
    assert_eq!(conditions(), Value::Null);
}

#[test]
fn a_rollup_under_other_conditions_equals_one_made_anew() {
    let lake = releases();
    let (out, anew) = (lake.path().join("fleet"), |name: &str| lake.path().join(name));
    let updated = |out: &Path, more: &[&str]| rollup(&lake.path(), out, more)["updated_groups"].as_u64().unwrap();
    assert_eq!(updated(&out, &[]), 3);
    let chosen = &["--label", "host=host1"];
    updated(&out, chosen);
    updated(&anew("first"), chosen);
    assert_same(&out, &anew("first"));
    assert_eq!(updated(&out, chosen), 0);
    // A run that is chosen, and one that is not.
    run(&lake, "1.1", "run7", 61);
    run(&lake, "1.0", "run7", 62);
    assert_eq!(updated(&out, chosen), 1);
    updated(&anew("second"), chosen);
    assert_same(&out, &anew("second"));
    updated(&out, &[]);
    updated(&anew("third"), &[]);
    assert_same(&out, &anew("third"));
}

#[test]
fn conditions_that_no_run_meets_are_refused_before_a_folder_is_made() {
    let lake = releases();
    let refused = |more: &[&str]| {
        let (cause, _) = diagnostic(heaplake().args(["fleet", "rollup"]).arg(lake.path()).args(more), 2);
        assert!(!lake.path().join("fleet").exists(), "{more:?}");
        cause
    };
    assert!(refused(&["--release", "1.2"]).contains("no run has the release 1.2; the nearest: 1.0, 1.1"));
    assert!(refused(&["--label", "hots=a"]).contains("no run has a label hots; the nearest: host"));
    assert!(refused(&["--since", "1970-01-01"]).contains("no run is like that"));
    heaplake().args(["fleet", "rollup"]).arg(lake.path()).args(["--since", "yesterday"]).assert().code(2);
}
