//! Two and three snapshots of one process, object by object, against Chrome DevTools' comparison view and memlab.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use heaplake_compare::objects::{Answer, Question, compare};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::npm::Packages;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Budgets: enough for any snapshot here, and the smallest.
const BUDGETS: [u64; 2] = [512 << 20, 64 << 20];

/// Runs of one process in one lake, in order.
struct Runs {
    lake: Lake,
    runs: Vec<PathBuf>,
}

impl Runs {
    fn of(snapshots: &[PathBuf], options: &[&str]) -> Self {
        let lake = Lake::new();
        let analyzed = |(at, snapshot): (usize, &PathBuf)| {
            let name = format!("s{at}");
            lake.analyze(snapshot).args(["--snapshot", &name]).args(options).assert().success();
            lake.path().join("release=none").join(format!("snapshot={name}"))
        };
        let runs = snapshots.iter().enumerate().map(analyzed).collect();
        Self { lake, runs }
    }

    /// Compares base and target, and the third snapshot if there is one.
    fn compare(&self, memory: u64, kept: bool) -> (Answer, PathBuf) {
        let out = self.lake.folder().join(format!("diff-{memory}-{kept}"));
        fs::create_dir_all(&out).unwrap();
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(memory), threads: 2, progress: &Silent, cancel: &cancel };
        let last = self.runs.get(2).map(PathBuf::as_path);
        let (base, target) = (&self.runs[0], &self.runs[1]);
        let question = Question { base, target, last, tracks: None, stable_ids: false, kept };
        (compare(&question, &out, &context).unwrap(), out)
    }
}

fn fixture(name: &str) -> PathBuf {
    fixtures::v8(name)
}

/// By class key: objects added, removed, their difference; the same for sizes.
type Rows = BTreeMap<String, [i64; 6]>;

fn golden(name: &str) -> Rows {
    let text = fixtures::text(&format!("v8/{name}.devtools.tsv.diff"));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let key: String = serde_json::from_str(fields[0]).unwrap();
        (key, std::array::from_fn(|at| fields[2 + at].parse().unwrap()))
    };
    text.lines().skip(1).filter(|line| !line.is_empty()).map(row).collect()
}

fn signed(table: &Table, name: &str) -> Vec<i64> {
    table.0.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec()
}

/// Rows of classes with changed objects.
fn found(out: &Path) -> Rows {
    let table = Table::read(out, "diff_object_classes.parquet");
    let keys = table.texts("class_key");
    let of = |name: &str| signed(&table, name);
    let columns = ["new_count", "deleted_count", "delta_count", "new_bytes", "deleted_bytes", "delta_bytes"].map(of);
    let rows =
        keys.into_iter().enumerate().map(|(row, key)| (key.unwrap(), columns.each_ref().map(|column| column[row])));
    rows.filter(|(_, sums)| sums[0] > 0 || sums[1] > 0).collect()
}

/// Sums of the table of objects by class.
fn added_up(out: &Path) -> Rows {
    let table = Table::read(out, "diff_objects.parquet");
    let (statuses, keys, bytes) = (table.texts("status"), table.texts("class_key"), signed(&table, "shallow_bytes"));
    let mut rows = Rows::new();
    for (row, (status, key)) in statuses.iter().zip(keys).enumerate() {
        let at = match status.as_deref().unwrap() {
            "new" => 0,
            "deleted" => 1,
            other => panic!("{other}"),
        };
        let sums = rows.entry(key.unwrap()).or_default();
        let sign = 1 - 2 * at as i64;
        (sums[at], sums[2]) = (sums[at] + 1, sums[2] + sign);
        (sums[3 + at], sums[5]) = (sums[3 + at] + bytes[row], sums[5] + sign * bytes[row]);
    }
    rows
}

fn check(name: &str, snapshots: &[&str]) {
    let runs = Runs::of(&snapshots.iter().map(|name| fixture(name)).collect::<Vec<_>>(), &[]);
    let expected = golden(name);
    let mut bytes = Vec::new();
    for memory in BUDGETS {
        let (answer, out) = runs.compare(memory, false);
        assert_eq!(answer.remarks, [""; 0]);
        assert_eq!(found(&out), expected, "{name}");
        assert_eq!(added_up(&out), expected, "{name}");
        let sum = |at: usize| expected.values().map(|row| row[at] as u64).sum::<u64>();
        assert_eq!([answer.total.new_count, answer.total.deleted_count], [sum(0), sum(1)]);
        bytes.push(answer.tables.iter().map(|table| fs::read(out.join(&table.file)).unwrap()).collect::<Vec<_>>());
    }
    assert!(bytes[0] == bytes[1], "{name}: the budget changes bytes");
}

#[test]
fn classes_equal_the_comparison_of_devtools() {
    check("s2", &["s1", "s2"]);
    check("steps", &["steps_base", "steps_target"]);
}

/// Interfaces matter in `steps`: without the tables of edges, kept objects change their class.
#[test]
fn without_edges_plain_objects_keep_their_own_interfaces() {
    let snapshots = ["steps_base", "steps_target"].map(fixture);
    let runs = Runs::of(&snapshots, &["--tables", "nodes,classes"]);
    let (answer, out) = runs.compare(BUDGETS[0], false);
    assert!(answer.remarks[0].contains("edges"), "{:?}", answer.remarks);
    let (ours, theirs) = (found(&out), golden("steps"));
    let differ: Vec<&str> =
        ours.keys().chain(theirs.keys()).filter(|key| ours.get(*key) != theirs.get(*key)).map(String::as_str).collect();
    assert!(!differ.is_empty() && differ.iter().all(|key| key.contains('{')), "{differ:?}");
}

#[test]
fn kept_objects_have_both_nodes() {
    let runs = Runs::of(&["steps_base", "steps_target"].map(fixture), &[]);
    let (answer, out) = runs.compare(BUDGETS[0], true);
    let table = Table::read(&out, "diff_objects.parquet");
    let nodes = [0, 1].map(|at| Table::read(&runs.runs[at], "nodes.parquet"));
    let [old, new] = nodes.each_ref().map(|nodes| (nodes.u64s("id"), nodes.u64s("retained_bytes")));
    let (ids, statuses) = (table.u64s("id"), table.texts("status"));
    let (base, target) = (table.u32s("base_node"), table.u32s("target_node"));
    let (before, after) = (table.u64s("base_retained_bytes"), table.u64s("retained_bytes"));
    let mut kept = 0;
    for row in 0..table.rows() {
        if let Some(node) = base[row] {
            assert_eq!((old.0[node as usize], old.1[node as usize]), (ids[row], before[row]));
        }
        if let Some(node) = target[row] {
            assert_eq!((new.0[node as usize], new.1[node as usize]), (ids[row], after[row]));
        }
        let status = match (base[row], target[row]) {
            (None, _) => "new",
            (_, None) => "deleted",
            _ => "kept",
        };
        assert_eq!(statuses[row].as_deref(), Some(status));
        kept += u64::from(status == "kept");
    }
    assert_eq!(kept, answer.total.kept_count);
    assert!(kept > 1000);
}

/// Ids in the table of candidates.
fn candidates(out: &Path) -> Vec<u64> {
    let mut ids: Vec<u64> = Table::read(out, "diff_leak_candidates.parquet").u64s("id").into_iter().flatten().collect();
    ids.sort_unstable();
    ids
}

fn ids(text: &str) -> Vec<u64> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn candidates_equal_those_of_memlab() {
    let runs = Runs::of(&["steps_base", "steps_target", "steps_final"].map(fixture), &[]);
    let (answer, out) = runs.compare(BUDGETS[1], false);
    let expected = ids(&fixtures::text("v8/steps.memlab.txt"));
    assert_eq!(candidates(&out), expected);
    let found = answer.candidates.unwrap();
    assert_eq!(found.count, expected.len() as u64);
    let of = |class: &str| found.groups.iter().find(|group| group.class == class).map(|group| group.count);
    // 40 sessions came, 10 of these went; pages came and went; entries of the last step came too late.
    assert_eq!((of("Session"), of("Page"), of("Entry")), (Some(30), None, Some(30)));
}

/// The folder of a `node_modules` with memlab, or why there is none.
fn memlab() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os("HEAPLAKE_MEMLAB") {
        return Ok(PathBuf::from(folder));
    }
    let wanted = br#"{"dependencies":{"@memlab/core":"2.0.5","@memlab/api":"2.0.5"}}"#.to_vec();
    let words = ["install", "--no-package-lock", "--ignore-scripts"];
    Packages::new("memlab", vec![("package.json", wanted)], &words).install()
}

/// Whole snapshots of this machine's Node.js, with memlab from `HEAPLAKE_MEMLAB` or npm.
#[test]
#[ignore = "long"]
fn candidates_of_a_fresh_process_equal_those_of_memlab() {
    let modules = match memlab() {
        Ok(modules) => modules,
        Err(why) => return eprintln!("SKIPPED: memlab: {why}"),
    };
    let program = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs").join(name);
    let folder = tempfile::tempdir().unwrap();
    let status = match Command::new("node").arg(program("steps.cjs")).arg(folder.path()).status() {
        Ok(status) => status,
        Err(error) => return eprintln!("SKIPPED: node cannot be run here: {error}"),
    };
    assert!(status.success());
    let snapshots = ["base", "target", "final"].map(|name| folder.path().join(format!("{name}.heapsnapshot")));
    let output =
        Command::new("node").arg(program("memlab-candidates.cjs")).arg(modules).args(&snapshots).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = ids(&String::from_utf8(output.stdout).unwrap());
    assert!(expected.len() > 300);
    let runs = Runs::of(&snapshots, &[]);
    let (_, out) = runs.compare(BUDGETS[1], false);
    assert_eq!(candidates(&out), expected);
}
