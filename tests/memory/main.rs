//! The memory budget limits a run's allocations (counted by an allocator) and all pages that it touches (limited by a
//! memory cgroup).
//!
//! The allocator is the whole process's, so these tests have their own binary.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

mod shapes;
mod soak;
mod threads;

use cap::Cap;
use heaplake::engine::admission::smallest_budget;
use heaplake_support::cgroup::{Cgroup, ROOM};
use heaplake_support::in_process::{Analysis, analyze};
use heaplake_support::planted;
use std::alloc::System;
use std::sync::Mutex;
use tempfile::TempDir;

/// Refuses memory past its limit, which ends the process.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// One test at a time: allocations of others would count.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn allocations_stay_within_the_budget() {
    let _alone = ALONE.lock().unwrap();
    let plan = planted::realistic(5, 60_000_000);
    let folder = TempDir::new().unwrap();
    let (input, lake) = (planted::write(&plan, folder.path()), folder.path().join("lake"));
    for threads in [1, 2, 7] {
        ALLOCATOR.set_limit(ALLOCATOR.allocated() + smallest_budget() as usize).unwrap();
        let outcome = analyze(&lake, &input, Analysis { threads, ..Analysis::default() }).unwrap();
        ALLOCATOR.set_limit(usize::MAX).unwrap();
        planted::compare(&plan, &outcome.place);
    }
}

/// Analyses a planted file of `bytes` bytes with this budget, in a cgroup that allows [`ROOM`] more.
fn in_a_cgroup(bytes: u64, memory: u64) {
    let _alone = ALONE.lock().unwrap();
    let Some(group) = Cgroup::limited_to(memory + ROOM) else {
        return;
    };
    let plan = planted::realistic(6, bytes);
    // On disk: files in memory would count.
    let folder = TempDir::new().unwrap();
    let (input, lake) = (planted::write(&plan, folder.path()), folder.path().join("lake"));
    let output = group
        .heaplake()
        .arg("analyze")
        .arg(&input)
        .args(["--snapshot", "it", "--quiet", "--threads", "2", "--out"])
        .arg(&lake)
        .arg(format!("--memory={memory}"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} at a peak of {} bytes: {text}", output.status, group.peak());
    planted::compare(&plan, &lake.join("release=none/snapshot=it"));
}

#[test]
fn a_memory_cgroup_is_enough() {
    in_a_cgroup(100_000_000, smallest_budget());
}

#[test]
#[ignore = "long"]
fn a_memory_cgroup_is_enough_for_a_large_file() {
    in_a_cgroup(1_500_000_000, 128 << 20);
}
