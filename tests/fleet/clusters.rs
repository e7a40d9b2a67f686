//! Clusters: each of five planted leaks is one, and no healthy snapshot is in any.

use crate::shared::rollup;
use heaplake_support::lake::{Lake, read_json};
use heaplake_support::leaky::{Leak, snapshot};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Analyses `count` snapshots, half of them healthy, and checks the clusters.
fn clusters_of(count: usize) {
    let lake = Lake::new();
    let inputs = lake.folder().join("inputs");
    fs::create_dir_all(&inputs).unwrap();
    let leak_of = |at: usize| (at % 2 == 1).then(|| Leak::ALL[at / 2 % Leak::ALL.len()]);
    for at in 0..count {
        let leak = leak_of(at).map_or("healthy".to_owned(), |leak| format!("{leak:?}"));
        fs::write(inputs.join(format!("{leak}-{at}.heapsnapshot")), snapshot(leak_of(at), at as u64)).unwrap();
    }
    lake.analyze(&inputs).args(["--label", "host={stem}"]).assert().success();
    let answer = rollup(&lake.path(), &lake.folder().join("out"), &[]);
    let host = |run: &PathBuf| -> String {
        let told: serde_json::Value = read_json(run.join("run.json"));
        told["options"]["labels"]["host"].to_string()
    };
    let hosts: BTreeSet<_> = lake.runs().iter().map(host).collect();
    assert_eq!(hosts.len(), count, "each has a host of its own");
    let clusters = answer["clusters"].as_array().unwrap();
    let mut seen = BTreeSet::new();
    for cluster in clusters {
        let signature = cluster["signature"].as_str().unwrap();
        let leak = Leak::ALL.into_iter().find(|leak| signature.contains(leak.path()));
        let leak = leak.unwrap_or_else(|| panic!("{signature}: no planted leak"));
        assert!(seen.insert(leak), "{signature}: a second cluster of {leak:?}");
        let runs: BTreeSet<String> =
            cluster["runs"].as_array().unwrap().iter().map(|run| run.as_str().unwrap().to_owned()).collect();
        let expected = (0..count).filter(|&at| leak_of(at) == Some(leak)).count();
        assert_eq!(runs.len(), expected, "{signature}: {runs:?}");
        assert!(runs.iter().all(|run| run.contains(&format!("{leak:?}-"))), "{signature}: {runs:?}");
    }
    assert_eq!(seen.len(), Leak::ALL.len(), "{clusters:?}");
}

#[test]
fn each_leak_is_a_cluster() {
    clusters_of(30);
}

#[test]
#[ignore = "300 snapshots"]
fn each_leak_of_a_fleet_is_a_cluster() {
    clusters_of(300);
}
