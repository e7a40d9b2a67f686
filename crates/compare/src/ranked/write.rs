//! Writes the ranked subjects of one or more formats into one table.

use super::parts::{self, Grown};
use super::row::Row;
use super::table::Ranked;
use crate::columns::Columns;
use crate::rows::labels::Labels;
use arrow::array::ArrayRef;
use bytemuck::Pod;
use heaplake_kit::stage::Output;
use heaplake_kit::{Context, StageError};
use heaplake_lake::table::Table;
use heaplake_schemas::run;
use heaplake_schemas::table::TableSchema;
use rustc_hash::FxHashMap;

/// A subject, read.
pub(crate) struct Subject<V, D> {
    /// Row.
    pub row: Row<V>,
    /// Key columns and signature.
    pub labels: Labels,
    /// Names of the hosts on which it changed most.
    pub changed_on: Option<String>,
    /// Decision about it, from the whole comparison.
    pub decision: D,
    /// The subject that represents this growth (see [`parts`]).
    pub part_of: Option<u64>,
}

/// A compared table, for the runs of one format.
pub(crate) trait OfFormat: Sized {
    /// A value of a row.
    type Value: Pod + Send;
    /// Rank of a subject.
    type Rank: Ord;
    /// Decision about a subject.
    type Decision;

    /// The subjects.
    fn ranked(&self) -> &Ranked<Self::Value, Self::Rank>;

    /// Decides about a subject.
    fn decide(&self, number: u32, row: &Row<Self::Value>, labels: &Labels) -> Self::Decision;

    /// Growth of a subject in the table; `None` if it did not grow.
    fn growth(&self, subject: &SubjectOf<Self>) -> Option<Grown>;

    /// Adds a subject to the summary; subjects come in the order of the table.
    fn take(&mut self, subject: &SubjectOf<Self>);

    /// Columns of the table after the labels.
    fn columns(columns: &mut Columns<'_, OutputRow<'_, Self>>);
}

/// Subject of a format.
pub(crate) type SubjectOf<F> = Subject<<F as OfFormat>::Value, <F as OfFormat>::Decision>;

/// A row of the table: a value of a subject.
pub(crate) struct OutputRow<'a, F: OfFormat> {
    /// Format of the subject.
    pub format: &'a F,
    /// Subject.
    pub subject: &'a SubjectOf<F>,
    /// Value.
    pub value: &'a F::Value,
    /// Position of the value in the row of the subject.
    pub at: usize,
}

/// Writes the table into the folder of `output`, `batch` subjects at a time.
pub(crate) fn write<F: OfFormat>(
    schema: &TableSchema,
    formats: &mut [F],
    batch: usize,
    output: &Output,
    context: &Context<'_>,
) -> Result<run::Table, StageError> {
    let mut table = Table::create(output, schema.file, schema.schema())?;
    let (mut orders, mut parts) = (Vec::new(), Vec::new());
    for format in &*formats {
        let (order, of_format) = folded(format)?;
        orders.push(order);
        parts.push(of_format);
    }
    for numbers in merged(formats, &orders).chunks(batch) {
        context.check()?;
        let mut subjects = Vec::with_capacity(numbers.len());
        for &(at, number) in numbers {
            let mut subject = read(&formats[at], number)?;
            subject.part_of = parts[at].get(&subject.row.head.fingerprint).copied();
            formats[at].take(&subject);
            subjects.push((at, subject));
        }
        table.write(&columns(schema, formats, &subjects))?;
    }
    table.finish()
}

fn columns<F: OfFormat>(schema: &TableSchema, formats: &[F], subjects: &[(usize, SubjectOf<F>)]) -> Vec<ArrayRef> {
    let mut rows = Vec::new();
    for (at, subject) in subjects {
        let row = |(at_value, value)| OutputRow { format: &formats[*at], subject, value, at: at_value };
        rows.extend(subject.row.values.iter().enumerate().map(row));
    }
    let mut columns = Columns::of(&rows);
    let keys = formats.first().map_or(0, |format| format.ranked().table.keys.len());
    for key in 0..keys {
        // Old tables lack texts that are mandatory now.
        let missing = Some("").filter(|_| !schema.columns[key].nullable);
        columns.text(|row| row.subject.labels.key(key).or(missing));
    }
    columns.text(|row| Some(&row.subject.labels.signature));
    columns.fingerprint(|row| Some(row.subject.row.head.fingerprint));
    F::columns(&mut columns);
    columns.arrays
}

/// Reads a subject and decides about it.
fn read<F: OfFormat>(format: &F, number: u32) -> Result<SubjectOf<F>, StageError> {
    let ranked = format.ranked();
    let (row, labels) = (ranked.row(number)?, ranked.labels(number)?);
    let decision = format.decide(number, &row, &labels);
    Ok(Subject { changed_on: ranked.changed_on(&row), row, labels, decision, part_of: None })
}

/// Folds growth: returns the order of subjects, and the representative of each part.
fn folded<F: OfFormat>(format: &F) -> Result<(Vec<u32>, FxHashMap<u64, u64>), StageError> {
    let all = &format.ranked().order;
    let mut grown = Vec::new();
    for &number in all.iter().take(parts::MOST) {
        // Growth ranks first.
        let Some(growth) = format.growth(&read(format, number)?) else { break };
        grown.push(growth);
    }
    let (parts, places) = parts::fold(&grown);
    let mut order: Vec<u32> = places.iter().map(|&place| all[place]).collect();
    order.extend_from_slice(&all[grown.len()..]);
    Ok((order, parts))
}

/// Merges the subjects of several formats by rank, as (format, number); the order within a format is kept.
fn merged<F: OfFormat>(formats: &[F], orders: &[Vec<u32>]) -> Vec<(usize, u32)> {
    let mut merged = Vec::with_capacity(orders.iter().map(Vec::len).sum());
    let mut next = vec![0; orders.len()];
    loop {
        let heads = orders.iter().enumerate().filter_map(|(at, order)| Some((at, *order.get(next[at])?)));
        let Some(first) = heads.min_by_key(|&(at, number)| &formats[at].ranked().ranks[number as usize]) else {
            return merged;
        };
        next[first.0] += 1;
        merged.push(first);
    }
}
