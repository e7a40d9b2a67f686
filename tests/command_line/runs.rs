//! The runs of a lake: when one is made or replaced, its name and labels, its scratch, and concurrent processes.

use super::common::{analyze, names, run_json, small, stdout};
use arrow::array::{Array, AsArray};
use heaplake_schemas::options::TableName;
use heaplake_schemas::{edges, nodes, run, snapshot};
use heaplake_support::compress::gzip;
use heaplake_support::generated::generated;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use heaplake_support::table::Table;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

#[test]
fn the_same_input_again_is_nothing_to_do() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    lake.analyze(&input).assert().success();
    let run = lake.run();
    let before = fs::read(run.join(snapshot::TABLE.file)).unwrap();
    let text = stdout(analyze(&lake).arg(&input));
    assert!(text.contains("in the lake already, nothing to do") && text.contains("--force"), "{text}");
    assert!(text.contains(&run.display().to_string()), "{text}");
    // Standard input cannot be hashed beforehand; the existing run is recognised at the end.
    lake.analyze("-").args(["--snapshot", "it"]).write_stdin(small()).assert().success();
    let text = stdout(analyze(&lake).args(["-", "--quiet", "--json", "--snapshot", "it"]).write_stdin(small()));
    assert!(text.contains("\"unchanged\""), "{text}");
    assert_eq!(lake.runs().len(), 2);
    // This table contains times, so another run would have changed it.
    assert_eq!(fs::read(run.join(snapshot::TABLE.file)).unwrap(), before);
}

#[test]
fn other_options_or_content_need_force() {
    let lake = Lake::new();
    let (input, other) = (lake.input("a.heapsnapshot", &small()), lake.input("b.heapsnapshot", &generated(2, 200_000)));
    lake.analyze(&input).args(["--snapshot", "it"]).assert().success();
    let run = lake.run();
    let first = fs::read(run.join(nodes::TABLE.file)).unwrap();
    for (input, options, difference) in [
        (&input, &["--no-edges"][..], "--tables"),
        (&input, &["--label", "host=web7"], "labels"),
        (&other, &[], "input"),
    ] {
        let (cause, advice) = diagnostic(lake.analyze(input).args(["--snapshot", "it"]).args(options), 1);
        assert!(cause.contains(difference) && cause.contains(&run.display().to_string()), "{cause}");
        assert!(advice.contains("--force"), "{advice}");
        assert_eq!(fs::read(lake.run().join(nodes::TABLE.file)).unwrap(), first);
    }
    // Without `--snapshot`, another content makes another run.
    lake.analyze(&input).arg("--edges").arg("--release=2").assert().success();
    let (cause, _) = diagnostic(lake.analyze(&input).args(["--release=2", "--no-edges"]), 1);
    assert!(
        cause.contains(&format!("--tables ({})", TableName::NAMES.replace(' ', "").replace(",values", ""))),
        "{cause}"
    );
    fs::remove_dir_all(lake.path().join("release=2")).unwrap();

    lake.analyze(&other).args(["--snapshot", "it", "--force", "--edges"]).assert().success();
    assert_eq!(lake.run(), run);
    assert_eq!(run_json(&run)["source"], other.display().to_string());
    assert_ne!(fs::read(run.join(nodes::TABLE.file)).unwrap(), first);
    assert!(run.join(edges::TABLE.file).exists());
    // Nothing of the old run stays.
    lake.analyze(&input).args(["--snapshot", "it", "--force", "--no-edges"]).assert().success();
    assert_eq!(fs::read(run.join(nodes::TABLE.file)).unwrap(), first);
    assert!(!run.join(edges::TABLE.file).exists());
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn labels_come_from_names_of_files_and_folders() {
    let lake = Lake::new();
    let folder = lake.folder().join("incoming").join("web7");
    fs::create_dir_all(&folder).unwrap();
    for day in ["monday", "tuesday"] {
        fs::write(folder.join(format!("{day}.heapsnapshot")), small()).unwrap();
    }
    let labels = ["--label", "host={folder}", "--label", "when=on {stem}, {folder}"];
    lake.analyze(&folder).args(labels).assert().success();
    let found = |day: &str| serde_json::json!({"host": "web7", "when": format!("on {day}, web7")});
    let runs: Vec<_> = lake.runs().iter().map(|run| run_json(run)["options"]["labels"].clone()).collect();
    assert_eq!(runs, [found("monday"), found("tuesday")]);
    // Labels apply to the same inputs again, whatever the working folder.
    lake.analyze("web7").args(labels).current_dir(folder.parent().unwrap()).assert().success();
    assert_eq!(lake.runs().len(), 2);
    assert_eq!(run_json(&lake.runs()[0])["options"]["labels"], found("monday"));
}

#[test]
fn names_and_labels_are_everywhere() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    let options = ["--release", "2.4.1-rc 1", "--snapshot", "web7 morning", "--label", "host=web7", "--label=a=b=c"];
    lake.analyze(&input).args(options).assert().success();
    let run = lake.run();
    assert_eq!(run, lake.path().join("release=2.4.1-rc 1").join("snapshot=web7 morning"));
    let json = run_json(&run);
    assert_eq!((&json["release"], &json["snapshot"]), (&"2.4.1-rc 1".into(), &"web7 morning".into()));
    assert_eq!(json["options"]["labels"], serde_json::json!({"a": "b=c", "host": "web7"}));
    let table = Table::read(&run, snapshot::TABLE.file);
    assert_eq!(table.rows(), 1);
    assert_eq!(table.texts("release"), [Some("2.4.1-rc 1".to_owned())]);
    assert_eq!(table.texts("snapshot"), [Some("web7 morning".to_owned())]);
    let labels = table.0.column_by_name("labels").unwrap().as_map();
    let texts =
        |column: &dyn Array| column.as_string::<i32>().iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(labels.keys()), ["a", "host"]);
    assert_eq!(texts(labels.values()), ["b=c", "web7"]);
}

#[test]
fn default_names() {
    let lake = Lake::new();
    let input = lake.input("Heap 2026.heapsnapshot.gz", &gzip(&small()));
    lake.analyze(&input).assert().success();
    let run = lake.run();
    let hash = run_json(&run)["input_hash"].as_str().unwrap().to_owned();
    assert_eq!(hash.len(), 32);
    assert_eq!(names(&run), ("none".to_owned(), format!("Heap_2026-{}", &hash[..8])));
}

#[test]
fn usage_that_is_refused() {
    let lake = Lake::new();
    fs::create_dir(lake.folder().join("two")).unwrap();
    let input = lake.input("two/a.heapsnapshot", &small());
    lake.input("two/b.heapsnapshot", &small());
    for bad in ["a/b", "..", ".", "", "a=b", "a\\b", "a\nb"] {
        for option in ["--release", "--snapshot"] {
            lake.analyze(&input).arg(format!("{option}={bad}")).assert().code(2).stdout("");
        }
    }
    for options in
        [&["--label", "novalue"][..], &["--label", "=value"], &["--threads", "0"], &["--threads", "x"], &["--unknown"]]
    {
        lake.analyze(&input).args(options).assert().code(2).stdout("");
    }
    for inputs in [&["two/a.heapsnapshot", "two/b.heapsnapshot"][..], &["two"], &["two/*"]] {
        let mut command = analyze(&lake);
        command.current_dir(lake.folder()).args(inputs).args(["--snapshot", "it"]);
        let (cause, advice) = diagnostic(&mut command, 2);
        assert!(cause.contains("2 inputs") && advice.contains("--snapshot"), "{cause} {advice}");
    }
    for arguments in [&[][..], &["analyze"], &["analyze", "x"], &["completions", "tcl"], &["unknown"], &["show"]] {
        let output = heaplake().args(arguments).assert().code(2);
        assert!(!output.get_output().stderr.is_empty());
    }
    assert!(!lake.path().exists());
}

#[test]
fn a_lake_is_listed() {
    let lake = Lake::new();
    fs::create_dir_all(lake.path()).unwrap();
    let list = |options: &[&str]| stdout(heaplake().arg("ls").arg(lake.path()).args(options));
    assert_eq!(list(&[]), format!("{}: no runs\n", lake.path().display()));
    let json = |options: &[&str]| serde_json::from_str::<serde_json::Value>(&list(options)).unwrap();
    assert_eq!(json(&["--json"]), serde_json::json!({ "runs": [], "damaged": [] }));
    let input = lake.input("Heap.heapsnapshot", &small());
    for (release, name) in [("2", "b"), ("2", "a"), ("1", "c")] {
        lake.analyze(&input).args(["--release", release, "--snapshot", name]).assert().success();
    }
    // An invalid run is named, and the others are listed all the same.
    for (place, content) in [("release=2/snapshot=torn", Some("{")), ("release=3/snapshot=empty", None)] {
        let place = lake.path().join(place);
        fs::create_dir_all(&place).unwrap();
        content.into_iter().for_each(|text| fs::write(place.join(run::FILE), text).unwrap());
    }
    let listing = json(&["--json"]);
    let names =
        |run: &serde_json::Value| format!("{} {}", run["release"].as_str().unwrap(), run["snapshot"].as_str().unwrap());
    let runs = listing["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(names).collect::<Vec<_>>(), ["1 c", "2 a", "2 b"]);
    let described = run_json(&lake.path().join("release=2/snapshot=a"));
    assert_eq!(runs[1]["nodes"], described["summary"]["node_count"]);
    let found = described["summary"]["findings"].as_array().unwrap();
    let low = found.iter().filter(|finding| finding["severity"] == "low").count();
    assert_eq!(runs[1]["findings"]["low"], low);
    let damaged = listing["damaged"].as_array().unwrap();
    assert_eq!(damaged.len(), 2);
    assert!(damaged[0]["problem"].as_str().unwrap().contains("run.json"), "{damaged:?}");
    let text = list(&[]);
    assert_eq!(text.lines().count(), 1 + 3 + 2, "{text}");
    assert!(text.contains("13,632") && text.lines().last().unwrap().contains("snapshot=empty"), "{text}");
    let (cause, _) = diagnostic(heaplake().arg("ls").arg(lake.path().join("release=2/snapshot=a")), 2);
    assert!(cause.contains("this is a run, not a lake"), "{cause}");
    let (cause, _) = diagnostic(heaplake().arg("ls").arg(lake.folder().join("missing")), 2);
    assert!(cause.contains("there is no such lake"), "{cause}");
}

#[test]
fn scratch_goes_where_it_is_told() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    let scratch = lake.folder().join("some/scratch");
    fs::create_dir_all(&scratch).unwrap();
    // The scratch folder cannot be written, so the run fails and names it.
    let blocked = lake.input("blocked", b"");
    let (cause, _) = diagnostic(lake.analyze(&input).arg("--scratch").arg(&blocked), 1);
    assert!(cause.contains(&blocked.display().to_string()), "{cause}");
    lake.assert_empty();
    let keep = lake.input("some/scratch/mine", b"mine");
    lake.analyze(&input).arg("--scratch").arg(&scratch).assert().success();
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    let left: Vec<PathBuf> = fs::read_dir(&scratch).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [keep]);
}

#[test]
fn processes_share_a_lake() {
    let lake = Lake::new();
    let inputs: Vec<PathBuf> =
        (0..6).map(|i| lake.input(&format!("{i}.heapsnapshot"), &generated(i, 50_000))).collect();
    for round in 0..5 {
        let mut children: Vec<Child> = Vec::new();
        for input in &inputs {
            let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
            command.arg("analyze").arg(input).arg("--out").arg(lake.path()).arg("--quiet");
            children.push(command.args(["--release", &round.to_string()]).stderr(Stdio::piped()).spawn().unwrap());
        }
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "round {round}");
            assert!(output.status.success());
        }
        assert_eq!(lake.runs().len(), inputs.len() * (round + 1));
        assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
    }
}
