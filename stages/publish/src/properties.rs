//! Runs the stages on a heap of four nodes, on a trace of one type, and on empty input, each with its declared files
//! only.

use crate::{TABLES, collapsed, duplicate_sets, nodes, pprof, replay_summary, summary, totals};
use heaplake_kit::access::Access;
use heaplake_kit::stage::{Output, Silent};
use heaplake_kit::{Budget, ColumnWriter, Context, Job, Scratch, Stage, Stats, StringWriter};
use heaplake_lake::reader::{Reader, value};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::findings::Finding;
use heaplake_schemas::ids::{ClassId, NodeId, Preorder, SetId, StringId};
use heaplake_schemas::options::{
    AnalysisOptions, Duplicates, Options, Recording, ReplayOptions, TableName, Tables, TraceTable,
};
use heaplake_schemas::replay;
use heaplake_schemas::run::{LargeObject, Replay, Summary, Totals};
use heaplake_schemas::scratch::{
    self as columns, CLASS_SIGNATURES, Column, Metadata, Per, STRINGS, StringColumns, documents, limits,
};
use heaplake_schemas::table::{Runs, TableSchema};
use heaplake_schemas::values::VALUE_TEXTS;
use heaplake_schemas::{snapshot, tables};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// Stages that write no table.
const OTHERS: [&Stage; 3] = [&totals::STAGE, &summary::STAGE, &replay_summary::STAGE];

fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
    let mut writer = ColumnWriter::create(scratch, column).unwrap();
    values.into_iter().for_each(|value| writer.push(value).unwrap());
    writer.finish().unwrap();
}

fn write_texts(scratch: &Scratch, columns: StringColumns, texts: &[&str]) {
    let mut writer = StringWriter::create(scratch, columns).unwrap();
    texts.iter().for_each(|text| writer.push(text.as_bytes()).unwrap());
    writer.finish().unwrap();
}

fn files(stage: &Stage) -> impl Iterator<Item = &'static str> + use<> {
    stage.accesses().flat_map(Access::all_files).map(|file| file.name)
}

/// Runs a stage on a view without files that only other stages declare.
fn run(stage: &Stage, scratch: &Scratch, options: &Options) -> Stats {
    let mut refused: BTreeSet<&str> = TABLES.iter().map(|table| table.stage).chain(OTHERS).flat_map(files).collect();
    files(stage).for_each(|name| {
        refused.remove(name);
    });
    let view = scratch.view(stage.name, refused);
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(64 << 20), threads: 1, progress: &Silent, cancel: &cancel };
    let output = Output { folder: scratch.folder().to_owned(), ..Output::default() };
    let job = Job { output: &output, ..Job::on(&view, &context, options) };
    assert!((stage.when)(&job.setting), "{}", stage.name);
    (stage.run)(&job).unwrap()
}

fn row(members: u32, held_by: SetId, example: u32, reasons: u16) -> SetRow {
    let mut row: SetRow = bytemuck::Zeroable::zeroed();
    (row.members, row.held_by, row.example, row.reasons) = (members, held_by, NodeId(example), reasons);
    let additional = 8 * (u64::from(members) - 1);
    (row.instance_bytes, row.additional_bytes) = (8, additional);
    (row.least_bytes, row.most_bytes) = (if reasons == 0 { additional } else { 0 }, additional);
    row
}

/// A root, two strings of one text, and garbage.
fn heap() -> (tempfile::TempDir, Scratch) {
    let folder = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
    let metadata = Metadata {
        node_count: 4,
        node_kinds: vec!["object".to_owned()],
        keeps_garbage: true,
        has_native: true,
        ..Metadata::default()
    };
    scratch.write_document(documents::METADATA, &metadata).unwrap();
    scratch.write_document::<Vec<LargeObject>>(documents::LARGEST, &Vec::new()).unwrap();
    write_texts(&scratch, STRINGS, &["(root)", "String", "a text"]);
    write(&scratch, columns::CLASS_NAME, [0, 1].map(StringId));
    write_texts(&scratch, CLASS_SIGNATURES, &["(root)", "String"]);
    write(
        &scratch,
        columns::CLASS_ROW,
        [1, 0].map(|class_id| ClassRow { class_id, count: 3, ..bytemuck::Zeroable::zeroed() }),
    );
    write(&scratch, columns::NODE_ID, [1, 3, 5, 7]);
    write(&scratch, columns::NODE_KIND, [0; 4]);
    write(&scratch, columns::NODE_CLASS, [0, 1, 1, 1].map(ClassId));
    write(&scratch, columns::NODE_NAME, [0, 2, 2, 1].map(StringId));
    write(&scratch, columns::NODE_SELF, [1, 8, 8, 16]);
    write(&scratch, columns::NODE_SHALLOW, [1, 8, 8, 16]);
    write(&scratch, columns::NODE_NATIVE, [0, 100, 0, 0]);
    write(&scratch, columns::NODE_RETAINED, [17, 8, 8, 16]);
    write(&scratch, columns::NODE_RETAINED_NATIVE, [100, 100, 0, 0]);
    write(&scratch, columns::NODE_DISTANCE, [0, 1, 1, columns::NO_DISTANCE]);
    write(&scratch, columns::NODE_DOMINATOR, [0; 4].map(NodeId));
    write(&scratch, columns::NODE_PREORDER, [Preorder(0), Preorder(1), Preorder(2), Preorder::NONE]);
    write(&scratch, columns::NODE_EDGE_COUNT, [2, 0, 0, 0]);
    write(&scratch, columns::NODE_RETAINER_COUNT, [0, 1, 1, 0]);
    write(&scratch, columns::NODE_DETACHED, [0, 2, 1, 0]);
    let sets = [
        row(2, SetId::NONE, 1, 0),
        row(3, SetId(0), 2, 0),
        row(4, SetId::NONE, 3, limits::NUMBERS.into()),
        row(5, SetId::NONE, 3, limits::WORK),
    ];
    write(&scratch, columns::SET_ROW, sets);
    (folder, scratch)
}

#[test]
fn each_table_has_one_line() {
    let files: BTreeSet<&str> = TABLES.iter().map(|table| table.file).collect();
    assert_eq!(files.len(), TABLES.len());
    let of_runs = |table: &&TableSchema| matches!(table.runs, Runs::Analyze | Runs::Replay | Runs::Both);
    let tables =
        tables::ALL.iter().filter(of_runs).map(|table| table.file).filter(|&file| file != snapshot::TABLE.file);
    assert_eq!(files, tables.chain([pprof::FILE, collapsed::FILE]).collect());
    let stages: BTreeSet<&str> = TABLES.iter().map(|table| table.stage.name).collect();
    assert_eq!(stages.len(), TABLES.len());
}

#[test]
fn stages_declare_what_they_read_and_tables_may_be_empty() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
    for file in TABLES.iter().flat_map(|table| table.stage.accesses()).flat_map(Access::all_files) {
        // Rows and short columns have plain files.
        let per = if matches!(file.size.bytes(1, 1), 1 | 4 | 8) { Per::Node } else { Per::Few };
        write::<u8>(&scratch, Column::of(file.name, per), []);
    }
    scratch.write_document(documents::METADATA, &Metadata::default()).unwrap();
    scratch.write_document(replay::METADATA, &replay::Metadata::default()).unwrap();
    scratch.write_document::<Vec<Finding>>(documents::FINDINGS, &Vec::new()).unwrap();
    let tables = [
        columns::CLASS_KEYS,
        columns::OWNER_NAMES,
        columns::SET_PREVIEWS,
        VALUE_TEXTS,
        replay::TYPE_NAMES,
        replay::STRINGS,
    ];
    tables.into_iter().chain([STRINGS]).for_each(|columns| write_texts(&scratch, columns, &[]));
    let duplicates = Duplicates::All;
    let analysis = AnalysisOptions { tables: Tables::all(), duplicates, ..AnalysisOptions::default() };
    let analysis = Options::Analysis(analysis);
    let tables = TraceTable::ALL.into_iter().collect();
    let recording = Recording { tables, pprof: true, collapsed: true, ..Recording::default() };
    let replay = Options::Replay(ReplayOptions { recording, ..ReplayOptions::default() });
    let first = TABLES.iter().position(|table| table.stage.name == nodes::STAGE.name).unwrap();
    for (at, table) in TABLES.iter().enumerate() {
        assert_eq!(run(table.stage, &scratch, if at < first { &replay } else { &analysis }).rows, 0, "{}", table.file);
        let file = scratch.folder().join(table.file);
        let is_export = [pprof::FILE, collapsed::FILE].contains(&table.file);
        assert!(file.exists() && (is_export || Reader::open(&file).is_ok()), "{}", table.file);
    }
}

#[test]
fn totals_are_those_of_the_table_of_nodes() {
    let (_folder, scratch) = heap();
    let expected =
        Totals { shallow_bytes: 33, native_bytes: 100, reachable_count: 3, reachable_bytes: 17, detached_count: 1 };
    let options = AnalysisOptions::default();
    assert_eq!(run(&nodes::STAGE, &scratch, &Options::Analysis(options.clone())).rows, 4);
    assert_eq!(scratch.read_document::<Totals>(documents::TOTALS).unwrap(), expected);
    scratch.write_document(documents::TOTALS, &Totals::default()).unwrap();
    let options = AnalysisOptions { tables: [TableName::Classes].into_iter().collect(), ..options };
    assert_eq!(run(&totals::STAGE, &scratch, &Options::Analysis(options)).rows, 4);
    assert_eq!(scratch.read_document::<Totals>(documents::TOTALS).unwrap(), expected);
}

#[test]
fn sets_of_duplicates_in_their_table_and_in_brief() {
    let (_folder, scratch) = heap();
    let tables = [TableName::DuplicateSets, TableName::Nodes].into_iter().collect();
    let options = Options::Analysis(AnalysisOptions { tables, ..AnalysisOptions::default() });
    run(&nodes::STAGE, &scratch, &options);
    assert_eq!(run(&duplicate_sets::STAGE, &scratch, &options).rows, 4);
    let table = Reader::open(&scratch.folder().join(heaplake_schemas::duplicate_sets::TABLE.file)).unwrap();
    let mut rows = table.columns(&["class", "status", "preview"]).unwrap();
    let rows = rows.batch().unwrap().unwrap();
    let text = |name: &str, at: usize| value(rows.texts(name).unwrap(), at).map(str::to_owned);
    assert_eq!([text("class", 0), text("preview", 0)], [Some("String".to_owned()), Some("\"a text\"".to_owned())]);
    // The name of the last node equals its class name.
    assert_eq!([text("status", 2), text("preview", 2)], [Some("possible".to_owned()), None]);

    run(&summary::STAGE, &scratch, &options);
    let summary: Summary = scratch.read_document(documents::SUMMARY).unwrap();
    assert_eq!((summary.class_count, summary.classes[0].class.as_str()), (2, "String"));
    assert_eq!((summary.unreachable_count, summary.unreachable_bytes, summary.native_bytes), (1, 16, Some(100)));
    let duplicates = summary.duplicates.unwrap();
    assert_eq!((duplicates.exact, duplicates.limited, duplicates.open), (2, 1, 1));
    assert_eq!((duplicates.additional_bytes, duplicates.possible_bytes), (8, 24));
    let shown: Vec<(u32, Option<&str>)> =
        duplicates.largest.iter().map(|set| (set.set, set.preview.as_deref())).collect();
    assert_eq!(shown, [(0, Some("\"a text\"")), (2, None)]);
}

#[test]
fn a_replay_in_brief() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
    let metadata = replay::Metadata { format: "nettrace".to_owned(), ..replay::Metadata::default() };
    scratch.write_document(replay::METADATA, &metadata).unwrap();
    scratch.write_document::<Vec<Finding>>(documents::FINDINGS, &Vec::new()).unwrap();
    write_texts(&scratch, replay::TYPE_NAMES, &["String"]);
    write_texts(&scratch, replay::STRINGS, &[]);
    write(&scratch, replay::FUNCTIONS, []);
    let mut row: heaplake_schemas::allocation_types::TypeRow = bytemuck::Zeroable::zeroed();
    (row.allocated_count, row.bytes) = (7, replay::ABSENT);
    write(&scratch, replay::TYPES, [row]);
    let options = Options::Replay(ReplayOptions::default());
    run(&replay_summary::STAGE, &scratch, &options);
    let replay: Replay = scratch.read_document(documents::REPLAY).unwrap();
    assert_eq!((replay.metadata.clone(), replay.functions.len()), (metadata, 0));
    assert_eq!(
        (replay.types[0].name.as_str(), replay.types[0].count, replay.types[0].bytes),
        ("String", Some(7), None)
    );
    assert_eq!(scratch.read_document::<Summary>(documents::SUMMARY).unwrap().format, "nettrace");
}
