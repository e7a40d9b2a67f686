//! Columns of tables from slices of rows.

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{ArrowPrimitiveType, UInt32Type};
use heaplake_lake::source::{Source, array, nullable, nullable_sizes, sizes};
use heaplake_lake::text::Texts;
use std::sync::Arc;

/// Returns the next `count` rows at each call.
fn parts<'a, R>(rows: &'a [R]) -> impl FnMut(usize) -> &'a [R] {
    let mut at = 0;
    move |count| {
        let part = &rows[at..at + count];
        at += count;
        part
    }
}

/// Column of sizes or counts.
pub(super) fn amounts<'a, R: Sync>(rows: &'a [R], of: impl Fn(&R) -> u64 + Send + 'a) -> Source<'a> {
    let mut next = parts(rows);
    Source::values(move |count| Ok(sizes(next(count).iter().map(&of).collect())))
}

/// Column of nullable sizes or counts.
pub(super) fn optional_amounts<'a, R: Sync>(rows: &'a [R], of: impl Fn(&R) -> Option<u64> + Send + 'a) -> Source<'a> {
    let mut next = parts(rows);
    Source::values(move |count| {
        let part = next(count);
        let valid = BooleanBuffer::collect_bool(count, |row| of(&part[row]).is_some());
        Ok(nullable_sizes(part.iter().map(|row| of(row).unwrap_or(0)).collect(), valid))
    })
}

/// Column of numbers of any type.
pub(super) fn numbers<'a, P: ArrowPrimitiveType, R: Sync>(
    rows: &'a [R],
    of: impl Fn(&R) -> P::Native + Send + 'a,
) -> Source<'a> {
    let mut next = parts(rows);
    Source::values(move |count| Ok(array::<P>(next(count).iter().map(&of).collect())))
}

/// Column of nullable numbers of any type.
pub(super) fn optional_numbers<'a, P: ArrowPrimitiveType, R: Sync>(
    rows: &'a [R],
    of: impl Fn(&R) -> Option<P::Native> + Send + 'a,
) -> Source<'a> {
    let mut next = parts(rows);
    Source::values(move |count| {
        let part = next(count);
        let valid = BooleanBuffer::collect_bool(count, |row| of(&part[row]).is_some());
        Ok(nullable::<P>(part.iter().map(|row| of(row).unwrap_or_default()).collect(), valid))
    })
}

/// Column of ordinals; `u32::MAX` is null.
pub(super) fn ordinals<'a, R: Sync>(rows: &'a [R], of: impl Fn(&R) -> u32 + Send + 'a) -> Source<'a> {
    optional_numbers::<UInt32Type, R>(rows, move |row| Some(of(row)).filter(|&number| number != u32::MAX))
}

/// Column of flags.
pub(super) fn flags<'a, R: Sync>(rows: &'a [R], of: impl Fn(&R) -> bool + Send + 'a) -> Source<'a> {
    let mut next = parts(rows);
    Source::values(move |count| {
        let part = next(count);
        Ok(Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(count, |row| of(&part[row])), None)))
    })
}

/// Column of texts, by index into `names`.
pub(super) fn texts<'a, R: Sync>(rows: &'a [R], names: &'a [String], of: impl Fn(&R) -> u32 + Send + 'a) -> Source<'a> {
    let mut next = parts(rows);
    Source::texts(Texts::Names(names), move |count| Ok(next(count).iter().map(&of).collect()))
}
