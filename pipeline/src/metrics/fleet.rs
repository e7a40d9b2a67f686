//! Metrics of a rollup.

use super::Metrics;
use heaplake_schemas::rollup::{Cluster, Group, Rollup};
use std::collections::{BTreeMap, BTreeSet};

/// Renders the metrics at a time in seconds since 1970.
pub(crate) fn text(rollup: &Rollup, now: f64) -> String {
    let mut out = Metrics::default();
    let names = names(rollup.groups.iter().flat_map(|group| group.labels.keys()));
    let groups = rollup.groups.iter().map(|group| (labels(group, &names), group)).collect::<Vec<_>>();
    let mut family = |name: &str, help: &str, unit: &str, of: &dyn Fn(&Group) -> u64| {
        out.family(name, help, unit);
        groups.iter().for_each(|(labels, group)| out.sample(name, labels, of(group)));
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
    let new = "1 if all its runs are of the last night, and there are runs before.";
    clusters("heaplake_fleet_cluster_new", new, "", &|cluster| i64::from(cluster.is_new == Some(true)));
    out.one("heaplake_fleet_missed_runs", "Runs of the lake that could not be read.", "", rollup.missed.len());
    out.one("heaplake_fleet_end_timestamp_seconds", "When the rollup was made.", "seconds", now);
    out.end()
}

/// OpenMetrics names of the labels of runs: one name per label in all groups, all distinct. Where labels differ only in
/// characters that OpenMetrics lacks, the second in alphabetical order ends in `_2`.
fn names<'a>(labels: impl Iterator<Item = &'a String>) -> BTreeMap<&'a str, String> {
    let labels: BTreeSet<&str> = labels.map(String::as_str).collect();
    let plain = |label: &str| format!("label_{}", label.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let mut taken = BTreeSet::new();
    // A label that is already a valid name keeps it, whatever comes before.
    let (kept, changed): (Vec<&str>, Vec<&str>) =
        labels.iter().copied().partition(|label: &&str| plain(label)["label_".len()..] == **label);
    let name = |label: &&'a str| {
        let plain = plain(label);
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let name = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name));
        let name = name.unwrap_or_default();
        taken.insert(name.clone());
        (*label, name)
    };
    kept.iter().chain(&changed).map(name).collect()
}

/// Labels that the runs of a group share.
fn labels<'a>(group: &'a Group, names: &'a BTreeMap<&str, String>) -> Vec<(&'a str, &'a str)> {
    let own = [("format", Some(&*group.format)), ("release", group.release.as_deref())];
    let own = own.into_iter().filter_map(|(name, value)| Some((name, value?)));
    // OpenMetrics treats a label without a value as absent.
    let value = |value: &'a String| if value.is_empty() { "(empty)" } else { value.as_str() };
    let named = |(label, text)| Some((names.get(String::as_str(label))?.as_str(), value(text)));
    own.chain(group.labels.iter().filter_map(named)).collect()
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
            "heaplake_fleet_missed_runs 0",
            "heaplake_fleet_cluster_median_bytes{format=\"\",fingerprint=\"\",signature=\"s\"} 7",
        ] {
            assert!(text.lines().any(|line| line == sample), "{sample}: {text}");
        }
    }
    #[test]
    fn labels_that_differ_in_other_characters_have_names_of_their_own() {
        let of = |labels: &[&str]| {
            let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
            names(labels.iter()).into_values().collect::<Vec<_>>().join(" ")
        };
        // In byte order: `-` < `.` < `_`.
        assert_eq!(of(&["a_b", "a-b", "a.b"]), "label_a_b_2 label_a_b_3 label_a_b");
        assert_eq!(of(&["a-b", "a_b", "a_b_2", "c"]), "label_a_b_3 label_a_b label_a_b_2 label_c");
        let group = |value: &str| Group {
            labels: [("a-b".to_owned(), value.to_owned()), ("a_b".to_owned(), "y".to_owned())].into(),
            ..Group::default()
        };
        let text = text(&Rollup { groups: vec![group("x")], ..Rollup::default() }, 1.0);
        let sample = "heaplake_fleet_runs{format=\"\",label_a_b_2=\"x\",label_a_b=\"y\"} 0";
        assert!(text.lines().any(|line| line == sample), "{text}");
    }
}
