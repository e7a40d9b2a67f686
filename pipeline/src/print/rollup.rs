//! Text of a rollup: its groups, the largest rows of each table, and runs with the same culprit.

use super::terminal::Look;
use heaplake_compare::rollup::Answer;
use heaplake_kit::text::{count, size, visible};
use heaplake_schemas::diff::is_size;
use heaplake_schemas::rollup::{Brief, Cluster, Group, TopRow};
use std::fmt::Write;

/// Rows of a table.
const ROWS: usize = 5;
/// Clusters listed.
const CLUSTERS: usize = 10;
/// Hosts listed per cluster.
const HOSTS: usize = 5;
/// Maximum characters of a name in a line of any length.
const NAME: usize = 100;

/// Text of the rollup.
pub fn text(answer: &Answer, look: &Look) -> String {
    let mut out = String::new();
    let groups = &answer.rollup.groups;
    let runs: usize = groups.iter().map(|group| group.runs.len()).sum();
    // Writing into a string cannot fail.
    let _ = writeln!(
        out,
        "{} in {} by {}, {} of them new or changed",
        counted(runs, "run"),
        counted(groups.len(), "group"),
        answer.rollup.by.join(" and "),
        answer.updated_groups
    );
    if !answer.rollup.clusters.is_empty() {
        let _ = writeln!(out, "\n{}", look.painted("runs with the same culprit", "1"));
    }
    for cluster in answer.rollup.clusters.iter().take(CLUSTERS) {
        let _ = self::cluster(cluster, look, &mut out);
    }
    for rows in answer.tables() {
        let _ = brief(&rows, look, &mut out);
    }
    for remark in &answer.rollup.remarks {
        let _ = writeln!(out, "\n{}", look.wrap(remark, 0, 0));
    }
    out
}

fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

fn cluster(cluster: &Cluster, look: &Look, out: &mut String) -> std::fmt::Result {
    let median = look.painted(&format!("{:>11}", size(cluster.median_bytes.unsigned_abs())), "31");
    let hosts = match cluster.hosts.len() {
        0 => String::new(),
        hosts => format!(" on {}", counted(hosts, "host")),
    };
    let ending = format!("  {}{hosts}", counted(cluster.runs.len(), "run"));
    let used = 2 + 11 + 2 + ending.chars().count();
    writeln!(out, "  {median}  {}{ending}", look.fit(&cluster.signature, used, NAME))?;
    if !cluster.hosts.is_empty() {
        let more = if cluster.hosts.len() > HOSTS { ", ..." } else { "" };
        let named: Vec<&str> = cluster.hosts.iter().take(HOSTS).map(String::as_str).collect();
        writeln!(out, "               {}", look.fit(&format!("{}{more}", named.join(", ")), 15, NAME))?;
    }
    Ok(())
}

fn brief(rows: &[(&Group, &Brief, &TopRow)], look: &Look, out: &mut String) -> std::fmt::Result {
    let Some((_, first, _)) = rows.first() else { return Ok(()) };
    let what = first.table.trim_start_matches("rollup_").replace('_', " ");
    writeln!(out, "\n{} by the {} of all runs", look.painted(&what, "1"), first.measure)?;
    rows.iter().take(ROWS).try_for_each(|(group, brief, row)| line(group, brief, row, look, out))
}

fn line(group: &Group, brief: &Brief, row: &TopRow, look: &Look, out: &mut String) -> std::fmt::Result {
    let amount = |number: i64| match is_size(&brief.table, &brief.measure) {
        true => size(number.unsigned_abs()),
        false => count(number.unsigned_abs()),
    };
    let of = group.release.as_deref().map_or_else(String::new, |release| format!(" of {}", visible(release)));
    let ending = format!("  median {}, {} of {} runs{of}", amount(row.p50), row.runs_with, brief.runs);
    let used = 2 + 11 + 2 + ending.chars().count();
    let sum = format!("{:>11}", amount(row.sum));
    writeln!(out, "  {sum}  {}{ending}", look.fit(&row.signature, used, NAME))
}
