//! Many files in one call, good, bad and huge, in a memory cgroup: memory and file handles stay flat, every bad file is
//! reported, every good one is in the lake.

use crate::ALONE;
use heaplake_support::cgroup::{Cgroup, ROOM};
use heaplake_support::{fixtures, generated};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

/// Resources of a process after an input, or slightly later.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Bytes of anonymous memory: the kernel drops pages of files on demand.
    bytes: u64,
    handles: u64,
}

impl Held {
    fn of(process: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
        let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        let handles = fs::read_dir(format!("/proc/{process}/fd")).ok()?.count() as u64;
        Some(Self { bytes: kibibytes << 10, handles })
    }
}

/// Bad files of each kind, named by their defect.
fn bad() -> Vec<(&'static str, Vec<u8>)> {
    let v8 = fixtures::content("v8/resources20.heapsnapshot");
    let java = fixtures::content("jvm/weakfix.hprof");
    let zeros = |mut bytes: Vec<u8>| {
        let half = bytes.len() / 2;
        bytes[half..half + 4096].fill(0);
        bytes
    };
    let packed = zstd::encode_all(v8.as_slice(), 1).unwrap();
    vec![
        ("cut.heapsnapshot", v8[..v8.len() / 3].to_vec()),
        ("zeros.heapsnapshot", zeros(v8.clone())),
        ("empty.heapsnapshot", Vec::new()),
        ("text.heapsnapshot", b"this is no snapshot".to_vec()),
        ("json.heapsnapshot", b"{\"snapshot\": {}}".to_vec()),
        ("cut.heapsnapshot.zst", packed[..packed.len() / 2].to_vec()),
        ("nothing.heapsnapshot.gz", vec![0x1f, 0x8b, 8, 0]),
        ("cut.hprof", java[..java.len() / 2].to_vec()),
        ("header.hprof", b"JAVA PROFILE 1.0.2\0".to_vec()),
        ("noise.gcdump", (0..5000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()),
    ]
}

/// Writes `number` files, one in ten bad, a few huge; returns the names of the good and of the bad ones.
fn files(folder: &Path, number: usize, huge: u64) -> [BTreeSet<String>; 2] {
    let good = [
        ("a.heapsnapshot", fixtures::content("v8/resources20.heapsnapshot")),
        ("b.heapsnapshot", generated::generated(3, 400_000)),
        ("c.heapsnapshot.zst", zstd::encode_all(generated::generated(4, 900_000).as_slice(), 1).unwrap()),
        ("d.heapsnapshot", fixtures::content("v8/steps_base.heapsnapshot")),
        ("e.hprof", fixtures::content("jvm/headers-narrow.hprof")),
    ];
    let (bad, large) = (bad(), generated::generated(5, huge));
    let every = number / 5;
    let mut names = [BTreeSet::new(), BTreeSet::new()];
    for at in 0..number {
        let (kind, (ending, content)) = match at {
            at if at % every == every / 2 => (0, ("huge.heapsnapshot", &large)),
            at if at % 10 == 7 => (1, (bad[at / 10 % bad.len()].0, &bad[at / 10 % bad.len()].1)),
            at => (0, (good[at % good.len()].0, &good[at % good.len()].1)),
        };
        let name = format!("{at:04}-{ending}");
        fs::write(folder.join(&name), content).unwrap();
        names[kind].insert(name);
    }
    names
}

fn soak(number: usize, huge: u64, memory: u64) {
    let _alone = ALONE.lock().unwrap();
    let Some(group) = Cgroup::limited_to(memory + ROOM) else { return };
    // On disk: files in memory would count.
    let folder = TempDir::new().unwrap();
    let (night, lake) = (folder.path().join("night"), folder.path().join("lake"));
    fs::create_dir(&night).unwrap();
    let [good, bad] = files(&night, number, huge);
    let mut command = group.heaplake();
    command.arg("analyze").arg(&night).arg("--out").arg(&lake).args(["--log-format", "json", "--threads", "2"]);
    command.arg(format!("--memory={memory}")).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let (mut held, mut reported, mut last) = (Vec::new(), Vec::new(), Value::Null);
    for line in BufReader::new(process.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        match event["event"].as_str().unwrap_or_default() {
            "committed" | "failed" => held.extend(Held::of(process.id())),
            _ => {}
        }
        if event["event"] == "failed" {
            reported.push(event["cause"].as_str().unwrap().to_owned());
        }
        last = event;
    }
    let status = process.wait().unwrap();
    assert_eq!(status.code(), Some(1), "{status} at a peak of {} bytes, after {last}", group.peak());
    for name in &bad {
        assert!(reported.iter().any(|cause| cause.contains(name)), "{name} is not reported: {reported:?}");
    }
    assert_eq!(reported.len(), bad.len(), "{reported:?}");
    assert_eq!(last["committed"].as_u64(), Some(good.len() as u64), "{last}");
    let runs = fs::read_dir(lake.join("release=none")).unwrap().flatten().map(|run| run.file_name());
    let runs: Vec<String> = runs.map(|name| name.to_string_lossy().into_owned()).collect();
    for name in &good {
        let stem = name.split_once('.').unwrap().0;
        let begins = format!("snapshot={stem}-");
        assert_eq!(runs.iter().filter(|run| run.starts_with(&begins)).count(), 1, "{name}");
    }
    flat(&held);
    eprintln!("{number} files: peak {} bytes, held {:?} to {:?}", group.peak(), held.first(), held.last());
}

/// The minimum of the last third of the batch equals that of the first. Minima, since the process continues with the
/// next input while it is observed.
fn flat(held: &[Held]) {
    let third = held.len() / 3;
    let (first, last) = (&held[..third], &held[held.len() - third..]);
    let [before, after] = [first, last].map(|part| part.iter().map(|held| held.bytes).min().unwrap());
    assert!(after <= before + (8 << 20), "{before}, later {after} bytes are resident");
    let [before, after] = [first, last].map(|part| part.iter().map(|held| held.handles).min().unwrap());
    assert!(after <= before + 2, "{before}, later {after} handles are open");
}

#[test]
fn a_night_of_mixed_files() {
    soak(50, 12_000_000, 128 << 20);
}

#[test]
#[ignore = "long"]
fn a_thousand_mixed_files() {
    soak(1000, 400_000_000, (1 << 30) - ROOM);
}
