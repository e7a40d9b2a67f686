//! Tables from rows in one scratch column: the struct of the row declares the columns.
//!
//! * Resident memory: one batch of rows.
//! * Passes over disk: one per column of the table.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the rows.
//! * Reference: [`heaplake_schemas::row`].

use crate::writer;
use arrow::array::{ArrayRef, BooleanArray, TimestampMicrosecondArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{ArrowPrimitiveType, Float64Type, Int32Type, UInt8Type, UInt32Type, UInt64Type};
use bytemuck::Pod;
use heaplake_kit::access::{Access, column, texts};
use heaplake_kit::{ColumnReader, Job, Scratch, Setting, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{Source, array, nullable, nullable_sizes, sizes};
use heaplake_lake::text::Texts;
use heaplake_schemas::column::Type;
use heaplake_schemas::options::{TableName, TraceTable};
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::row::{Row, RowColumn, Value};
use heaplake_schemas::scratch::{Column, StringColumns};
use std::sync::Arc;

/// Declaration shared by all stages with such a table.
pub(crate) const STAGE_OF_ROWS: Stage = Stage { fixed: 8 << 20, passes: "its rows once per column", ..Stage::NEW };

/// The stage that writes a table without computed columns. It has the name of the table.
pub(crate) const fn stage<R: Row>() -> Stage {
    Stage {
        name: R::TABLE.name,
        when: is_chosen::<R>,
        reads: R::READS,
        run: |job| write::<R>(job, R::TABLE.name, Vec::new()),
        ..STAGE_OF_ROWS
    }
}

fn is_chosen<R: Row>(setting: &Setting<'_>) -> bool {
    let is_it = |name: &str| name == R::TABLE.name;
    TraceTable::ALL.into_iter().any(|table| is_it(table.name()) && setting.traces(table))
        || TableName::ALL.into_iter().any(|table| is_it(table.name()) && setting.has(table))
}

/// The scratch files of a table: its rows, and their texts.
trait Reads: Row {
    const WITH_TEXTS: ([Access; 4], usize) = with_texts::<Self>();
    const READS: &'static [Access] = Self::WITH_TEXTS.0.split_at(Self::WITH_TEXTS.1).0;
}

impl<R: Row> Reads for R {}

/// Rows and string tables, and their number. Columns with the same strings are adjacent.
const fn with_texts<R: Row>() -> ([Access; 4], usize) {
    let mut reads = ([column(R::ROWS); 4], 1);
    let mut last = "";
    let mut at = 0;
    while at < R::COLUMNS.len() {
        if let Value::Text(columns, _) = &R::COLUMNS[at].value
            && !is_same(columns.start.name, last)
        {
            last = columns.start.name;
            reads.0[reads.1] = texts(*columns);
            reads.1 += 1;
        }
        at += 1;
    }
    reads
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Columns that a stage computes, by name.
pub(crate) type Computed<'a> = Vec<(&'static str, Source<'a>)>;

/// Writes the table of rows. A computed column without a source is null.
pub(crate) fn write<R: Row>(
    job: &Job<'_>,
    stage: &'static str,
    mut computed: Computed<'_>,
) -> Result<Stats, StageError> {
    let strings = Strings::open(R::COLUMNS, job.scratch)?;
    let rows = Rows::of(job.scratch, R::ROWS);
    let mut sources = Vec::with_capacity(R::COLUMNS.len());
    for column in R::COLUMNS {
        let made = computed.iter().position(|(name, _)| *name == column.schema.name);
        sources.push(match made {
            Some(at) => computed.swap_remove(at).1,
            None => {
                let is_made = column.schema.nullable || !matches!(column.value, Value::Computed);
                debug_assert!(is_made, "{}: no source for column {}", R::TABLE.name, column.schema.name);
                rows.column(column, &strings)?
            }
        });
    }
    debug_assert!(computed.is_empty(), "{}: there is no column {}", R::TABLE.name, computed[0].0);
    writer::write(job, stage, R::TABLE, sources, rows.count()?)
}

/// The string tables of columns, by name.
struct Strings(Vec<(&'static str, StringTable)>);

impl Strings {
    fn open<R>(columns: &[RowColumn<R>], scratch: &Scratch) -> Result<Self, StageError> {
        let mut opened = Self(Vec::new());
        for column in columns {
            if let Value::Text(texts, _) = column.value
                && opened.get(texts).is_none()
            {
                opened.0.push((texts.start.name, StringTable::open(scratch, texts)?));
            }
        }
        Ok(opened)
    }

    fn get(&self, columns: StringColumns) -> Option<&StringTable> {
        self.0.iter().find(|(name, _)| *name == columns.start.name).map(|(_, table)| table)
    }
}

/// A scratch column of rows, from which columns of a table are made.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, R> {
    scratch: &'a Scratch,
    column: Column<R>,
}

impl<'a, R: Pod + Send> Rows<'a, R> {
    /// The rows of a column.
    pub(crate) fn of(scratch: &'a Scratch, column: Column<R>) -> Self {
        Self { scratch, column }
    }

    fn open(self) -> Result<ColumnReader<R>, StageError> {
        ColumnReader::open(self.scratch, self.column)
    }

    /// Number of rows.
    pub(crate) fn count(self) -> Result<u64, StageError> {
        Ok(self.open()?.remaining())
    }

    /// Returns a reader of a value for each of the next rows.
    pub(crate) fn values<T: Send>(
        self,
        of: fn(&R) -> T,
    ) -> Result<impl FnMut(usize) -> Result<Vec<T>, StageError> + Send + use<R, T>, StageError> {
        let mut rows = self.open()?;
        Ok(move |count| {
            let mut values = Vec::with_capacity(count);
            while values.len() < count {
                values.extend(rows.next_slice(count - values.len())?.iter().map(of));
            }
            Ok(values)
        })
    }

    /// A column of any type; `of` returns the value of a row, `array` converts many to an array.
    fn arrays<'b, T: Send + 'b>(self, of: fn(&R) -> T, array: fn(Vec<T>) -> ArrayRef) -> Result<Source<'b>, StageError>
    where
        R: 'b,
    {
        let mut values = self.values(of)?;
        Ok(Source::values(move |count| Ok(array(values(count)?))))
    }

    /// A declared column.
    fn column<'b>(self, column: &RowColumn<R>, strings: &'b Strings) -> Result<Source<'b>, StageError>
    where
        R: 'b,
    {
        let nullable = column.schema.nullable;
        match column.value {
            Value::Computed => Ok(Source::nothing()),
            Value::Position => Ok(positions()),
            Value::U32(of) => match (column.schema.data_type, nullable) {
                (Type::Boolean, _) => self.arrays(of, flags),
                (Type::UInt8, false) => {
                    self.arrays(of, |codes| array::<UInt8Type>(codes.iter().map(|&code| code as u8).collect()))
                }
                (Type::Int64, false) => self.arrays(of, |counts| sizes(counts.into_iter().map(u64::from).collect())),
                (Type::UInt32, true) => self.arrays(of, |ids| present::<UInt32Type>(ids, |&id| id != u32::MAX)),
                (Type::UInt32, false) => self.arrays(of, array::<UInt32Type>),
                // Declarations are constants: a test writes every table.
                (other, _) => unreachable!("{}: {other} with or without nulls, from 32 bits", column.schema.name),
            },
            Value::U64(of) => match (column.schema.data_type, nullable) {
                (Type::UInt64, true) => self.arrays(of, |ids| present::<UInt64Type>(ids, |&id| id != ABSENT)),
                (Type::UInt64, false) => self.arrays(of, array::<UInt64Type>),
                (_, true) => self.arrays(of, known_sizes),
                (_, false) => self.arrays(of, sizes),
            },
            Value::I32(of) => self.arrays(of, |numbers| present::<Int32Type>(numbers, |&number| number != i32::MIN)),
            Value::I64(of) => self.arrays(of, times),
            Value::F64(of) => self.arrays(of, |numbers| present::<Float64Type>(numbers, |number| !number.is_nan())),
            Value::Name(names, of) => Ok(Source::texts(Texts::Words(names), self.values(of)?)),
            Value::Text(texts, of) => match strings.get(texts) {
                Some(table) => Ok(Source::texts(Texts::Table(table), self.values(of)?)),
                None => unreachable!("{}: Strings::open opens the strings of all columns", column.schema.name),
            },
        }
    }
}

/// Column of row positions, from 0 on.
fn positions<'a>() -> Source<'a> {
    let mut next = 0;
    Source::values(move |count| {
        let first = next;
        next += count as u32;
        Ok(array::<UInt32Type>((first..next).collect()))
    })
}

/// Numbers, null where not `valid`.
fn present<P: ArrowPrimitiveType>(values: Vec<P::Native>, valid: fn(&P::Native) -> bool) -> ArrayRef {
    let valid = BooleanBuffer::collect_bool(values.len(), |row| valid(&values[row]));
    nullable::<P>(values, valid)
}

/// Counts or sizes, [`ABSENT`] as null.
fn known_sizes(values: Vec<u64>) -> ArrayRef {
    let valid = BooleanBuffer::collect_bool(values.len(), |row| values[row] != ABSENT);
    nullable_sizes(values, valid)
}

/// Microseconds since 1970, `i64::MIN` as null.
fn times(times: Vec<i64>) -> ArrayRef {
    let times = times.into_iter().map(|time| Some(time).filter(|&time| time != i64::MIN));
    Arc::new(TimestampMicrosecondArray::from_iter(times).with_timezone("UTC"))
}

/// Booleans: 0 is false, 1 true, `u32::MAX` null.
fn flags(flags: Vec<u32>) -> ArrayRef {
    let flags = flags.into_iter().map(|flag| Some(flag).filter(|&flag| flag != u32::MAX).map(|flag| flag == 1));
    Arc::new(BooleanArray::from_iter(flags))
}
