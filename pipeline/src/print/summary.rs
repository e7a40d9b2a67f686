//! Text of a run in brief.

use super::replay_summary;
use super::terminal::{Look, shown_id};
use heaplake_kit::text::{count, middle, quoted, shorten, size, visible};
use heaplake_schemas::classes;
use heaplake_schemas::findings::{Finding, Severity};
use heaplake_schemas::replay::Coverage;
use heaplake_schemas::run::{DuplicateSet, DuplicateSummary, LargeObject, PATH_HEAD, Run, Step};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// Characters before the text of a line: three columns of numbers.
const NUMBERS: usize = 42;
/// Indentation of a line about the line above it.
const DETAIL: usize = 8;

/// Text of the summary of the run in this folder.
pub fn text(run: &Run, place: &Path, look: &Look) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = write(run, place, look, &mut out);
    out
}

/// Line about the run of an input in this folder.
pub fn line(input: &str, run: &Run, place: &Path) -> String {
    let summary = &run.summary;
    let amounts = match run.replay.as_ref().map(|replay| &replay.metadata) {
        Some(of) if of.coverage == Coverage::Weighted => {
            format!("{} samples, {}", count(of.sampled_count), size(of.estimated_bytes))
        }
        Some(of) => format!("{} allocations, {}", count(of.allocated_count), size(of.allocated_bytes)),
        None => format!("{} nodes, {}", count(summary.node_count), size(summary.shallow_bytes)),
    };
    let of = |severity: Severity| summary.findings.iter().filter(|finding| finding.severity == severity).count();
    let found = [Severity::High, Severity::Medium, Severity::Low].map(|severity| (of(severity), severity.name()));
    let found = found.iter().filter(|(number, _)| *number > 0);
    let found: Vec<String> = found.map(|(number, name)| format!("{} {name}", count(*number as u64))).collect();
    let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    let partial = if summary.partial.is_some() { "PARTIAL  " } else { "" };
    let (input, place) = (visible(input), visible(&place.display().to_string()));
    format!("{input}: {partial}{amounts}  findings: {found}  {:.1} s  {place}\n", summary.wall_seconds)
}

fn write(run: &Run, place: &Path, look: &Look, out: &mut String) -> std::fmt::Result {
    // Quoted for a shell.
    let named = quoted(&place.display().to_string());
    match &run.replay {
        Some(replay) => {
            replay_summary::write(run, replay, look, out)?;
            findings(&run.summary.findings, &named, look, out)?;
        }
        None => {
            about(run, look, out)?;
            findings(&run.summary.findings, &named, look, out)?;
            largest(run, look, out)?;
        }
    }
    if let Some(found) = &run.summary.duplicates {
        duplicates(found, &named, look, out)?;
    }
    ending(run, place, look, out)
}

/// Writes the classes, owners and objects that retain most.
fn largest(run: &Run, look: &Look, out: &mut String) -> std::fmt::Result {
    let summary = &run.summary;
    writeln!(out, "\nLargest classes by retained size\n")?;
    writeln!(out, "  {:>12} {:>12} {:>12}  class", "retained", "shallow", "count")?;
    for class in &summary.classes {
        let (retained, shallow) = (size(class.retained_bytes), size(class.shallow_bytes));
        let name = look.fit(&class.class, NUMBERS, 80);
        writeln!(out, "  {retained:>12} {shallow:>12} {:>12}  {name}", count(class.count))?;
        for (at, holder) in class.holders.iter().enumerate() {
            let percent = 100.0 * holder.count as f64 / holder.looked_at.max(1) as f64;
            let how = if at == 0 { "held by" } else { "also held by" };
            let alone = match holder.exclusive_count {
                0 => "none".to_owned(),
                some => count(some),
            };
            let text = format!("{percent:.0} % {how} {}, {alone} by it alone", holder.text);
            writeln!(out, "{:DETAIL$}{}", "", look.fit(&text, DETAIL, 200))?;
        }
    }
    if !summary.owners.is_empty() {
        writeln!(out, "\nLargest owners by retained size\n")?;
        writeln!(out, "  {:>12} {:>12} {:>12}  owner", "retained", "shallow", "freed")?;
    }
    for owner in &summary.owners {
        let freed = owner.freed_bytes.map_or_else(String::new, size);
        let (retained, shallow) = (size(owner.retained_bytes), size(owner.shallow_bytes));
        writeln!(out, "  {retained:>12} {shallow:>12} {freed:>12}  {}", look.fit(&owner.owner, NUMBERS, 80))?;
    }
    writeln!(out, "\nLargest objects by retained size, each below what alone keeps it alive\n")?;
    writeln!(out, "  {:>12} {:>12} {:>12}  object", "retained", "shallow", "node")?;
    for object in &summary.objects {
        let step = &object.object;
        let (retained, shallow) = (size(step.retained_bytes), size(step.shallow_bytes));
        writeln!(out, "  {retained:>12} {shallow:>12} {:>12}  {}", step.node, label(step, look))?;
        let head = object.head.as_ref().map(|head| format!("nearly all of {}, ", label(head, look)));
        let below = head.unwrap_or_default() + &path(object);
        writeln!(out, "{:DETAIL$}{}", "", look.fit(&below, DETAIL, 400))?;
    }
    Ok(())
}

/// Writes the numbers of the heap.
fn about(run: &Run, look: &Look, out: &mut String) -> std::fmt::Result {
    let summary = &run.summary;
    let [snapshot, release, format] = [&run.snapshot, &run.release, &summary.format].map(|text| visible(text));
    writeln!(out, "{snapshot}  (release {release}, {format}, {})", size(run.input_bytes))?;
    let native = summary.native_bytes.map(|native| format!("{} of native memory", size(native)));
    let unreachable = (summary.unreachable_count > 0).then(|| {
        format!(
            "{} of {} nodes that no root reaches",
            size(summary.unreachable_bytes),
            count(summary.unreachable_count)
        )
    });
    let detached =
        (summary.detached_count > 0).then(|| format!("{} nodes are detached", count(summary.detached_count)));
    let bytes = [Some(format!("{} in all nodes", size(summary.shallow_bytes))), native, unreachable, detached];
    let counts = [
        (summary.node_count, "nodes"),
        (summary.edge_count, "edges"),
        (summary.class_count, "classes"),
        (summary.string_count, "strings"),
    ];
    let counts: Vec<String> = counts.iter().map(|&(number, what)| format!("{} {what}", count(number))).collect();
    let bytes: Vec<String> = bytes.into_iter().flatten().collect();
    for line in [bytes.join(", "), counts.join(", ")] {
        writeln!(out, "  {}", look.wrap(&line, 2, 2))?;
    }
    if let Some(left_out) = &summary.partial {
        let mark = look.painted("PARTIAL", "33");
        let text = format!("the input is damaged; this leaves out {left_out}");
        writeln!(out, "\n{mark}: {}", look.wrap(&text, 9, 0))?;
    }
    for remark in &summary.remarks {
        writeln!(out, "  Note: {}", look.wrap(remark, 8, 8))?;
    }
    Ok(())
}

/// Writes the part that all runs have: tables, time and memory.
fn ending(run: &Run, place: &Path, look: &Look, out: &mut String) -> std::fmt::Result {
    let summary = &run.summary;
    let names: Vec<&str> = run.tables.iter().map(|table| table.file.trim_end_matches(".parquet")).collect();
    writeln!(out, "\nTables in {}\n", visible(&place.display().to_string()))?;
    writeln!(out, "  {}", look.wrap(&names.join(", "), 2, 2))?;
    if let Some(table) = first_table(run) {
        let lake = place.parent().and_then(Path::parent).unwrap_or(place);
        let files = match &run.packed {
            Some(_) => lake.join("tables").join(table.trim_end_matches(".parquet")).join("**/*.parquet"),
            None => lake.join("*/*").join(table),
        };
        writeln!(out, "\nAll runs in polars: pl.read_parquet({files:?})")?;
    }
    let peak = summary.peak_rss_bytes.map_or_else(String::new, |bytes| format!(", peak memory {}", size(bytes)));
    writeln!(out, "\n{:.1} s{peak}, scratch {}", summary.wall_seconds, size(summary.scratch_bytes))
}

/// Table for the example query: classes, or else the first one.
fn first_table(run: &Run) -> Option<&str> {
    let mut tables = run.tables.iter().map(|table| table.file.as_str()).filter(|file| file.ends_with(".parquet"));
    tables.clone().find(|&file| file == classes::TABLE.file).or_else(|| tables.next())
}

/// Maximum findings per rule.
const MOST_OF_A_RULE: usize = 2;
/// Maximum findings.
const MOST_FINDINGS: usize = 5;

fn findings(findings: &[Finding], named: &str, look: &Look, out: &mut String) -> std::fmt::Result {
    if findings.is_empty() {
        return Ok(());
    }
    let mut of_rules: HashMap<&str, usize> = HashMap::new();
    let early = findings.iter().filter(|finding| {
        let count = of_rules.entry(&finding.rule).or_default();
        *count += 1;
        *count <= MOST_OF_A_RULE
    });
    let shown: Vec<&Finding> = early.take(MOST_FINDINGS).collect();
    match findings.len() - shown.len() {
        0 => writeln!(out, "\nFindings\n")?,
        more => writeln!(out, "\nFindings ({} more in findings.parquet)\n", count(more as u64))?,
    }
    for finding in &shown {
        let (message, evidence) = parts(&finding.message);
        writeln!(out, "  {}  {}", look.severity(finding.severity, 6), look.wrap(message, 10, 10))?;
        for sentence in evidence {
            writeln!(out, "  {:<6}  {}", "", look.wrap(&shorten(sentence, EVIDENCE), 10, 12))?;
        }
        if !finding.next_step.is_empty() {
            let next = with_place(&finding.next_step, named);
            writeln!(out, "  {:<6}  -> {}", "", look.wrap(&middle(&next, 500), 13, 13))?;
        }
    }
    // A next command, ready to be pasted.
    match shown.iter().find_map(|finding| finding.node) {
        Some(node) => writeln!(out, "\nWhat keeps node {node} alive: heaplake why {named} {node}"),
        None => Ok(()),
    }
}

/// Maximum characters of a sentence of evidence.
const EVIDENCE: usize = 240;
/// Beginnings of sentences of evidence.
const EVIDENCE_BEGINS: [&str; 5] = [". Also seen as ", ". Of ", ". It belongs to ", ". There are ", ". There is "];

/// Splits a finding into its message and its sentences of evidence.
fn parts(message: &str) -> (&str, Vec<&str>) {
    let begins = |at: usize| EVIDENCE_BEGINS.iter().any(|begin| message[at..].starts_with(begin));
    let mut starts: Vec<usize> = message.match_indices(". ").map(|(at, _)| at).filter(|&at| begins(at)).collect();
    let end = starts.first().copied().unwrap_or(message.len());
    starts.push(message.len());
    let evidence = starts.windows(2).map(|pair| &message[pair[0] + 2..pair[1]]).collect();
    (&message[..end], evidence)
}

/// Commands of heaplake that take a run.
const ON_A_RUN: [&str; 6] = ["duplicates", "why", "top", "dominators", "report", "show"];

/// Replaces `RUN` in the commands of a sentence by the name of the run.
fn with_place(text: &str, named: &str) -> String {
    ON_A_RUN.iter().fold(text.to_owned(), |text, verb| {
        text.replace(&format!("heaplake {verb} RUN"), &format!("heaplake {verb} {named}"))
    })
}

/// Sets shown.
const SETS: usize = 5;

/// Writes the sets that no other set contains, the largest first.
fn duplicates(found: &DuplicateSummary, named: &str, look: &Look, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\nDuplicates: objects that are equal, without those inside larger duplicates\n")?;
    let shown = &found.largest[..found.largest.len().min(SETS)];
    let amounts = [from_to(found.additional_bytes, found.most_bytes), from_to(0, found.possible_bytes)];
    let wide = shown.iter().map(additional).chain(amounts).map(|text| text.len()).fold(12, usize::max);
    let mut line =
        |amount: String, text: String| writeln!(out, "  {amount:>wide$} {}", look.wrap(&text, wide + 3, wide + 3));
    if found.exact > 0 {
        let sets = count(found.exact);
        let bytes = from_to(found.additional_bytes, found.most_bytes);
        line(bytes, format!("would go if all were merged ({sets} sets, with those inside larger ones)"))?;
    }
    if found.limited > 0 {
        let sets = count(found.limited);
        let bytes = from_to(0, found.possible_bytes);
        line(bytes, format!("more, as {sets} sets are equal or not in what the snapshot does not show"))?;
    }
    if found.open > 0 {
        line(count(found.open), format!("sets were not compared to the end; this does: heaplake duplicates {named}"))?;
    }
    if !found.largest.is_empty() {
        writeln!(out, "\n  {:>wide$} {:>12} {:>12}  class", "additional", "members", "status")?;
    }
    for set in shown {
        let (bytes, members) = (additional(set), count(set.members));
        let preview = set.preview.as_ref().map_or_else(String::new, |text| format!("  {}", shorten(text, 60)));
        let text = look.fit(&format!("{}{preview}", shorten(&set.class, 40)), NUMBERS + wide - 12, 102);
        writeln!(out, "  {bytes:>wide$} {members:>12} {:>12}  {text}", visible(&set.status))?;
    }
    possible_classes(found, named, look, out)
}

/// Classes with possible duplicates shown.
const POSSIBLE: usize = 3;

/// Writes the largest classes with possible duplicates, and the number of others.
fn possible_classes(found: &DuplicateSummary, named: &str, look: &Look, out: &mut String) -> std::fmt::Result {
    let shown = found.possible_classes.len().min(POSSIBLE);
    if shown == 0 {
        return Ok(());
    }
    writeln!(out, "\n  {:>12} {:>12}  class with possible duplicates", "own, at most", "members")?;
    for class in &found.possible_classes[..shown] {
        let (bytes, members) = (size(class.bytes), count(class.members));
        writeln!(out, "  {bytes:>12} {members:>12}  {}", look.fit(&class.class, NUMBERS, 80))?;
        if !class.next_step.is_empty() {
            // On one line, to be pasted.
            let next = with_place(&class.next_step, named);
            writeln!(out, "  {:>25}  -> {}", "", middle(&next, 500))?;
        }
    }
    match found.possible_class_count.saturating_sub(shown as u64) {
        0 => Ok(()),
        more => writeln!(out, "  {:>25}  {} more in possible_duplicates.parquet", "", count(more)),
    }
}

/// A range of bytes.
fn from_to(least: u64, most: u64) -> String {
    if most <= least { size(least) } else { format!("{} to {}", size(least), size(most)) }
}

/// Bytes saved if the members of a set were merged.
fn additional(set: &DuplicateSet) -> String {
    from_to(set.least_bytes.unwrap_or(set.additional_bytes), set.most_bytes.unwrap_or(set.additional_bytes))
}

/// `Class @id "name"`.
fn label(step: &Step, look: &Look) -> String {
    let name = if step.name.is_empty() { String::new() } else { format!(" {:?}", shorten(&step.name, 40)) };
    let text = format!("{}{}{name}", shorten(&step.class, 60), shown_id(step.id));
    look.fit(&text, NUMBERS, 200)
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
