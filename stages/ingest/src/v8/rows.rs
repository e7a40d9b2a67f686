//! Common parts of the rows of all sections: fields with limits, names, offsets of nodes.

use bytemuck::Pod;
use heaplake_input::chunks::BadNumber;
use heaplake_kit::{ColumnWriter, StageError};

/// The largest string index in use, checked once the number of strings is known.
#[derive(Clone, Debug, Default)]
pub struct LargestName {
    /// The index.
    pub index: u64,
    /// Section that uses it, such as `nodes`.
    pub section: &'static str,
    /// Row that uses it.
    pub row: u64,
}

impl LargestName {
    /// Updates the largest index from some rows of a section; `largest` has the first row with it, relative to
    /// `first_row`.
    pub(super) fn see(&mut self, largest: Option<(u64, usize)>, section: &'static str, first_row: u64) {
        if let Some((index, row)) = largest
            && (index > self.index || self.section.is_empty())
        {
            *self = Self { index, section, row: first_row + row as u64 };
        }
    }
}

/// 2^32.
pub(super) const U32: u64 = 1 << 32;

/// A field, if the file has it, and the exclusive upper bound of its values.
pub(super) struct Limit {
    pub at: Option<usize>,
    pub below: u64,
    pub name: &'static str,
}

impl Limit {
    /// Describes the expected values.
    pub(super) fn expected(&self) -> String {
        format!("{} below {}", self.name, self.below)
    }
}

/// Appends a field of all rows to a column. Returns its largest value.
#[inline]
pub(super) fn field<T>(
    rows: &[u64],
    width: usize,
    at: usize,
    column: &mut Vec<T>,
    mut convert: impl FnMut(u64) -> T,
) -> u64 {
    let mut largest = 0;
    column.extend(rows.chunks_exact(width).map(|row| {
        largest = largest.max(row[at]);
        convert(row[at])
    }));
    largest
}

/// [`field`] for a field that not every file has.
pub(super) fn field_if<T>(
    rows: &[u64],
    width: usize,
    at: Option<usize>,
    column: &mut Vec<T>,
    convert: impl Fn(u64) -> T,
) -> u64 {
    at.map_or(0, |at| field(rows, width, at, column, convert))
}

/// Whether fields with these largest values keep to their limits.
pub(super) fn fit(limits: &[Limit], largest: &[u64]) -> bool {
    limits.iter().zip(largest).all(|(limit, &largest)| limit.at.is_none() || largest < limit.below)
}

/// Returns the first number, in the order of the text, beyond a limit.
pub(super) fn beyond(rows: &[u64], width: usize, limits: &[Limit]) -> Option<BadNumber> {
    let first = |limit: &Limit| {
        let at = limit.at?;
        let row = rows.chunks_exact(width).position(|row| row[at] >= limit.below)?;
        Some(BadNumber { index: row * width + at, expected: limit.expected() })
    };
    limits.iter().filter_map(first).min_by_key(|bad| bad.index)
}

/// Returns the position of a row's first number beyond a limit, or of its misaligned offset of a node at `to`, with the
/// expected value. `number` returns the number at a position.
pub(super) fn flaw(
    limits: &[Limit],
    (width, to): (NodeWidth, usize),
    number: impl Fn(usize) -> u64,
) -> Option<(usize, String)> {
    let beyond = limits.iter().find(|limit| limit.at.is_some_and(|at| number(at) >= limit.below));
    let beyond = beyond.and_then(|limit| Some((limit.at?, limit.expected())));
    beyond.or_else(|| (width.divide(number(to)).1 != 0).then(|| (to, width.expected())))
}

/// Returns the earlier of two errors, if there is one.
pub(super) fn first_of(first: Option<BadNumber>, second: Option<BadNumber>) -> Result<(), BadNumber> {
    match first.into_iter().chain(second).min_by_key(|bad| bad.index) {
        Some(bad) => Err(bad),
        None => Ok(()),
    }
}

/// Updates the largest name, with the first of the new rows that has it; `before` rows precede them.
pub(super) fn note_largest(
    largest: &mut Option<(u64, usize)>,
    index: u64,
    before: usize,
    names: impl Iterator<Item = u64>,
) {
    if largest.is_none_or(|(known, _)| index > known) {
        let row = names.into_iter().position(|name| name == index);
        *largest = row.map(|row| (index, before + row)).or(*largest);
    }
}

/// Writes a part of a column and empties it.
pub(super) fn write<T: Pod>(column: &mut ColumnWriter<T>, part: &mut Vec<T>) -> Result<(), StageError> {
    column.extend(part)?;
    part.clear();
    Ok(())
}

/// [`write()`] for a column that not every file has.
pub(super) fn write_if<T: Pod>(column: &mut Option<ColumnWriter<T>>, part: &mut Vec<T>) -> Result<(), StageError> {
    column.as_mut().map_or(Ok(()), |column| write(column, part))
}

/// Divides offsets of nodes by the width of a node row, by multiplying with the inverse: a division would take as long
/// as the rest of the work on an edge.
#[derive(Clone, Copy)]
pub(super) struct NodeWidth {
    width: u64,
    /// 2^64 / width, rounded up.
    inverse: u64,
}

impl NodeWidth {
    /// Creates the divider for rows of `width` numbers.
    pub(super) fn new(width: usize) -> Self {
        // Rows have at least five fields, so nothing overflows.
        let width = width.max(2) as u64;
        Self { width, inverse: u64::MAX / width + 1 }
    }

    /// Returns quotient and remainder of an offset of at most 2^32 nodes. (Larger ones are refused anyway.)
    ///
    /// The quotient is exact below 2^64 / width: the relative error of the inverse is less than one part in 2^64 /
    /// width, which moves no product below that across an integer. For rows of less than 2^16 fields that bound exceeds
    /// 2^32 nodes.
    #[inline]
    pub(super) fn divide(self, offset: u64) -> (u64, u64) {
        if self.width >= 1 << 16 {
            return (offset / self.width, offset % self.width);
        }
        let quotient = ((u128::from(offset) * u128::from(self.inverse)) >> 64) as u64;
        (quotient, offset.wrapping_sub(quotient.wrapping_mul(self.width)))
    }

    /// Returns the first number of a field that is no multiple of the node width.
    pub(super) fn misaligned(self, rows: &[u64], width: usize, at: usize) -> Option<BadNumber> {
        let row = rows.chunks_exact(width).position(|row| row[at] % self.width != 0)?;
        Some(BadNumber { index: row * width + at, expected: self.expected() })
    }

    /// Describes the expected offsets.
    pub(super) fn expected(self) -> String {
        format!("a node offset that is a multiple of {}", self.width)
    }
}
