//! What the rows of all sections have in common: fields with limits, names, offsets of nodes.

use bytemuck::Pod;
use heaplake_input::chunks::BadNumber;
use heaplake_kit::{ColumnWriter, StageError};

/// The largest string index that was used, to be checked once the number of strings is known.
#[derive(Clone, Debug, Default)]
pub struct LargestName {
    /// The index.
    pub index: u64,
    /// Where it was used, such as `nodes`.
    pub section: &'static str,
    /// In which row.
    pub row: u64,
}

impl LargestName {
    /// Sees the largest index of some rows of a section, if they have any: the first such row, counted from
    /// `first_row`.
    pub(super) fn see(&mut self, largest: Option<(u64, usize)>, section: &'static str, first_row: u64) {
        if let Some((index, row)) = largest
            && (index > self.index || self.section.is_empty())
        {
            *self = Self { index, section, row: first_row + row as u64 };
        }
    }
}

/// One more than the largest 32-bit number.
pub(super) const U32: u64 = 1 << 32;

/// A field, if the file has it, and the number that its values stay below.
pub(super) struct Limit {
    pub at: Option<usize>,
    pub below: u64,
    pub name: &'static str,
}

impl Limit {
    /// What the numbers must be, for people.
    pub fn expected(&self) -> String {
        format!("{} below {}", self.name, self.below)
    }
}

/// Appends a field of all rows to a column. Gives its largest value.
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

/// As [`field`], for a field that not every file has.
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

/// The first number, in the order of the text, that breaks one of the limits.
pub(super) fn beyond(rows: &[u64], width: usize, limits: &[Limit]) -> Option<BadNumber> {
    let first = |limit: &Limit| {
        let at = limit.at?;
        let row = rows.chunks_exact(width).position(|row| row[at] >= limit.below)?;
        Some(BadNumber { index: row * width + at, expected: limit.expected() })
    };
    limits.iter().filter_map(first).min_by_key(|bad| bad.index)
}

/// The first of two refusals, if there is one.
pub(super) fn first_of(first: Option<BadNumber>, second: Option<BadNumber>) -> Result<(), BadNumber> {
    match first.into_iter().chain(second).min_by_key(|bad| bad.index) {
        Some(bad) => Err(bad),
        None => Ok(()),
    }
}

/// Notes a larger name than was seen so far, and the first of the new rows, `before` being there already, that has it.
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

/// Writes a part of a column that was made elsewhere, and empties it for the next one.
pub(super) fn write<T: Pod>(column: &mut ColumnWriter<T>, part: &mut Vec<T>) -> Result<(), StageError> {
    column.extend(part)?;
    part.clear();
    Ok(())
}

/// As [`write()`], for a column that not every file has.
pub(super) fn write_if<T: Pod>(column: &mut Option<ColumnWriter<T>>, part: &mut Vec<T>) -> Result<(), StageError> {
    column.as_mut().map_or(Ok(()), |column| write(column, part))
}

/// Divides offsets of nodes by the numbers in a node row. It multiplies by the inverse: a division would take as long
/// as everything else that is done for an edge.
#[derive(Clone, Copy)]
pub(super) struct NodeWidth {
    width: u64,
    /// 2^64 / width, rounded up.
    inverse: u64,
}

impl NodeWidth {
    /// For rows of so many numbers.
    pub(super) fn new(width: usize) -> Self {
        // Rows have five fields at least, so nothing overflows.
        let width = width.max(2) as u64;
        Self { width, inverse: u64::MAX / width + 1 }
    }

    /// Quotient and remainder of an offset that is not beyond 2^32 nodes. (Others are refused for that anyway.)
    ///
    /// The quotient is exact below 2^64 / width: the inverse is too large by less than one part in 2^64 / width, which
    /// moves a product below that across no whole number. For rows of less than 2^16 fields that is beyond 2^32 nodes.
    #[inline]
    pub(super) fn divide(self, offset: u64) -> (u64, u64) {
        if self.width >= 1 << 16 {
            return (offset / self.width, offset % self.width);
        }
        let quotient = ((u128::from(offset) * u128::from(self.inverse)) >> 64) as u64;
        (quotient, offset.wrapping_sub(quotient.wrapping_mul(self.width)))
    }

    /// The first number of a field that is no offset of a node.
    pub(super) fn misaligned(self, rows: &[u64], width: usize, at: usize) -> Option<BadNumber> {
        let row = rows.chunks_exact(width).position(|row| row[at] % self.width != 0)?;
        Some(BadNumber { index: row * width + at, expected: self.expected() })
    }

    /// What an offset of a node must be, for people.
    pub(super) fn expected(self) -> String {
        format!("a node offset that is a multiple of {}", self.width)
    }
}
