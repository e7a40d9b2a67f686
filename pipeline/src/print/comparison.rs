//! A comparison, for people: what grew most, through which holder, and whether it is real.

use super::terminal::Look;
use heaplake_compare::diff::{Answer, InBrief, TopRow};
use heaplake_compare::objects;
use heaplake_kit::text::{count, size, visible};
use heaplake_schemas::comparison::Side;
use std::fmt::Write;

/// Rows of a table that are printed.
const ROWS: usize = 8;
/// Most characters of a name in a line of any length.
const NAME: usize = 100;

/// The answer, and what became of objects if that was asked for.
#[must_use]
pub fn text(answer: &Answer, objects: Option<&objects::Answer>, look: &Look) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = sides(answer, &mut out);
    for table in &answer.compared {
        let _ = brief(table, look, &mut out);
    }
    if let Some(objects) = objects {
        let _ = of_objects(objects, look, &mut out);
    }
    for remark in &answer.comparison.remarks {
        let _ = writeln!(out, "\n{}", look.wrap(remark, 0, 0));
    }
    out
}

fn sides(answer: &Answer, out: &mut String) -> std::fmt::Result {
    for (name, side) in [("base", &answer.comparison.base), ("target", &answer.comparison.target)] {
        let runs = side.runs.len();
        let hosts = hosts(side);
        let hosts = if hosts > 0 { format!(" on {hosts} hosts") } else { String::new() };
        let runs = if runs == 1 { String::new() } else { format!(": {runs} runs{hosts}, medians") };
        let (bytes, objects) = (median(side, |run| run.bytes), median(side, |run| run.objects));
        writeln!(out, "{name:<8}{}{runs}  {} in {} objects", visible(&side.selection), size(bytes), count(objects))?;
    }
    Ok(())
}

fn hosts(side: &Side) -> usize {
    let mut hosts: Vec<&str> = side.runs.iter().filter_map(|run| run.host.as_deref()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.len()
}

fn median(side: &Side, of: fn(&heaplake_schemas::comparison::ComparedRun) -> u64) -> u64 {
    let mut values: Vec<u64> = side.runs.iter().map(of).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

fn brief(table: &InBrief, look: &Look, out: &mut String) -> std::fmt::Result {
    let what = table.table.trim_start_matches("diff_").replace('_', " ");
    let statuses: Vec<String> =
        table.statuses.iter().map(|(status, rows)| format!("{} {status}", count(*rows))).collect();
    let statuses = if statuses.is_empty() { "no rows".to_owned() } else { statuses.join(", ") };
    writeln!(out, "\n{} by {}: {statuses}", look.painted(&what, "1"), table.measure)?;
    match (table.significant, table.smallest_effect) {
        (Some(_), None) => {
            writeln!(out, "  So few runs cannot show a difference of any size; take more of each side")?;
        }
        (Some(0), Some(effect)) => {
            writeln!(out, "  No row is significant; half of them would be if they grew by {}", size(effect as u64))?;
        }
        _ => {}
    }
    for row in table.top.iter().take(ROWS) {
        line(row, table.measure, look, out)?;
    }
    Ok(())
}

fn line(row: &TopRow, measure: &str, look: &Look, out: &mut String) -> std::fmt::Result {
    let in_bytes = measure.ends_with("bytes");
    let amount = |number: i64| match in_bytes {
        true => size(number.unsigned_abs()),
        false => count(number.unsigned_abs()),
    };
    let delta = row.delta.unwrap_or(0);
    let sign = if delta < 0 { '-' } else { '+' };
    let code = match delta {
        _ if row.status == "within_noise" => "2",
        1.. => "31",
        _ => "32",
    };
    let change = look.painted(&format!("{:>11}", format!("{sign}{}", amount(delta))), code);
    let percent = row.delta_percent.map_or_else(String::new, |percent| match percent {
        1000.0.. => format!(" ({:.0} times)", percent / 100.0 + 1.0),
        _ => format!(" ({percent:+.1} %)"),
    });
    let real = row.q.map_or_else(String::new, |q| format!(", q {q:.2e}"));
    let hosts = row.target_hosts_with.filter(|_| row.q.is_some());
    let hosts =
        hosts.map_or_else(String::new, |hosts| format!(", {hosts} {}", if hosts == 1 { "host" } else { "hosts" }));
    let ending = format!("  {}{percent}{real}{hosts}", row.status);
    let used = 2 + 11 + 2 + ending.chars().count();
    writeln!(out, "  {change}  {}{ending}", look.fit(&row.signature, used, NAME))?;
    if let Some(through) = &row.grew_through {
        let new = if through.new { ", a new path" } else { "" };
        let head = format!("    through {} of it{new}: ", size(through.bytes.unsigned_abs()));
        let path = look.fit(&through.text, head.chars().count(), 4 * NAME);
        writeln!(out, "{head}{path}")?;
    }
    Ok(())
}

/// Objects that came and went, by class; candidates of leaks.
fn of_objects(answer: &objects::Answer, look: &Look, out: &mut String) -> std::fmt::Result {
    let total = &answer.total;
    let title = look.painted("objects", "1");
    writeln!(
        out,
        "\n{title}: {} new, {} deleted, {} kept",
        count(total.new_count),
        count(total.deleted_count),
        count(total.kept_count)
    )?;
    for class in answer.grown.iter().take(ROWS) {
        let change = &class.change;
        let ending = format!("  {} new, {} deleted", count(change.new_count), count(change.deleted_count));
        let delta = change.delta_bytes();
        let sign = if delta < 0 { '-' } else { '+' };
        let delta = format!("{sign}{}", size(delta.unsigned_abs()));
        writeln!(out, "  {delta:>11}  {}{ending}", look.fit(&class.class, 15 + ending.chars().count(), NAME))?;
    }
    let Some(candidates) = &answer.candidates else { return Ok(()) };
    let title = look.painted("candidates of leaks", "1");
    writeln!(out, "\n{title}: {} objects, which retain {}", count(candidates.count), size(candidates.retained_bytes))?;
    for group in candidates.groups.iter().take(ROWS) {
        let head = format!("  {:>11}  {} x {}", size(group.retained_bytes), count(group.count), visible(&group.class));
        writeln!(out, "{head}")?;
        if let Some(chain) = &group.chain {
            writeln!(out, "    {}", look.fit(chain, 4, 4 * NAME))?;
        }
    }
    Ok(())
}
