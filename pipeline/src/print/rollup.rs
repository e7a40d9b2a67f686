//! Text of a rollup: its groups, the largest rows of each table, and runs with the same culprit.

use super::subjects::{Lines, NAME, amount};
use super::terminal::Look;
use heaplake_compare::rollup::Answer;
use heaplake_kit::text::{count, visible};
use heaplake_lake::moment;
use heaplake_schemas::diff::is_size;
use heaplake_schemas::rollup::{Brief, Cluster, Conditions, Group, Night, TopRow};

/// Rows of a table.
const ROWS: usize = 5;
/// Clusters listed.
const CLUSTERS: usize = 10;
/// Hosts listed per cluster.
const HOSTS: usize = 5;

/// Text of the rollup.
pub fn text(answer: &Answer, look: &Look) -> String {
    let mut lines = Lines::new(look);
    let groups = &answer.rollup.groups;
    let runs: usize = groups.iter().map(|group| group.runs.len()).sum();
    lines.line(&format!(
        "{} in {} by {}, {} of them new or changed",
        counted(runs, "run"),
        counted(groups.len(), "group"),
        answer.rollup.by.join(" and "),
        answer.updated_groups
    ));
    conditions(&answer.rollup.conditions, &mut lines);
    if let Some(Night { day, runs, hosts }) = &answer.rollup.last_night {
        let on = if *hosts == 0 { String::new() } else { format!(" on {}", counted(*hosts, "host")) };
        lines.line(&format!("last night: {day} (UTC), the day of the newest run, with {}{on}", counted(*runs, "run")));
    }
    if !answer.rollup.clusters.is_empty() {
        lines.line(&format!("\n{}", look.painted("runs with the same culprit", "1")));
    }
    answer.rollup.clusters.iter().take(CLUSTERS).for_each(|of| cluster(of, &mut lines));
    for rows in answer.tables() {
        let Some((_, first, _)) = rows.first() else { continue };
        let heading = lines.heading(&first.table, None, &format!("the {} of all runs", first.measure));
        lines.line(&format!("\n{heading}"));
        rows.iter().take(ROWS).for_each(|(group, brief, row)| subject(group, brief, row, &mut lines));
    }
    lines.remarks(&answer.rollup.remarks);
    lines.out
}

fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// The conditions on the runs.
fn conditions(of: &Conditions, lines: &mut Lines<'_>) {
    if of.is_empty() {
        return;
    }
    let times = [("since", &of.since), ("before", &of.before)];
    let times = times.into_iter().filter_map(|(word, time)| Some(format!("{word} {}", time.as_ref()?)));
    let releases = of.releases.iter().map(|release| format!("release {release}"));
    let labels = of.labels.iter().map(|label| format!("label {label}"));
    let all: Vec<String> = times.chain(releases).chain(labels).collect();
    lines.line(&format!("only runs: {}", visible(&all.join(", "))));
}

fn cluster(cluster: &Cluster, lines: &mut Lines<'_>) {
    let hosts = match cluster.hosts.len() {
        0 => String::new(),
        hosts => format!(" on {}", counted(hosts, "host")),
    };
    let ending = format!("  {}{hosts}", counted(cluster.runs.len(), "run"));
    lines.subject((&amount(true, cluster.median_bytes), Some("31")), "", &cluster.signature, &ending);
    if !cluster.hosts.is_empty() {
        let more = if cluster.hosts.len() > HOSTS { ", ..." } else { "" };
        let named: Vec<&str> = cluster.hosts.iter().take(HOSTS).map(String::as_str).collect();
        let named = lines.look.fit(&format!("{}{more}", named.join(", ")), 15, NAME);
        lines.line(&format!("               {named}"));
    }
    nights(cluster, lines);
}

/// When a cluster was seen, and what the last night changed in it.
fn nights(of: &Cluster, lines: &mut Lines<'_>) {
    let Some([first, last]) = of.captured_at_us.map(|seen| seen.map(moment::text)) else { return };
    let new = match of.is_new {
        Some(true) => "new in the last night".to_owned(),
        _ => format!("{} in the last night", counted(of.last_night_runs, "run")),
    };
    let new = lines.look.painted(&new, if of.is_new == Some(true) { "31" } else { "0" });
    lines.line(&format!("               first seen {first}, last seen {last}; {new}"));
    for (words, hosts) in
        [("came", &of.hosts_come), ("went", &of.hosts_gone), ("without a run that night", &of.hosts_unseen)]
    {
        if !hosts.is_empty() {
            let more = if hosts.len() > HOSTS { ", ..." } else { "" };
            let named: Vec<&str> = hosts.iter().take(HOSTS).map(String::as_str).collect();
            let text = format!("{} {words}: {}{more}", counted(hosts.len(), "host"), named.join(", "));
            let text = lines.look.fit(&text, 15, NAME);
            lines.line(&format!("               {text}"));
        }
    }
}

fn subject(group: &Group, brief: &Brief, row: &TopRow, lines: &mut Lines<'_>) {
    let is_size = is_size(&brief.table, &brief.measure);
    let amount = |number: i64| amount(is_size, number);
    let of = group.release.as_deref().map_or_else(String::new, |release| format!(" of {}", visible(release)));
    let ending = format!("  median {}, {} of {} runs{of}", amount(row.p50), row.runs_with, brief.runs);
    lines.subject((&amount(row.sum), None), "", &row.signature, &ending);
}
