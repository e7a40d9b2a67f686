//! Minima and maxima of pages and columns, for readers that skip pages.

use parquet::basic::{BoundaryOrder, Type};
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::ColumnIndexBuilder;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};

/// Minimum and maximum of the comparable non-null values.
pub(crate) type Bounds<T> = Option<(T, T)>;

/// Entry of a page in the column index.
pub(crate) struct PageBounds<T> {
    /// True if all values are null.
    pub all_null: bool,
    /// Number of nulls.
    pub nulls: usize,
    /// Bounds of its values.
    pub bounds: Bounds<T>,
}

/// Merges the bounds of all pages.
pub(crate) fn of_all<T: Copy + PartialOrd>(pages: &[PageBounds<T>]) -> Bounds<T> {
    let known = pages.iter().filter_map(|page| page.bounds);
    known.reduce(|(least, most), (low, high)| {
        (if low < least { low } else { least }, if high > most { high } else { most })
    })
}

/// Builds the column index; `None` if a page has only values that cannot be compared.
pub(crate) fn index<T: Copy + PartialOrd>(
    physical: Type,
    pages: &[PageBounds<T>],
    bytes: impl Fn(T) -> Vec<u8>,
) -> Result<Option<ColumnIndexMetaData>> {
    if pages.iter().any(|page| !page.all_null && page.bounds.is_none()) {
        return Ok(None);
    }
    let known: Vec<(T, T)> = pages.iter().filter_map(|page| page.bounds).collect();
    let is_ascending = known.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1);
    let is_descending = known.windows(2).all(|two| two[0].0 >= two[1].0 && two[0].1 >= two[1].1);
    let mut index = ColumnIndexBuilder::new(physical);
    index.set_boundary_order(match (is_ascending, is_descending) {
        (true, _) => BoundaryOrder::ASCENDING,
        (false, true) => BoundaryOrder::DESCENDING,
        (false, false) => BoundaryOrder::UNORDERED,
    });
    for page in pages {
        let (least, most) = page.bounds.map_or_else(Default::default, |(least, most)| (bytes(least), bytes(most)));
        index.append(page.all_null, least, most, page.nulls as i64);
    }
    index.build().map(Some)
}

/// Maximum bytes of a text bound.
const LONGEST: usize = 64;

/// Builds statistics of texts and nulls. Long bounds are truncated, the maximum upwards.
pub(crate) fn of_texts<'a>(texts: impl Iterator<Item = &'a str>, nulls: u64) -> Statistics {
    let bounds = texts.fold(None, |bounds: Option<(&str, &str)>, text| match bounds {
        None => Some((text, text)),
        Some((least, most)) => Some((least.min(text), most.max(text))),
    });
    let cut = bounds
        .and_then(|(least, most)| Some((&least[..least.floor_char_boundary(LONGEST)], least, above(most)?, most)));
    let (low, high) = (cut.as_ref().map(|cut| cut.0), cut.as_ref().map(|cut| ByteArray::from(cut.2.clone())));
    let values = ValueStatistics::new(low.map(ByteArray::from), high, None, Some(nulls), false);
    let is_exact = |whole: Option<usize>| whole.is_some_and(|length| length <= LONGEST);
    let values = values.with_min_is_exact(is_exact(cut.as_ref().map(|cut| cut.1.len())));
    Statistics::ByteArray(values.with_max_is_exact(is_exact(cut.as_ref().map(|cut| cut.3.len()))))
}

/// Returns the text, or a short one that is greater.
fn above(text: &str) -> Option<Vec<u8>> {
    let cut = text.as_bytes()[..text.floor_char_boundary(LONGEST)].to_vec();
    if cut.len() == text.len() {
        return Some(cut);
    }
    let at = cut.iter().rposition(|&byte| byte < 0x7f)?;
    Some([&cut[..at], &[cut[at] + 1]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(texts: &[&str]) -> (Vec<u8>, Vec<u8>, bool, bool) {
        let statistics = of_texts(texts.iter().copied(), 1);
        let bytes = |bytes: Option<&[u8]>| bytes.unwrap_or_default().to_vec();
        let (least, most) = (bytes(statistics.min_bytes_opt()), bytes(statistics.max_bytes_opt()));
        (least, most, statistics.min_is_exact(), statistics.max_is_exact())
    }

    #[test]
    fn long_texts_are_cut_outwards() {
        assert_eq!(bounds(&["b", "a", "c"]), (b"a".to_vec(), b"c".to_vec(), true, true));
        assert_eq!(bounds(&[]), (Vec::new(), Vec::new(), false, false));
        let long = "a".repeat(100);
        let (least, most, ..) = bounds(&[&long]);
        assert_eq!((&least[..], &most[..]), (&long.as_bytes()[..64], format!("{}b", &long[..63]).as_bytes()));
        // Multi-byte characters are not split, and get no successor.
        let long = "x".to_owned() + &"\u{20ac}".repeat(100);
        let (least, most, from, to) = bounds(&[&long]);
        assert!(least.len() == 64 && long.as_bytes().starts_with(&least) && !from && !to);
        assert_eq!(most, b"y");
        let (least, most, ..) = bounds(&[&"\u{20ac}".repeat(100)]);
        assert!(least.is_empty() && most.is_empty(), "there is no short text above it");
    }

    #[test]
    fn the_order_of_pages_is_told() {
        let page = |bounds: Bounds<u32>| PageBounds { all_null: bounds.is_none(), nulls: 0, bounds };
        let order = |pages: &[Bounds<u32>]| {
            let pages: Vec<_> = pages.iter().copied().map(page).collect();
            let index = index(Type::INT32, &pages, |number| number.to_le_bytes().to_vec()).unwrap().unwrap();
            index.get_boundary_order().unwrap()
        };
        assert_eq!(order(&[Some((1, 3)), None, Some((2, 3))]), BoundaryOrder::ASCENDING);
        assert_eq!(order(&[Some((2, 3)), Some((1, 3))]), BoundaryOrder::DESCENDING);
        assert_eq!(order(&[Some((2, 3)), Some((1, 4))]), BoundaryOrder::UNORDERED);
        let unknown = PageBounds::<u32> { all_null: false, nulls: 0, bounds: None };
        assert!(index(Type::INT32, &[unknown], |number| number.to_le_bytes().to_vec()).unwrap().is_none());
    }
}
