//! The page and the metrics of a fleet.

use crate::shared::{releases, rollup, taken};
use heaplake_support::lake::{diagnostic, heaplake, said};
use serde_json::Value;
use std::fs;

fn data(page: &str) -> Value {
    let begin = page.find("type=\"application/json\">").unwrap() + 24;
    serde_json::from_str(&page[begin..begin + page[begin..].find("</script>").unwrap()]).unwrap()
}

#[test]
fn the_page_links_to_the_pages_of_runs() {
    let lake = releases();
    let out = lake.path().join("fleet");
    rollup(&lake.path(), &out, &[]);
    fs::write(lake.path().join("release=1.0/snapshot=run2/report.html"), "").unwrap();
    heaplake().arg("report").arg(&out).assert().success();
    let page = data(&fs::read_to_string(out.join("fleet.html")).unwrap());
    let texts = page["texts"].as_array().unwrap();
    let text = |number: &Value| texts[number.as_u64().unwrap() as usize].as_str().unwrap();
    let runs = page["runs"].as_array().unwrap();
    assert_eq!((runs.len(), page["groups"].as_array().unwrap().len()), (12, 3));
    let links: Vec<&str> = runs.iter().map(|run| &run["link"]).filter(|link| !link.is_null()).map(text).collect();
    assert_eq!(links, ["../release=1.0/snapshot=run2/report.html"]);
    assert_eq!((&page["fleet"]["night"], page["lines"].as_array().unwrap().len()), (&Value::Null, 0));
    let classes = &page["tables"][0];
    let sums: Vec<i64> = classes["rows"].as_array().unwrap().iter().map(|row| row["sum"].as_i64().unwrap()).collect();
    assert!(sums.is_sorted_by(|a, b| a >= b) && sums.len() > 20, "{sums:?}");
    for row in classes["rows"].as_array().unwrap() {
        let [sum, median, most] = ["sum", "p50", "max"].map(|name| row[name].as_i64().unwrap());
        assert!(median <= most && most <= sum && sum <= row["with"].as_i64().unwrap() * most, "{row}");
    }
    // Elsewhere there is nothing to link to.
    let other = lake.folder().join("other.html");
    heaplake().arg("report").arg(&out).arg("-o").arg(&other).assert().success();
    let page = data(&fs::read_to_string(&other).unwrap());
    assert!(page["runs"].as_array().unwrap().iter().all(|run| run["link"].is_null()));
}

#[test]
fn the_page_has_a_line_for_each_format_and_release_by_night() {
    let lake = releases();
    for (name, hours) in [("run0", 1), ("run1", 3), ("run2", 25)] {
        taken(&lake, "1.0", name, hours);
        taken(&lake, "2.0", name, hours + 24);
    }
    let out = lake.path().join("fleet");
    rollup(&lake.path(), &out, &["--release", "?.0"]);
    heaplake().arg("report").arg(&out).assert().success();
    let page = data(&fs::read_to_string(out.join("fleet.html")).unwrap());
    let text = |number: &Value| page["texts"][number.as_u64().unwrap() as usize].as_str().unwrap().to_owned();
    let lines = page["lines"].as_array().unwrap();
    let points = |line: &Value| -> Vec<(i64, u64)> {
        let points = line["points"].as_array().unwrap().iter();
        points.map(|point| (point[0].as_i64().unwrap() / 86_400_000, point[2].as_u64().unwrap())).collect()
    };
    let lines: Vec<_> = lines.iter().map(|line| (text(&line["release"]), points(line))).collect();
    assert_eq!(lines, [("1.0".to_owned(), vec![(0, 2), (1, 1)]), ("2.0".to_owned(), vec![(1, 2), (2, 1)])]);
    assert_eq!((text(&page["fleet"]["night"][0]), &page["fleet"]["night"][1]), ("1970-01-03".to_owned(), &1.into()));
    assert_eq!(text(&page["fleet"]["conditions"][0]), "release ?.0");
}

#[test]
fn a_rollup_of_an_older_version_is_refused_in_one_line() {
    let lake = releases();
    let out = lake.folder().join("out");
    rollup(&lake.path(), &out, &[]);
    let described = fs::read_to_string(out.join("rollup.json")).unwrap();
    let version = format!("\"schema_version\": {}", heaplake_schemas::SCHEMA_VERSION);
    assert!(described.contains(&version), "{}", &described[..200]);
    fs::write(out.join("rollup.json"), described.replacen(&version, "\"schema_version\": 3", 1)).unwrap();
    let (cause, advice) = diagnostic(heaplake().arg("report").arg(&out), 1);
    assert!(cause.contains("tables of version 3") && advice.contains("make it again"), "{cause} {advice}");
}

#[test]
fn metrics_are_those_of_the_groups() {
    let lake = releases();
    let file = lake.folder().join("fleet.prom");
    rollup(&lake.path(), &lake.folder().join("out"), &["--metrics", file.to_str().unwrap()]);
    let text = fs::read_to_string(&file).unwrap();
    for release in ["1.0", "1.1", "2.0"] {
        let line = format!("heaplake_fleet_runs{{format=\"v8-heapsnapshot\",release=\"{release}\"}} 4");
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn the_answer_is_told() {
    let lake = releases();
    let text = said(heaplake().args(["fleet", "rollup"]).arg(lake.path()));
    assert!(text.starts_with("12 runs in 3 groups by release, 3 of them new or changed\n"), "{text}");
    assert!(text.contains("classes by the retained_bytes of all runs") && text.contains("of 4 runs of 1.1"), "{text}");
}
