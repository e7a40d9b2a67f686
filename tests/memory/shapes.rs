//! Heaps of extreme shapes in the smallest budget, in a memory cgroup slightly above it: each is analysed, or refused
//! with a budget that then suffices.

use super::ALONE;
use super::cgroup::{Cgroup, ROOM};
use heaplake::engine::admission::smallest_budget;
use heaplake_generator::shapes::{SHAPES, Shape};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

fn analyse(input: &Path, lake: &Path, memory: u64, group: &Cgroup) -> Output {
    group
        .heaplake()
        .arg("analyze")
        .arg(input)
        .args(["--snapshot", "it", "--quiet", "--threads", "2", "--duplicates", "all", "--force", "--out"])
        .arg(lake)
        .arg(format!("--memory={memory}"))
        .output()
        .unwrap()
}

/// The budget that a refusal names.
fn suggested(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("raise --memory to at least ")?;
    rest.split_once("MiB")?.0.parse::<u64>().ok().map(|mebibytes| mebibytes << 20)
}

fn check(shape: &Shape, nodes: u64) {
    // On disk: files in memory would count.
    let folder = TempDir::new().unwrap();
    let (input, lake) = (folder.path().join(format!("it.{}", shape.ending)), folder.path().join("lake"));
    let mut to = BufWriter::new(File::create(&input).unwrap());
    shape.write(nodes, &mut to).unwrap();
    to.flush().unwrap();
    let mut memory = smallest_budget();
    for attempt in 0.. {
        let Some(group) = Cgroup::limited_to(memory + ROOM) else { return };
        let output = analyse(&input, &lake, memory, &group);
        let text = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return assert!(lake.join("release=none/snapshot=it/run.json").exists());
        }
        let told = format!("{}, {memory} bytes, {}, peak {}: {text}", shape.name, output.status, group.peak());
        assert!(output.status.code() == Some(3) && attempt == 0, "{told}");
        memory = suggested(&text).expect(&told);
    }
}

fn check_all(nodes: u64) {
    let _alone = ALONE.lock().unwrap();
    if Cgroup::limited_to(smallest_budget()).is_none() {
        return;
    }
    SHAPES.iter().for_each(|shape| check(shape, nodes));
}

#[test]
fn extreme_shapes_stay_within_the_budget() {
    check_all(100_000);
}

#[test]
#[ignore = "long"]
fn large_extreme_shapes_stay_within_the_budget() {
    check_all(1_000_000);
}
