//! Text of the verdicts of gates.

use super::terminal::Look;
use heaplake_compare::gates::{MatchedRow, Outcome, Verdict, Verdicts, change, percent, quantity};
use heaplake_kit::text::count;
use heaplake_schemas::comparison::Missed;

/// Characters before the text of a row: numbers in columns.
const NUMBERS: usize = 61;
/// Unseen runs listed.
const MISSED: usize = 20;
/// Maximum characters of a text in a line of any length.
const LONGEST: usize = 400;

/// Text of all verdicts.
pub fn verdicts(verdicts: &Verdicts, look: &Look) -> String {
    let all = verdicts.gates.len();
    let title = match all - verdicts.with(Outcome::Passed) {
        0 if all == 1 => "The gate passes".to_owned(),
        0 => format!("All {all} gates pass"),
        failing => format!("{failing} of {all} gates {}", if failing == 1 { "does not pass" } else { "do not pass" }),
    };
    let gates: String = verdicts.gates.iter().map(|gate| format!("\n{}", one(gate, look))).collect();
    let not_seen: String = verdicts.missed.iter().take(MISSED).map(|missed| line(missed, look)).collect();
    let left = verdicts.missed.len().saturating_sub(MISSED);
    let more = if left > 0 { format!("      … and {} more not seen\n", count(left as u64)) } else { String::new() };
    let blind = match verdicts.missed.len() {
        0 => String::new(),
        1 => "; 1 run was not seen".to_owned(),
        runs => format!("; {} runs were not seen", count(runs as u64)),
    };
    format!("{title}{blind}\n{gates}{not_seen}{more}")
}

/// Line about a run that no gate has seen.
fn line(Missed { path, problem }: &Missed, look: &Look) -> String {
    let text = look.wrap(&format!("not seen: {}: {problem}", path.display()), 6, 6);
    format!("\n{}  {text}\n", look.painted("????", "1;31"))
}

fn one(gate: &Verdict, look: &Look) -> String {
    let mark = match gate.outcome {
        Outcome::Passed => look.painted("pass", "32"),
        Outcome::Failed => look.painted("FAIL", "1;31"),
        Outcome::Unknown | Outcome::Undecided => look.painted("????", "1;31"),
    };
    let mut out = format!("{mark}  {}\n", look.fit(&gate.name, 6, LONGEST));
    let mut say = |text: &str| out += &format!("      {}\n", look.wrap(text, 6, 6));
    if gate.name != gate.expression {
        say(&format!("fails if, in {}: {}", gate.table, gate.expression));
    }
    if let Some(message) = gate.message.as_ref().filter(|_| gate.outcome != Outcome::Passed) {
        say(message);
    }
    if gate.outcome != Outcome::Unknown {
        say(&gate.headline());
    }
    gate.remarks().iter().for_each(|remark| say(remark));
    out + &rows(gate, look)
}

fn rows(gate: &Verdict, look: &Look) -> String {
    let Some(first) = gate.found.first() else { return String::new() };
    let title = first.measure.replace('_', " ");
    let mut out = format!("      {:>11} {:>11} {:>12} {:>9} {:>8}  {title}\n", "base", "target", "change", "%", "q");
    gate.found.iter().for_each(|found| out += &row(found, look));
    let left = gate.failing - gate.found.len() as u64;
    if left > 0 {
        out += &format!("      … and {} more\n", count(left));
    }
    out
}

fn row(found: &MatchedRow, look: &Look) -> String {
    let amount = |value: Option<i64>| value.map_or_else(String::new, |value| quantity(found.measure, value as f64));
    let delta = found.delta.map_or_else(String::new, |delta| change(found.measure, delta));
    let percent = found.percent.map_or_else(String::new, |part| percent(part).trim_end_matches(" %").to_owned());
    let q = found.q.map_or_else(String::new, |q| format!("{q:.1e}"));
    let (base, target) = (amount(found.base), amount(found.target));
    let subject = look.fit(&found.subject, NUMBERS, LONGEST);
    let line = format!("      {base:>11} {target:>11} {delta:>12} {percent:>9} {q:>8}  {subject}\n");
    let through = found.grew_through.as_ref().map(|chain| look.fit(chain, NUMBERS + 10, LONGEST));
    line + &through.map_or_else(String::new, |chain| format!("{:NUMBERS$}  through {chain}\n", ""))
}
