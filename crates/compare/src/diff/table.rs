//! Compares one table of two sides.

use super::pairs::Pairs;
use super::row::{Measure, RowBuilder};
use super::sides::{BASE, TARGET};
use crate::ranked::row::Row;
use crate::ranked::table::{Layout, Ranked, ordered};
use crate::rows::{self, Rules};
use crate::sides::Sides;
use crate::statistics;
use heaplake_kit::{Context, StageError};
use heaplake_schemas::diff::DiffTable;
use std::cmp::Reverse;

/// Rows with a smaller q are significant.
pub const SIGNIFICANT: f64 = 0.05;

/// A compared table.
pub(super) struct Compared {
    /// Subjects.
    pub ranked: Ranked<Measure, Rank>,
    /// Number of paired hosts.
    pub pairs: usize,
    /// Whether there are statistics: some side has several runs.
    pub has_statistics: bool,
    /// Medians of the smallest effects of all subjects: on all runs, and on a tenth of the runs.
    pub smallest_effects: [Option<f64>; 2],
    /// q of each row, per measure; NaN if none.
    q: Vec<Vec<f64>>,
}

/// Compares a table; `None` if a side has no run with it.
pub(super) fn compare(
    sides: &Sides,
    table: &'static DiffTable,
    rules: &Rules<'_>,
    context: &Context<'_>,
) -> Result<Option<Compared>, StageError> {
    let one_each = sides.sides.iter().all(|side| side.runs.len() == 1);
    let gathered = rows::gather(sides, table, rules, one_each, context)?;
    let of_sides = gathered.of_sides();
    let runs = [BASE, TARGET].map(|side| of_sides[side].runs);
    if runs.contains(&0) {
        return Ok(None);
    }
    let pairs = rules.pair.map_or_else(Pairs::default, |label| Pairs::of(sides, &gathered, label));
    let measures = table.measures.len();
    let builder = RowBuilder { measures, runs, rows: gathered.subjects.keys.len(), pairs: &pairs };
    let has_statistics = builder.has_statistics();
    let (mut changes, mut p, mut effects) = (Vec::new(), vec![Vec::new(); measures], [Vec::new(), Vec::new()]);
    let grant = "comparison: ranks of rows";
    let layout = Layout { grant, values: measures, bytes: 80 + 24 * measures as u64 };
    let mut ranked = Ranked::of(
        table,
        gathered,
        &layout,
        context,
        |group| builder.row(group),
        |row: &Row<Measure>| {
            changes.push(Change::of(row, has_statistics));
            p.iter_mut().zip(&row.values).for_each(|(p, measure)| p.push(measure.tests.p));
            let tests = &row.values[0].tests;
            effects[0].push(tests.smallest_effect);
            effects[1].push(tests.smallest_on_tenth);
        },
    )?;
    let q: Vec<Vec<f64>> = p.into_iter().map(|p| statistics::corrected(&p)).collect();
    let mut ranks = Vec::with_capacity(changes.len());
    for (number, change) in (0..).zip(changes) {
        let is_possible = table.compared.name == "findings" && ranked.labels(number)?.is_possible(table);
        ranks.push(change.rank(q[0][number as usize], is_possible));
    }
    ranked.rank(ranks);
    Ok(Some(Compared { ranked, pairs: pairs.count, has_statistics, smallest_effects: effects.map(middle), q }))
}

/// Upper median: at least half of the subjects show this effect.
fn middle(mut effects: Vec<f64>) -> Option<f64> {
    effects.retain(|effect| !effect.is_nan());
    effects.sort_unstable_by(f64::total_cmp);
    effects.get(effects.len() / 2).copied()
}

/// Change of a subject, without the correction for the number of subjects.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Lower bound of the fleet's change in bytes.
    sure: f64,
    /// Estimated change in bytes.
    sum: i64,
    is_separate: bool,
    fingerprint: u64,
}

/// Rank of a subject: possible duplicates come last; significant growth first, then significant shrinking, then the
/// rest; each by size, growth before shrinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    is_possible: bool,
    class: u8,
    sure: Reverse<i64>,
    sum: Reverse<i64>,
    fingerprint: u64,
}

impl Change {
    fn of(row: &Row<Measure>, has_statistics: bool) -> Self {
        let (main, sum) = (&row.values[0], row.values[0].delta_sum().unwrap_or(0));
        let [low, high] = main.tests.sum_interval;
        let sure = match sum {
            0.. if low.is_nan() => sum as f64,
            0.. => low.max(0.0),
            _ if high.is_nan() => sum as f64,
            _ => high.min(0.0),
        };
        let is_separate = main.tests.is_separate() && (!has_statistics || main.tests.too_few());
        Self { sure, sum, is_separate, fingerprint: row.head.fingerprint }
    }

    fn rank(self, q: f64, is_possible: bool) -> Rank {
        let class = match (q < SIGNIFICANT || self.is_separate, self.sum < 0) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => 2,
        };
        let (sure, sum) = if class == 1 { (-self.sure, -self.sum) } else { (self.sure, self.sum) };
        let fingerprint = self.fingerprint;
        Rank { is_possible, class, sure: Reverse(ordered(sure)), sum: Reverse(sum), fingerprint }
    }
}

impl Compared {
    /// q of a measure of a row; `None` if there are too few runs for any to be significant.
    pub(super) fn q(&self, number: u32, measure: usize, row: &Row<Measure>) -> Option<f64> {
        let too_few = row.values[measure].tests.too_few();
        Some(self.q[measure][number as usize]).filter(|&q| q < SIGNIFICANT || !(q.is_nan() || too_few))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sure_growth_is_ranked_first() {
        let change = |sum: i64, sure: f64| Change { sure, sum, is_separate: false, fingerprint: 0 };
        let mut rows = [
            (change(5, 0.0), 0.5),
            (change(-9, -2.0), 0.01),
            (change(90, 7.0), 0.01),
            (change(20, 9.0), 0.01),
            (change(-1, -1.0), f64::NAN),
            (change(100, 100.0), f64::NAN),
            (Change { is_separate: true, ..change(8, 8.0) }, f64::NAN),
            (change(0, 0.0), 0.01),
        ];
        rows.sort_by_key(|(change, q)| change.rank(*q, false));
        assert_eq!(rows.map(|(change, _)| change.sum), [20, 8, 90, 0, -9, 100, 5, -1]);
    }
}
