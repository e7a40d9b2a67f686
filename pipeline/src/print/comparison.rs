//! Text of a comparison: largest growth, its holder, and its significance.

use super::subjects::{Lines, NAME, amount, change};
use super::terminal::Look;
use heaplake_compare::diff::{Answer, InBrief, TopRow};
use heaplake_compare::objects;
use heaplake_kit::text::{count, size, visible};
use heaplake_schemas::comparison::{ComparedRun, Side};
use heaplake_schemas::diff::is_size;

/// Rows of the first table.
const FIRST: usize = 5;
/// Rows of each other table, so that all fits a screen.
const OTHERS: usize = 3;
/// Rows of classes of objects, and of leak candidates.
const ROWS: usize = 8;
/// Hosts listed.
const HOSTS: usize = 3;

/// Text of the comparison, and of the fate of objects if requested.
pub fn text(answer: &Answer, objects: Option<&objects::Answer>, look: &Look) -> String {
    let mut lines = Lines::new(look);
    for (name, side) in [("base", &answer.comparison.base), ("target", &answer.comparison.target)] {
        lines.line(&format!("{name:<8}{}", in_words(side)));
    }
    let is_fleet = answer.comparison.target.runs.len() > 1;
    for (at, table) in answer.compared.iter().enumerate() {
        let format = answer.comparison.format.contains(", ").then_some(table.format.as_str());
        heading(table, format, &mut lines);
        let shown = table.top.iter().take(if at == 0 { FIRST } else { OTHERS });
        let is_size = is_size(table.table, table.measure);
        shown.for_each(|row| subject(row, is_size, is_fleet, &mut lines));
    }
    objects.iter().for_each(|objects| of_objects(objects, &mut lines));
    lines.remarks(&answer.comparison.remarks);
    lines.out
}

fn in_words(side: &Side) -> String {
    let (runs, hosts) = (side.runs.len(), hosts(side));
    let hosts = if hosts > 0 { format!(" on {hosts} hosts") } else { String::new() };
    let runs = if runs == 1 { String::new() } else { format!(": {runs} runs{hosts}, medians") };
    let (bytes, objects) = (median(side, |run| run.bytes), median(side, |run| run.objects));
    format!("{}{runs}  {} in {} objects", visible(&side.selection), size(bytes), count(objects))
}

fn hosts(side: &Side) -> usize {
    let mut hosts: Vec<&str> = side.runs.iter().filter_map(|run| run.host.as_deref()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.len()
}

fn median(side: &Side, of: fn(&ComparedRun) -> u64) -> u64 {
    let mut values: Vec<i64> = side.runs.iter().map(|run| i64::try_from(of(run)).unwrap_or(i64::MAX)).collect();
    values.sort_unstable();
    heaplake_compare::statistics::median(&values).unsigned_abs()
}

/// Adds the heading of a table, with its format if the runs have several.
fn heading(table: &InBrief, format: Option<&str>, lines: &mut Lines<'_>) {
    let statuses: Vec<String> =
        table.statuses.iter().map(|(status, rows)| format!("{} {status}", count(*rows))).collect();
    let statuses = if statuses.is_empty() { "no rows".to_owned() } else { statuses.join(", ") };
    let pairs = if table.pairs > 0 { format!(", {} hosts paired", count(table.pairs as u64)) } else { String::new() };
    let heading = lines.heading(table.table, format, table.measure);
    lines.line(&format!("\n{}", lines.look.wrap(&format!("{heading}{pairs}: {statuses}"), 0, 2)));
    let is_size = is_size(table.table, table.measure);
    let effect = |effect: f64| amount(is_size, effect as i64);
    let text = match (table.significant, table.smallest_effect, table.smallest_effect_on_tenth) {
        (Some(0), Some(on_all), on_tenth) => {
            let on_tenth = on_tenth.map_or_else(String::new, |of| format!(", or by {} on a tenth of them", effect(of)));
            let on_all = effect(on_all);
            format!("No row is significant; half of them would be if they grew by {on_all} on all runs{on_tenth}")
        }
        (Some(0), None, _) => {
            "Too few runs for a test: a row changed where all runs of one side lie far above all of the other"
                .to_owned()
        }
        _ => return,
    };
    lines.line(&format!("  {}", lines.look.wrap(&text, 2, 2)));
}

fn subject(row: &TopRow, is_size: bool, is_fleet: bool, lines: &mut Lines<'_>) {
    let delta = row.delta_sum.unwrap_or(0);
    let code = match delta {
        _ if row.status == "within_noise" => "2",
        1.. => "31",
        _ => "32",
    };
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
    lines.subject((&change(is_size, delta), Some(code)), "", &row.signature, &ending);
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
        lines.line(&format!("    {}", lines.look.fit(&below.join("; "), 4, 4 * NAME)));
    }
}

/// Adds new and deleted objects by class, and leak candidates.
fn of_objects(answer: &objects::Answer, lines: &mut Lines<'_>) {
    let (title, total) = (lines.look.painted("objects", "1"), &answer.total);
    let [new, deleted, kept] = [total.new_count, total.deleted_count, total.kept_count].map(count);
    lines.line(&format!("\n{title}: {new} new, {deleted} deleted, {kept} kept"));
    for class in answer.grown.iter().take(ROWS) {
        let of = &class.change;
        let ending = format!("  {} new, {} deleted", count(of.new_count), count(of.deleted_count));
        lines.subject((&change(true, of.delta_bytes()), None), "", &class.class, &ending);
    }
    let Some(candidates) = &answer.candidates else { return };
    let title = lines.look.painted("candidates of leaks", "1");
    let (objects, retained) = (count(candidates.count), size(candidates.retained_bytes));
    lines.line(&format!("\n{title}: {objects} objects, which retain {retained}"));
    for group in candidates.groups.iter().take(ROWS) {
        let retained = size(group.retained_bytes);
        lines.line(&format!("  {retained:>11}  {} x {}", count(group.count), visible(&group.class)));
        if let Some(chain) = &group.chain {
            lines.line(&format!("    {}", lines.look.fit(chain, 4, 4 * NAME)));
        }
    }
}
