//! One table of two sides, compared: its rows on disk, what they are ranked by in memory.

use super::row::{BASE, Making, Row, TARGET};
use super::untold;
use crate::rows::texts::{self, Texts};
use crate::rows::{self, Gathered};
use crate::sides::Sides;
use crate::statistics;
use heaplake_kit::{Context, Reservation, StageError};
use heaplake_names::Names;
use heaplake_schemas::diff::DiffTable;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Rows whose q is less are significant.
pub const SIGNIFICANT: f64 = 0.05;

/// A compared table.
pub struct Compared<'a> {
    /// Its schema.
    pub table: &'a DiffTable,
    /// Runs of each side that have the table.
    pub runs: [usize; 2],
    /// Numbers of the rows, ranked.
    pub order: Vec<u32>,
    /// Texts of the rows.
    pub texts: Texts,
    /// q of each row, for each measure; NaN for none.
    q: Vec<Vec<f64>>,
    folder: PathBuf,
    file: File,
    width: usize,
    _room: Vec<Reservation>,
}

/// What shapes a comparison.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Rules of names, for runs whose tables have no signatures.
    pub names: &'a Names,
    /// Whether the user gave rules of names, so that signatures of tables do not count.
    pub own_names: bool,
    /// Folder for scratch files.
    pub scratch: &'a Path,
}

/// Compares a table; nothing if a side has no run with it.
///
/// # Errors
/// As the reader of tables, and [`StageError::Budget`].
pub fn compare<'a>(
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
    let mut count = 0;
    let mut classes = FxHashSet::default();
    gathered.each(context, class_of, |class| {
        count += 1;
        classes.insert(class);
        Ok(())
    })?;
    if table.compared.name == "chains" {
        gathered.untold = untold::find(&gathered, &classes, context)?;
    }
    let making = Making { measures: table.measures.len(), runs, rows: count };
    filled(&gathered, making, rules.scratch, context).map(Some)
}

fn class_of(group: &rows::Group<'_>) -> u64 {
    group.class()
}

/// Makes the rows and ranks them.
fn filled<'a>(
    gathered: &Gathered<'a>,
    making: Making,
    scratch: &Path,
    context: &Context<'_>,
) -> Result<Compared<'a>, StageError> {
    let failed = |error| StageError::io(scratch, "write to", error);
    let bytes = making.rows as u64 * (48 + 24 * making.measures as u64);
    let room = context.budget.reserve("comparison: ranks of rows", bytes)?;
    let file = tempfile::tempfile_in(scratch).map_err(failed)?;
    let mut out = BufWriter::with_capacity(256 << 10, &file);
    let (mut deltas, mut examples) = (Vec::new(), Vec::new());
    let mut p = vec![Vec::new(); making.measures];
    let mut words = Vec::new();
    gathered.each(
        context,
        |group| making.row(group),
        |row: Row| {
            words.clear();
            row.to_words(&mut words);
            out.write_all(bytemuck::cast_slice(&words)).map_err(failed)?;
            deltas.push((row.measures[0].delta().unwrap_or(0), row.fingerprint));
            examples.push(row.example);
            for (p, measure) in p.iter_mut().zip(&row.measures) {
                p.push(measure.statistics.map_or(f64::NAN, |of| of.p));
            }
            Ok(())
        },
    )?;
    out.flush().map_err(failed)?;
    drop(out);
    let q: Vec<Vec<f64>> = p.iter().map(|p| statistics::corrected(p)).collect();
    let mut order: Vec<u32> = (0..deltas.len() as u32).collect();
    order.sort_by_key(|&at| rank(deltas[at as usize], q[0][at as usize]));
    let texts = texts::read(gathered, &examples, scratch, context)?;
    let (table, width) = (gathered.table, Row::width(making.measures));
    let runs = making.runs;
    Ok(Compared { table, runs, order, texts, q, folder: scratch.to_owned(), file, width, _room: vec![room] })
}

/// Significant growth first, then what shrank significantly, then the others: each by size, those that grew first.
fn rank((delta, fingerprint): (i64, u64), q: f64) -> (u8, Reverse<i64>, u64) {
    match (q < SIGNIFICANT, delta < 0) {
        (true, false) => (0, Reverse(delta), fingerprint),
        (true, true) => (1, Reverse(delta.saturating_neg()), fingerprint),
        (false, _) => (2, Reverse(delta), fingerprint),
    }
}

impl Compared<'_> {
    /// A row by its number.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn row(&self, number: u32) -> Result<Row, StageError> {
        let mut words = vec![0_u64; self.width];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        let start = u64::from(number) * bytes.len() as u64;
        self.file.read_exact_at(bytes, start).map_err(|error| StageError::io(&self.folder, "read from", error))?;
        Ok(Row::from_words(&words))
    }

    /// q of a measure of a row.
    #[must_use]
    pub fn q(&self, number: u32, measure: usize) -> Option<f64> {
        Some(self.q[measure][number as usize]).filter(|q| !q.is_nan())
    }

    /// Whether there are statistics.
    #[must_use]
    pub fn has_statistics(&self) -> bool {
        self.runs.iter().any(|&runs| runs > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_growth_is_ranked_first() {
        let mut rows = [(5, 0.5), (-9, 0.01), (7, 0.01), (9, 0.01), (-1, f64::NAN), (100, f64::NAN), (0, 0.01)];
        rows.sort_by_key(|&(delta, q)| rank((delta, 0), q));
        assert_eq!(rows.map(|(delta, _)| delta), [9, 7, 0, -9, 100, 5, -1]);
    }
}
