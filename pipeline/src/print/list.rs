//! Text of the runs of a lake.

use super::terminal::Look;
use heaplake_kit::text::{count, shorten, size, visible};
use heaplake_lake::upkeep::list::{Findings, Listed, Listing};
use heaplake_schemas::findings::Severity;
use heaplake_schemas::options::Texts;
use std::fmt::Write;
use std::path::Path;

/// Text of the runs of the lake in this folder, a line each.
pub fn text(listing: &Listing, lake: &Path, look: &Look) -> String {
    let mut out = String::new();
    if listing.runs.is_empty() && listing.damaged.is_empty() {
        return format!("{}: no runs\n", visible(&lake.display().to_string()));
    }
    // Writing into a string cannot fail.
    let _ = table(&listing.runs, look, &mut out);
    for damaged in &listing.damaged {
        let cause = visible(&format!("{}: {}", damaged.path.display(), damaged.problem));
        let _ = writeln!(out, "  {}  {cause}", look.painted("damaged", "1;31"));
    }
    out
}

/// Titles of the columns, and whether they are right-aligned.
const TITLES: [(&str, bool); COLUMNS] = [
    ("release", false),
    ("snapshot", false),
    ("format", false),
    ("captured (UTC)", false),
    ("objects", true),
    ("size", true),
    ("on disk", true),
    ("labels", false),
    ("findings", false),
];
const COLUMNS: usize = 9;
/// Column that is truncated if the line is too short.
const NAMES: usize = 1;
/// Column that is omitted if no run has labels.
const LABELS: usize = 7;
/// Maximum characters of labels.
const LABELS_SHOWN: usize = 40;

fn table(runs: &[Listed], look: &Look, out: &mut String) -> std::fmt::Result {
    if runs.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<[String; COLUMNS]> = vec![TITLES.map(|(title, _)| title.to_owned())];
    rows.extend(runs.iter().map(cells));
    let has_labels = runs.iter().any(|run| !run.labels.is_empty());
    let columns: Vec<usize> = (0..COLUMNS - 1).filter(|&at| at != LABELS || has_labels).collect();
    let widths = widths(&rows, &columns, look);
    for (line, row) in rows.iter().enumerate() {
        let mut text = String::new();
        for &at in &columns {
            let (cell, width) = (heaplake_kit::text::middle(&row[at], widths[at]), widths[at]);
            if TITLES[at].1 { write!(text, "  {cell:>width$}")? } else { write!(text, "  {cell:<width$}")? }
        }
        let last = match line.checked_sub(1).and_then(|run| runs.get(run)) {
            Some(run) => ending(run, look),
            None => row[COLUMNS - 1].clone(),
        };
        writeln!(out, "{text}  {last}")?;
    }
    Ok(())
}

/// Widths of all columns; names are truncated to fit the terminal.
fn widths(rows: &[[String; COLUMNS]], columns: &[usize], look: &Look) -> Vec<usize> {
    let longest = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..COLUMNS).map(longest).collect();
    let others: usize = columns.iter().chain([&(COLUMNS - 1)]).map(|&at| widths[at] + 2).sum::<usize>() - widths[NAMES];
    if let Some(width) = look.width {
        widths[NAMES] = widths[NAMES].min(width.saturating_sub(others).max(SHORTEST));
    }
    widths
}

/// Minimum characters of a name.
const SHORTEST: usize = 12;

fn cells(run: &Listed) -> [String; COLUMNS] {
    // To the minute: the JSON has seconds.
    let captured =
        run.captured_at.as_ref().map_or("-".to_owned(), |at| visible(at).replace('T', " ").chars().take(16).collect());
    [
        visible(&run.release),
        visible(&run.snapshot),
        visible(&run.format),
        captured,
        run.nodes.or(run.allocations).map_or("-".to_owned(), count),
        run.heap_bytes.or(run.allocated_bytes).map_or("-".to_owned(), size),
        size(run.disk_bytes),
        labels(run),
        ending(run, &Look::PLAIN),
    ]
}

fn labels(run: &Listed) -> String {
    let labels: Vec<String> = run.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    shorten(&visible(&labels.join(", ")), LABELS_SHOWN)
}

/// Findings by severity, and anything unusual.
fn ending(run: &Listed, look: &Look) -> String {
    let Findings { high, medium, low } = run.findings;
    let kinds = [(high, Severity::High, "1;31"), (medium, Severity::Medium, "33"), (low, Severity::Low, "36")];
    let kinds = kinds.into_iter().filter(|(number, ..)| *number > 0);
    let mut parts: Vec<String> =
        kinds.map(|(number, severity, code)| look.painted(&format!("{number} {}", severity.name()), code)).collect();
    if parts.is_empty() {
        parts.push("none".to_owned());
    }
    if run.allocations.is_some() {
        parts.push("replay of a trace".to_owned());
    }
    if run.partial.is_some() {
        parts.push(look.painted("PARTIAL: the input is damaged", "33"));
    }
    if let Some(texts) = run.texts.filter(|texts| *texts != Texts::Full) {
        parts.push(format!("texts {}", texts.word()));
    }
    parts.join(", ")
}
