//! Tables of a run: their schemas and order; their bytes depend on input and options only.

use arrow::array::AsArray;
use arrow::datatypes::{SchemaRef, TimestampMicrosecondType};
use heaplake_schemas::table::Runs;
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION, classes, edges, findings, metadata, nodes, run, tables};
use heaplake_support::fixtures;
use heaplake_support::generated::generated;
use heaplake_support::lake::{Lake, read_json};
use heaplake_support::table::Table;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

fn run_json(run: &Path) -> Value {
    read_json(run.join(run::FILE))
}

/// Tables of snapshots with allocation tracking.
const TRACKED: [&str; 5] =
    ["allocation_types", "allocation_functions", "allocation_callees", "live_allocations", "samples"];

#[test]
fn tables_have_their_schemas() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &generated(1, 300_000));
    // V8 snapshots have no threads.
    check_tables(&lake, &input, |table| table != "threads" && !TRACKED.contains(&table));
    let lake = Lake::new();
    check_tables(&lake, &fixtures::v8("alloc20"), |table| table != "threads");
}

/// Checks that a run has exactly these tables, with their schemas.
fn check_tables(lake: &Lake, input: &Path, has: impl Fn(&str) -> bool) {
    lake.analyze(input).args(["--edges", "--values", "--duplicates", "all"]).assert().success();
    let run = lake.run();
    let of_v8 = tables::ALL.iter().filter(|table| matches!(table.runs, Runs::Analyze | Runs::Both) && has(table.name));
    let tables: Vec<(&str, SchemaRef, bool)> =
        of_v8.map(|table| (table.file, table.schema(), table.names_run)).collect();
    for (file, schema, names_run) in &tables {
        check_table(&run, file, schema);
        let table = Table::read(&run, file);
        let json = run_json(&run);
        for column in ["release", "snapshot"].into_iter().filter(|_| *names_run) {
            let all = vec![json[column].as_str().map(str::to_owned); table.rows()];
            assert_eq!(table.texts(column), all, "{file}: every row names its {column}");
        }
    }
    let mut files: Vec<String> =
        fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let mut expected: Vec<&str> = tables.iter().map(|(file, ..)| *file).chain([run::FILE]).collect();
    expected.sort_unstable();
    assert_eq!(files, expected);
}

/// A table has its schema and its metadata, and `run.json` lists it.
fn check_table(run: &Path, file: &str, schema: &SchemaRef) {
    let json = run_json(run);
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(run.join(file)).unwrap()).unwrap();
    assert_eq!(reader.schema().fields(), schema.fields(), "{file}");

    let reader = SerializedFileReader::new(File::open(run.join(file)).unwrap()).unwrap();
    let file_metadata = reader.metadata().file_metadata();
    let entries = file_metadata.key_value_metadata().unwrap();
    let entry = |key: &str| entries.iter().find(|entry| entry.key == key).and_then(|entry| entry.value.clone());
    assert_eq!(entry(metadata::VERSION).as_deref(), Some(HEAPLAKE_VERSION), "{file}");
    assert_eq!(entry(metadata::SCHEMA), Some(SCHEMA_VERSION.to_string()), "{file}");
    assert_eq!(entry(metadata::INPUT_HASH).as_deref(), json["input_hash"].as_str(), "{file}");

    let listed = json["tables"].as_array().unwrap().iter().find(|table| table["file"] == file).unwrap();
    assert_eq!(listed["rows"], file_metadata.num_rows(), "{file}");
    assert_eq!(listed["bytes"], fs::metadata(run.join(file)).unwrap().len(), "{file}");
}

/// A query for one release can skip the rows of others.
#[test]
fn statistics_tell_the_release() {
    let lake = Lake::new();
    lake.analyze(fixtures::v8("s1")).args(["--release", "2024-01-01"]).assert().success();
    for file in [nodes::TABLE.file, classes::TABLE.file, findings::TABLE.file] {
        let reader = SerializedFileReader::new(File::open(lake.run().join(file)).unwrap()).unwrap();
        assert!(reader.metadata().num_row_groups() > 0);
        for group in reader.metadata().row_groups() {
            let statistics = group.column(0).statistics().unwrap();
            let bounds = [statistics.min_bytes_opt(), statistics.max_bytes_opt()];
            assert_eq!(bounds, [Some("2024-01-01".as_bytes()); 2], "{file}");
        }
    }
}

/// V8 snapshots have no capture time, so the file's time counts. Java dumps have one.
#[test]
fn captured_at_says_where_it_comes_from() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &generated(1, 300_000));
    let changed = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    File::options().write(true).open(&input).unwrap().set_modified(changed).unwrap();
    let captured = |run: &str| {
        let table = Table::read(&lake.path().join("release=none").join(run), "snapshot.parquet");
        let at =
            table.0.column_by_name("captured_at").unwrap().as_primitive::<TimestampMicrosecondType>().iter().next();
        (at.flatten(), table.texts("captured_at_source").remove(0))
    };
    lake.analyze(&input).arg("--snapshot=file").assert().success();
    assert_eq!(captured("snapshot=file"), (Some(1_700_000_000_000_000), Some("file".to_owned())));
    lake.analyze("-").arg("--snapshot=stdin").write_stdin(fs::read(&input).unwrap()).assert().success();
    assert_eq!(captured("snapshot=stdin"), (None, None));
    lake.analyze(fixtures::path("jvm/weakfix.hprof.zst")).arg("--snapshot=java").assert().success();
    let (at, source) = captured("snapshot=java");
    assert!(at.is_some() && source.as_deref() == Some("input"), "{at:?} {source:?}");
}

#[test]
fn tables_are_sorted_and_agree() {
    let lake = Lake::new();
    let input = lake.input("Heap.heapsnapshot", &generated(1, 300_000));
    lake.analyze(&input).arg("--edges").assert().success();
    let run = lake.run();
    let summary = &run_json(&run)["summary"];
    let nodes = Table::read(&run, nodes::TABLE.file);
    assert_eq!(summary["node_count"], nodes.rows());
    assert_eq!(nodes.u32s("node"), (0..nodes.rows() as u32).map(Some).collect::<Vec<_>>());
    let edges = Table::read(&run, edges::TABLE.file);
    assert_eq!(summary["edge_count"], edges.rows());
    assert!(edges.u32s("from").is_sorted());
    let counts = nodes.u64s("edge_count").into_iter().map(|count| count.unwrap() as usize);
    assert_eq!(counts.sum::<usize>(), edges.rows());
    let classes = Table::read(&run, classes::TABLE.file);
    assert_eq!(summary["class_count"], classes.rows());
    let order: Vec<_> = classes.u64s("retained_bytes").into_iter().zip(classes.u32s("class_id")).collect();
    assert!(order.is_sorted_by(|a, b| a.0 > b.0 || (a.0 == b.0 && a.1 < b.1)));
    let bytes = |table: &Table| table.u64s("shallow_bytes").into_iter().map(Option::unwrap).sum::<u64>();
    assert_eq!((bytes(&nodes), bytes(&classes)), (bytes(&classes), summary["shallow_bytes"].as_u64().unwrap()));

    // Edges can be left out.
    lake.analyze(&input).args(["--snapshot", "without", "--no-edges"]).arg("--force").assert().success();
    let without = lake.path().join("release=none/snapshot=without");
    assert!(without.join(nodes::TABLE.file).exists() && !without.join(edges::TABLE.file).exists());
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
    const FILES: [&str; 4] = [nodes::TABLE.file, classes::TABLE.file, edges::TABLE.file, findings::TABLE.file];
    let tables = |options: &[&str]| {
        lake.analyze(&input).args(["--edges", "--force"]).args(options).assert().success();
        FILES.map(|file| fs::read(lake.run().join(file)).unwrap())
    };
    let first = tables(variants[0]);
    for options in &variants[1..] {
        let again = tables(options);
        for (at, file) in FILES.into_iter().enumerate() {
            assert!(again[at] == first[at], "{file} with {options:?}");
        }
    }
}
