//! Text of the answer to `heaplake query`.

use super::terminal::Look;
use heaplake_kit::text::{count, shorten, size};
use heaplake_query::filter::terms::{Kind, TERMS};
use heaplake_query::filter::{Answer, Cell, Head};
use std::path::Path;

/// Maximum characters of a text in a column that is not the last.
const TEXT: usize = 40;
/// Maximum characters of the last column in a line of any length.
const LONGEST: usize = 400;

/// The rows as a table, the population, and the remarks.
pub fn answer(answer: &Answer, look: &Look) -> String {
    let mut text = String::new();
    if !answer.rows.is_empty() {
        text += &table(answer, look);
        text.push('\n');
    }
    text += &format!("{}\n", answer.population());
    answer.notes.iter().for_each(|note| text += &format!("{}\n", look.wrap(note, 0, 0)));
    text
}

fn table(answer: &Answer, look: &Look) -> String {
    let last = answer.columns.len() - 1;
    let most = |at: usize| if at == last { LONGEST } else { TEXT };
    let cells: Vec<Vec<String>> = answer
        .rows
        .iter()
        .map(|row| {
            row.cells
                .iter()
                .zip(&*answer.columns)
                .enumerate()
                .map(|(at, (cell, head))| shown(cell, head, most(at)))
                .collect()
        })
        .collect();
    let width = |at: usize| {
        let rows = cells.iter().map(|row| row[at].chars().count());
        rows.chain([answer.columns[at].name.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=last).map(width).collect();
    let heads: Vec<String> = answer.columns.iter().map(|head| shorten(&head.name, TEXT)).collect();
    let mut text = String::new();
    for row in std::iter::once(&heads).chain(&cells) {
        text += line(row, &widths, answer, look).trim_end();
        text.push('\n');
    }
    text
}

fn line(row: &[String], widths: &[usize], answer: &Answer, look: &Look) -> String {
    let mut line = String::new();
    for (at, (cell, &width)) in row.iter().zip(widths).enumerate() {
        line += "  ";
        let is_text = matches!(answer.columns[at].kind, Kind::Text);
        if at + 1 == row.len() && is_text {
            line += &look.fit(cell, line.chars().count(), LONGEST);
        } else if is_text {
            line += &format!("{cell:<width$}");
        } else {
            line += &format!("{cell:>width$}");
        }
    }
    line
}

/// A value as a table shows it; `-` for null.
fn shown(cell: &Cell, head: &Head, most: usize) -> String {
    match (cell, head.kind) {
        (Cell::Null, _) => "-".to_owned(),
        (Cell::Flag(flag), _) => flag.to_string(),
        (Cell::Text(text), _) => shorten(text, most),
        (Cell::Number(number), Kind::Bytes) => u64::try_from(*number).map_or_else(|_| number.to_string(), size),
        (Cell::Number(number), _) if head.name == "count" => {
            u64::try_from(*number).map_or_else(|_| number.to_string(), count)
        }
        (Cell::Number(number), _) => number.to_string(),
    }
}

/// The rows as CSV, with a header. Null is empty; texts are in quotes where they need them (RFC 4180).
pub fn csv(answer: &Answer) -> String {
    let mut text = csv_line(answer.columns.iter().map(|head| quoted(&head.name)));
    for row in &answer.rows {
        text += &csv_line(row.cells.iter().map(|cell| match cell {
            Cell::Null => String::new(),
            Cell::Flag(flag) => flag.to_string(),
            Cell::Number(number) => number.to_string(),
            // An empty text differs from null.
            Cell::Text(text) if text.is_empty() => "\"\"".to_owned(),
            Cell::Text(text) => quoted(text),
        }));
    }
    text
}

fn csv_line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(text: &str) -> String {
    let is_plain = !text.contains([',', '"', '\n', '\r']);
    if is_plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// What was written to a file.
pub fn written(answer: &Answer, file: &Path) -> String {
    format!("{}: {}\n", file.display(), answer.population())
}

/// The terms of filters.
pub fn terms() -> String {
    let mut text = format!("  {:<18} {:<10} meaning\n", "term", "type");
    for term in &TERMS {
        let kind = match term.kind {
            Kind::Number => "number",
            Kind::Bytes => "bytes",
            Kind::Text => "text",
            Kind::Flag => "flag",
        };
        let names = match term.aliases {
            [] => String::new(),
            aliases => format!("; also {}", aliases.join(", ")),
        };
        text += &format!("  {:<18} {kind:<10} {}{names}\n", term.name, term.meaning);
    }
    text += "\n";
    for (term, meaning) in OTHERS {
        text += &format!("  {term:<29} {meaning}\n");
    }
    text
}

/// Terms that are no columns.
const OTHERS: [(&str, &str); 11] = [
    ("path", "classes and labels on the shortest path from a root (needs --edges for large heaps)"),
    (".NAME, field NAME", "value of a field (needs --values)"),
    (".NAME (FILTER)", "the object that a field refers to"),
    ("dominator (FILTER)", "the immediate dominator; also dominator.TERM"),
    ("dominated by (FILTER)", "any dominator"),
    ("dominates any (FILTER)", "any object that it dominates"),
    ("dominator of any (FILTER)", "any object that it dominates immediately"),
    ("references any (FILTER)", "any object that it keeps alive directly"),
    ("referenced by any (FILTER)", "any object that keeps it alive directly"),
    ("referenced by .NAME (FILTER)", "the object whose field refers to it"),
    ("instance of \"CLASS\"", "its class is this one, or inherits from it (Java)"),
];
