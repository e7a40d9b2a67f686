//! Generated snapshots with answers known by construction.

use crate::table::Table;
use heaplake_generator::file;
use heaplake_generator::plan::{Plan, Shape, Target};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A realistic mixture of about `bytes` bytes.
pub fn realistic(seed: u64, bytes: u64) -> Plan {
    file::plan(seed, Shape::Realistic, Target::Bytes(bytes))
}

/// Writes the planned file into a folder.
pub fn write(plan: &Plan, folder: &Path) -> PathBuf {
    let path = folder.join("planted.heapsnapshot");
    file::write(plan, BufWriter::new(File::create(&path).unwrap())).unwrap();
    path
}

/// Compares every planted answer with a run's tables.
pub fn compare(plan: &Plan, run: &Path) {
    let answers = file::answers(plan);

    let nodes = Table::read(run, "nodes.parquet");
    let (shallow, retained) = (nodes.u64s("shallow_bytes"), nodes.u64s("retained_bytes"));
    let (distance, dominator) = (nodes.i32s("distance"), nodes.u32s("dominator"));
    let planted = answers.checkpoints();
    assert!(!planted.is_empty());
    for fact in planted {
        let node = fact.ordinal as usize;
        let ours = (shallow[node], retained[node], distance[node], dominator[node]);
        let theirs = (
            Some(fact.shallow),
            Some(fact.retained),
            fact.distance.map(|distance| distance as i32),
            Some(fact.dominator as u32),
        );
        assert_eq!(ours, theirs, "node {node}");
    }

    let classes = Table::read(run, "classes.parquet");
    let keys = classes.texts("class_key");
    let column = |name: &str| classes.u64s(name);
    let numbers = [column("count"), column("shallow_bytes"), column("retained_bytes")];
    let distances = classes.i32s("distance");
    for (key, row) in answers.classes() {
        let at = keys.iter().position(|other| other.as_deref() == Some(key)).unwrap_or_else(|| panic!("no {key}"));
        let ours: [u64; 3] = std::array::from_fn(|i| numbers[i][at].unwrap());
        assert_eq!(ours, [row.count, row.shallow_bytes, row.retained_bytes], "{key}");
        assert_eq!(distances[at], row.distance.map(|distance| distance as i32), "{key}");
    }
}
