//! Synthetic runs for tests, and readers of the resulting tables.

use super::{Answer, Question, compare};
pub(crate) use crate::fast_folder::fast_folder as folder;
use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow::datatypes::{Field, Schema};
use heaplake_kit::stage::{Output, Silent};
use heaplake_kit::{Budget, Context, StageError};
use heaplake_lake::reader::{Reader, value};
use heaplake_lake::table::Table;
use heaplake_schemas::options::{AnalysisOptions, Options};
use heaplake_schemas::run::{self, Run, Summary};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A node of a synthetic run.
#[derive(Clone, Debug, Default)]
pub(super) struct Made {
    pub id: u64,
    pub class: u32,
    pub shallow: u64,
    pub retained: u64,
    pub unreachable: bool,
    /// Property names.
    pub properties: Vec<&'static str>,
}

/// A synthetic run: format, class keys, nodes.
pub(super) struct MadeRun<'a> {
    pub format: &'a str,
    pub classes: &'a [&'a str],
    pub nodes: &'a [Made],
    pub edges: bool,
    /// Whether sizes are stored as in schema version 1.
    pub old: bool,
}

impl MadeRun<'_> {
    /// A V8 snapshot without edges.
    pub(super) fn v8<'a>(classes: &'a [&'a str], nodes: &'a [Made]) -> MadeRun<'a> {
        MadeRun { format: "v8-heapsnapshot", classes, nodes, edges: false, old: false }
    }

    /// Writes the run.
    pub(super) fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        let run = run_of(self.format);
        fs::write(folder.join(run::FILE), serde_json::to_vec(&run).unwrap()).unwrap();
        let name = |key: &str| class_of(key).to_owned();
        let nodes = self.nodes;
        let sizes = |of: fn(&Made) -> u64| -> ArrayRef {
            match self.old {
                true => Arc::new(UInt64Array::from_iter_values(nodes.iter().map(of))),
                false => Arc::new(Int64Array::from_iter_values(nodes.iter().map(|node| of(node) as i64))),
            }
        };
        let ordinals = || UInt32Array::from_iter_values(0..nodes.len() as u32);
        let none = || UInt32Array::from(vec![None::<u32>; nodes.len()]);
        write(
            folder,
            "nodes.parquet",
            &[
                ("node", Arc::new(ordinals())),
                ("id", Arc::new(UInt64Array::from_iter_values(nodes.iter().map(|node| node.id)))),
                ("kind", Arc::new(StringArray::from_iter_values(nodes.iter().map(|_| "object")))),
                (
                    "class",
                    Arc::new(StringArray::from_iter_values(
                        nodes.iter().map(|node| name(self.classes[node.class as usize])),
                    )),
                ),
                ("class_id", Arc::new(UInt32Array::from_iter_values(nodes.iter().map(|node| node.class)))),
                ("shallow_bytes", sizes(|node| node.shallow)),
                ("retained_bytes", sizes(|node| node.retained)),
                ("dominator", Arc::new(UInt32Array::from_iter_values(nodes.iter().map(|_| 0)))),
                ("reachable", Arc::new(BooleanArray::from_iter(nodes.iter().map(|node| Some(!node.unreachable))))),
                ("script_id", Arc::new(none())),
                ("line", Arc::new(none())),
                ("column", Arc::new(none())),
            ],
        );
        // As in analyses, classes without counting nodes are left out.
        let v8 = self.format.starts_with("v8");
        let counts = |class: usize| {
            let of_class = |node: &&Made| node.class as usize == class;
            nodes.iter().filter(of_class).any(|node| if v8 { node.shallow > 0 } else { !node.unreachable })
        };
        let listed: Vec<usize> = (0..self.classes.len()).filter(|&class| counts(class)).collect();
        write(
            folder,
            "classes.parquet",
            &[
                ("class_id", Arc::new(UInt32Array::from_iter_values(listed.iter().map(|&class| class as u32)))),
                (
                    "class",
                    Arc::new(StringArray::from_iter_values(listed.iter().map(|&class| name(self.classes[class])))),
                ),
                ("class_key", Arc::new(StringArray::from_iter_values(listed.iter().map(|&class| self.classes[class])))),
            ],
        );
        if self.edges {
            self.write_edges(folder);
        }
    }

    fn write_edges(&self, folder: &Path) {
        let edges: Vec<(u32, &str)> = (0u32..)
            .zip(self.nodes)
            .flat_map(|(from, node)| node.properties.iter().map(move |&property| (from, property)))
            .collect();
        write(
            folder,
            "edges.parquet",
            &[
                ("from", Arc::new(UInt32Array::from_iter_values(edges.iter().map(|edge| edge.0)))),
                ("kind", Arc::new(StringArray::from_iter_values(edges.iter().map(|_| "property")))),
                ("name", Arc::new(StringArray::from_iter_values(edges.iter().map(|edge| edge.1)))),
            ],
        );
    }
}

/// Class name of a key.
pub(super) fn class_of(key: &str) -> &str {
    key.strip_prefix(',').unwrap_or_else(|| key.splitn(4, ',').last().unwrap())
}

fn run_of(format: &str) -> Run {
    Run {
        seal: None,
        heaplake_version: String::new(),
        schema_version: 3,
        snapshot: "made".to_owned(),
        release: "none".to_owned(),
        source: "made".to_owned(),
        input_bytes: 0,
        input_hash: "made".to_owned(),
        input_tag: None,
        captured_at_us: None,
        folder: None,
        packed: None,
        options: Options::Analysis(AnalysisOptions::default()),
        tables: Vec::new(),
        summary: Summary { format: format.to_owned(), ..Summary::default() },
        replay: None,
    }
}

/// Writes a table.
pub(super) fn write(folder: &Path, file: &'static str, columns: &[(&str, ArrayRef)]) {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let output = Output { folder: folder.to_owned(), ..Output::default() };
    let mut table = Table::create(&output, file, Arc::new(Schema::new(fields))).unwrap();
    table.write(&columns.iter().map(|(_, array)| array.clone()).collect::<Vec<_>>()).unwrap();
    table.finish().unwrap();
}

/// Compares the runs `base`, `target` and, if present, `last` of a folder, into its folder `out`.
pub(super) fn compared(folder: &Path, stable_ids: bool, memory: u64, threads: usize) -> Result<Answer, StageError> {
    let cancel = AtomicBool::new(false);
    let context = Context { budget: Budget::new(memory), threads, progress: &Silent, cancel: &cancel };
    let [base, target, last, out] = ["base", "target", "last", "out"].map(|name| folder.join(name));
    let last = last.exists().then_some(last);
    let question =
        Question { base: &base, target: &target, last: last.as_deref(), tracks: None, stable_ids, kept: true };
    fs::create_dir_all(&out).unwrap();
    let answer = compare(&question, &out, &context)?;
    assert_eq!(context.budget.used(), 0);
    let left: Vec<String> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left.len(), answer.tables.len(), "{left:?}");
    Ok(answer)
}

/// Reads text and number columns of a written table.
pub(super) fn rows(
    folder: &Path,
    file: &str,
    texts: &[&str],
    numbers: &[&str],
) -> Vec<(Vec<String>, Vec<Option<u64>>)> {
    let wanted: Vec<&str> = texts.iter().chain(numbers).copied().collect();
    let mut batches = Reader::open(&folder.join("out").join(file)).unwrap().columns(&wanted).unwrap();
    let mut rows = Vec::new();
    while let Some(batch) = batches.batch().unwrap() {
        let texts: Vec<_> = texts.iter().map(|name| batch.texts(name).unwrap()).collect();
        let numbers: Vec<_> = numbers.iter().map(|name| batch.sizes(name).unwrap()).collect();
        for row in 0..batch.len() {
            let texts = texts.iter().map(|texts| texts.value(row).to_owned()).collect();
            rows.push((texts, numbers.iter().map(|numbers| value(numbers, row)).collect()));
        }
    }
    rows
}

/// Counts by key.
pub(super) fn tally<K: Ord>(keys: impl IntoIterator<Item = K>) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}
