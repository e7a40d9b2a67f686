//! `--threads N` bounds the number of computing threads.

use super::ALONE;
use heaplake_support::generated::generated;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// Beginning of the names of the threads of the pool.
const COMPUTING: &str = "compute-";
/// Threads outside the pool may take at most one part in this many of the CPU time: they wait, and pass work on.
const OTHERS: u64 = 10;

/// A thread: its name, and its CPU time in ticks of the kernel when it was last seen.
type Thread = (String, u64);

/// Analyses an input; returns the threads of the process, by number. How many of them are runnable at an instant says
/// little on a machine under load: a thread that ends or passes work on may wait for a core to do so.
fn threads_of(input: &Path, lake: &Path, threads: usize) -> BTreeMap<String, Thread> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_heaplake"))
        .arg("analyze")
        .arg(input)
        .args(["--quiet", "--duplicates", "all", "--force", "--out"])
        .arg(lake)
        .args(["--threads", &threads.to_string()])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let tasks = format!("/proc/{}/task", child.id());
    let mut seen = BTreeMap::new();
    let status = loop {
        for task in fs::read_dir(&tasks).into_iter().flatten().flatten() {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            if let Some(thread) = thread(&stat) {
                seen.insert(task.file_name().into_string().unwrap(), thread);
            }
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        sleep(Duration::from_millis(5));
    };
    assert!(status.success());
    seen
}

/// Name and CPU time in a line of `/proc/PID/task/TID/stat` (proc(5)): fields 2, 14 and 15.
fn thread(stat: &str) -> Option<Thread> {
    let (before, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some((before.split_once('(')?.1.to_owned(), ticks(14)? + ticks(15)?))
}

fn check(input: &Path) {
    let folder = TempDir::new().unwrap();
    for threads in [1, 2, 8] {
        let seen = threads_of(input, &folder.path().join("lake"), threads);
        let (computing, others): (Vec<&Thread>, Vec<&Thread>) =
            seen.values().partition(|(name, _)| name.starts_with(COMPUTING));
        let sum = |threads: &[&Thread]| threads.iter().map(|(_, ticks)| ticks).sum::<u64>();
        assert_eq!(computing.len(), threads, "{seen:?}");
        assert!(sum(&computing) > 20, "too short to be measured: {seen:?}");
        assert!(sum(&others) * OTHERS <= sum(&computing), "{threads}: {seen:?}");
    }
}

#[test]
fn no_more_threads_compute_than_were_asked_for() {
    let _alone = ALONE.lock().unwrap();
    let folder = TempDir::new().unwrap();
    let snapshot = generated(7, 24 << 20);
    let (plain, packed) = (folder.path().join("plain.heapsnapshot"), folder.path().join("packed.heapsnapshot.zst"));
    fs::write(&plain, &snapshot).unwrap();
    fs::write(&packed, zstd::bulk::compress(&snapshot, 1).unwrap()).unwrap();
    check(&plain);
    check(&packed);
}
