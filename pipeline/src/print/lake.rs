//! Text of the results of lake commands.

use super::terminal::Look;
use heaplake_kit::text::{count, size, visible};
use heaplake_lake::catalogue::Indexed;
use heaplake_lake::strangers::{Left, Strangers};
use heaplake_lake::upkeep::compact::Compacted;
use heaplake_lake::upkeep::drop;
use heaplake_lake::upkeep::label::{Plan, Planned};
use heaplake_lake::upkeep::merge::{self, Merged};
use heaplake_lake::upkeep::verify::{Status, Verified};
use std::fmt::Write;
use std::path::Path;

fn shown(path: &Path) -> String {
    visible(&path.display().to_string())
}

/// A number with its noun.
fn number(of: usize, one: &str) -> String {
    let ending = if of == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(of as u64))
}

/// Text of a verification: a line for each damaged file, and unless `quiet` the number of runs by status.
pub fn verified(verified: &Verified, quiet: bool, look: &Look) -> String {
    let mut out = String::new();
    for problem in verified.runs.iter().flat_map(|run| &run.problems) {
        let what = visible(&format!("expected {}, found {}; {}", problem.expected, problem.found, problem.advice));
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{}  {}: {what}", look.painted("damaged", "1;31"), shown(&problem.path));
    }
    if !quiet {
        out.push_str(&strangers(&verified.strangers));
        let parts = [
            (Status::Whole, "whole"),
            (Status::WithoutChecksums, "of older versions, without checksums: size, rows and schema version are right"),
            (Status::Changed, "replaced or dropped meanwhile"),
            (Status::Damaged, "damaged"),
        ];
        let parts = parts.map(|(status, words)| (verified.count(status), words));
        let parts: Vec<String> = parts
            .iter()
            .filter(|(of, _)| *of > 0)
            .map(|(of, words)| format!("{} {words}", count(*of as u64)))
            .collect();
        let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        let (runs, tables) = (number(verified.runs.len(), "run"), number(verified.tables, "table"));
        let _ = writeln!(out, "{runs}, {tables}, {}{parts}", size(verified.bytes));
    }
    out
}

/// Text of an indexing: the number of runs in the catalogue.
pub fn indexed(indexed: &Indexed, _: &Look) -> String {
    format!("{} in the catalogue\n", number(indexed.runs, "run"))
}

/// Text of a compaction.
pub fn compacted(compacted: &Compacted, _: &Look) -> String {
    let Compacted { runs, packed_before, packs, pack_bytes, files, file_bytes, .. } = compacted;
    let before = if *packed_before > 0 { format!(", {} before", count(*packed_before as u64)) } else { String::new() };
    let of_runs = format!("{}, {}", number(*files, "file"), size(*file_bytes));
    format!(
        "{} packed{before}: {of_runs} are {}, {}\n",
        number(*runs, "run"),
        number(*packs, "file"),
        size(*pack_bytes)
    )
}

/// Maximum lines of each kind about files of no run.
const SHOWN: usize = 20;

/// Lines about files of no run.
fn strangers(Strangers { foreign, left }: &Strangers) -> String {
    let of_left = |left: &Left| {
        let what = match left.is_marked {
            true => {
                "of a run in the making, or left by a killed command: the next command that makes or drops this run \
                     removes it, in an object store when it is a day old"
            }
            false => "left by an earlier version: it has no mark, so heaplake does not remove it",
        };
        format!("left  {}: {what}", shown(&left.path))
    };
    let of_foreign = |url: &String| format!("foreign  {}: not of heaplake, and passed over", visible(url));
    let some = left.iter().take(SHOWN).map(of_left).chain(foreign.iter().take(SHOWN).map(of_foreign));
    let mut out = some.fold(String::new(), |out, line| out + &line + "\n");
    for (all, word) in [(left.len(), "left"), (foreign.len(), "foreign")] {
        if all > SHOWN {
            // Writing into a string cannot fail.
            let _ = writeln!(out, "{word}  and {} more; --json names all", count((all - SHOWN) as u64));
        }
    }
    out
}

/// Text of the dropped runs, and the reasons why others stay.
pub fn dropped(plan: &drop::Plan, dry_run: bool, look: &Look) -> String {
    let mut out = String::new();
    let going = plan.runs.iter().filter(|run| dry_run || run.dropped);
    let (mut runs, mut bytes) = (0, 0_u64);
    for run in going {
        (runs, bytes) = (runs + 1, bytes.saturating_add(run.disk_bytes));
        let word = if dry_run { "would go" } else { "dropped" };
        let captured = run.captured_at.as_deref().unwrap_or("-");
        let (word, path) = (look.painted(word, "33"), shown(&run.path));
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{word}  {path}  {captured}  {}", size(run.disk_bytes));
    }
    let total = format!("{}, {}", number(runs, "run"), size(bytes));
    let _ = match (runs, dry_run) {
        (0, true) => writeln!(out, "no run would go"),
        (_, true) => writeln!(out, "{total} would go; nothing is changed without --yes"),
        (_, false) => writeln!(out, "{total} dropped"),
    };
    for (kept, why) in [
        (&plan.kept_without_time, "nothing says when its input was captured"),
        (&plan.kept_without_label, "it does not have the label of --per"),
        (&plan.kept_damaged, "its run.json is damaged, so nothing is known of it; name it to drop it"),
    ] {
        for path in kept {
            let _ = writeln!(out, "stays  {}: {why}", shown(path));
        }
    }
    out
}

/// Text of the changed labels, and the reasons why others stay.
pub fn labelled(plan: &Plan, dry_run: bool, look: &Look) -> String {
    let mut out = String::new();
    let changing: Vec<&Planned> = plan.runs.iter().filter(|run| dry_run || run.changed).collect();
    for run in &changing {
        let word = look.painted(if dry_run { "would change" } else { "changed" }, "33");
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{word}  {}  {}", shown(&run.path), visible(&changes(run)));
    }
    let total = number(changing.len(), "run");
    let _ = match dry_run {
        true => writeln!(out, "{total} would change; nothing is changed without --yes"),
        false => writeln!(out, "{total} changed"),
    };
    if plan.unchanged > 0 {
        let _ = writeln!(out, "{} already like that", number(plan.unchanged, "run"));
    }
    for path in &plan.kept_damaged {
        let _ = writeln!(out, "stays  {}: its run.json is damaged", shown(path));
    }
    out
}

/// What changes in a run, such as `stage=canary (was test), hots removed`.
fn changes(run: &Planned) -> String {
    let set = run.after.iter().filter_map(|(name, value)| match run.before.get(name) {
        Some(before) if before == value => None,
        Some(before) => Some(format!("{name}={value} (was {before})")),
        None => Some(format!("{name}={value}")),
    });
    let removed = run.before.keys().filter(|name| !run.after.contains_key(*name));
    set.chain(removed.map(|name| format!("{name} removed"))).collect::<Vec<_>>().join(", ")
}

/// Text of the outcome of merging other lakes.
pub fn merged(runs: &[Merged], look: &Look) -> String {
    let mut out = String::new();
    for run in runs {
        let word = match run.status {
            merge::Status::Merged => look.painted("merged", "32"),
            merge::Status::Present => "present".to_owned(),
            merge::Status::Failed => continue,
        };
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{word}  {}", shown(&run.path));
    }
    let parts = [
        (merge::Status::Merged, "merged"),
        (merge::Status::Present, "in the lake already"),
        (merge::Status::Failed, "failed"),
    ];
    let parts = parts.map(|(status, words)| (runs.iter().filter(|run| run.status == status).count(), words));
    let parts: Vec<String> =
        parts.iter().filter(|(of, _)| *of > 0).map(|(of, words)| format!("{} {words}", count(*of as u64))).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let _ = writeln!(out, "{}{parts}", number(runs.len(), "run"));
    out
}
