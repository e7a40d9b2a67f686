//! A lake in a temporary folder, the real binary, and tables read back.

#![allow(dead_code, clippy::unwrap_used)] // every test file uses its own part, and tests may fail loudly

pub mod good;
pub mod planted;
pub mod replay;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{ArrowPrimitiveType, Int32Type, UInt32Type, UInt64Type};
use assert_cmd::Command;
use heaplake::analyze::{Failure, Outcome, Request};
use heaplake::plan::smallest_budget;
use heaplake::progress::Mode;
use heaplake_ingest::source::Input;
use heaplake_schemas::run::{BigClasses, Options, Tables};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

/// Folder of the committed snapshots and their golden answers.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/v8")
}

/// A committed file, decompressed.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = fixtures().join(format!("{name}.zst"));
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    zstd::Decoder::new(file).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// A folder in memory where the system has one: thousands of small runs need no disk.
pub fn fast_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

/// The binary.
pub fn heaplake() -> Command {
    Command::new(env!("CARGO_BIN_EXE_heaplake"))
}

/// Runs a command that must fail with this exit code and say nothing but a line of cause and one of advice; gives both.
pub fn complaint(command: &mut Command, code: i32) -> (String, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let [cause, advice] = lines[..] else { panic!("not two lines:\n{text}") };
    let cause = cause.strip_prefix("heaplake: ").unwrap_or_else(|| panic!("{text}"));
    let advice = advice.strip_prefix("  -> ").unwrap_or_else(|| panic!("{text}"));
    assert!(!cause.contains("panicked") && !cause.is_empty() && !advice.is_empty(), "{text}");
    (cause.to_owned(), advice.to_owned())
}

/// The bytes as gzip.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The bytes as a zstd frame with a checksum.
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A lake of its own for one test.
pub struct Lake {
    folder: TempDir,
}

impl Lake {
    /// An empty lake.
    pub fn new() -> Self {
        Self { folder: fast_folder() }
    }

    /// The folder that holds the lake and the test's own files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The lake itself.
    pub fn path(&self) -> PathBuf {
        self.folder().join("lake")
    }

    /// Writes an input file beside the lake.
    pub fn input(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// `heaplake analyze INPUT --out LAKE --quiet`, to be given further options.
    pub fn analyze(&self, input: impl AsRef<Path>) -> Command {
        let mut command = heaplake();
        command.arg("analyze").arg(input.as_ref()).arg("--out").arg(self.path()).arg("--quiet");
        command
    }

    /// Analyses a file in this process, which is faster than a process of its own, with the smallest budget, and edges
    /// too.
    pub fn analyze_here(&self, input: impl AsRef<Path>, threads: usize) -> Result<Outcome, Failure> {
        let options = Options { tables: Tables::all(), big: all_classes(), ..Options::default() };
        self.analyze_as(input, threads, options)
    }

    /// The same with these options.
    pub fn analyze_as(&self, input: impl AsRef<Path>, threads: usize, options: Options) -> Result<Outcome, Failure> {
        let request = Request {
            input: Input::File(input.as_ref().to_owned()),
            lake: self.path(),
            release: "none".to_owned(),
            snapshot: Some("it".to_owned()),
            options,
            memory: smallest_budget(),
            threads,
            scratch: None,
            force: true,
        };
        heaplake::analyze::analyze(&request, Mode::Quiet, &AtomicBool::new(false))
    }

    /// Asserts that nothing is in the lake: no run, no part of one, no scratch, no empty folder.
    pub fn assert_empty(&self) {
        let left: Vec<PathBuf> =
            fs::read_dir(self.path()).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{left:?} {:?}", self.leftovers());
    }

    /// The folders of all runs, sorted.
    pub fn runs(&self) -> Vec<PathBuf> {
        let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut runs: Vec<PathBuf> =
            list(self.path()).flat_map(list).filter(|path| path.join("run.json").exists()).collect();
        runs.sort();
        runs
    }

    /// The only run.
    pub fn run(&self) -> PathBuf {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// Everything below the lake that is not part of a run: must be empty after any command.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let runs = self.runs();
        let mut left = Vec::new();
        walk(&self.path(), &mut |path| {
            if !runs.iter().any(|run| path.starts_with(run)) {
                left.push(path.to_owned());
            }
        });
        left
    }
}

fn walk(folder: &Path, each: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            walk(&entry.path(), each);
        } else {
            each(&entry.path());
        }
    }
}

/// The chains of one kind and class sum to the row of the class, and every big class has some.
pub fn check_chain_sums(run: &Path) {
    let (chains, classes) = (Table::read(run, "chains.parquet"), Table::read(run, "classes.parquet"));
    let numbers = |table: &Table, row: usize| {
        ["count", "shallow_bytes", "retained_bytes"].map(|column| table.u64s(column)[row].unwrap())
    };
    let mut sums: BTreeMap<(String, u32), [u64; 3]> = BTreeMap::new();
    let (kinds, ids) = (chains.texts("kind"), chains.u32s("class_id"));
    for row in 0..chains.rows() {
        let sum = sums.entry((kinds[row].clone().unwrap(), ids[row].unwrap())).or_default();
        numbers(&chains, row).iter().zip(sum).for_each(|(more, sum)| *sum += more);
    }
    let (ids, big) = (classes.u32s("class_id"), classes.bools("big"));
    let rows = (0..classes.rows()).filter(|&row| big[row].unwrap());
    let expected = rows.flat_map(|row| {
        let numbers = numbers(&classes, row);
        ["reference", "dominator"].map(|kind| ((kind.to_owned(), ids[row].unwrap()), numbers))
    });
    assert_eq!(sums, expected.collect());
}

/// The column `path` of the chains: edge, class and whether it repeats of each element.
pub fn paths(table: &Table) -> Vec<Vec<(Option<String>, String, bool)>> {
    let column = table.0.column_by_name("path").unwrap().as_list::<i32>();
    let paths = (0..column.len()).map(|row| {
        let path = column.value(row);
        let path = path.as_struct();
        let (edges, classes) = (path.column(0).as_string::<i32>(), path.column(1).as_string::<i32>());
        let edge = |at: usize| edges.is_valid(at).then(|| edges.value(at).to_owned());
        (0..path.len())
            .map(|at| (edge(at), classes.value(at).to_owned(), path.column(2).as_boolean().value(at)))
            .collect()
    });
    paths.collect()
}

/// What the table of owners says: count, shallow and retained size of each, and what would go with it.
pub fn owners(run: &Path) -> BTreeMap<String, (u64, u64, u64, Option<u64>)> {
    let table = Table::read(run, "owners.parquet");
    let [count, shallow, retained, freed] =
        ["count", "shallow_bytes", "retained_bytes", "freed_bytes"].map(|column| table.u64s(column));
    assert!(retained.is_sorted_by(|a, b| a >= b), "owners are sorted by retained size");
    let names = table.texts("owner").into_iter().map(Option::unwrap).enumerate();
    let shares: BTreeMap<_, _> = names
        .map(|(row, name)| (name, (count[row].unwrap(), shallow[row].unwrap(), retained[row].unwrap(), freed[row])))
        .collect();
    assert_eq!(shares.len(), table.rows(), "no owner twice");
    shares
}

/// Every byte belongs to one owner, whichever way they are counted.
pub fn check_owner_sums(run: &Path) {
    let (shares, nodes) = (owners(run), Table::read(run, "nodes.parquet"));
    let sizes: Vec<u64> = nodes.u64s("shallow_bytes").into_iter().map(Option::unwrap).collect();
    let heap: u64 = sizes.iter().sum();
    assert_eq!(shares.values().map(|share| share.1).sum::<u64>(), heap, "shallow");
    assert_eq!(shares.values().map(|share| share.2).sum::<u64>(), heap, "retained");
    for (name, (_, shallow, _, freed)) in &shares {
        assert_eq!(freed.is_none(), ["(none)", "(unreachable)"].contains(&name.as_str()), "{name}");
        assert!(freed.is_none_or(|freed| freed >= *shallow && freed <= heap), "{name}");
    }
    let lost = sizes.iter().zip(nodes.bools("reachable")).filter(|(_, reachable)| *reachable == Some(false));
    let lost: u64 = lost.map(|(size, _)| size).sum();
    assert_eq!(shares.get("(unreachable)").map_or(0, |share| share.2), lost);
}

/// Thresholds that every class reaches.
pub fn all_classes() -> BigClasses {
    BigClasses { min_retained: Some(0), ..BigClasses::default() }
}

/// A table of a run, read whole.
pub struct Table(pub RecordBatch);

impl Table {
    /// Reads `RUN/FILE`.
    pub fn read(run: &Path, file: &str) -> Self {
        let file = File::open(run.join(file)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let schema = reader.schema().clone();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        Self(concat_batches(&schema, &batches).unwrap())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.0.num_rows()
    }

    fn column<P: ArrowPrimitiveType>(&self, name: &str) -> Vec<Option<P::Native>> {
        self.0.column_by_name(name).unwrap_or_else(|| panic!("no column {name}")).as_primitive::<P>().iter().collect()
    }

    /// A column of sizes or counts.
    pub fn u64s(&self, name: &str) -> Vec<Option<u64>> {
        self.column::<UInt64Type>(name)
    }

    /// A column of ordinals.
    pub fn u32s(&self, name: &str) -> Vec<Option<u32>> {
        self.column::<UInt32Type>(name)
    }

    /// A column of distances.
    pub fn i32s(&self, name: &str) -> Vec<Option<i32>> {
        self.column::<Int32Type>(name)
    }

    /// A column of small numbers.
    pub fn u8s(&self, name: &str) -> Vec<Option<u8>> {
        self.column::<arrow::datatypes::UInt8Type>(name)
    }

    /// A column of flags.
    pub fn bools(&self, name: &str) -> Vec<Option<bool>> {
        self.0.column_by_name(name).unwrap().as_boolean().iter().collect()
    }

    /// A column of texts.
    pub fn texts(&self, name: &str) -> Vec<Option<String>> {
        let column = self.0.column_by_name(name).unwrap();
        assert_eq!(column.data_type(), &arrow::datatypes::DataType::Utf8);
        column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    }
}
