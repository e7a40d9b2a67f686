//! Writes a compared table.

use super::cells::{Cell, column};
use super::class::OfClass;
use super::holders::Holders;
use super::row::{BASE, Measure, Row, TARGET};
use super::status;
use super::table::Compared;
use arrow::array::ArrayRef;
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, StageError};
use heaplake_lake::table::Table;
use heaplake_schemas::diff::Status;
use heaplake_schemas::run;
use rustc_hash::FxHashMap;

/// Rows of a row group.
const BATCH: usize = 1 << 14;

/// What rows of classes and chains say besides their measures.
#[derive(Default)]
pub struct Around {
    /// Chains by class.
    pub holders: Holders,
    /// What the base says of classes, by fingerprint.
    pub classes: FxHashMap<u64, OfClass>,
}

/// A row with its texts and what became of it.
pub struct Told {
    /// The row.
    pub row: Row,
    /// Its texts: the keys of the table, then the signature.
    pub texts: Vec<Option<String>>,
    /// What became of it.
    pub status: Status,
    /// q of each measure.
    pub q: Vec<Option<f64>>,
}

/// A row of a compared table.
///
/// # Errors
/// [`StageError::Io`].
pub fn told(compared: &Compared<'_>, number: u32, around: &Around) -> Result<Told, StageError> {
    let row = compared.row(number)?;
    let status = match compared.table.compared.name {
        "classes" => status::of_class(compared, number, &row, around.holders.through(row.fingerprint)),
        "chains" => status::of_chain(compared, number, &row, around.classes.get(&row.class)),
        _ => status::of(compared, number, &row),
    };
    let texts = compared.texts.of(number as usize)?;
    let q = (0..row.measures.len()).map(|measure| compared.q(number, measure)).collect();
    Ok(Told { row, texts, status, q })
}

/// Writes the table into the folder of `output`; `take` sees its rows in order.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn write(
    compared: &Compared<'_>,
    around: &Around,
    output: &Output,
    context: &Context<'_>,
    mut take: impl FnMut(&Told),
) -> Result<run::Table, StageError> {
    let schema = compared.table.table.schema();
    let mut table = Table::create(output, compared.table.table.file, schema.clone())?;
    for numbers in compared.order.chunks(BATCH) {
        context.check()?;
        let mut rows = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let told = told(compared, number, around)?;
            take(&told);
            rows.push(cells(compared, told, around));
        }
        let columns: Vec<ArrayRef> =
            (0..schema.fields().len()).map(|at| column(&rows, at, schema.field(at).data_type())).collect();
        table.write(&columns)?;
    }
    table.finish()
}

/// The cells of a row, in the order of the schema.
fn cells(compared: &Compared<'_>, told: Told, around: &Around) -> Vec<Cell> {
    let Told { row, mut texts, status, q } = told;
    let of_table = own(compared.table.compared.name, &row, &texts, around);
    let optional = |at: usize| compared.table.table.columns[at].nullable;
    let signature = texts.pop().flatten();
    let keys = texts.into_iter().enumerate().map(|(at, text)| match text {
        // Old tables lack a text that new ones always have.
        None if !optional(at) => Some(String::new()),
        text => text,
    });
    let mut cells: Vec<Cell> = keys.map(Cell::Text).collect();
    cells.push(Cell::Text(Some(signature.unwrap_or_default())));
    cells.push(Cell::Print(row.fingerprint));
    cells.push(Cell::Text(Some(status.name().to_owned())));
    cells.extend(of_table);
    cells.extend(compared.runs.map(|runs| Cell::Number(Some(runs as i64))));
    cells.extend(row.runs_with.map(|runs| Cell::Number(Some(i64::from(runs)))));
    cells.extend(row.hosts_with.map(|hosts| Cell::Number(hosts.map(i64::from))));
    cells.extend(statistics(&row.measures[0], q[0]));
    for (measure, q) in row.measures.iter().zip(q) {
        let [base, target] = measure.sides;
        let amounts = [base.median, target.median, measure.delta()].map(Cell::Number);
        cells.extend(amounts);
        cells.push(Cell::Statistic(measure.delta_percent()));
        cells.extend([base.low, base.high, target.low, target.high].map(Cell::Number));
        cells.extend(statistics(measure, q));
    }
    cells
}

/// Shift with its interval, p, q, smallest effect.
fn statistics(measure: &Measure, q: Option<f64>) -> [Cell; 6] {
    let of = |of: fn(&super::row::Statistics) -> f64| measure.statistics.as_ref().map(of);
    let (shift, low, high) = (of(|of| of.shift), of(|of| of.low), of(|of| of.high));
    [shift, low, high, of(|of| of.p), q, of(|of| of.smallest_effect)].map(Cell::Statistic)
}

/// Columns that only this table has.
fn own(table: &str, row: &Row, texts: &[Option<String>], around: &Around) -> Vec<Cell> {
    match table {
        "classes" => {
            let grew = row.measures[0].delta().is_some_and(|delta| delta > 0);
            let through = around.holders.through(row.fingerprint).filter(|_| grew);
            vec![
                Cell::Text(through.map(|through| through.signature.clone())),
                Cell::Text(through.map(|through| through.text.clone())),
                Cell::Number(through.map(|through| through.bytes)),
                Cell::Flag(through.map(|through| through.new)),
            ]
        }
        "chains" => {
            let kind = texts.first().and_then(Option::as_deref).unwrap_or_default();
            let delta = row.measures[0].delta();
            vec![Cell::Print(row.class), Cell::Statistic(around.holders.share(row.class, kind, delta))]
        }
        _ => Vec::new(),
    }
}

/// What the base says of the classes of a compared table.
///
/// # Errors
/// [`StageError::Io`].
pub fn classes_of_base(classes: &Compared<'_>) -> Result<FxHashMap<u64, OfClass>, StageError> {
    let mut of_base: FxHashMap<u64, OfClass> = FxHashMap::default();
    for &number in &classes.order {
        let row = classes.row(number)?;
        let class = of_base.entry(row.fingerprint).or_default();
        class.retained += row.measures[0].sides[BASE].median.unwrap_or(0);
        class.in_base |= row.runs_with[BASE] > 0;
    }
    Ok(of_base)
}

/// The difference of a measure of a row that a reader sees: target less base, of what is not known nothing.
#[must_use]
pub fn amounts(measure: &Measure) -> (Option<i64>, Option<i64>) {
    (measure.sides[BASE].median, measure.sides[TARGET].median)
}
