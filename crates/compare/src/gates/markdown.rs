//! Verdicts as GitHub Markdown, for a job summary or a comment.

use super::verdict::{MatchedRow, Outcome, Side, Verdict, Verdicts, change, percent, quantity};
use heaplake_kit::text::{count, is_unseen};
use heaplake_schemas::comparison::Missed;

/// Maximum number of missed runs listed.
const MISSED: usize = 20;

/// Returns the document: a table of verdicts, the rows of failed gates, and the largest growth.
pub fn markdown(verdicts: &Verdicts) -> String {
    let (passed, all) = (verdicts.with(Outcome::Passed), verdicts.gates.len());
    let mark = if verdicts.pass() { "✅" } else { "❌" };
    let not_seen = match verdicts.missed.len() {
        0 => String::new(),
        1 => ", 1 run was not seen".to_owned(),
        runs => format!(", {runs} runs were not seen"),
    };
    let title = format!("{mark} {passed} of {all} gates pass{not_seen}");
    let mut out = format!("## heaplake: {title}\n\n{} → {}\n\n", side(&verdicts.base), side(&verdicts.target));
    out += "| | gate | table | rows it fails for | |\n|---|---|---|--:|---|\n";
    for gate in &verdicts.gates {
        let mark = match gate.outcome {
            Outcome::Passed => "✅",
            Outcome::Failed => "❌",
            Outcome::Unknown | Outcome::Undecided => "⚠️",
        };
        let (failing, rows) = (count(gate.failing), count(gate.rows));
        let remarks = text(&gate.remarks().join("; "));
        out += &format!("| {mark} | {} | {} | {failing} of {rows} | {remarks} |\n", text(&gate.name), gate.table);
    }
    if !verdicts.missed.is_empty() {
        out += "\n### ⚠️ Not seen\n\n";
        for Missed { path, problem } in verdicts.missed.iter().take(MISSED) {
            out += &format!("- {}: {}\n", code(&path.display().to_string()), text(problem));
        }
        let left = verdicts.missed.len().saturating_sub(MISSED);
        out += &(if left > 0 { format!("- … and {left} more\n") } else { String::new() });
    }
    verdicts.gates.iter().filter(|gate| gate.outcome == Outcome::Failed).for_each(|gate| out += &failure(gate));
    if !verdicts.grew.is_empty() {
        out += &format!("\n### What grew most\n\n{}", table(&verdicts.grew));
    }
    out
}

fn side(side: &Side) -> String {
    let runs = if side.runs == 1 { "1 run".to_owned() } else { format!("{} runs", count(side.runs)) };
    format!("{} ({runs})", code(&side.selection))
}

fn failure(gate: &Verdict) -> String {
    let message = gate.message.as_ref().map_or_else(String::new, |message| format!("{}\n\n", text(message)));
    let left = gate.failing - gate.found.len() as u64;
    let more = if left > 0 { format!("\n… and {} more rows.\n", count(left)) } else { String::new() };
    let (name, condition) = (text(&gate.name), code(&gate.expression));
    format!("\n### ❌ {name}\n\n{message}Fails if, in `{}`: {condition}\n\n{}{more}", gate.table, table(&gate.found))
}

fn table(rows: &[MatchedRow]) -> String {
    let measure = rows.first().map_or("", |row| row.measure);
    let has_statistics = rows.iter().any(|row| row.q.is_some());
    let (q, line) = if has_statistics { (" q |", "--:|") } else { ("", "") };
    let title = measure.replace('_', " ");
    let mut out =
        format!("| what | {title} in base | in target | change | |{q} status |\n|---|--:|--:|--:|--:|{line}---|\n");
    for row in rows {
        let amount = |value: Option<i64>| value.map_or_else(String::new, |value| quantity(measure, value as f64));
        let (base, target) = (amount(row.base), amount(row.target));
        let delta = row.delta.map_or_else(String::new, |delta| change(measure, delta));
        let percent = row.percent.map_or_else(String::new, percent);
        let q = row.q.map_or_else(String::new, |q| format!("{q:.2e}"));
        let q = if has_statistics { format!(" {q} |") } else { String::new() };
        let through =
            row.grew_through.as_ref().map_or_else(String::new, |chain| format!("<br>through {}", code(chain)));
        let (what, status) = (code(&row.subject), text(&row.became()));
        out += &format!("| {what}{through} | {base} | {target} | {delta} | {percent} |{q} {status} |\n");
    }
    out
}

/// Escapes a text, which may come from a snapshot, so that nothing in it is markup, a mention or a reference.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '@' => out += "&#64;",
            '#' => out += "&#35;",
            ':' => out += "&#58;",
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '|' | '!' | '~' | '$' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c if is_unseen(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Formats a text as code, also in table cells. It uses HTML because Markdown cannot escape a backquote or a bar.
fn code(shown: &str) -> String {
    format!("<code>{}</code>", text(shown))
}
