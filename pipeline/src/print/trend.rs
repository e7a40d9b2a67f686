//! Text of a trend: growing rows, the start of growth, and their series.

use super::subjects::{Lines, NAME};
use super::terminal::Look;
use heaplake_compare::trend::{Answer, TopRow};
use heaplake_kit::text::{count, size, visible};
use heaplake_schemas::comparison::Side;
use heaplake_schemas::diff::is_size;

/// Rows of a table.
const ROWS: usize = 8;
/// Maximum characters of a series: a longer one is sampled.
const SERIES: usize = 24;
/// Characters of a sparkline, the lowest level first.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Text of the trend.
pub fn text(answer: &Answer, look: &Look) -> String {
    let mut lines = Lines::new(look);
    let steps = &answer.series.steps;
    let runs: usize = steps.iter().map(|step| step.runs.len()).sum();
    let (first, last) = (steps.first().map(name), steps.last().map(name));
    let ends = visible(&format!("{} to {}", first.unwrap_or_default(), last.unwrap_or_default()));
    lines.line(&format!("{} steps by {}, {runs} runs: {ends}", steps.len(), answer.series.by));
    for table in &answer.followed {
        let format = answer.series.format.contains(", ").then_some(table.format.as_str());
        let shapes: Vec<String> =
            table.shapes.iter().map(|(shape, rows)| format!("{} {shape}", count(*rows))).collect();
        lines.line(&format!("\n{}: {}", lines.heading(table.table, format, table.measure), shapes.join(", ")));
        let shown = table.top.iter().filter(|row| row.shape != "none").take(ROWS);
        let is_size = is_size(table.table, table.measure);
        shown.for_each(|row| subject(row, is_size, steps, &mut lines));
    }
    lines.remarks(&answer.series.remarks);
    lines.out
}

/// Name of a step: its run, or the selection of its runs.
fn name(step: &Side) -> String {
    match step.runs.as_slice() {
        [run] if step.selection.contains("snapshot=") => run.snapshot.clone(),
        _ => step.selection.clone(),
    }
}

fn subject(row: &TopRow, is_size: bool, steps: &[Side], lines: &mut Lines<'_>) {
    let amount = |number: f64| match is_size {
        true => size(number.abs().round() as u64),
        false => format!("{:.1}", number.abs()),
    };
    let signed = |number: f64| format!("{}{}", if number < 0.0 { '-' } else { '+' }, amount(number));
    let on_some = row.shape == "leaks_on_some";
    let growing = row.shape == "growing" || on_some;
    let since = row.first_growth.and_then(|step| steps.get(step)).filter(|_| growing);
    let since = since.map_or_else(String::new, |step| format!(" since {}", visible(&name(step))));
    let interval =
        row.slope_interval.map_or_else(String::new, |[low, high]| format!(", {} to {}", signed(low), signed(high)));
    let on = if on_some { format!(" ({} hosts)", row.grown_on) } else { String::new() };
    let ending = format!("  {}{on}{since}{interval}", row.shape);
    let series = format!("{}  ", sparkline(&row.levels));
    let code = if growing { "31" } else { "2" };
    lines.subject((&signed(row.slope), Some(code)), &series, &row.signature, &ending);
    if let Some(names) = row.grown_on_names.as_ref().filter(|_| on_some) {
        lines.line(&format!("    on {}", lines.look.fit(names, 7, NAME)));
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
