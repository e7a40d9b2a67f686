//! `--threads N` bounds the number of computing threads.

use super::ALONE;
use super::generated::generated;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// A thread outside the pool counts as computing from 1/20 of the CPU time on. The scheduler polls every 10 ms.
const PART: u64 = 20;

/// Analyses an input; returns the name and CPU time of each thread, by thread id.
fn threads_of(input: &Path, lake: &Path, threads: usize) -> BTreeMap<u32, (String, u64)> {
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
            let Ok(stat) = fs::read_to_string(task.path().join("stat")) else { continue };
            let Some((head, fields)) = stat.rsplit_once(") ") else { continue };
            let Some((id, name)) = head.split_once(" (") else { continue };
            let ticks = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
            seen.insert(id.parse().unwrap(), (name.to_owned(), ticks));
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        sleep(Duration::from_millis(5));
    };
    assert!(status.success());
    seen
}

fn check(input: &Path) {
    let folder = TempDir::new().unwrap();
    for threads in [1, 2, 8] {
        let seen = threads_of(input, &folder.path().join("lake"), threads);
        let all: u64 = seen.values().map(|(_, ticks)| ticks).sum();
        assert!(all > 50, "too short to be measured: {seen:?}");
        let computes = |(name, ticks): &&(String, u64)| name.starts_with("compute-") || ticks * PART > all;
        let computing = seen.values().filter(computes).count();
        assert!((1..=threads).contains(&computing), "{threads}: {seen:?}");
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
