//! A run in brief, for people.

use super::replay_summary;
use heaplake_kit::text::{count, shorten, size};
use heaplake_schemas::findings::Finding;
use heaplake_schemas::run::{DuplicateSummary, LargeObject, PATH_HEAD, Run, Step, Table};
use std::fmt::Write;
use std::path::Path;

/// The summary of the run in this folder, as text.
#[must_use]
pub fn text(run: &Run, place: &Path) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = match &run.replay {
        Some(replay) => replay_summary::write(run, replay, &mut out),
        None => write(run, &mut out),
    };
    let _ = ending(run, place, &mut out);
    out
}

fn write(run: &Run, out: &mut String) -> std::fmt::Result {
    let summary = &run.summary;
    writeln!(out, "{}  (release {}, {}, {})", run.snapshot, run.release, summary.format, size(run.input_bytes))?;
    writeln!(out)?;
    for (value, what) in [
        (count(summary.node_count), "nodes".to_owned()),
        (count(summary.edge_count), "edges".to_owned()),
        (count(summary.class_count), "classes".to_owned()),
        (count(summary.string_count), "strings".to_owned()),
        (size(summary.shallow_bytes), "in all nodes".to_owned()),
    ] {
        writeln!(out, "  {value:>14}  {what}")?;
    }
    if let Some(native) = summary.native_bytes {
        writeln!(out, "  {:>14}  of native memory", size(native))?;
    }
    if summary.unreachable_count > 0 {
        let (nodes, bytes) = (count(summary.unreachable_count), size(summary.unreachable_bytes));
        writeln!(out, "  {nodes:>14}  nodes are unreachable ({bytes})")?;
    }
    if let Some(left_out) = &summary.partial {
        writeln!(out, "\nPARTIAL: the input is damaged; this leaves out {left_out}")?;
    }
    for remark in &summary.remarks {
        writeln!(out, "  {:>14}  {remark}", "note:")?;
    }
    if summary.detached_count > 0 {
        writeln!(out, "  {:>14}  DOM nodes are detached", count(summary.detached_count))?;
    }
    writeln!(out, "\nLargest classes by retained size\n")?;
    writeln!(out, "  {:>12} {:>12} {:>12}  class", "retained", "shallow", "count")?;
    for class in &summary.classes {
        let (retained, shallow) = (size(class.retained_bytes), size(class.shallow_bytes));
        writeln!(out, "  {retained:>12} {shallow:>12} {:>12}  {}", count(class.count), shorten(&class.class, 80))?;
    }
    if !summary.owners.is_empty() {
        writeln!(out, "\nLargest owners by retained size\n")?;
        writeln!(out, "  {:>12} {:>12} {:>12}  owner", "retained", "shallow", "freed")?;
    }
    for owner in &summary.owners {
        let freed = owner.freed_bytes.map_or_else(String::new, size);
        let (retained, shallow) = (size(owner.retained_bytes), size(owner.shallow_bytes));
        writeln!(out, "  {retained:>12} {shallow:>12} {freed:>12}  {}", shorten(&owner.owner, 80))?;
    }
    writeln!(out, "\nLargest objects by retained size, under their dominators\n")?;
    writeln!(out, "  {:>12} {:>12} {:>12}  object", "retained", "shallow", "node")?;
    for object in &summary.objects {
        let step = &object.object;
        let (retained, shallow) = (size(step.retained_bytes), size(step.shallow_bytes));
        writeln!(out, "  {retained:>12} {shallow:>12} {:>12}  {}", step.node, label(step))?;
        let head = object.head.as_ref().map_or_else(String::new, |head| format!("nearly all of {}, ", label(head)));
        writeln!(out, "  {:>38}  {head}{}", "", path(object))?;
    }
    Ok(())
}

/// What all runs have: tables, and what it took.
fn ending(run: &Run, place: &Path, out: &mut String) -> std::fmt::Result {
    let summary = &run.summary;
    if let Some(found) = &summary.duplicates {
        duplicates(found, out)?;
    }
    findings(&summary.findings, out)?;
    writeln!(out, "\nTables in {}\n", place.display())?;
    for Table { file, rows, bytes } in &run.tables {
        let unit = if *rows == 1 { "row" } else { "rows" };
        writeln!(out, "  {:>12} {:>12} {unit:<4}  {file}", size(*bytes), count(*rows))?;
    }
    let peak = summary.peak_rss_bytes.map_or_else(String::new, |bytes| format!(", peak memory {}", size(bytes)));
    writeln!(out, "\n{:.1} s{peak}, scratch {}", summary.wall_seconds, size(summary.scratch_bytes))
}

/// Findings of one rule that are printed.
const MOST_OF_A_RULE: usize = 2;
/// Findings that are printed.
const MOST_FINDINGS: usize = 5;

fn findings(findings: &[Finding], out: &mut String) -> std::fmt::Result {
    if findings.is_empty() {
        return Ok(());
    }
    let of_its_rule = |at: usize| findings[..at].iter().filter(|finding| finding.rule == findings[at].rule).count();
    let shown: Vec<&Finding> = (0..findings.len())
        .filter(|&at| of_its_rule(at) < MOST_OF_A_RULE)
        .take(MOST_FINDINGS)
        .map(|at| &findings[at])
        .collect();
    match findings.len() - shown.len() {
        0 => writeln!(out, "\nFindings\n")?,
        more => writeln!(out, "\nFindings ({} more in findings.parquet)\n", count(more as u64))?,
    }
    for finding in shown {
        let severity = finding.severity.name().to_uppercase();
        writeln!(out, "  {severity:<6}  {}", shorten(&finding.message, 600))?;
        if !finding.next_step.is_empty() {
            writeln!(out, "  {:<6}  -> {}", "", shorten(&finding.next_step, 300))?;
        }
    }
    Ok(())
}

/// Sets that the summary shows.
const SETS: usize = 5;

/// The sets that no other set contains, the largest first.
fn duplicates(found: &DuplicateSummary, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\nDuplicate instances that no others hold\n")?;
    if found.exact > 0 {
        let (bytes, sets) = (size(found.additional_bytes), count(found.exact));
        writeln!(out, "  {bytes:>12} could go if all were merged; {sets} sets, the held ones included")?;
    }
    if found.limited > 0 {
        let (bytes, sets) = (size(found.possible_bytes), count(found.limited));
        writeln!(out, "  {bytes:>12} more if {sets} sets are equal in what the file does not tell, too")?;
    }
    if found.open > 0 {
        let sets = count(found.open);
        writeln!(out, "  {sets:>12} sets were not looked into to the end: heaplake duplicates RUN does")?;
    }
    if !found.largest.is_empty() {
        writeln!(out, "\n  {:>12} {:>12} {:>12}  class", "additional", "members", "status")?;
    }
    for set in found.largest.iter().take(SETS) {
        let (bytes, members) = (size(set.additional_bytes), count(set.members));
        let preview = set.preview.as_ref().map_or_else(String::new, |text| format!("  {}", shorten(text, 60)));
        writeln!(out, "  {bytes:>12} {members:>12} {:>12}  {}{preview}", set.status, shorten(&set.class, 40))?;
    }
    Ok(())
}

/// `Class @id "name"`.
fn label(step: &Step) -> String {
    let class = shorten(&step.class, 60);
    if step.name.is_empty() {
        format!("{class} @{}", step.id)
    } else {
        format!("{class} @{} {:?}", step.id, shorten(&step.name, 40))
    }
}

fn path(object: &LargeObject) -> String {
    let mut text = String::from("in ");
    for (i, step) in object.path.iter().enumerate() {
        if i > 0 {
            text += " › ";
        }
        if i == PATH_HEAD && object.path_left_out > 0 {
            text += &format!("… {} more … › ", count(object.path_left_out));
        }
        text += &shorten(if step.name.is_empty() { &step.class } else { &step.name }, 40);
    }
    text
}
