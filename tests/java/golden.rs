//! Real Java heap dumps against Eclipse MAT: every reachable object, every class.
//!
//! Dumps of OpenJDK 17: `hello-live` (a small program), `dupfix` and `weakfix` (the programs beside them). MAT's
//! answers are compared by address. The oracle checks `--referents skip`, which MAT does not have.

#[path = "../oracle/examples/check_golden/dominators.rs"]
mod dominators;
#[path = "../oracle/examples/check_mat/read.rs"]
mod read;

use super::check::{addresses, check_chain_names};
use heaplake_oracle::jvm::Referents;
use heaplake_oracle::jvm::truth::truth_with;
use heaplake_support::compress::gzip;
use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, answer, heaplake, said};
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

const ALL: [&str; 3] = ["hello-live", "dupfix", "weakfix"];

/// Shallow and retained size by address.
type Objects = BTreeMap<u64, [u64; 2]>;
/// Number of objects and shallow size by name, summed over classes of the same name.
type Histogram = BTreeMap<String, [u64; 2]>;

fn packed(name: &str) -> PathBuf {
    fixtures::path(&format!("jvm/{name}.hprof.zst"))
}

struct Golden {
    objects: Objects,
    histogram: Histogram,
}

impl Golden {
    fn read(name: &str) -> Self {
        let text = |kind: &str| fixtures::text(&format!("jvm/{name}.mat.{kind}.csv"));
        let object = |line: &str| {
            let cells: Vec<u64> = line.split(',').take(3).map(|cell| cell.parse().unwrap()).collect();
            (cells[0], [cells[1], cells[2]])
        };
        let objects = text("objects").lines().skip(1).map(object).collect();
        let mut histogram = Histogram::new();
        for line in text("histogram").lines().skip(1) {
            let cells: Vec<&str> = line.trim_end_matches(',').rsplitn(3, ',').collect();
            let [shallow, count] = [cells[0], cells[1]].map(|cell| cell.parse::<u64>().unwrap());
            add(&mut histogram, cells[2], [count, shallow]);
        }
        // MAT lists classes without objects too.
        histogram.retain(|_, [count, _]| *count > 0);
        Self { objects, histogram }
    }

    fn check(&self, name: &str, run: &Path) {
        let nodes = Table::read(run, "nodes.parquet");
        let sizes = ["shallow_bytes", "retained_bytes"].map(|column| nodes.u64s(column));
        let reached = nodes.bools("reachable");
        let mut ours = Objects::new();
        for (at, address) in addresses(&nodes).into_iter().enumerate() {
            if let (Some(address), Some(true)) = (address, reached[at]) {
                let sizes = [sizes[0][at].unwrap(), sizes[1][at].unwrap()];
                assert_eq!(ours.insert(address, sizes), None, "{name}: {address:x} twice");
            }
        }
        differences(name, "object", &ours, &self.objects);
        let classes = Table::read(run, "classes.parquet");
        let (counts, shallow) = (classes.u64s("count"), classes.u64s("shallow_bytes"));
        let mut ours = Histogram::new();
        for (at, class) in classes.texts("class").into_iter().enumerate() {
            add(&mut ours, &class.unwrap(), [counts[at].unwrap(), shallow[at].unwrap()]);
        }
        differences(name, "class", &ours, &self.histogram);
        let snapshot = Table::read(run, "snapshot.parquet");
        let total = self.objects.values().map(|[shallow, _]| shallow).sum();
        assert_eq!(snapshot.u64s("reachable_bytes"), [Some(total)], "{name}");
    }
}

fn add(histogram: &mut Histogram, class: &str, [count, shallow]: [u64; 2]) {
    let sums = histogram.entry(class.to_owned()).or_default();
    *sums = [sums[0] + count, sums[1] + shallow];
}

fn differences<K: Ord + std::fmt::Debug>(
    name: &str,
    what: &str,
    ours: &BTreeMap<K, [u64; 2]>,
    theirs: &BTreeMap<K, [u64; 2]>,
) {
    let mut wrong: Vec<String> = Vec::new();
    for key in ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(key))) {
        if ours.get(key) != theirs.get(key) {
            wrong.push(format!("{key:x?}: {:?}, MAT {:?}", ours.get(key), theirs.get(key)));
        }
    }
    assert!(wrong.is_empty(), "{name}: {} of {}, first {:?}", wrong.len(), what, &wrong[..wrong.len().min(5)]);
}

/// Analyses a file and compares everything with MAT.
fn check(name: &str, input: &Path, options: &[&str]) {
    let lake = Lake::new();
    lake.analyze(input).args(options).assert().success();
    Golden::read(name).check(name, &lake.run());
    assert_eq!(lake.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn chains_show_the_names_of_fields() {
    let (lake, run) = Lake::of(packed("dupfix"), &["--edges", "--min-retained=4KiB"]);
    assert!(check_chain_names(&run) > 1000);
    let chains = Table::read(&run, "chains.parquet");
    let texts: Vec<String> = chains.texts("text").into_iter().flatten().collect();
    let one = "java.lang.Class.DupFixture.DE → DupFixture$Deep[][] → DupFixture$Deep";
    assert!(texts.iter().any(|text| text.ends_with(one)), "{texts:#?}");
    // They do not depend on the other tables written.
    let table = fs::read(run.join("chains.parquet")).unwrap();
    lake.analyze(packed("dupfix")).args(["--min-retained=4KiB", "--tables=chains", "--force"]).assert().success();
    assert_eq!(fs::read(lake.run().join("chains.parquet")).unwrap(), table);
    // Shortest paths show them if the run has the table of edges.
    lake.analyze(packed("dupfix")).args(["--edges", "--force"]).assert().success();
    let node = chains.u32s("example_node")[texts.iter().position(|text| text.ends_with(one)).unwrap()].unwrap();
    let why = said(heaplake().arg("why").arg(lake.run()).arg(node.to_string()));
    assert!(why.contains(".DE → DupFixture$Deep[] @"), "{why}");
}

#[test]
fn dumps_equal_mat() {
    ALL.iter().for_each(|name| check(name, &packed(name), &[]));
}

#[test]
fn plain_and_gzip_say_the_same() {
    let lake = Lake::new();
    let plain = fixtures::content("jvm/dupfix.hprof");
    check("dupfix", &lake.input("dupfix.hprof", &plain), &[]);
    check("dupfix", &lake.input("dupfix.hprof.gz", &gzip(&plain)), &[]);
}

/// The JVM's own gzip is a chain of members; a comment in the first one gives the size of each.
#[test]
fn gzip_in_blocks() {
    let blocks = fixtures::path("jvm/hello-gz1.hprof.gz");
    let bytes = fs::read(&blocks).unwrap();
    assert!(bytes.windows(23).any(|text| text == b"HPROF BLOCKSIZE=1048576"));
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
    let lake = Lake::new();
    let plain = lake.input("plain.hprof", &plain);
    lake.analyze(&blocks).args(["--snapshot", "blocks", "--edges"]).assert().success();
    for threads in ["1", "2", "7"] {
        let name = format!("plain{threads}");
        lake.analyze(&plain).args(["--snapshot", &name, "--edges", "--threads", threads]).assert().success();
    }
    let runs = lake.runs();
    assert_eq!(runs.len(), 4);
    for table in ["nodes", "edges", "classes", "threads"] {
        let tables: Vec<Table> = runs.iter().map(|run| Table::read(run, &format!("{table}.parquet"))).collect();
        assert!(tables[0].rows() > 0, "{table}");
        // The first two columns name the run.
        assert!(tables.iter().all(|other| other.0.columns()[2..] == tables[0].0.columns()[2..]), "{table}");
    }
}

/// The smallest budget in `heaplake plan` for a file.
fn least_memory(input: &Path) -> String {
    let plan = answer(heaplake().arg("plan").arg(input).arg("--json"));
    format!("{}KiB", plan["least_memory"].as_u64().unwrap().div_ceil(1024))
}

/// All tables except `snapshot` are identical.
#[test]
fn threads_and_budgets_change_nothing() {
    let input = packed("weakfix");
    let least = least_memory(&input);
    let mut first: Option<Vec<Vec<u8>>> = None;
    for options in [
        &["--threads", "1"][..],
        &["--threads", "2"],
        &["--threads", "7"],
        &["--threads", "1", "--memory", &least],
        &["--threads", "2", "--memory", &least],
    ] {
        let lake = Lake::new();
        lake.analyze(&input).arg("--edges").args(options).assert().success();
        let run = lake.run();
        Golden::read("weakfix").check("weakfix", &run);
        let tables = ["nodes", "edges", "classes", "threads"];
        let bytes = tables.map(|table| fs::read(run.join(format!("{table}.parquet"))).unwrap()).to_vec();
        match &first {
            None => first = Some(bytes),
            Some(first) => assert!(bytes == *first, "{options:?}"),
        }
    }
}

/// Both policies for weak references, and the columns that MAT does not have.
#[test]
fn dumps_equal_the_oracle_under_both_policies() {
    let dump = read::dump(&fixtures::content("jvm/weakfix.hprof"));
    let mut retained = Vec::new();
    for (option, referents) in [("hold", Referents::Hold), ("skip", Referents::Skip)] {
        let lake = Lake::new();
        lake.analyze(packed("weakfix")).args(["--edges", "--referents", option]).assert().success();
        let truth = truth_with(&dump, referents, dominators::dominators);
        super::check::check(&truth, &lake.run());
        retained.push(truth.nodes[0].retained);
        let options = Table::read(&lake.run(), "snapshot.parquet").texts("options");
        assert!(options[0].as_ref().unwrap().contains(option), "{options:?}");
    }
    // A megabyte behind a soft reference, two behind a weak one.
    assert!(retained[0] - retained[1] > 3_000_000, "{retained:?}");
}

#[test]
#[ignore = "long"]
fn all_dumps_equal_the_oracle() {
    for name in ALL {
        let dump = read::dump(&fixtures::content(&format!("jvm/{name}.hprof")));
        let lake = Lake::new();
        lake.analyze(packed(name)).arg("--edges").assert().success();
        super::check::check(&truth_with(&dump, Referents::Hold, dominators::dominators), &lake.run());
    }
}

/// The memory layouts of the installed Java, against the oracle.
#[test]
#[ignore = "long"]
fn dumps_of_the_java_that_is_here() {
    let lake = Lake::new();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/peers/make-snapshots/Depot.java");
    let compiled = Command::new("javac").arg("-d").arg(lake.folder()).arg(program).output();
    if !compiled.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no javac here");
        return;
    }
    for flags in [
        "-XX:+UseG1GC",
        "-XX:+UseSerialGC -XX:-UseCompressedOops",
        "-XX:+UseParallelGC -XX:-UseCompressedOops -XX:-UseCompressedClassPointers",
        "-XX:ObjectAlignmentInBytes=32",
        "-XX:+UseZGC",
    ] {
        let file = lake.folder().join("depot.hprof");
        let mut java = Command::new("java");
        java.args(flags.split(' ')).args(["-Xmx1g", "-cp"]).arg(lake.folder()).arg("Depot").arg(&file);
        let made = java.args(["2000", "all"]).output().unwrap();
        assert!(made.status.success(), "{flags}: {}", String::from_utf8_lossy(&made.stderr));
        let dump = read::dump(&fs::read(&file).unwrap());
        for (option, referents) in [("hold", Referents::Hold), ("skip", Referents::Skip)] {
            let words = ["--edges", "--force", "--snapshot", "depot", "--referents", option];
            lake.analyze(&file).args(words).assert().success();
            eprintln!("{flags} {option}");
            super::check::check(&truth_with(&dump, referents, dominators::dominators), &lake.run());
        }
    }
}
