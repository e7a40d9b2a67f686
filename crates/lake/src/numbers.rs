//! A numeric column of a row group.
//!
//! A page is a batch of rows. Columns with few distinct numbers get a dictionary until it is full; later pages, and all
//! pages of other columns, are delta encoded, those of floating point numbers plain.

use crate::bounds::{Bounds, PageBounds, index, of_all};
use crate::delta;
use crate::distinct::Distinct;
use crate::pages::{DataPage, Dictionary, Pages};
use crate::runs;
use arrow::buffer::{BooleanBuffer, NullBuffer};
use bytemuck::{Pod, bytes_of, cast_slice};
use parquet::basic::{Encoding, Type};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::schema::types::ColumnDescPtr;

/// Maximum bytes of a dictionary of numbers; further distinct values end its use.
const DICTIONARY: usize = 128 << 10;

/// Numbers compared in parallel.
const LANES: usize = 4;

/// A type of numbers.
pub(crate) trait Number: Pod + PartialOrd {
    /// Its physical type in Parquet.
    const PHYSICAL: Type;
    /// Encoding of pages without a dictionary.
    const ENCODING: Encoding;

    /// Its bits.
    fn bits(self) -> u64;

    /// Appends numbers to a page without a dictionary.
    fn encode(numbers: &[Self], page: &mut Vec<u8>);

    /// Statistics of a column.
    fn statistics(bounds: Bounds<Self>, nulls: u64) -> Statistics;

    /// Minimum and maximum; `None` if empty.
    fn bounds(numbers: &[Self]) -> Bounds<Self> {
        let &first = numbers.first()?;
        // Several lanes break the dependency chain of comparisons.
        let (mut least, mut most) = ([first; LANES], [first; LANES]);
        let (groups, rest) = numbers.as_chunks::<LANES>();
        for group in groups {
            for lane in 0..LANES {
                least[lane] = if group[lane] < least[lane] { group[lane] } else { least[lane] };
                most[lane] = if group[lane] > most[lane] { group[lane] } else { most[lane] };
            }
        }
        let least = least.iter().chain(rest).fold(first, |least, &number| if number < least { number } else { least });
        let most = most.iter().chain(rest).fold(first, |most, &number| if number > most { number } else { most });
        Some((least, most))
    }
}

macro_rules! integer {
    ($integer:ty, $stored:ty, $unsigned:ty, $physical:ident, $encode:ident, $statistics:ident, $signed:literal) => {
        impl Number for $integer {
            const PHYSICAL: Type = Type::$physical;
            const ENCODING: Encoding = Encoding::DELTA_BINARY_PACKED;

            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }

            fn encode(numbers: &[Self], page: &mut Vec<u8>) {
                delta::$encode(cast_slice(numbers), page);
            }

            fn statistics(bounds: Bounds<Self>, nulls: u64) -> Statistics {
                let (least, most) = bounds.unzip();
                let stored = |number: Option<Self>| number.map(|number| number as $stored);
                let values = ValueStatistics::new(stored(least), stored(most), None, Some(nulls), false);
                Statistics::$statistics(values.with_backwards_compatible_min_max($signed))
            }
        }
    };
}

integer!(i32, i32, u32, INT32, narrow, Int32, true);
integer!(u32, i32, u32, INT32, narrow, Int32, false);
integer!(i64, i64, u64, INT64, wide, Int64, true);
integer!(u64, i64, u64, INT64, wide, Int64, false);

impl Number for f64 {
    const PHYSICAL: Type = Type::DOUBLE;
    const ENCODING: Encoding = Encoding::PLAIN;

    fn bits(self) -> u64 {
        self.to_bits()
    }

    fn encode(numbers: &[Self], page: &mut Vec<u8>) {
        page.extend_from_slice(cast_slice(numbers));
    }

    fn statistics(bounds: Bounds<Self>, nulls: u64) -> Statistics {
        let (least, most) = bounds.unzip();
        Statistics::Double(ValueStatistics::new(least, most, None, Some(nulls), false))
    }

    /// Ignores NaN. Zeros get the sign that widens the bounds.
    fn bounds(numbers: &[Self]) -> Bounds<Self> {
        let mut known = numbers.iter().copied().filter(|number| !number.is_nan());
        let first = known.next()?;
        let (least, most) = known.fold((first, first), |(least, most), number| (least.min(number), most.max(number)));
        Some((if least == 0.0 { -0.0 } else { least }, if most == 0.0 { 0.0 } else { most }))
    }
}

/// Packs bits into bytes, first bit lowest.
pub(crate) fn bytes_of_bits(bits: &BooleanBuffer) -> impl Iterator<Item = u8> + '_ {
    let words = bits.bit_chunks();
    let rest = words.remainder_bits();
    words.into_iter().chain([rest]).flat_map(u64::to_le_bytes).take(bits.len().div_ceil(8))
}

/// A numeric column being written.
pub(crate) struct NumberChunk<N> {
    pages: Pages,
    bounds: Vec<PageBounds<N>>,
    /// The dictionary; true while further pages may use it.
    distinct: Option<(Distinct, bool)>,
}

impl<N: Number> NumberChunk<N> {
    /// Starts the column, with a dictionary if few distinct numbers are expected.
    pub(crate) fn new(column: ColumnDescPtr, is_repetitive: bool) -> Self {
        let distinct = is_repetitive.then(|| (Distinct::new(DICTIONARY / size_of::<N>()), true));
        Self { pages: Pages::new(column), bounds: Vec::new(), distinct }
    }

    /// Bytes of pages so far.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.bytes()
    }

    /// Appends rows as one page.
    pub(crate) fn write(&mut self, numbers: &[N], nulls: Option<&NullBuffer>) -> Result<()> {
        let rows = numbers.len();
        let present: Vec<N>;
        let (numbers, null_count) = match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => (numbers, 0),
            Some(nulls) => {
                present = nulls.valid_slices().flat_map(|(from, to)| &numbers[from..to]).copied().collect();
                (&present[..], nulls.null_count())
            }
        };
        let mut content = Vec::with_capacity(rows / 8 + size_of_val(numbers) + 64);
        if self.pages.column().max_def_level() > 0 {
            runs::levels(
                rows,
                null_count,
                nulls.into_iter().flat_map(|nulls| bytes_of_bits(nulls.inner())),
                &mut content,
            );
        }
        let encoding = self.encode(numbers, &mut content);
        self.bounds.push(PageBounds { all_null: numbers.is_empty(), nulls: null_count, bounds: N::bounds(numbers) });
        self.pages.add(DataPage { content, encoding, rows })
    }

    fn encode(&mut self, numbers: &[N], content: &mut Vec<u8>) -> Encoding {
        if let Some((distinct, open @ true)) = &mut self.distinct {
            match distinct.keys(numbers.iter().map(|number| number.bits())) {
                Some(keys) => {
                    runs::keys(&keys, runs::width(distinct.values().len()), content);
                    return Encoding::RLE_DICTIONARY;
                }
                None => *open = false,
            }
        }
        if numbers.is_empty() {
            return Encoding::PLAIN;
        }
        N::encode(numbers, content);
        N::ENCODING
    }

    /// Ends the column; returns the bytes of its dictionary and pages, and its metadata.
    pub(crate) fn close(self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        // A dictionary too small for the first page is unused.
        let used = self.distinct.filter(|(distinct, open)| *open || !distinct.values().is_empty());
        let dictionary = used.map(|(distinct, _)| {
            let values = distinct.values();
            let plain = values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size_of::<N>()));
            Dictionary::Plain { content: plain.collect(), values: values.len() as u32 }
        });
        let nulls = self.bounds.iter().map(|page| page.nulls as u64).sum();
        let statistics = N::statistics(of_all(&self.bounds), nulls);
        let index = index(N::PHYSICAL, &self.bounds, |number| bytes_of(&number).to_vec())?;
        self.pages.close(dictionary, statistics, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_all_numbers() {
        for count in 0..40_u64 {
            let numbers: Vec<i64> = (0..count).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15)) as i64).collect();
            let expected = numbers.iter().min().copied().zip(numbers.iter().max().copied());
            assert_eq!(i64::bounds(&numbers), expected);
        }
        assert_eq!(u32::bounds(&[3, u32::MAX, 1]), Some((1, u32::MAX)));
    }

    #[test]
    fn numbers_that_are_none_have_no_bounds() {
        assert_eq!(f64::bounds(&[f64::NAN, 2.0, -1.0, f64::NAN]), Some((-1.0, 2.0)));
        assert_eq!(f64::bounds(&[f64::NAN]), None);
        let (least, most) = f64::bounds(&[0.0]).unwrap();
        assert!(least.is_sign_negative() && most.is_sign_positive());
    }
}
