//! What the last night changed in a cluster, and what is ordinary.

use crate::shared::{rollup, taken};
use heaplake_support::lake::{Lake, heaplake, read_json, said};
use heaplake_support::leaky::{Leak, snapshot};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// An hour in microseconds.
const HOUR: i64 = 3_600_000_000;

/// Analyses the snapshots of hosts of a release, each healthy or with a leak, taken `hours` after 1970.
fn night(lake: &Lake, release: &str, hours: i64, hosts: &[(&str, Option<Leak>)]) {
    let folder = lake.folder().join(format!("{release}-{hours}"));
    fs::create_dir_all(&folder).unwrap();
    for (at, (host, leak)) in hosts.iter().enumerate() {
        let seed = hours as u64 * 1000 + at as u64;
        fs::write(folder.join(format!("{host}.heapsnapshot")), snapshot(*leak, seed)).unwrap();
    }
    let before = lake.runs();
    let tables = ["--tables", "classes,findings"];
    lake.analyze(&folder).args(["--label", "host={stem}", "--release", release]).args(tables).assert().success();
    let name = |run: &Path| run.file_name().unwrap().to_string_lossy().replacen("snapshot=", "", 1);
    for run in lake.runs().iter().filter(|run| !before.contains(run)) {
        taken(lake, release, &name(run), hours);
    }
}

fn clusters(lake: &Lake) -> Vec<Value> {
    let answer = rollup(&lake.path(), &lake.folder().join("out"), &[]);
    answer["clusters"].as_array().unwrap().clone()
}

const LEAKY: Option<Leak> = Some(Leak::Sessions);

#[test]
fn a_cluster_says_what_the_last_night_changed() {
    let lake = Lake::new();
    let healthy = [("web4", None), ("web5", None), ("web6", None), ("web7", None)];
    let hosts = |leaky: &[&'static str]| -> Vec<(&'static str, Option<Leak>)> {
        let named = ["web0", "web1", "web2"].map(|host| (host, LEAKY.filter(|_| leaky.contains(&host))));
        named.into_iter().chain(healthy).collect()
    };
    // Two hosts leak; then one of them, a new one, and a third that is not there any more.
    night(&lake, "1", 1, &hosts(&["web0", "web1"]));
    let [first] = &clusters(&lake)[..] else { panic!("one cluster") };
    assert_eq!((&first["is_new"], &first["last_night_runs"]), (&Value::Null, &2.into()));
    assert_eq!(first["hosts_come"], Value::Null);
    night(&lake, "1", 23, &[("off", LEAKY)]);
    night(&lake, "1", 24, &hosts(&["web1", "web2"]));
    let cluster = &clusters(&lake)[0];
    assert_eq!((&cluster["is_new"], &cluster["last_night_runs"]), (&false.into(), &2.into()));
    let lists = ["hosts_come", "hosts_gone", "hosts_unseen"].map(|name| cluster[name].to_string());
    assert_eq!(lists, [r#"["web2"]"#, r#"["web0"]"#, r#"["off"]"#]);
    let times = [HOUR, 24 * HOUR];
    assert_eq!(cluster["captured_at_us"], serde_json::json!(times));
    // The night of the newest run is the calendar day, not the last 24 hours.
    let told: Value = read_json(lake.folder().join("out/rollup.json"));
    assert_eq!(told["last_night"], serde_json::json!({"day": "1970-01-02", "runs": 7, "hosts": 7}));
    let text = said(heaplake().args(["fleet", "rollup"]).arg(lake.path()));
    for part in [
        "last night: 1970-01-02 (UTC), the day of the newest run, with 7 runs on 7 hosts\n",
        "first seen 1970-01-01T01:00:00Z, last seen 1970-01-02T00:00:00Z; 2 runs in the last night\n",
        "1 host came: web2\n",
        "1 host went: web0\n",
        "1 host without a run that night: off\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_leak_of_the_last_night_is_new() {
    let lake = Lake::new();
    let hosts = |leak| (0..8).map(move |at| (["a", "b", "c", "d", "e", "f", "g", "h"][at], leak)).collect::<Vec<_>>();
    night(&lake, "1", 1, &hosts(None));
    // All hosts of the release leak now: before, they did not.
    night(&lake, "1", 30, &hosts(LEAKY));
    let clusters = clusters(&lake);
    assert_eq!(clusters.len(), 1, "{clusters:?}");
    assert_eq!((&clusters[0]["is_new"], clusters[0]["hosts"].as_array().unwrap().len()), (&true.into(), 8));
    assert_eq!(clusters[0]["hosts_come"], clusters[0]["hosts"]);
    let text = said(heaplake().args(["fleet", "rollup"]).arg(lake.path()));
    assert!(text.contains("; new in the last night\n"), "{text}");
}

/// Hosts of a fleet, all with the same state.
fn all(leak: Option<Leak>) -> Vec<(&'static str, Option<Leak>)> {
    const HOSTS: [&str; 14] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"];
    HOSTS.map(|host| (host, leak)).to_vec()
}

#[test]
fn what_all_hosts_have_is_no_cluster() {
    let lake = Lake::new();
    // Sessions of every host, of different sizes: the ordinary state of this program.
    night(&lake, "1", 1, &all(LEAKY));
    assert_eq!(clusters(&lake), [] as [Value; 0]);
    night(&lake, "2", 25, &all(LEAKY));
    assert_eq!(clusters(&lake), [] as [Value; 0]);
}

#[test]
fn a_release_in_which_all_hosts_leak_is_a_cluster() {
    let lake = Lake::new();
    night(&lake, "1", 1, &all(None));
    night(&lake, "2", 25, &all(LEAKY));
    let clusters = clusters(&lake);
    assert_eq!(clusters.len(), 1, "{clusters:?}");
    assert_eq!(clusters[0]["releases"].to_string(), r#"["2"]"#);
    assert_eq!((&clusters[0]["is_new"], clusters[0]["runs"].as_array().unwrap().len()), (&true.into(), 14));
}
