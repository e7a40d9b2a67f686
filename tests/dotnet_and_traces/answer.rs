//! Answers of the reference replay for the trace fixtures, and the tables of a run.

use arrow::array::AsArray;
use arrow::datatypes::UInt8Type;
use heaplake_support::fixtures;
use heaplake_support::lake::Lake;
use heaplake_support::replay::replay;
use heaplake_support::table::Table;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Replays a trace exactly; returns its run.
pub(crate) fn exactly(lake: &Lake, trace: impl AsRef<Path>) -> PathBuf {
    replay(lake, trace).args(["--sample-interval", "1"]).assert().success();
    lake.run()
}

/// A garbage collection in the reference's answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    pub gc: u32,
    pub condemned: Vec<u8>,
    pub moved_ranges: u64,
    pub surviving_ranges: u64,
    pub dead: u64,
    pub live: u64,
    /// Objects of the heap walk, if there was one; it found exactly the live objects.
    pub walked: Option<u64>,
}

/// A type: name, objects, bytes, and deaths in generation 0, 1, 2 and of large objects.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Type {
    pub name: String,
    pub count: u64,
    pub bytes: u64,
    pub died: [u64; 4],
}

/// Inclusive and exclusive bytes, and the name of a function.
pub(crate) type Function = (u64, u64, String);

/// Content of `*.replay.txt`.
#[derive(Default)]
pub(crate) struct Answer {
    pub collections: Vec<Collection>,
    pub allocations: u64,
    pub types: Vec<Type>,
    pub functions: Vec<Function>,
}

/// A line of an answer: words, some after a key.
struct Line<'a>(&'a str);

impl Line<'_> {
    fn text(&self, key: &str) -> &str {
        let from = self.0.find(key).unwrap_or_else(|| panic!("{key} in {}", self.0)) + key.len();
        self.0[from..].split_whitespace().next().unwrap()
    }

    fn number(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap()
    }

    fn collection(&self) -> Collection {
        let walked = self.0.contains(" O=");
        assert!(!walked || self.0.ends_with("live-O=0 O-live=0"));
        let condemned = self.text("gens=").bytes().zip(0..).filter(|(bit, _)| *bit == b'1');
        Collection {
            gc: self.number("gc") as u32,
            condemned: condemned.map(|(_, generation)| generation).collect(),
            moved_ranges: self.number("moved="),
            surviving_ranges: self.number("surv="),
            dead: self.number("dead="),
            live: self.number(" live="),
            walked: walked.then(|| self.number(" O=")),
        }
    }

    fn type_row(&self) -> Type {
        Type {
            name: self.0.split(" n=").next().unwrap().trim().to_owned(),
            count: self.number(" n="),
            bytes: self.number(" bytes="),
            died: ["g0=", "g1=", "g2=", "loh="].map(|key| self.number(key)),
        }
    }

    fn function(&self) -> Function {
        let name = self.0.trim().rsplit(' ').next().unwrap().to_owned();
        (self.number("incl"), self.number("excl"), name)
    }
}

impl Answer {
    pub(crate) fn read(name: &str) -> Self {
        let mut answer = Self::default();
        for line in fs::read_to_string(fixtures::path(&format!("dotnet/{name}"))).unwrap().lines().map(Line) {
            if line.0.starts_with("gc ") {
                answer.collections.push(line.collection());
            } else if line.0.starts_with("allocs") {
                answer.allocations = line.number("allocs");
            } else if line.0.contains(" died ") {
                answer.types.push(line.type_row());
            } else {
                answer.functions.push(line.function());
            }
        }
        answer
    }
}

pub(crate) fn collections(run: &Path) -> Vec<Collection> {
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
            condemned: lists.value(row).as_primitive::<UInt8Type>().values().to_vec(),
            moved_ranges: moved[row].unwrap(),
            surviving_ranges: surviving[row].unwrap(),
            dead: dead[row].unwrap_or_default(),
            live: live[row].unwrap_or_default(),
            walked: walked[row],
        })
        .collect()
}

pub(crate) fn types(run: &Path) -> Vec<Type> {
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

pub(crate) fn functions(run: &Path) -> Vec<Function> {
    let table = Table::read(run, "allocation_functions.parquet");
    let (inclusive, exclusive) = (table.u64s("inclusive_bytes"), table.u64s("exclusive_bytes"));
    let names = table.texts("function");
    (0..table.rows())
        .map(|row| (inclusive[row].unwrap(), exclusive[row].unwrap(), names[row].clone().unwrap()))
        .collect()
}
