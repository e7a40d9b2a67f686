//! The command line as a user sees it: what goes in, what comes out on which stream, and what is in the lake then.

#![allow(clippy::unwrap_used)] // helpers of tests may fail loudly

mod support;

use arrow::array::{Array, AsArray};
use arrow::datatypes::SchemaRef;
use heaplake_generator::plan::{Shape, Target};
use heaplake_schemas::run::{Duplicates, Options, TableName, Tables};
use heaplake_schemas::{
    HEAPLAKE_VERSION, SCHEMA_VERSION, chains, classes, duplicate_members, duplicate_sets, edges, findings, metadata,
    nodes, owners, run, snapshot,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use support::{Lake, Table, complaint, fixture, gzip, heaplake, zstd};

/// A generated snapshot of about so many bytes; another seed gives another one.
fn generated(seed: u64, bytes: u64) -> Vec<u8> {
    let mut file = Vec::new();
    let plan = heaplake_generator::file::plan(seed, Shape::Realistic, Target::Bytes(bytes));
    heaplake_generator::file::write(&plan, &mut file).unwrap();
    file
}

fn small() -> Vec<u8> {
    generated(1, 300_000)
}

/// `heaplake analyze --out LAKE` with no further option and no input.
fn analyze(lake: &Lake) -> assert_cmd::Command {
    let mut command = heaplake();
    command.arg("analyze").arg("--out").arg(lake.path());
    command
}

/// Runs a command that must succeed without a word on standard error; what it says on standard output.
fn stdout(command: &mut assert_cmd::Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.is_empty(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// `run.json`.
fn run_json(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join(run::FILE)).unwrap()).unwrap()
}

/// The names of release and snapshot in a run's path.
fn names(run: &Path) -> (String, String) {
    let part = |path: &Path| path.file_name().unwrap().to_str().unwrap().split_once('=').unwrap().1.to_owned();
    (part(run.parent().unwrap()), part(run))
}

// Inputs.

#[test]
fn the_same_snapshot_in_all_forms() {
    let plain = small();
    let lake = Lake::new();
    let inputs = [
        lake.input("a.heapsnapshot", &plain),
        lake.input("b.heapsnapshot.gz", &gzip(&plain)),
        lake.input("c.heapsnapshot.zst", &zstd(&plain)),
        // The content counts, not the name.
        lake.input("d.heapsnapshot", &gzip(&plain)),
    ];
    lake.analyze("-").args(["--edges", "--snapshot", "stdin"]).write_stdin(plain).assert().success().stdout("");
    lake.analyze(&inputs[0]).args(&inputs[1..]).arg("--edges").assert().success().stdout("");
    let runs = lake.runs();
    assert_eq!(runs.len(), 5);
    for file in [nodes::FILE, classes::FILE, edges::FILE, findings::FILE] {
        let tables: Vec<Table> = runs.iter().map(|run| Table::read(run, file)).collect();
        assert!(tables[0].rows() > 0);
        assert!(tables.iter().all(|table| table.0.columns() == tables[0].0.columns()), "{file}");
    }
    let sizes: Vec<_> = runs.iter().map(|run| Table::read(run, snapshot::FILE).u64s("content_bytes")).collect();
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    let stdin = runs.iter().find(|run| names(run).1 == "stdin").unwrap();
    assert_eq!(run_json(stdin)["source"], "standard input");
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn files_patterns_and_folders_in_one_call() {
    let lake = Lake::new();
    let small = small();
    for folder in ["nightly/deep/deeper", "nightly/.hidden", "other"] {
        fs::create_dir_all(lake.folder().join(folder)).unwrap();
    }
    lake.input("nightly/a.heapsnapshot", &small);
    lake.input("nightly/deep/b.heapsnapshot.gz", &gzip(&small));
    lake.input("nightly/deep/deeper/c.heapsnapshot.zst", &zstd(&small));
    lake.input("nightly/notes.txt", b"not a snapshot");
    lake.input("nightly/.hidden/x.heapsnapshot", b"not a snapshot");
    lake.input("other/d1.heapsnapshot", &small);
    lake.input("other/d2.heapsnapshot", &small);
    let single = lake.input("e.json", &small);
    let mut command = analyze(&lake);
    command.arg("--json").arg("--quiet").arg(lake.folder().join("nightly")).arg(lake.folder().join("other/d?.heap*"));
    // A file that was named already is not analysed again.
    command.arg(&single).arg(lake.folder().join("nightly/a.heapsnapshot"));
    let reports: Value = serde_json::from_str(&stdout(&mut command)).unwrap();
    let inputs: Vec<_> = reports.as_array().unwrap().iter().map(|report| report["input"].as_str().unwrap()).collect();
    let expected = [
        "nightly/a.heapsnapshot",
        "nightly/deep/b.heapsnapshot.gz",
        "nightly/deep/deeper/c.heapsnapshot.zst",
        "other/d1.heapsnapshot",
        "other/d2.heapsnapshot",
        "e.json",
    ];
    assert_eq!(inputs, expected.map(|path| lake.folder().join(path).display().to_string()));
    let stems: Vec<String> = lake.runs().iter().map(|run| names(run).1[..2].to_owned()).collect();
    assert_eq!(stems, ["a-", "b-", "c-", "d1", "d2", "e."]);
}

#[test]
fn a_bad_file_among_good_ones() {
    let lake = Lake::new();
    let good = [lake.input("a.heapsnapshot", &small()), lake.input("c.heapsnapshot", &generated(2, 200_000))];
    let bad = lake.input("b.heapsnapshot", b"{\"snapshot\":");
    let mut command = lake.analyze(&good[0]);
    let (cause, _) = complaint(command.arg(&bad).arg(&good[1]), 1);
    assert!(cause.starts_with(&format!("{}: byte 12: expected a value", bad.display())), "{cause}");
    assert_eq!(lake.runs().iter().map(|run| names(run).1[..2].to_owned()).collect::<Vec<_>>(), ["a-", "c-"]);
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

// Runs.

#[test]
fn the_same_input_again_is_nothing_to_do() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    lake.analyze(&input).assert().success();
    let run = lake.run();
    let before = fs::read(run.join(snapshot::FILE)).unwrap();
    let text = stdout(analyze(&lake).arg(&input));
    assert!(text.contains("in the lake already, nothing to do") && text.contains("--force"), "{text}");
    assert!(text.contains(&run.display().to_string()), "{text}");
    // Standard input gives nothing to look at beforehand, but is recognised in the end.
    lake.analyze("-").args(["--snapshot", "it"]).write_stdin(small()).assert().success();
    let text = stdout(analyze(&lake).args(["-", "--quiet", "--json", "--snapshot", "it"]).write_stdin(small()));
    assert!(text.contains("\"unchanged\""), "{text}");
    assert_eq!(lake.runs().len(), 2);
    // Times are in this table, so another run would have changed it.
    assert_eq!(fs::read(run.join(snapshot::FILE)).unwrap(), before);
}

#[test]
fn other_options_or_content_need_force() {
    let lake = Lake::new();
    let (input, other) = (lake.input("a.heapsnapshot", &small()), lake.input("b.heapsnapshot", &generated(2, 200_000)));
    lake.analyze(&input).args(["--snapshot", "it"]).assert().success();
    let run = lake.run();
    let first = fs::read(run.join(nodes::FILE)).unwrap();
    for (input, options, difference) in
        [(&input, &["--edges"][..], "--tables"), (&input, &["--label", "host=web7"], "labels"), (&other, &[], "input")]
    {
        let (cause, advice) = complaint(lake.analyze(input).args(["--snapshot", "it"]).args(options), 1);
        assert!(cause.contains(difference) && cause.contains(&run.display().to_string()), "{cause}");
        assert!(advice.contains("--force"), "{advice}");
        assert_eq!(fs::read(lake.run().join(nodes::FILE)).unwrap(), first);
    }
    // Without a name of its own another content is another run.
    lake.analyze(&input).arg("--edges").arg("--release=2").assert().success();
    let (cause, _) = complaint(lake.analyze(&input).arg("--release=2"), 1);
    assert!(
        cause.contains(
            "--tables (nodes,edges,classes,chains,duplicate_sets,duplicate_members,findings,owners,threads,snapshot)"
        ),
        "{cause}"
    );
    fs::remove_dir_all(lake.path().join("release=2")).unwrap();

    lake.analyze(&other).args(["--snapshot", "it", "--force", "--edges"]).assert().success();
    assert_eq!(lake.run(), run);
    assert_eq!(run_json(&run)["source"], other.display().to_string());
    assert_ne!(fs::read(run.join(nodes::FILE)).unwrap(), first);
    assert!(run.join(edges::FILE).exists());
    // Nothing of the old run stays.
    lake.analyze(&input).args(["--snapshot", "it", "--force"]).assert().success();
    assert_eq!(fs::read(run.join(nodes::FILE)).unwrap(), first);
    assert!(!run.join(edges::FILE).exists());
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
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
    let table = Table::read(&run, snapshot::FILE);
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
        let (cause, advice) = complaint(&mut command, 2);
        assert!(cause.contains("2 inputs") && advice.contains("--snapshot"), "{cause} {advice}");
    }
    for arguments in [&[][..], &["analyze"], &["analyze", "x"], &["completions", "tcl"], &["unknown"], &["show"]] {
        let output = heaplake().args(arguments).assert().code(2);
        assert!(!output.get_output().stderr.is_empty());
    }
    assert!(!lake.path().exists());
}

// What is printed.

#[test]
fn json_is_one_document() {
    let lake = Lake::new();
    let good = lake.input("a.heapsnapshot", &small());
    let bad = lake.input("b.heapsnapshot", b"");
    for status in ["committed", "unchanged"] {
        let output = analyze(&lake).arg("--json").args([&good, &bad]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let [first, second] = &document.as_array().unwrap()[..] else { panic!("{document}") };
        assert_eq!((&first["status"], &second["status"]), (&status.into(), &"failed".into()));
        assert_eq!(first["path"], lake.run().display().to_string());
        assert_eq!(first["run"], run_json(&lake.run()));
        let stderr = String::from_utf8(output.stderr).unwrap();
        for (key, prefix) in [("error", "heaplake: "), ("advice", "  -> ")] {
            let line = format!("{prefix}{}", second[key].as_str().unwrap());
            assert!(stderr.lines().any(|other| other == line), "{line}\n{stderr}");
        }
    }
    let text = stdout(heaplake().arg("show").arg(lake.run()).arg("--json"));
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), run_json(&lake.run()));
}

#[test]
fn quiet_says_nothing() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    for _ in 0..2 {
        assert_eq!(stdout(analyze(&lake).arg(&input).arg("--quiet")), "");
    }
    assert_eq!(stdout(analyze(&lake).arg(&input).args(["-q", "--force"])), "");
}

#[test]
fn a_log_has_one_line_per_stage() {
    let few = [TableName::Classes, TableName::Edges].into_iter().collect();
    let wanted = [
        (&[][..], Options::default()),
        (&["--edges"], Options { tables: Tables::all(), ..Options::default() }),
        (&["--tables=classes", "--edges"], Options { tables: few, ..Options::default() }),
        (&["--duplicates", "all"], Options { duplicates: Duplicates::All, ..Options::default() }),
        (&["--duplicates", "none"], Options { duplicates: Duplicates::None, ..Options::default() }),
    ];
    for (options, wanted) in wanted {
        let lake = Lake::new();
        let input = lake.input("Heap.heapsnapshot", &small());
        let output = analyze(&lake).arg(&input).args(options).output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        let mut logged: Vec<&str> = Vec::new();
        for line in log.lines() {
            let [name, stage, did] = line.splitn(3, ": ").collect::<Vec<_>>()[..] else { panic!("{line:?}") };
            assert_eq!(name, "Heap");
            assert!(did.contains(" rows in ") && did.ends_with(" s"), "{line:?}");
            logged.push(stage);
        }
        let stages = heaplake::plan::stages(heaplake_ingest::Format::V8, &wanted);
        let mut expected: Vec<&str> = stages.map(|stage| stage.name).collect();
        // Two lanes of stages may run side by side, so their lines come as they are done.
        logged.sort_unstable();
        expected.sort_unstable();
        assert_eq!(logged, expected);
    }
}

#[test]
fn show_prints_what_analyze_did() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    let output = analyze(&lake).arg(&input).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("Largest classes") && printed.contains("nodes.parquet"), "{printed}");
    assert_eq!(stdout(heaplake().arg("show").arg(lake.run())), printed);

    for other in [lake.path(), lake.folder().join("missing"), input, lake.run().join(run::FILE)] {
        let (cause, _) = complaint(heaplake().arg("show").arg(&other), 2);
        assert!(cause.starts_with(&format!("{}: no run", other.display())), "{cause}");
    }
    fs::write(lake.run().join(run::FILE), b"{\"snapshot\":").unwrap();
    let (cause, _) = complaint(heaplake().arg("show").arg(lake.run()), 1);
    assert!(cause.contains("run.json"), "{cause}");
}

#[test]
fn help_completions_and_manual() {
    let help = stdout(heaplake().arg("--help"));
    for word in ["analyze", "show", "completions", "man", "Example", "--version"] {
        assert!(help.contains(word), "{word:?} in {help}");
    }
    let help = stdout(heaplake().args(["analyze", "--help"]));
    for word in ["Examples:", "heaplake analyze", "Exit codes:", "--memory", "--force", "[default: "] {
        assert!(help.contains(word), "{word:?} in {help}");
    }
    for command in ["plan", "show", "completions", "man"] {
        assert!(stdout(heaplake().args([command, "--help"])).contains("Example"), "{command}");
    }
    assert_eq!(stdout(heaplake().arg("--version")), format!("heaplake {HEAPLAKE_VERSION}\n"));
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(heaplake().args(["completions", shell]));
        assert!(script.contains("analyze") && script.contains("scratch"), "{shell}");
    }
    let page = stdout(heaplake().arg("man"));
    for part in [".TH heaplake", ".SH NAME", ".SH SYNOPSIS", "analyze"] {
        assert!(page.contains(part), "{part:?} in {page}");
    }
    let page = stdout(heaplake().args(["man", "analyze"]));
    assert!(page.contains(".TH heaplake-analyze") && page.contains("scratch"), "{page}");
    let (cause, _) = complaint(heaplake().args(["man", "nothing"]), 2);
    assert!(cause.contains("no command"), "{cause}");
}

#[test]
fn a_plan_tells_without_running() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    let text = stdout(heaplake().arg("plan").arg(&input));
    assert!(text.contains("13,632 nodes, 55,600 edges") && text.contains("dominators"), "{text}");
    assert!(text.contains("enough for everything to be resident"), "{text}");
    let json = stdout(heaplake().arg("plan").arg(&input).args(["--memory", "16MiB", "--json"]));
    let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&plan["nodes"], &plan["edges"]), (&13632.into(), &55_600.into()));
    // What the plan calls the least is what the analysis asks for.
    let least = plan["least_memory"].as_u64().unwrap();
    lake.analyze(&input).arg(format!("--memory={}", least - 1)).assert().code(3);
    lake.analyze(&input).arg(format!("--memory={least}")).assert().success();
    let (cause, _) = complaint(heaplake().arg("plan").arg(lake.input("empty", b"")), 1);
    assert!(cause.contains("byte 0"), "{cause}");
}

// Tables.

#[test]
fn tables_have_their_schemas() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    lake.analyze(&input).arg("--edges").assert().success();
    let run = lake.run();
    let json = run_json(&run);
    let tables: [(&str, SchemaRef); 9] = [
        (nodes::FILE, nodes::schema()),
        (edges::FILE, edges::schema()),
        (classes::FILE, classes::schema()),
        (chains::FILE, chains::schema()),
        (findings::FILE, findings::schema()),
        (owners::FILE, owners::schema()),
        (snapshot::FILE, snapshot::schema()),
        (duplicate_sets::FILE, duplicate_sets::schema()),
        (duplicate_members::FILE, duplicate_members::schema()),
    ];
    for (file, schema) in &tables {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(run.join(file)).unwrap()).unwrap();
        assert_eq!(reader.schema().fields(), schema.fields(), "{file}");

        let reader = SerializedFileReader::new(File::open(run.join(file)).unwrap()).unwrap();
        let file_metadata = reader.metadata().file_metadata();
        let entries = file_metadata.key_value_metadata().unwrap();
        let entry = |key: &str| entries.iter().find(|entry| entry.key == key).and_then(|entry| entry.value.clone());
        assert_eq!(entry(metadata::VERSION).as_deref(), Some(HEAPLAKE_VERSION), "{file}");
        assert_eq!(entry(metadata::SCHEMA), Some(SCHEMA_VERSION.to_string()), "{file}");
        assert_eq!(entry(metadata::INPUT_HASH).as_deref(), json["input_hash"].as_str(), "{file}");

        let listed = json["tables"].as_array().unwrap().iter().find(|table| table["file"] == *file).unwrap();
        assert_eq!(listed["rows"], file_metadata.num_rows(), "{file}");
        assert_eq!(listed["bytes"], fs::metadata(run.join(file)).unwrap().len(), "{file}");
    }
    let mut files: Vec<String> =
        fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let mut expected: Vec<&str> = tables.iter().map(|(file, _)| *file).chain([run::FILE]).collect();
    expected.sort_unstable();
    assert_eq!(files, expected);
}

#[test]
fn tables_are_sorted_and_agree() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    lake.analyze(&input).arg("--edges").assert().success();
    let run = lake.run();
    let summary = &run_json(&run)["summary"];
    let nodes = Table::read(&run, nodes::FILE);
    assert_eq!(summary["node_count"], nodes.rows());
    assert_eq!(nodes.u32s("node"), (0..nodes.rows() as u32).map(Some).collect::<Vec<_>>());
    let edges = Table::read(&run, edges::FILE);
    assert_eq!(summary["edge_count"], edges.rows());
    assert!(edges.u32s("from").is_sorted());
    let counts = nodes.u32s("edge_count").into_iter().map(|count| count.unwrap() as usize);
    assert_eq!(counts.sum::<usize>(), edges.rows());
    let classes = Table::read(&run, classes::FILE);
    assert_eq!(summary["class_count"], classes.rows());
    let order: Vec<_> = classes.u64s("retained_bytes").into_iter().zip(classes.u32s("class_id")).collect();
    assert!(order.is_sorted_by(|a, b| a.0 > b.0 || (a.0 == b.0 && a.1 < b.1)));
    let bytes = |table: &Table| table.u64s("shallow_bytes").into_iter().map(Option::unwrap).sum::<u64>();
    assert_eq!((bytes(&nodes), bytes(&classes)), (bytes(&classes), summary["shallow_bytes"].as_u64().unwrap()));

    // Edges come on request only.
    lake.analyze(&input).args(["--snapshot", "without"]).arg("--force").assert().success();
    let without = lake.path().join("release=none/snapshot=without");
    assert!(without.join(nodes::FILE).exists() && !without.join(edges::FILE).exists());
}

#[test]
fn nothing_but_input_and_options_shapes_the_tables() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &generated(4, 6_000_000));
    let variants: [&[&str]; 5] = [
        &[],
        &[],
        &["--threads", "1"],
        &["--threads", "7", "--memory", "96MiB"],
        &["--threads", "2", "--memory", "1GiB"],
    ];
    for (i, options) in variants.iter().enumerate() {
        let name = format!("--snapshot=run {i}");
        lake.analyze(&input).args(["--edges", &name]).args(*options).assert().success();
    }
    let runs = lake.runs();
    assert_eq!(runs.len(), variants.len());
    for file in [nodes::FILE, classes::FILE, edges::FILE, findings::FILE] {
        let first = fs::read(runs[0].join(file)).unwrap();
        for (run, options) in runs.iter().zip(variants) {
            assert!(fs::read(run.join(file)).unwrap() == first, "{file} with {options:?}");
        }
    }
}

#[test]
fn scratch_goes_where_it_is_told() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &small());
    let scratch = lake.folder().join("some/scratch");
    fs::create_dir_all(&scratch).unwrap();
    // Nothing may be written there, so the run fails, and says where.
    let blocked = lake.input("blocked", b"");
    let (cause, _) = complaint(lake.analyze(&input).arg("--scratch").arg(&blocked), 1);
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

// Interrupts.

/// Sends a signal.
fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").arg(name).arg(child.id().to_string()).status().unwrap().success());
}

/// Waits for the end, at most so long.
fn end(mut child: Child, most: Duration) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > most {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("still at work after {most:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Long, for machines with much else to do: usually it takes a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

fn start(lake: &Lake, input: &Path, stdin: Stdio) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplake"));
    command.arg("analyze").arg(input).arg("--out").arg(lake.path()).arg("--edges");
    command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Tries again what came too late.
fn in_time<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    (0..20).find_map(|_| attempt()).expect("always too late")
}

/// Starts a run and signals it when its log mentions a stage; the run and the rest of its log. Nothing where an earlier
/// run did that stage, because its own signal came late: then this one goes to its end.
fn signal_after(
    lake: &Lake,
    input: &Path,
    stage: &str,
    with: &str,
) -> Option<(Child, impl Iterator<Item = String> + use<>)> {
    let mut child = start(lake, input, Stdio::null());
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    if !lines.any(|line| line.contains(&format!(": {stage}: "))) {
        assert_eq!(end(child, PATIENCE).code(), Some(0), "{stage} never ended");
        return None;
    }
    signal(&child, with);
    Some((child, lines))
}

/// Interrupts a run when its log mentions a stage; its last words.
fn interrupt_after(lake: &Lake, input: &Path, stage: &str, with: &str) -> String {
    in_time(|| {
        let Some((child, lines)) = signal_after(lake, input, stage, with) else {
            fs::remove_dir_all(lake.path()).unwrap();
            return None;
        };
        let words: Vec<String> = lines.filter(|line| !line.contains(" rows in ")).collect();
        match end(child, PATIENCE).code() {
            Some(0) => {
                fs::remove_dir_all(lake.path()).unwrap();
                None
            }
            code => {
                assert_eq!(code, Some(130), "{words:?}");
                Some(words.join("\n"))
            }
        }
    })
}

#[test]
fn an_interrupt_ends_a_run_and_leaves_what_it_has_done() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &fixture("insp_plain.heapsnapshot"));
    for (stage, with) in [("read", "-INT"), ("holds", "-TERM"), ("dominators", "-INT"), ("largest", "-INT")] {
        let words = interrupt_after(&lake, &input, stage, with);
        let expected = format!("heaplake: {}: interrupted\n  -> run the same command again to go on", input.display());
        assert!(words.ends_with(&expected), "after {stage}: {words}");
        assert!(lake.runs().is_empty() && lake.leftovers().iter().any(|path| path.ends_with("journal.json")));
        assert!(!lake.leftovers().iter().any(|path| path.extension().is_some_and(|end| end == "parquet")));
    }
    // And later the same command does it.
    lake.analyze(&input).assert().success();
    assert_eq!(lake.runs().len(), 1);
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn an_input_is_one_process_at_a_time_and_a_dead_one_is_no_obstacle() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &fixture("insp_plain.heapsnapshot"));
    let mut child = in_time(|| {
        let (mut child, _) = signal_after(&lake, &input, "read", "-STOP").unwrap();
        let late = !lake.runs().is_empty();
        if late {
            child.kill().unwrap();
            child.wait().unwrap();
            fs::remove_dir_all(lake.path()).unwrap();
        }
        (!late).then_some(child)
    });
    let (cause, advice) = complaint(&mut lake.analyze(&input), 1);
    assert!(cause.contains("another heaplake is at work on this input"), "{cause}");
    assert!(advice.contains("wait"), "{advice}");
    // It cannot clear up behind itself.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lake.runs().is_empty() && !lake.leftovers().is_empty());
    lake.analyze(&input).assert().success();
    assert_eq!(lake.runs().len(), 1);
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupt_ends_waiting_for_a_silent_pipe() {
    let lake = Lake::new();
    let mut child = start(&lake, Path::new("-"), Stdio::piped());
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"snapshot\":").unwrap();
    // At work once it has a place to work in.
    let scratch = lake.path().join(".heaplake-scratch");
    let started = Instant::now();
    while !scratch.exists() {
        assert!(started.elapsed() < PATIENCE, "it never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "-INT");
    assert_eq!(end(child, PATIENCE).code(), Some(130));
    drop(pipe);
    lake.assert_empty();
}

#[test]
fn an_interrupt_stops_before_the_next_input() {
    let lake = Lake::new();
    let first = lake.input("a.heapsnapshot", &fixture("insp_plain.heapsnapshot"));
    lake.input("b.heapsnapshot", &small());
    let words = interrupt_after(&lake, lake.folder(), "read", "-INT");
    assert!(words.contains(&first.display().to_string()) && !words.contains("b.heapsnapshot"), "{words}");
    assert!(lake.runs().is_empty());
}
