//! Walks of one .NET process, object by object, through the replay of their trace.

use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow::datatypes::{Field, Schema};
use heaplake_compare::objects::{Answer, Question, compare};
use heaplake_kit::stage::{Output, Silent};
use heaplake_kit::{Budget, Context, StageError};
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::run::{self, Run, Summary};
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, read_json};
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn compared(base: &Path, target: &Path, tracks: &Path, out: &Path) -> Result<Answer, StageError> {
    fs::create_dir_all(out).unwrap();
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(64 << 20), threads: 2, progress: &Silent, cancel: &cancel };
    let question = Question { base, target, last: None, tracks: Some(tracks), stable_ids: false, kept: true };
    compare(&question, out, &context)
}

fn read(folder: &Path) -> Run {
    read_json(folder.join(run::FILE))
}

fn write(folder: &Path, file: &'static str, columns: &[(&str, ArrayRef)]) {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let output = Output { folder: folder.to_owned(), ..Output::default() };
    let mut table = heaplake_lake::table::Table::create(&output, file, Arc::new(Schema::new(fields))).unwrap();
    table.write(&columns.iter().map(|(_, array)| array.clone()).collect::<Vec<_>>()).unwrap();
    table.finish().unwrap();
}

/// A run of a walk whose objects have addresses and sizes from the trace's log: the root, then the objects, all of one
/// class.
fn walk(folder: PathBuf, replayed: &Run, number: u32, objects: &[(u64, u64)]) -> PathBuf {
    fs::create_dir_all(&folder).unwrap();
    let options = AnalysisOptions { walk: Some(number), ..AnalysisOptions::default() };
    let summary = Summary { format: "dotnet-nettrace".to_owned(), ..Summary::default() };
    let options = Options::Analysis(options);
    let described = Run { seal: None, options, summary, replay: None, tables: Vec::new(), ..replayed.clone() };
    fs::write(folder.join(run::FILE), serde_json::to_vec(&described).unwrap()).unwrap();
    let count = objects.len() + 1;
    let sizes: Vec<i64> = [0].into_iter().chain(objects.iter().map(|object| object.1 as i64)).collect();
    let ids: Vec<u64> = [0].into_iter().chain(objects.iter().map(|object| object.0)).collect();
    let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; count])) };
    let number = |number: u32| -> ArrayRef { Arc::new(UInt32Array::from(vec![number; count])) };
    write(
        &folder,
        "nodes.parquet",
        &[
            ("node", Arc::new(UInt32Array::from_iter_values(0..count as u32))),
            ("id", Arc::new(UInt64Array::from(ids))),
            ("kind", text("object")),
            ("class", text("It")),
            ("class_id", number(0)),
            ("shallow_bytes", Arc::new(Int64Array::from(sizes.clone()))),
            ("retained_bytes", Arc::new(Int64Array::from(sizes))),
            ("dominator", number(0)),
            ("reachable", Arc::new(BooleanArray::from(vec![true; count]))),
        ],
    );
    write(
        &folder,
        "classes.parquet",
        &[
            ("class_id", Arc::new(UInt32Array::from(vec![0]))),
            ("class", Arc::new(StringArray::from(vec!["It"]))),
            ("class_key", Arc::new(StringArray::from(vec!["It"]))),
        ],
    );
    folder
}

/// Five walks of a real process, each pair of neighbours.
#[test]
fn objects_that_moved_are_kept() {
    let lake = Lake::new();
    replay(&lake, fixtures::path("dotnet/net8_exact.log.zst")).arg("--tracks").assert().success();
    let tracks = lake.run();
    let table = Table::read(&tracks, "walk_objects.parquet");
    let rows =
        table.u32s("gc").into_iter().zip(table.u64s("address")).zip(table.u32s("object")).zip(table.u64s("bytes"));
    // Per garbage collection: objects with addresses and sizes.
    let mut walks: BTreeMap<u32, BTreeMap<u32, (u64, u64)>> = BTreeMap::new();
    for (((gc, address), object), bytes) in rows {
        walks.entry(gc.unwrap()).or_default().insert(object.unwrap(), (address.unwrap(), bytes.unwrap()));
    }
    let walks: Vec<_> = walks.into_values().collect();
    assert_eq!(walks.len(), 5);
    let replayed = read(&tracks);
    let runs: Vec<PathBuf> = (1u32..)
        .zip(&walks)
        .map(|(number, objects)| {
            let objects: Vec<_> = objects.values().copied().collect();
            walk(lake.folder().join(format!("walk{number}")), &replayed, number, &objects)
        })
        .collect();
    let mut moved = 0;
    for at in 1..walks.len() {
        let (base, target) = (&walks[at - 1], &walks[at]);
        let out = lake.folder().join(format!("out{at}"));
        let answer = compared(&runs[at - 1], &runs[at], &tracks, &out).unwrap();
        assert_eq!(answer.remarks, [""; 0]);
        let table = Table::read(&out, "diff_objects.parquet");
        let found: BTreeMap<u32, String> = table
            .u64s("id")
            .into_iter()
            .map(|id| id.unwrap() as u32)
            .zip(table.texts("status").into_iter().flatten())
            .collect();
        let status = |object: &u32| match (base.contains_key(object), target.contains_key(object)) {
            (true, true) => "kept",
            (true, false) => "deleted",
            _ => "new",
        };
        let expected: BTreeMap<u32, String> =
            base.keys().chain(target.keys()).map(|object| (*object, status(object).to_owned())).collect();
        assert_eq!(found, expected);
        moved += base.iter().filter(|(object, place)| target.get(object).is_some_and(|now| now.0 != place.0)).count();
    }
    assert!(moved > 300, "{moved}");
}

/// The walk of a real `.nettrace`: objects without an allocation in the trace are left out and reported.
#[test]
fn a_walk_against_itself() {
    let lake = Lake::new();
    let trace = fixtures::path("dotnet/net8_background.nettrace.zst");
    replay(&lake, &trace).arg("--tracks").assert().success();
    let tracks = lake.run();
    let table = Table::read(&tracks, "walk_objects.parquet");
    let objects = table.u64s("address").into_iter().zip(table.u64s("bytes"));
    let objects: Vec<_> = objects.map(|(address, bytes)| (address.unwrap(), bytes.unwrap_or(24))).collect();
    let walk = walk(lake.folder().join("walk"), &read(&tracks), 1, &objects);
    let answer = compared(&walk, &walk, &tracks, &lake.folder().join("out")).unwrap();
    let total = answer.total;
    assert_eq!((total.new_count, total.deleted_count, total.kept_count), (0, 0, 41_517));
    assert_eq!(answer.remarks.len(), 2);
    assert!(answer.remarks.iter().all(|remark| remark.contains(": 11 objects are left out")), "{:?}", answer.remarks);
    // Another trace's replay does not know these objects.
    let other = Lake::new();
    replay(&other, fixtures::path("dotnet/net8_exact.log.zst")).arg("--tracks").assert().success();
    let error = compared(&walk, &walk, &other.run(), &lake.folder().join("none")).unwrap_err();
    assert!(error.to_string().contains("no walk of the trace"), "{error}");
    let error = compared(&walk, &walk, &walk, &lake.folder().join("none")).unwrap_err();
    assert!(error.advice().contains("--tracks"), "{error}");
}
