//! What a rollup found.

use super::Metrics;
use heaplake_schemas::rollup::{Cluster, Group, Rollup};
use std::collections::BTreeSet;

/// The text, as of a time in seconds since 1970.
#[must_use]
pub fn text(rollup: &Rollup, now: f64) -> String {
    let mut out = Metrics::default();
    let groups: Vec<(Vec<(String, &str)>, &Group)> = rollup.groups.iter().map(|group| (labels(group), group)).collect();
    let mut family = |name: &str, help: &str, unit: &str, of: &dyn Fn(&Group) -> u64| {
        out.family(name, help, unit);
        for (labels, group) in &groups {
            let labels: Vec<(&str, &str)> = labels.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            out.sample(name, &labels, of(group));
        }
    };
    family("heaplake_fleet_runs", "Runs by group.", "", &|group| group.runs.len() as u64);
    family("heaplake_fleet_hosts", "Values of the label host among the runs.", "", &|group| {
        group.runs.iter().filter_map(|run| run.host.as_deref()).collect::<BTreeSet<&str>>().len() as u64
    });
    family("heaplake_fleet_largest_bytes", "Size of the largest heap.", "bytes", &|group| {
        group.runs.iter().map(|run| run.bytes).max().unwrap_or(0)
    });
    family("heaplake_fleet_high_findings_runs", "Runs with a finding of high severity.", "", &|group| {
        group.runs.iter().filter(|run| run.findings[0] > 0).count() as u64
    });
    let mut clusters = |name: &str, help: &str, unit: &str, of: &dyn Fn(&Cluster) -> i64| {
        out.family(name, help, unit);
        for cluster in &rollup.clusters {
            let labels = [
                ("format", &*cluster.format),
                ("fingerprint", &*cluster.fingerprint),
                ("signature", &*cluster.signature),
            ];
            out.sample(name, &labels, of(cluster));
        }
    };
    clusters("heaplake_fleet_cluster_runs", "Runs with the same culprit.", "", &|cluster| cluster.runs.len() as i64);
    clusters("heaplake_fleet_cluster_hosts", "Hosts of these runs.", "", &|cluster| cluster.hosts.len() as i64);
    clusters("heaplake_fleet_cluster_median_bytes", "Median of what it holds in them.", "bytes", &|cluster| {
        cluster.median_bytes
    });
    out.one("heaplake_fleet_end_timestamp_seconds", "When the rollup was made.", "seconds", now);
    out.end()
}

/// What the runs of a group have in common. Names of their labels are made names of OpenMetrics.
fn labels(group: &Group) -> Vec<(String, &str)> {
    let own = [("format", Some(&*group.format)), ("release", group.release.as_deref())];
    let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let named = |name: &str| format!("label_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    own.chain(group.labels.iter().map(|(name, value)| (named(name), value.as_str()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::check_families;
    use heaplake_schemas::rollup::RolledRun;

    #[test]
    fn groups_and_clusters_are_labelled() {
        let run = |host: &str, bytes| RolledRun { host: Some(host.to_owned()), bytes, ..RolledRun::default() };
        let group = Group {
            format: "v8".to_owned(),
            release: Some("7.1".to_owned()),
            labels: [("region".to_owned(), "eu".to_owned())].into(),
            runs: vec![run("a", 5), run("a", 9)],
            ..Group::default()
        };
        let cluster = Cluster { signature: "s".to_owned(), median_bytes: 7, ..Cluster::default() };
        let rollup = Rollup { groups: vec![group], clusters: vec![cluster], ..Rollup::default() };
        let text = text(&rollup, 1.0);
        check_families(&text);
        for sample in [
            "heaplake_fleet_runs{format=\"v8\",release=\"7.1\",label_region=\"eu\"} 2",
            "heaplake_fleet_hosts{format=\"v8\",release=\"7.1\",label_region=\"eu\"} 1",
            "heaplake_fleet_largest_bytes{format=\"v8\",release=\"7.1\",label_region=\"eu\"} 9",
            "heaplake_fleet_cluster_median_bytes{format=\"\",fingerprint=\"\",signature=\"s\"} 7",
        ] {
            assert!(text.lines().any(|line| line == sample), "{sample}: {text}");
        }
    }
}
