//! Writes the tables of runs directly, for comparisons of many runs: their answers are known by construction.

use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, StringArray, StructArray, UInt32Array, UInt64Array,
    new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use heaplake_kit::StageError;
use heaplake_kit::stage::Output;
use heaplake_lake::commit::NewRun;
use heaplake_lake::place::Place;
use heaplake_lake::table::Table as Writer;
use heaplake_names::{Normaliser, Runtime, fingerprint};
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::run::{Run, Summary, Table};
use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION, chains, classes};
use std::path::Path;
use std::sync::Arc;

/// A reference chain: edge and class of each element, instances, bytes.
pub type Chain = (Vec<(&'static str, &'static str)>, i64, i64);

pub struct Class {
    pub name: String,
    pub count: i64,
    pub shallow: i64,
    pub retained: i64,
    /// A class without chains is not big.
    pub chains: Vec<Chain>,
}

impl Class {
    /// A class without chains with 16 bytes per instance.
    pub fn plain(name: impl Into<String>, count: i64, retained: i64) -> Self {
        Self { name: name.into(), count, shallow: 16 * count, retained, chains: Vec::new() }
    }
}

/// Writes a run into a lake: the tables `classes` and `chains` of a V8 snapshot.
pub fn write(lake: &Path, run: (&str, &str, Option<&str>), classes: &[Class]) -> Result<(), StageError> {
    write_as("v8-heapsnapshot", lake, run, classes)
}

/// The same with another input format.
pub fn write_as(
    format: &str,
    lake: &Path,
    (release, snapshot, host): (&str, &str, Option<&str>),
    classes: &[Class],
) -> Result<(), StageError> {
    let new = NewRun::create(Place::take(lake, release, snapshot)?)?;
    let output = Output {
        folder: new.folder().to_owned(),
        input_hash: String::new(),
        release: release.to_owned(),
        snapshot: snapshot.to_owned(),
    };
    let tables = vec![write_classes(&output, classes)?, write_chains(&output, classes)?];
    let labels = host.map(|host| ("host".to_owned(), host.to_owned())).into_iter().collect();
    let total = |of: fn(&Class) -> i64| classes.iter().map(of).sum::<i64>() as u64;
    let summary = Summary {
        format: format.to_owned(),
        node_count: total(|class| class.count),
        shallow_bytes: total(|class| class.shallow),
        ..Summary::default()
    };
    let run = Run {
        seal: None,
        heaplake_version: HEAPLAKE_VERSION.to_owned(),
        schema_version: SCHEMA_VERSION,
        snapshot: snapshot.to_owned(),
        release: release.to_owned(),
        source: "written".to_owned(),
        input_bytes: 0,
        input_hash: String::new(),
        input_tag: None,
        captured_at_us: None,
        folder: None,
        packed: None,
        options: Options::Analysis(AnalysisOptions { labels, ..AnalysisOptions::default() }),
        tables,
        summary,
        replay: None,
    };
    new.commit(run).map(drop)
}

fn numbers(of: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(of.collect::<Int64Array>())
}

fn signature(name: &str) -> String {
    Normaliser::of(Runtime::V8).class(&format!(",{name}"), None)
}

fn signed(signatures: &[String]) -> [ArrayRef; 2] {
    let prints = signatures.iter().map(|signature| Some(fingerprint(signature)));
    [Arc::new(StringArray::from_iter_values(signatures)), Arc::new(prints.collect::<UInt64Array>())]
}

fn write_classes(output: &Output, classes: &[Class]) -> Result<Table, StageError> {
    let rows = classes.len();
    let keys = classes.iter().map(|class| format!(",{}", class.name));
    let signatures: Vec<String> = classes.iter().map(|class| signature(&class.name)).collect();
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new((0..rows as u32).map(Some).collect::<UInt32Array>()),
        Arc::new(StringArray::from_iter_values(classes.iter().map(|class| &class.name))),
        Arc::new(StringArray::from_iter_values(keys)),
        numbers(classes.iter().map(|class| class.count)),
        numbers(classes.iter().map(|class| class.shallow)),
        numbers(classes.iter().map(|class| class.shallow)),
        new_null_array(&DataType::Int64, rows),
        numbers(classes.iter().map(|class| class.retained)),
        numbers(classes.iter().map(|class| class.retained)),
        Arc::new(Int32Array::from(vec![1; rows])),
        new_null_array(&DataType::Int64, rows),
        new_null_array(&DataType::Int64, rows),
        Arc::new(classes.iter().map(|class| Some(!class.chains.is_empty())).collect::<BooleanArray>()),
    ];
    columns.extend(signed(&signatures));
    write_table(output, classes::TABLE.file, classes::TABLE.schema(), &columns)
}

fn write_chains(output: &Output, classes: &[Class]) -> Result<Table, StageError> {
    let rows: Vec<_> = (0_u32..)
        .zip(classes)
        .flat_map(|(id, class)| class.chains.iter().map(move |chain| (id, class, chain)))
        .collect();
    let steps: Vec<&(&str, &str)> = rows.iter().flat_map(|(.., (path, ..))| path).collect();
    let elements = StructArray::new(
        chains::element_fields(),
        vec![
            Arc::new(StringArray::from_iter_values(steps.iter().map(|(edge, _)| edge))),
            Arc::new(StringArray::from_iter_values(steps.iter().map(|(_, class)| class))),
            Arc::new(steps.iter().map(|_| Some(false)).collect::<BooleanArray>()),
        ],
        None,
    );
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(|(.., (path, ..))| path.len()));
    let text =
        |path: &[(&str, &str)]| path.iter().map(|(edge, class)| format!(".{edge} → {class}")).collect::<String>();
    let signatures: Vec<String> = rows
        .iter()
        .map(|(.., (path, ..))| {
            let classes: Vec<String> = path.iter().map(|(_, class)| signature(class)).collect();
            let steps = path.iter().zip(&classes).map(|((edge, _), class)| (Some(*edge), class.as_str(), false));
            Normaliser::of(Runtime::V8).chain("reference", steps)
        })
        .collect();
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new((0..rows.len() as u32).map(Some).collect::<UInt32Array>()),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|_| "reference"))),
        Arc::new(rows.iter().map(|(id, ..)| Some(*id)).collect::<UInt32Array>()),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|(_, class, _)| &class.name))),
        Arc::new(rows.iter().map(|(.., (path, ..))| Some(path.len() as u32)).collect::<UInt32Array>()),
        Arc::new(ListArray::new(Arc::new(chains::element()), offsets, Arc::new(elements), None)),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|(.., (path, ..))| text(path)))),
        numbers(rows.iter().map(|(.., chain)| chain.1)),
        numbers(rows.iter().map(|(.., chain)| chain.2)),
        numbers(rows.iter().map(|(.., chain)| chain.2)),
        Arc::new(rows.iter().map(|_| Some(0)).collect::<UInt32Array>()),
    ];
    columns.extend(signed(&signatures));
    write_table(output, chains::TABLE.file, chains::TABLE.schema(), &columns)
}

fn write_table(
    output: &Output,
    file: &'static str,
    schema: arrow::datatypes::SchemaRef,
    columns: &[ArrayRef],
) -> Result<Table, StageError> {
    let mut table = Writer::create(output, file, schema)?;
    table.write(columns)?;
    table.finish()
}
