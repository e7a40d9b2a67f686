//! `--threads N` bounds the number of computing threads.

use super::ALONE;
use heaplake_support::generated::generated;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// At most one sample in this many may have one running thread more, and none may have two more: the scheduler polls
/// every 10 ms, and the threads of a sample are not read at one instant.
const RARE: usize = 10;

/// Analyses an input; returns the number of running or runnable threads in each sample.
fn samples(input: &Path, lake: &Path, threads: usize) -> Vec<usize> {
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
    let mut samples = Vec::new();
    let status = loop {
        let stats = fs::read_dir(&tasks).into_iter().flatten().flatten();
        let is_running = |stat: &String| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'));
        let stats = stats.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
        samples.push(stats.filter(is_running).count());
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        sleep(Duration::from_millis(5));
    };
    assert!(status.success());
    samples
}

fn check(input: &Path) {
    let folder = TempDir::new().unwrap();
    for threads in [1, 2, 8] {
        let mut samples = samples(input, &folder.path().join("lake"), threads);
        samples.retain(|&running| running > 0);
        let over = samples.iter().filter(|&&running| running > threads).count();
        assert!(samples.len() > 50, "too short to be measured: {samples:?}");
        assert!(samples.iter().all(|&running| running <= threads + 1), "{threads}: {samples:?}");
        assert!(over * RARE <= samples.len(), "{threads}: {over} of {samples:?}");
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
