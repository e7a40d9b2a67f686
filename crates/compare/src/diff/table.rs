//! Compares one table of two sides: rows on disk, ranking keys in memory.

use super::pairs::Pairs;
use super::row::{Row, RowBuilder};
use super::sides::{BASE, TARGET};
use super::untold;
use crate::rows::texts::{self, Texts};
use crate::rows::{self, Gathered};
use crate::run_metadata;
use crate::sides::Sides;
use crate::statistics;
use heaplake_kit::{Context, Reservation, StageError};
use heaplake_names::Normaliser;
use heaplake_schemas::diff::DiffTable;
use rustc_hash::FxHashSet;
use std::cmp::Ordering;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Rows with a smaller q are significant.
pub const SIGNIFICANT: f64 = 0.05;

/// Prefix of the rules that find possible duplicates.
pub(crate) const POSSIBLE: &str = "possible-duplicates";

/// A compared table.
pub struct Compared<'a> {
    /// Table schema.
    pub table: &'a DiffTable,
    /// Number of runs with the table, per side.
    pub runs: [usize; 2],
    /// Row numbers by rank.
    pub order: Vec<u32>,
    /// Number of hosts with the table, per side; `None` if no run has a host.
    pub hosts: [Option<usize>; 2],
    /// Name of each run's host, or of the run.
    pub names: Vec<String>,
    /// Number of paired hosts.
    pub pairs: usize,
    /// Texts of the rows.
    pub texts: Texts,
    /// q of each row, per measure; NaN if none.
    q: Vec<Vec<f64>>,
    ranks: Vec<Rank>,
    /// Subjects that are only possible duplicates; ranked last.
    possible: FxHashSet<u32>,
    folder: PathBuf,
    file: File,
    width: usize,
    _room: Vec<Reservation>,
}

/// Options of a comparison.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Name rules, for runs without signatures in their tables.
    pub names: &'a Normaliser,
    /// Whether the user gave name rules, so that signatures of tables are ignored.
    pub own_names: bool,
    /// Label that names hosts, for pairing; `None` disables pairing.
    pub pair: Option<&'a str>,
    /// Folder for scratch files.
    pub scratch: &'a Path,
}

/// Compares a table; `None` if a side has no run with it.
pub(super) fn compare<'a>(
    sides: &Sides,
    table: &'a DiffTable,
    rules: Rules<'a>,
    context: &Context<'_>,
) -> Result<Option<Compared<'a>>, StageError> {
    let source = rows::source(sides, table, rules.names, rules.own_names)?;
    let one_each = sides.sides.iter().all(|side| side.runs.len() == 1);
    let mut gathered = rows::gather(sides, table, source, one_each, rules.scratch, context)?;
    let runs = [BASE, TARGET].map(|side| gathered.runs_of(side));
    if runs.contains(&0) {
        return Ok(None);
    }
    if table.compared.name == "chains" {
        gathered.untold = untold::find(&gathered, &gathered.subjects.classes, context)?;
    }
    let count = gathered.subjects.count();
    let pairs = rules.pair.map_or_else(Pairs::default, |label| Pairs::of(sides, &gathered, label));
    let builder = RowBuilder { measures: table.measures.len(), runs, rows: count, pairs: &pairs };
    filled(&gathered, &builder, rules.scratch, context).map(Some)
}

/// Computes the rows and ranks them.
fn filled<'a>(
    gathered: &Gathered<'a>,
    builder: &RowBuilder<'_>,
    scratch: &Path,
    context: &Context<'_>,
) -> Result<Compared<'a>, StageError> {
    let failed = |error| StageError::io(scratch, "write to", error);
    let bytes = builder.rows as u64 * (48 + 24 * builder.measures as u64);
    let room = context.budget.reserve("comparison: ranks of rows", bytes)?;
    let file = tempfile::tempfile_in(scratch).map_err(failed)?;
    let mut out = BufWriter::with_capacity(256 << 10, &file);
    let (mut ranks, mut examples) = (Vec::new(), Vec::new());
    let mut p = vec![Vec::new(); builder.measures];
    let mut words = Vec::new();
    gathered.each(
        context,
        |group| builder.row(group),
        |row: Row| {
            words.clear();
            row.to_words(&mut words);
            out.write_all(bytemuck::cast_slice(&words)).map_err(failed)?;
            ranks.push(Rank::of(&row, builder.has_statistics()));
            examples.push(row.head.example.into());
            for (p, measure) in p.iter_mut().zip(&row.measures) {
                p.push(measure.tests.p);
            }
            Ok(())
        },
    )?;
    out.flush().map_err(failed)?;
    drop(out);
    let q: Vec<Vec<f64>> = p.iter().map(|p| statistics::corrected(p)).collect();
    let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
    order.sort_by(|&a, &b| ranks[a as usize].order(q[0][a as usize], &ranks[b as usize], q[0][b as usize]));
    let texts = texts::read(gathered, &examples, scratch, context)?;
    let possible = last_of_possible(gathered.table, &texts, &mut order)?;
    let (table, width) = (gathered.table, Row::width(builder.measures));
    Ok(Compared {
        table,
        runs: builder.runs,
        order,
        hosts: [BASE, TARGET].map(|side| gathered.hosts_of(side)),
        names: gathered.runs.iter().map(|run| run.name.clone()).collect(),
        pairs: builder.pairs.count(),
        texts,
        q,
        ranks,
        possible,
        folder: scratch.to_owned(),
        file,
        width,
        _room: vec![room],
    })
}

/// Moves possible duplicates behind all other subjects; returns them.
fn last_of_possible(table: &DiffTable, texts: &Texts, order: &mut Vec<u32>) -> Result<FxHashSet<u32>, StageError> {
    if table.compared.name != "findings" {
        return Ok(FxHashSet::default());
    }
    let (mut first, mut last) = (Vec::with_capacity(order.len()), Vec::new());
    for &number in order.iter() {
        let rule = texts.of(number as usize)?.into_iter().next().flatten();
        let possible = rule.is_some_and(|rule| rule.starts_with(POSSIBLE));
        if possible { last.push(number) } else { first.push(number) }
    }
    let possible = last.iter().copied().collect();
    first.append(&mut last);
    *order = first;
    Ok(possible)
}

/// Ranking key of a subject.
#[derive(Clone, Copy, Debug)]
struct Rank {
    /// Lower bound of the fleet's change in bytes.
    sure: f64,
    /// Estimated change in bytes.
    sum: i64,
    is_separate: bool,
    fingerprint: u64,
}

impl Rank {
    fn of(row: &Row, has_statistics: bool) -> Self {
        let (main, sum) = (&row.measures[0], row.measures[0].delta_sum().unwrap_or(0));
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

    /// Significant growth first, then significant shrinking, then the rest; each by size, growth before shrinking.
    fn order(&self, q: f64, other: &Self, other_q: f64) -> Ordering {
        let class = |rank: &Self, q: f64| match (q < SIGNIFICANT || rank.is_separate, rank.sum < 0) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => 2,
        };
        let (of, of_other) = (class(self, q), class(other, other_q));
        let size = |rank: &Self| if of == 1 { (-rank.sure, -rank.sum) } else { (rank.sure, rank.sum) };
        let ((sure, sum), (other_sure, other_sum)) = (size(self), size(other));
        let by_size = other_sure.total_cmp(&sure).then(other_sum.cmp(&sum));
        of.cmp(&of_other).then(by_size).then(self.fingerprint.cmp(&other.fingerprint))
    }
}

impl Compared<'_> {
    /// Reads a row.
    pub fn row(&self, number: u32) -> Result<Row, StageError> {
        let mut words = vec![0_u64; self.width];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        let start = u64::from(number) * bytes.len() as u64;
        self.file.read_exact_at(bytes, start).map_err(|error| StageError::io(&self.folder, "read from", error))?;
        Ok(Row::from_words(&words))
    }

    /// q of a measure of a row; `None` if there are too few runs for any to be significant.
    pub fn q(&self, number: u32, measure: usize, row: &Row) -> Option<f64> {
        let too_few = row.measures[measure].tests.too_few();
        Some(self.q[measure][number as usize]).filter(|&q| q < SIGNIFICANT || !(q.is_nan() || too_few))
    }

    /// Whether a subject ranks before one of another format.
    pub fn is_before(&self, number: u32, other: &Compared<'_>, other_number: u32) -> bool {
        let of = |compared: &Compared<'_>, number: u32| {
            let is_possible = compared.possible.contains(&number);
            (is_possible, compared.ranks[number as usize], compared.q[0][number as usize])
        };
        let ((possible, rank, q), (other_possible, other, other_q)) = (of(self, number), of(other, other_number));
        possible.cmp(&other_possible).then_with(|| rank.order(q, &other, other_q)).is_lt()
    }

    /// Names of the hosts (or runs) on which a subject changed most, separated by commas.
    pub fn changed_on(&self, row: &Row) -> Option<String> {
        run_metadata::names_of(&row.head.named, &self.names)
    }

    /// Whether there are statistics: some side has several runs.
    pub fn has_statistics(&self) -> bool {
        self.runs.iter().any(|&runs| runs > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sure_growth_is_ranked_first() {
        let rank = |sum: i64, sure: f64| Rank { sure, sum, is_separate: false, fingerprint: 0 };
        let mut rows = [
            (rank(5, 0.0), 0.5),
            (rank(-9, -2.0), 0.01),
            (rank(90, 7.0), 0.01),
            (rank(20, 9.0), 0.01),
            (rank(-1, -1.0), f64::NAN),
            (rank(100, 100.0), f64::NAN),
            (Rank { is_separate: true, ..rank(8, 8.0) }, f64::NAN),
            (rank(0, 0.0), 0.01),
        ];
        rows.sort_by(|(a, q), (b, other)| a.order(*q, b, *other));
        assert_eq!(rows.map(|(rank, _)| rank.sum), [20, 8, 90, 0, -9, 100, 5, -1]);
    }
}
