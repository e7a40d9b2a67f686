//! Text of a comparison: largest growth, its holder, and its significance.

use super::terminal::Look;
use heaplake_compare::diff::{Answer, InBrief, TopRow};
use heaplake_compare::objects;
use heaplake_kit::text::{count, size, visible};
use heaplake_schemas::comparison::Side;
use heaplake_schemas::diff::is_size;
use std::fmt::Write;

/// Rows of the first table.
const FIRST: usize = 5;
/// Rows of each other table, so that all fits a screen.
const OTHERS: usize = 3;
/// Rows of classes of objects, and of leak candidates.
const ROWS: usize = 8;
/// Hosts listed.
const HOSTS: usize = 3;
/// Maximum characters of a name in a line of any length.
const NAME: usize = 100;

/// Text of the comparison, and of the fate of objects if requested.
pub fn text(answer: &Answer, objects: Option<&objects::Answer>, look: &Look) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = sides(answer, &mut out);
    let runs = answer.comparison.target.runs.len();
    for (at, table) in answer.compared.iter().enumerate() {
        let rows = if at == 0 { FIRST } else { OTHERS };
        let format = answer.comparison.format.contains(", ").then_some(table.format.as_str());
        let _ = brief((table, format), (rows, runs > 1), look, &mut out);
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
    let mut values: Vec<i64> = side.runs.iter().map(|run| i64::try_from(of(run)).unwrap_or(i64::MAX)).collect();
    values.sort_unstable();
    heaplake_compare::statistics::median(&values).unsigned_abs()
}

/// Writes a table, with its format if the runs have several.
fn brief(
    (table, format): (&InBrief, Option<&str>),
    (rows, is_fleet): (usize, bool),
    look: &Look,
    out: &mut String,
) -> std::fmt::Result {
    let what = table.table.trim_start_matches("diff_").replace('_', " ");
    let of = format.map_or_else(String::new, |format| format!(" of {}", visible(format)));
    let statuses: Vec<String> =
        table.statuses.iter().map(|(status, rows)| format!("{} {status}", count(*rows))).collect();
    let statuses = if statuses.is_empty() { "no rows".to_owned() } else { statuses.join(", ") };
    let pairs = if table.pairs > 0 { format!(", {} hosts paired", count(table.pairs as u64)) } else { String::new() };
    writeln!(
        out,
        "\n{}",
        look.wrap(&format!("{}{of} by {}{pairs}: {statuses}", look.painted(&what, "1"), table.measure), 0, 2)
    )?;
    let is_size = is_size(table.table, table.measure);
    let in_words = |effect: f64| amount(is_size, effect as i64);
    match (table.significant, table.smallest_effect, table.smallest_effect_on_tenth) {
        (Some(0), Some(effect), on_tenth) => {
            let on_tenth =
                on_tenth.map_or_else(String::new, |of| format!(", or by {} on a tenth of them", in_words(of)));
            let text = format!(
                "No row is significant; half of them would be if they grew by {} on all runs{on_tenth}",
                in_words(effect)
            );
            writeln!(out, "  {}", look.wrap(&text, 2, 2))?;
        }
        (Some(0), None, _) => {
            let text =
                "Too few runs for a test: a row changed where all runs of one side lie far above all of the other";
            writeln!(out, "  {}", look.wrap(text, 2, 2))?;
        }
        _ => {}
    }
    table.top.iter().take(rows).try_for_each(|row| line(row, is_size, is_fleet, look, out))
}

fn amount(is_size: bool, number: i64) -> String {
    match is_size {
        true => size(number.unsigned_abs()),
        false => count(number.unsigned_abs()),
    }
}

fn line(row: &TopRow, is_size: bool, is_fleet: bool, look: &Look, out: &mut String) -> std::fmt::Result {
    let delta = row.delta_sum.unwrap_or(0);
    let sign = if delta < 0 { '-' } else { '+' };
    let code = match delta {
        _ if row.status == "within_noise" => "2",
        1.. => "31",
        _ => "32",
    };
    let change = look.painted(&format!("{:>11}", format!("{sign}{}", amount(is_size, delta))), code);
    let percent =
        row.percent_sum.filter(|percent| percent.is_finite()).map_or_else(String::new, |percent| match percent {
            1000.0.. => format!(" ({:.0} times)", percent / 100.0 + 1.0),
            _ => format!(" ({percent:+.1} %)"),
        });
    let real = match row.q {
        Some(q) => format!(", q {q:.1e}"),
        None if row.evidence == "separation" => " (too few runs for a test)".to_owned(),
        None => String::new(),
    };
    let is_change = !matches!(row.status, "within_noise" | "same");
    let on = if is_fleet && is_change { format!(" {} of {}", row.changed_on, row.of) } else { String::new() };
    let ending = format!("  {}{on}{percent}{real}", row.status);
    let used = 2 + 11 + 2 + ending.chars().count();
    writeln!(out, "  {change}  {}{ending}", look.fit(&row.signature, used, NAME))?;
    let mut below = Vec::new();
    if let Some(names) = row.changed_on_names.as_ref().filter(|_| is_fleet && is_change) {
        let named: Vec<&str> = names.split(", ").take(HOSTS).collect();
        let more = if row.changed_on as usize > named.len() { ", …" } else { "" };
        below.push(format!("on {}{more}", named.join(", ")));
    }
    if let Some(through) = &row.grew_through {
        let new = if through.new { ", a new path" } else { "" };
        below.push(format!("through {}{new}", through.text));
    }
    if !below.is_empty() {
        writeln!(out, "    {}", look.fit(&below.join("; "), 4, 4 * NAME))?;
    }
    Ok(())
}

/// Writes new and deleted objects by class, and leak candidates.
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
