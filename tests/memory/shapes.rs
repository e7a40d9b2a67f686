//! Heaps, traces and Java dumps of extreme shapes in the smallest budget, in a memory cgroup slightly above it: each is
//! read, or refused with a budget that then suffices.

use super::ALONE;
use heaplake::engine::admission::smallest_budget;
use heaplake_generator::{shapes, trace_shapes};
use heaplake_support::cgroup::{Cgroup, ROOM};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::Command;
use tempfile::TempDir;

/// The budget that a refusal names.
fn suggested(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("raise --memory to at least ")?;
    rest.split_once("MiB")?.0.parse::<u64>().ok().map(|mebibytes| mebibytes << 20)
}

/// Checks a file with this name; `read` adds the subcommand and its options.
fn check(name: &str, write: impl Fn(&mut BufWriter<File>) -> io::Result<()>, read: impl Fn(&mut Command)) {
    if Cgroup::limited_to(smallest_budget()).is_none() {
        return;
    }
    // On disk: files in memory would count.
    let folder = TempDir::new().unwrap();
    let (input, lake) = (folder.path().join(name), folder.path().join("lake"));
    let mut to = BufWriter::new(File::create(&input).unwrap());
    write(&mut to).unwrap();
    to.flush().unwrap();
    let mut memory = smallest_budget();
    for attempt in 0.. {
        let Some(group) = Cgroup::limited_to(memory + ROOM) else { return };
        let mut command = group.heaplake();
        read(&mut command);
        command.arg(&input).args(["--snapshot", "it", "--quiet", "--threads", "2", "--force", "--out"]).arg(&lake);
        let output = command.arg(format!("--memory={memory}")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            return assert!(lake.join("release=none/snapshot=it/run.json").exists());
        }
        let told = format!("{name}, {memory} bytes, {}, peak {}: {text}", output.status, group.peak());
        assert!(output.status.code() == Some(3) && attempt == 0, "{told}");
        memory = suggested(&text).expect(&told);
    }
}

fn check_heaps(nodes: u64) {
    let _alone = ALONE.lock().unwrap();
    for shape in shapes::SHAPES {
        let name = format!("{}.{}", shape.name, shape.ending);
        let read = |command: &mut Command| {
            command.args(["analyze", "--duplicates", "all"]);
        };
        check(&name, |to| shape.write(nodes, to), read);
    }
}

fn check_traces(events: u64) {
    let _alone = ALONE.lock().unwrap();
    for shape in trace_shapes::SHAPES {
        let name = format!("{}.{}", shape.name, shape.ending);
        let read = |command: &mut Command| {
            command.arg(shape.command);
            if shape.command == "replay" {
                command.args(["--sample-interval=1", "--pprof", "--collapsed"]);
            }
        };
        check(&name, |to| shape.write(events, to), read);
    }
}

#[test]
fn extreme_shapes_stay_within_the_budget() {
    check_heaps(100_000);
}

#[test]
#[ignore = "long"]
fn large_extreme_shapes_stay_within_the_budget() {
    check_heaps(1_000_000);
}

#[test]
fn extreme_traces_stay_within_the_budget() {
    check_traces(50_000);
}

#[test]
#[ignore = "long"]
fn large_extreme_traces_stay_within_the_budget() {
    check_traces(1_000_000);
}
