//! The memory budget holds for what a run allocates (counted by an allocator) and for all that it touches (limited by a
//! memory cgroup).
//!
//! The allocator is that of the whole process, so these tests have a binary of their own.

#![expect(clippy::unwrap_used, reason = "tests and their helpers may fail loudly")]

#[path = "../support/in_process.rs"]
mod in_process;
#[path = "../support/planted.rs"]
mod planted;
#[expect(dead_code, reason = "`planted` reads columns of numbers and texts only")]
#[path = "../support/table.rs"]
mod table;
mod trace_shapes;

mod shapes;

use cap::Cap;
use heaplake::engine::admission::smallest_budget;
use in_process::{Analysis, analyze};
use std::alloc::System;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use tempfile::TempDir;

/// Refuses memory past its limit; then the process ends.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// One test at a time: what the others allocate would count.
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

/// A memory cgroup of its own for a process, gone in the end.
struct Cgroup {
    folder: PathBuf,
    /// File of the most memory that was in use.
    peak: &'static str,
}

impl Cgroup {
    /// A group below that of this process, if the machine lets us make one.
    fn limited_to(bytes: u64) -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, own) = (parts.next()?, parts.next()?.trim_start_matches('/'));
            let (root, limit, peak) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max", "memory.peak"),
                "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
                _ => return None,
            };
            let folder = Path::new(root).join(own).join(format!("heaplake-test-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            let group = Self { folder, peak };
            fs::write(group.folder.join(limit), bytes.to_string()).ok()?;
            Some(group)
        })
    }

    fn peak(&self) -> String {
        fs::read_to_string(self.folder.join(self.peak)).unwrap_or_default().trim().to_owned()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Analyses a planted file of so many bytes with this budget, in a cgroup that allows a quarter more.
fn in_a_cgroup(bytes: u64, memory: u64) {
    let _alone = ALONE.lock().unwrap();
    let Some(group) = Cgroup::limited_to(memory / 4 * 5) else {
        eprintln!("SKIPPED: this machine does not let a test make a memory cgroup");
        return;
    };
    let plan = planted::realistic(6, bytes);
    // On disk: what lies in memory would count.
    let folder = TempDir::new().unwrap();
    let (input, lake) = (planted::write(&plan, folder.path()), folder.path().join("lake"));
    let output = Command::new("sh")
        .args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""])
        .arg(&group.folder)
        .arg(env!("CARGO_BIN_EXE_heaplake"))
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
