//! Traces with what is known of them, and the tables of replays.

use super::{Lake, Table, heaplake};
use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A committed trace or an answer for one.
pub fn dotnet(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/dotnet").join(name)
}

/// `heaplake replay TRACE --out LAKE --quiet --sample-interval 1`, to be given further options.
pub fn replay(lake: &Lake, trace: impl AsRef<Path>) -> Command {
    let mut command = heaplake();
    command.arg("replay").arg(trace.as_ref()).arg("--out").arg(lake.path()).arg("--quiet");
    command
}

/// Replays a trace exactly; its run.
pub fn exactly(lake: &Lake, trace: impl AsRef<Path>) -> PathBuf {
    replay(lake, trace).args(["--sample-interval", "1"]).assert().success();
    lake.run()
}

/// A collection, as the answers of the reference state it.
#[derive(Debug, PartialEq, Eq)]
pub struct Collection {
    pub gc: u32,
    pub condemned: Vec<u8>,
    pub moved_ranges: u64,
    pub surviving_ranges: u64,
    pub dead: u64,
    pub live: u64,
    /// Objects of a walk of the heap, where there was one; it found all and no others.
    pub walked: Option<u64>,
}

/// A type: name, objects, bytes, and deaths in generation 0, 1, 2 and of large objects.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Type {
    pub name: String,
    pub count: u64,
    pub bytes: u64,
    pub died: [u64; 4],
}

/// Inclusive and exclusive bytes, and the name of a function.
pub type Function = (u64, u64, String);

/// What `*.replay.txt` says.
#[derive(Default)]
pub struct Answer {
    pub collections: Vec<Collection>,
    pub allocations: u64,
    pub types: Vec<Type>,
    pub functions: Vec<Function>,
}

impl Answer {
    pub fn read(name: &str) -> Self {
        let mut answer = Self::default();
        for line in fs::read_to_string(dotnet(name)).unwrap().lines() {
            let field = |key: &str| {
                let from = line.find(key).unwrap_or_else(|| panic!("{key} in {line}")) + key.len();
                line[from..].split_whitespace().next().unwrap().to_owned()
            };
            let number = |key: &str| field(key).parse::<u64>().unwrap();
            if line.starts_with("gc ") {
                answer.collections.push(Collection {
                    gc: number("gc") as u32,
                    condemned: field("gens=")
                        .bytes()
                        .zip(0..)
                        .filter(|(bit, _)| *bit == b'1')
                        .map(|(_, g)| g)
                        .collect(),
                    moved_ranges: number("moved="),
                    surviving_ranges: number("surv="),
                    dead: number("dead="),
                    live: number(" live="),
                    walked: line.contains(" O=").then(|| number(" O=")),
                });
                assert!(!line.contains(" O=") || line.ends_with("live-O=0 O-live=0"));
            } else if line.starts_with("allocs") {
                answer.allocations = number("allocs");
            } else if line.contains(" died ") {
                answer.types.push(Type {
                    name: line.split(" n=").next().unwrap().trim().to_owned(),
                    count: number(" n="),
                    bytes: number(" bytes="),
                    died: [number("g0="), number("g1="), number("g2="), number("loh=")],
                });
            } else {
                let name = line.trim().rsplit(' ').next().unwrap().to_owned();
                answer.functions.push((number("incl"), number("excl"), name));
            }
        }
        answer
    }
}

/// The collections of a run.
pub fn collections(run: &Path) -> Vec<Collection> {
    use arrow::array::AsArray;
    let table = Table::read(run, "collections.parquet");
    let lists = table.0.column_by_name("condemned").unwrap().as_list::<i32>();
    let column = |name: &str| table.u64s(name);
    let (moved, surviving) = (column("moved_ranges"), column("surviving_ranges"));
    let (dead, live, walked) = (column("dead_objects"), column("live_objects"), column("walked_objects"));
    for name in ["walk_missing", "walk_extra"] {
        assert!(column(name).iter().all(|number| matches!(number, None | Some(0))), "{name}");
    }
    (0..table.rows())
        .map(|row| Collection {
            gc: table.u32s("gc")[row].unwrap(),
            condemned: lists.value(row).as_primitive::<arrow::datatypes::UInt8Type>().values().to_vec(),
            moved_ranges: moved[row].unwrap(),
            surviving_ranges: surviving[row].unwrap(),
            dead: dead[row].unwrap_or_default(),
            live: live[row].unwrap_or_default(),
            walked: walked[row],
        })
        .collect()
}

/// The types of a run.
pub fn types(run: &Path) -> Vec<Type> {
    let table = Table::read(run, "object_lifetimes.parquet");
    let mut died: BTreeMap<u32, [u64; 4]> = BTreeMap::new();
    let (ids, generations, counts) = (table.u32s("type_id"), table.texts("generation"), table.u64s("count"));
    for row in 0..table.rows() {
        let at = match generations[row].as_deref().unwrap() {
            "0" => 0,
            "1" => 1,
            "2" => 2,
            "large" => 3,
            _ => continue,
        };
        died.entry(ids[row].unwrap()).or_default()[at] += counts[row].unwrap();
    }
    let table = Table::read(run, "allocation_types.parquet");
    let (ids, names) = (table.u32s("type_id"), table.texts("type"));
    let (counts, bytes) = (table.u64s("allocated_count"), table.u64s("exact_bytes"));
    (0..table.rows())
        .map(|row| Type {
            name: names[row].clone().unwrap(),
            count: counts[row].unwrap(),
            bytes: bytes[row].unwrap(),
            died: died.get(&ids[row].unwrap()).copied().unwrap_or_default(),
        })
        .collect()
}

/// The functions of a run, in the order of the table.
pub fn functions(run: &Path) -> Vec<Function> {
    let table = Table::read(run, "allocation_functions.parquet");
    let (inclusive, exclusive) = (table.u64s("inclusive_bytes"), table.u64s("exclusive_bytes"));
    let names = table.texts("function");
    (0..table.rows())
        .map(|row| (inclusive[row].unwrap(), exclusive[row].unwrap(), names[row].clone().unwrap()))
        .collect()
}
