//! `--threads N` bounds the number of computing threads.

use super::ALONE;
use heaplake_support::generated::generated;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// At most one sample in this many may have more running threads: the scheduler polls every 10 ms, and the threads of a
/// sample are not read at one instant.
const RARE: usize = 10;
/// At most one sample in this many may have two more or above: a test machine under load stretches the reading.
const VERY_RARE: usize = 100;
/// Samples that may fall into the exit of the process.
const EXITING: usize = 2;

/// Analyses an input; returns the number of running or runnable threads in each sample, except the last ones: when a
/// process exits, the kernel wakes every thread to end it, and each counts as runnable.
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
    samples.truncate(samples.len().saturating_sub(EXITING));
    samples
}

fn check(input: &Path) {
    let folder = TempDir::new().unwrap();
    for threads in [1, 2, 8] {
        let mut samples = samples(input, &folder.path().join("lake"), threads);
        samples.retain(|&running| running > 0);
        assert!(samples.len() > 50, "too short to be measured: {samples:?}");
        for (limit, rare) in [(threads, RARE), (threads + 1, VERY_RARE)] {
            let over = samples.iter().filter(|&&running| running > limit).count();
            assert!(over * rare <= samples.len(), "{threads}: {over} above {limit} of {samples:?}");
        }
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
