//! The JSON that commands print fits the schemas that `heaplake schema` prints.

use super::common::{analyze, small, stdout};
use heaplake_support::fixtures;
use heaplake_support::json_schema::assert_fits;
use heaplake_support::lake::{Lake, diagnostic, heaplake};
use heaplake_support::table::Table;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SHOP: &str = "v8/alloc20.heapsnapshot.zst";

fn all() -> Value {
    serde_json::from_str(&stdout(heaplake().args(["schema", "--all"]))).unwrap()
}

/// `HEAPLAKE_UPDATE=1` writes the file anew.
#[test]
fn the_documented_schemas_are_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/answers.schema.json");
    let expected = stdout(heaplake().args(["schema", "--all"]));
    if std::env::var_os("HEAPLAKE_UPDATE").is_some() {
        fs::write(&path, expected).unwrap();
    } else {
        let is_current = fs::read_to_string(&path).unwrap_or_default() == expected;
        assert!(is_current, "docs/answers.schema.json is stale: run the tests command_line with HEAPLAKE_UPDATE=1");
    }
}

#[test]
fn schemas_are_listed_and_printed_by_name() {
    let names: Vec<String> = stdout(heaplake().arg("schema")).lines().map(str::to_owned).collect();
    let all = all();
    assert_eq!(names.iter().collect::<BTreeSet<_>>(), all["properties"].as_object().unwrap().keys().collect());
    let one: Value = serde_json::from_str(&stdout(heaplake().args(["schema", "lake", "drop"]))).unwrap();
    let members = |document: &Value, schema: &Value| -> BTreeSet<String> {
        let definition = &document.pointer(schema["$ref"].as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
        definition["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(members(&one, &one), members(&all, &all["properties"]["lake drop"]));
    let (cause, _) = diagnostic(heaplake().args(["schema", "whi"]), 2);
    assert!(cause.contains("the nearest: why"), "{cause}");
}

/// All schemas, and the answers that were checked.
struct Schemas {
    all: Value,
    seen: BTreeSet<String>,
}

impl Schemas {
    /// Fails unless an answer fits its schema.
    fn check(&mut self, name: &str, value: &Value) {
        assert_fits(value, name, &self.all);
        self.seen.insert(name.to_owned());
    }

    /// Fails unless what a command prints fits its schema. The command is the words of `name`, and `arguments`.
    fn ask(&mut self, name: &str, arguments: &[&str], codes: &[i32]) -> Value {
        let output = heaplake().args(name.split(' ')).args(arguments).arg("--json").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(codes.contains(&output.status.code().unwrap()), "{name} {arguments:?}: {stderr}");
        let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{name}: {error}"));
        self.check(name, &value);
        value
    }
}

#[test]
fn every_answer_fits_its_schema() {
    let mut schemas = Schemas { all: all(), seen: BTreeSet::new() };
    let lake = Lake::new();
    make_runs(&lake, &mut schemas);
    let runs = lake.runs();
    for run in &runs {
        let path = run.to_str().unwrap();
        schemas.ask("show", &[path], &[0]);
        schemas.check("run.json", &serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap());
        match path.contains("release=log") {
            true => ask_trace(run, &mut schemas),
            false => ask_heap(path, &mut schemas),
        }
    }
    ask_files(&lake, &mut schemas);
    ask_lake(&lake, &mut schemas);
    let names = schemas.all["properties"].as_object().unwrap().keys();
    let unseen: Vec<&String> = names.filter(|name| !schemas.seen.contains(*name)).collect();
    assert_eq!(unseen, ["events"], "answers that were not checked");
}

/// Two releases of heaps, of which one input is damaged, and a trace.
fn make_runs(lake: &Lake, schemas: &mut Schemas) {
    let small = lake.input("small.heapsnapshot", &small());
    let bad = lake.input("bad.heapsnapshot", b"{");
    let found = lake.folder().join("findings.json");
    let shop = fixtures::path(SHOP);
    for (release, inputs) in [("1", vec![&small, &bad]), ("2", vec![&small, &shop])] {
        let mut command = analyze(lake);
        command.args(["--release", release, "--json", "--edges", "--values", "--duplicates", "all"]);
        command.args(["--label", "host=a", "--findings-json"]).arg(&found).args(inputs);
        schemas.check("analyze", &serde_json::from_slice(&command.output().unwrap().stdout).unwrap());
        schemas.check("analyze --findings-json", &serde_json::from_slice(&fs::read(&found).unwrap()).unwrap());
    }
    let (log, out) = (fixtures::path("dotnet/net8_exact.log.zst"), lake.path());
    let (log, out) = (log.to_str().unwrap(), out.to_str().unwrap());
    schemas.ask("replay", &[log, "--out", out, "--release", "log", "--tracks"], &[0]);
}

fn ask_trace(run: &Path, schemas: &mut Schemas) {
    let tracks = Table::read(run, "object_tracks.parquet");
    let (address, gc) = (tracks.u64s("first_address")[0].unwrap(), tracks.u32s("allocated_at_gc")[0].unwrap());
    schemas.ask("track", &[run.to_str().unwrap(), &format!("{address:x}@{gc}")], &[0]);
}

fn ask_heap(run: &str, schemas: &mut Schemas) {
    schemas.ask("dominators", &[run], &[0]);
    let node = schemas.ask("top", &[run], &[0])["objects"][2]["node"].to_string();
    schemas.ask("why", &[run, &node], &[0]);
    schemas.ask("object", &[run, &node], &[0]);
    schemas.ask("what-if", &[run, "--cut", &node], &[0]);
    schemas.ask("query", &[run, "retained > 1kB group by class order by sum(retained) desc"], &[0]);
    schemas.ask("query", &[run, "class ~ \"S\"", "--columns", "node,class,path,retained"], &[0]);
    schemas.ask("duplicates", &[run], &[0]);
}

fn ask_files(lake: &Lake, schemas: &mut Schemas) {
    let input = fixtures::path(SHOP);
    let input = input.to_str().unwrap();
    schemas.ask("plan", &[input], &[0]);
    let files = ["small.heapsnapshot", "bad.heapsnapshot"].map(|name| lake.folder().join(name));
    for line in stdout(heaplake().args(["plan", "--each"]).args(files)).lines() {
        schemas.check("plan --each", &serde_json::from_str(line).unwrap());
    }
    let masked = lake.folder().join("masked.heapsnapshot");
    schemas.ask("redact", &[input, "-o", masked.to_str().unwrap()], &[0]);
    schemas.ask("redact --check", &[input], &[0, 1]);
    schemas.ask("secrets", &[input], &[0]);
    schemas.ask("tables", &[], &[0]);
}

fn ask_lake(lake: &Lake, schemas: &mut Schemas) {
    let path = lake.path();
    let path = path.to_str().unwrap();
    let [first, second] = ["1", "2"].map(|release| format!("{path}/release={release}"));
    schemas.ask("ls", &[path, "--details", "--descriptions"], &[0]);
    schemas.ask("diff", &[&first, &second], &[0]);
    schemas.ask("trend", &[&first, &second, &second], &[0]);
    schemas.ask("fleet rollup", &[path], &[0]);
    schemas.ask("lake verify", &[path], &[0]);
    schemas.ask("lake index", &[path], &[0]);
    schemas.ask("lake label", &[path, "--release", "1", "--set", "a=b", "--yes"], &[0]);
    schemas.ask("lake compact", &[path], &[0]);
    let other = lake.folder().join("other");
    schemas.ask("lake merge", &[path, "--out", other.to_str().unwrap()], &[0]);
    schemas.ask("lake drop", &[path, "--release", "1", "--yes"], &[0]);
}

/// Lines of standard error with `--log-format json`.
#[test]
fn every_event_fits_its_schema() {
    let all = all();
    let lake = Lake::new();
    let small = lake.input("small.heapsnapshot", &small());
    let bad = lake.input("bad.heapsnapshot", b"{");
    let others = lake.folder().join("others");
    fs::create_dir(&others).unwrap();
    fs::copy(fixtures::path("dotnet/net8_exact.log.zst"), others.join("some.log.zst")).unwrap();
    fs::copy(&small, others.join("other.heapsnapshot")).unwrap();
    let mut seen = BTreeSet::new();
    for _ in 0..2 {
        let mut command = analyze(&lake);
        command.args(["--log-format", "json"]).arg(&small).arg(&bad).arg(&others);
        let output = command.output().unwrap();
        for line in String::from_utf8(output.stderr).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_fits(&line, "events", &all);
            seen.insert(line["event"].as_str().unwrap().to_owned());
        }
    }
    for event in ["stage", "committed", "unchanged", "failed", "finished"] {
        assert!(seen.contains(event), "{event} in {seen:?}");
    }
}
