//! Text of a rollup: its groups, the largest rows of each table, and runs with the same culprit.

use super::subjects::{Lines, NAME, amount};
use super::terminal::Look;
use heaplake_compare::rollup::Answer;
use heaplake_kit::text::{count, visible};
use heaplake_schemas::diff::is_size;
use heaplake_schemas::rollup::{Brief, Cluster, Group, TopRow};

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
}

fn subject(group: &Group, brief: &Brief, row: &TopRow, lines: &mut Lines<'_>) {
    let is_size = is_size(&brief.table, &brief.measure);
    let amount = |number: i64| amount(is_size, number);
    let of = group.release.as_deref().map_or_else(String::new, |release| format!(" of {}", visible(release)));
    let ending = format!("  median {}, {} of {} runs{of}", amount(row.p50), row.runs_with, brief.runs);
    lines.subject((&amount(row.sum), None), "", &row.signature, &ending);
}
