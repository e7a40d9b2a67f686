//! Text of a trend: growing rows, the start of growth, and their series.

use super::terminal::Look;
use heaplake_compare::trend::{Answer, InBrief, TopRow};
use heaplake_kit::text::{count, size, visible};
use heaplake_schemas::comparison::Side;
use heaplake_schemas::diff::is_size;
use std::fmt::Write;

/// Rows of a table.
const ROWS: usize = 8;
/// Maximum characters of a name in a line of any length.
const NAME: usize = 100;
/// Maximum characters of a series: a longer one is sampled.
const SERIES: usize = 24;
/// Characters of a sparkline, the lowest level first.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Text of the trend.
pub fn text(answer: &Answer, look: &Look) -> String {
    let mut out = String::new();
    let steps = &answer.series.steps;
    let runs: usize = steps.iter().map(|step| step.runs.len()).sum();
    let (first, last) = (steps.first().map(name), steps.last().map(name));
    let ends = visible(&format!("{} to {}", first.unwrap_or_default(), last.unwrap_or_default()));
    // Writing into a string cannot fail.
    let _ = writeln!(out, "{} steps by {}, {runs} runs: {ends}", steps.len(), answer.series.by);
    for table in &answer.followed {
        let format = answer.series.format.contains(", ").then_some(table.format.as_str());
        let _ = brief((table, format), steps, look, &mut out);
    }
    for remark in &answer.series.remarks {
        let _ = writeln!(out, "\n{}", look.wrap(remark, 0, 0));
    }
    out
}

/// Name of a step: its run, or the selection of its runs.
fn name(step: &Side) -> String {
    match step.runs.as_slice() {
        [run] if step.selection.contains("snapshot=") => run.snapshot.clone(),
        _ => step.selection.clone(),
    }
}

/// Writes a table, with its format if the runs have several.
fn brief((table, format): (&InBrief, Option<&str>), steps: &[Side], look: &Look, out: &mut String) -> std::fmt::Result {
    let what = table.table.trim_start_matches("trend_").replace('_', " ");
    let shapes: Vec<String> = table.shapes.iter().map(|(shape, rows)| format!("{} {shape}", count(*rows))).collect();
    let of = format.map_or_else(String::new, |format| format!(" of {}", visible(format)));
    writeln!(out, "\n{}{of} by {}: {}", look.painted(&what, "1"), table.measure, shapes.join(", "))?;
    let is_size = is_size(table.table, table.measure);
    for row in table.top.iter().filter(|row| row.shape != "none").take(ROWS) {
        line(row, is_size, steps, look, out)?;
    }
    Ok(())
}

fn line(row: &TopRow, is_size: bool, steps: &[Side], look: &Look, out: &mut String) -> std::fmt::Result {
    let amount = |number: f64| match is_size {
        true => size(number.abs().round() as u64),
        false => format!("{:.1}", number.abs()),
    };
    let signed = |number: f64| format!("{}{}", if number < 0.0 { '-' } else { '+' }, amount(number));
    let growing = row.shape == "growing" || row.shape == "leaks_on_some";
    let slope = look.painted(&format!("{:>11}", signed(row.slope)), if growing { "31" } else { "2" });
    let since = row.first_growth.and_then(|step| steps.get(step)).filter(|_| growing);
    let since = since.map_or_else(String::new, |step| format!(" since {}", visible(&name(step))));
    let interval =
        row.slope_interval.map_or_else(String::new, |[low, high]| format!(", {} to {}", signed(low), signed(high)));
    let on = match row.shape {
        "leaks_on_some" => format!(" ({} hosts)", row.grown_on),
        _ => String::new(),
    };
    let ending = format!("  {}{on}{since}{interval}", row.shape);
    let series = sparkline(&row.levels);
    let used = 2 + 11 + 2 + series.chars().count() + 2 + ending.chars().count();
    writeln!(out, "  {slope}  {series}  {}{ending}", look.fit(&row.signature, used, NAME))?;
    match row.grown_on_names.as_ref().filter(|_| row.shape == "leaks_on_some") {
        Some(names) => writeln!(out, "    on {}", look.fit(names, 7, NAME)),
        None => Ok(()),
    }
}

/// Renders a series as blocks; a space for a step without a value.
pub fn sparkline(values: &[Option<i64>]) -> String {
    let shown = values.len().min(SERIES);
    let at = |place: usize| if shown < 2 { 0 } else { place * (values.len() - 1) / (shown - 1) };
    let (low, high) = (values.iter().flatten().min(), values.iter().flatten().max());
    let (low, high) = (low.copied().unwrap_or(0), high.copied().unwrap_or(0));
    let range = high.abs_diff(low).max(1);
    let level = |value: i64| {
        (u128::from(value.abs_diff(low)) * (LEVELS.len() as u128 - 1) + u128::from(range / 2)) / u128::from(range)
    };
    (0..shown).map(|place| values[at(place)].map_or(' ', |value| LEVELS[level(value) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn series_are_drawn_between_their_ends() {
        let of = |values: &[i64]| sparkline(&values.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(of(&[0, 1, 2, 3, 4, 5, 6, 7]), "▁▂▃▄▅▆▇█");
        assert_eq!(of(&[500, 400, 300]), "█▅▁");
        assert_eq!(of(&[7, 7]), "▁▁");
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[i64::MIN, 0, i64::MAX]), "▁▅█");
        assert_eq!(sparkline(&[Some(1), None, Some(2)]), "▁ █");
        let long: Vec<Option<i64>> = (0..1000).map(Some).collect();
        assert_eq!(sparkline(&long).chars().count(), 24);
        assert!(sparkline(&long).starts_with('▁') && sparkline(&long).ends_with('█'));
    }
}
