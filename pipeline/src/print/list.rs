//! The runs of a lake, for people.

use super::terminal::Look;
use heaplake_kit::text::{count, size, visible};
use heaplake_query::list::{Findings, Listed, Listing};
use heaplake_schemas::findings::Severity;
use std::fmt::Write;
use std::path::Path;

/// The runs of the lake in this folder, a line each.
#[must_use]
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

/// Titles of the columns; those of numbers are set right.
const TITLES: [(&str, bool); 7] = [
    ("release", false),
    ("snapshot", false),
    ("format", false),
    ("captured (UTC)", false),
    ("objects", true),
    ("size", true),
    ("findings", false),
];
/// The column whose texts are cut where the line is too short.
const NAMES: usize = 1;

fn table(runs: &[Listed], look: &Look, out: &mut String) -> std::fmt::Result {
    if runs.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<[String; 7]> = vec![TITLES.map(|(title, _)| title.to_owned())];
    rows.extend(runs.iter().map(cells));
    let mut widths: Vec<usize> =
        (0..TITLES.len()).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let others: usize = widths.iter().map(|width| width + 2).sum::<usize>() - widths[NAMES];
    if let Some(width) = look.width {
        widths[NAMES] = widths[NAMES].min(width.saturating_sub(others).max(SHORTEST));
    }
    for (line, row) in rows.iter().enumerate() {
        let mut text = String::new();
        for (at, cell) in row.iter().enumerate().take(TITLES.len() - 1) {
            let width = widths[at];
            let cell = if at == NAMES { heaplake_kit::text::middle(cell, width) } else { cell.clone() };
            if TITLES[at].1 { write!(text, "  {cell:>width$}")? } else { write!(text, "  {cell:<width$}")? }
        }
        let last = match line.checked_sub(1).and_then(|run| runs.get(run)) {
            Some(run) => ending(run, look),
            None => row[TITLES.len() - 1].clone(),
        };
        writeln!(out, "{text}  {last}")?;
    }
    Ok(())
}

/// Characters that a name keeps in the shortest line.
const SHORTEST: usize = 12;

fn cells(run: &Listed) -> [String; 7] {
    // To the minute: seconds are in the JSON.
    let captured =
        run.captured_at.as_ref().map_or("-".to_owned(), |at| visible(at).replace('T', " ").chars().take(16).collect());
    [
        visible(&run.release),
        visible(&run.snapshot),
        visible(&run.format),
        captured,
        run.nodes.or(run.allocations).map_or("-".to_owned(), count),
        run.heap_bytes.or(run.allocated_bytes).map_or("-".to_owned(), size),
        ending(run, &Look::PLAIN),
    ]
}

/// Findings by severity, and what is not as usual.
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
    parts.join(", ")
}
