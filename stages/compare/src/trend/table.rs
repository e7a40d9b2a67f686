//! One table of a series: its rows on disk, what they are ranked by in memory.

use super::row::{Row, width};
use super::shape::{Shape, Trend};
use crate::diff::Rules;
use crate::diff::cells::{Cell, column};
use crate::diff::untold;
use crate::rows::texts::{self, Texts};
use crate::rows::{self, Gathered, Group};
use crate::sides::Sides;
use crate::statistics::Slope;
use arrow::array::ArrayRef;
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, Reservation, StageError};
use heaplake_lake::table::Table;
use heaplake_schemas::run;
use heaplake_schemas::trend::TrendTable;
use rustc_hash::FxHashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Rows of a row group.
const BATCH: usize = 1 << 12;
/// Slopes that a thread holds at most.
const MOST_SLOPES: u64 = 1 << 20;

/// A followed table.
pub struct Followed {
    table: &'static TrendTable,
    steps: usize,
    /// Numbers of the rows, ranked.
    order: Vec<u32>,
    texts: Texts,
    folder: PathBuf,
    file: File,
    _room: Reservation,
}

/// Follows a table; nothing if no run has it.
///
/// # Errors
/// As the reader of tables, and [`StageError::Budget`].
pub fn follow(
    sides: &Sides,
    table: &'static TrendTable,
    rules: Rules<'_>,
    context: &Context<'_>,
) -> Result<Option<Followed>, StageError> {
    let source = rows::source(sides, table.rows, rules.names, rules.own_names)?;
    let mut gathered = rows::gather(sides, table.rows, source, false, rules.scratch, context)?;
    if gathered.runs.is_empty() {
        return Ok(None);
    }
    let mut count = 0;
    let mut classes = FxHashSet::default();
    gathered.each(context, class_of, |class| {
        count += 1;
        classes.insert(class);
        Ok(())
    })?;
    if table.rows.compared.name == "chains" {
        gathered.untold = untold::find(&gathered, &classes, context)?;
    }
    let runs = gathered.runs.len() as u64;
    let slopes = context.threads as u64 * (runs * runs / 2).min(MOST_SLOPES) * 8;
    let _slopes = context.budget.reserve("trend: slopes", slopes)?;
    let room = context.budget.reserve("trend: ranks of rows", count * 40)?;
    ranked(&gathered, (table, sides.sides.len()), rules.scratch, room, context).map(Some)
}

fn class_of(group: &Group<'_>) -> u64 {
    group.class()
}

/// Makes the rows and ranks them.
fn ranked(
    gathered: &Gathered<'_>,
    (table, steps): (&'static TrendTable, usize),
    scratch: &Path,
    room: Reservation,
    context: &Context<'_>,
) -> Result<Followed, StageError> {
    let failed = |error| StageError::io(scratch, "write to", error);
    let file = tempfile::tempfile_in(scratch).map_err(failed)?;
    let mut out = BufWriter::with_capacity(256 << 10, &file);
    let (mut ranks, mut examples, mut words) = (Vec::new(), Vec::new(), Vec::new());
    gathered.each(
        context,
        |group| Row::of(group, table.rows.measures.len(), steps),
        |row: Row| {
            words.clear();
            row.to_words(&mut words);
            out.write_all(bytemuck::cast_slice(&words)).map_err(failed)?;
            ranks.push((rank(&row.measures[0]), row.fingerprint));
            examples.push(row.example);
            Ok(())
        },
    )?;
    out.flush().map_err(failed)?;
    drop(out);
    let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
    let of = |at: &u32| ranks[*at as usize];
    order.sort_unstable_by(|a, b| {
        let (((grows, slope), print), ((other_grows, other_slope), other_print)) = (of(a), of(b));
        other_grows.cmp(&grows).then(other_slope.total_cmp(&slope)).then(print.cmp(&other_print))
    });
    let texts = texts::read(gathered, &examples, scratch, context)?;
    Ok(Followed { table, steps, order, texts, folder: scratch.to_owned(), file, _room: room })
}

/// Whether it grows, and how fast.
fn rank(trend: &Trend) -> (bool, f64) {
    (trend.shape == Shape::Growing, trend.slope.map_or(f64::NEG_INFINITY, |of| of.slope))
}

impl Followed {
    /// A row by its number.
    fn row(&self, number: u32) -> Result<Row, StageError> {
        let mut words = vec![0_u64; width(self.table.rows.measures.len(), self.steps)];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        let start = u64::from(number) * bytes.len() as u64;
        self.file.read_exact_at(bytes, start).map_err(|error| StageError::io(&self.folder, "read from", error))?;
        Ok(Row::from_words(&words, self.steps))
    }

    /// Writes the table into the folder of `output`; `take` sees its rows in order, with their texts.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Cancelled`].
    pub fn write(
        &self,
        output: &Output,
        context: &Context<'_>,
        mut take: impl FnMut(&Row, &[Option<String>]),
    ) -> Result<run::Table, StageError> {
        let schema = self.table.table.schema();
        let mut table = Table::create(output, self.table.table.file, schema.clone())?;
        for numbers in self.order.chunks(BATCH) {
            context.check()?;
            let mut rows = Vec::with_capacity(numbers.len());
            for &number in numbers {
                let (row, texts) = (self.row(number)?, self.texts.of(number as usize)?);
                take(&row, &texts);
                rows.push(self.cells(row, texts));
            }
            let columns: Vec<ArrayRef> =
                (0..schema.fields().len()).map(|at| column(&rows, at, schema.field(at).data_type())).collect();
            table.write(&columns)?;
        }
        table.finish()
    }

    /// The cells of a row, in the order of the schema.
    fn cells(&self, row: Row, texts: Vec<Option<String>>) -> Vec<Cell> {
        let nullable = |at: usize| self.table.table.columns[at].nullable;
        // Old tables lack a text that new ones always have.
        let text = |(at, text): (usize, Option<String>)| Cell::Text(text.or((!nullable(at)).then(String::new)));
        let mut cells: Vec<Cell> = texts.into_iter().enumerate().map(text).collect();
        cells.push(Cell::Print(row.fingerprint));
        if self.table.rows.compared.name == "chains" {
            cells.push(Cell::Print(row.class));
        }
        cells.extend([row.steps_with, row.runs_with].map(|count| Cell::Number(Some(i64::from(count)))));
        cells.extend(of_series(&row.measures[0]));
        for measure in row.measures {
            let of_series = of_series(&measure);
            cells.push(Cell::Numbers(measure.medians));
            cells.extend(of_series);
        }
        cells
    }
}

/// Shape, slope with its interval, first growth.
fn of_series(trend: &Trend) -> [Cell; 5] {
    let of = |part: fn(&Slope) -> f64| Cell::Statistic(trend.slope.as_ref().map(part));
    let first = trend.first_growth.map(|step| step as i64);
    let shape = Cell::Text(Some(trend.shape.name().to_owned()));
    [shape, of(|of| of.slope), of(|of| of.low), of(|of| of.high), Cell::Number(first)]
}
