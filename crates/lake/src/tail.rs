//! The end of a table file, with heaplake's checksums.
//!
//! ```text
//! PAR1  pages  indexes of columns and pages  checksums  footer  length of the footer  PAR1
//! ```
//!
//! Parquet page headers have a CRC-32 of the page content, which heaplake writes for columns that are not nested. It
//! covers neither the header nor the footer. So heaplake adds its own checksums in a gap that other readers never see:
//! the footer locates all other parts, and nothing locates this one.
//!
//! | bytes | |
//! |---|---|
//! | 4 per page | CRC-32 of the page with its header, in file order |
//! | 8 | offset of the indexes: the end of the last page |
//! | 4 | number of pages |
//! | 8 | XXH3-64 from the indexes to the end of the file, without this field and the next |
//! | 8 | [`MAGIC`] |
//!
//! All numbers are little-endian. Files of older versions have no checksums and are read without them.

use parquet::file::metadata::ParquetMetaData;
use xxhash_rust::xxh3::Xxh3Default;

/// Marks the checksums. The last digit is the version.
const MAGIC: &[u8; 8] = b"heaplak1";
/// Bytes of the fixed part behind the page checksums.
pub(crate) const FIXED: usize = 28;
/// Bytes of the footer length and the Parquet magic.
pub(crate) const END: usize = 8;

/// A page of a column in a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Start of its header.
    pub start: u64,
    /// Bytes, including the header.
    pub bytes: u64,
    /// Index of the row group.
    pub group: usize,
    /// Index of the column.
    pub column: usize,
    /// CRC-32 of its bytes, if known.
    pub sum: Option<u32>,
}

/// Returns all pages in file order; empty if the file has no page locations.
pub(crate) fn pages(metadata: &ParquetMetaData) -> Vec<Page> {
    let Some(index) = metadata.offset_index() else { return Vec::new() };
    let mut pages = Vec::new();
    for (group, (columns, index)) in metadata.row_groups().iter().zip(index).enumerate() {
        for (column, (chunk, index)) in columns.columns().iter().zip(index).enumerate() {
            let page = |start: u64, bytes: u64| Page { start, bytes, group, column, sum: None };
            let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()).cast_unsigned();
            let locations = index.page_locations();
            let first = locations.first().map_or(start, |first| first.offset.cast_unsigned());
            if first > start {
                pages.push(page(start, first - start));
            }
            pages.extend(
                locations
                    .iter()
                    .map(|at| page(at.offset.cast_unsigned(), u64::try_from(at.compressed_page_size).unwrap_or(0))),
            );
        }
    }
    pages.sort_unstable_by_key(|page| page.start);
    pages
}

/// Inserts checksums into the end of a file. `held` is the end without them: the indexes, which begin at `start`, and
/// the footer. `None` if it is not the end of a Parquet file.
pub(crate) fn sealed(held: &[u8], start: u64, sums: &[u32]) -> Option<Vec<u8>> {
    let footer = footer(held)?;
    let (indexes, footer) = held.split_at(footer);
    let mut end = indexes.to_vec();
    sums.iter().for_each(|sum| end.extend(sum.to_le_bytes()));
    end.extend(start.to_le_bytes());
    end.extend((sums.len() as u32).to_le_bytes());
    let mut hash = Xxh3Default::new();
    hash.update(&end);
    hash.update(footer);
    end.extend(hash.digest().to_le_bytes());
    end.extend(MAGIC);
    end.extend(footer);
    Some(end)
}

/// Returns the position of the footer in the end of a file; `None` if more bytes are needed.
pub(crate) fn footer(tail: &[u8]) -> Option<usize> {
    let length = tail.len().checked_sub(END)?;
    let footer = u32::from_le_bytes(tail[length..length + 4].try_into().ok()?) as usize;
    (tail[length + 4..] == *b"PAR1").then_some(())?;
    length.checked_sub(footer)
}

/// The fixed part of the checksums.
pub(crate) struct Sums {
    /// Start of the indexes in the file.
    pub start: u64,
    /// Number of pages.
    pages: usize,
    /// XXH3-64 from the indexes to the end.
    hash: u64,
}

/// Parses the fixed part of the checksums before the footer; `None` if there is none.
pub(crate) fn fixed(tail: &[u8], footer: usize) -> Option<Sums> {
    let fixed = tail.get(footer.checked_sub(FIXED)?..footer)?;
    let number = |from: usize| Some(u64::from_le_bytes(fixed.get(from..from + 8)?.try_into().ok()?));
    let pages = u32::from_le_bytes(fixed[8..12].try_into().ok()?) as usize;
    (fixed[20..] == *MAGIC).then_some(Sums { start: number(0)?, pages, hash: number(12)? })
}

impl Sums {
    /// Verifies the end of the file, from the indexes on; returns the page checksums.
    ///
    /// # Errors
    /// The mismatch, in one line.
    pub(crate) fn check(&self, tail: &[u8], footer: usize) -> Result<Vec<u32>, String> {
        let mut hash = Xxh3Default::new();
        hash.update(&tail[..footer - 16]);
        hash.update(&tail[footer..]);
        let found = hash.digest();
        if found != self.hash {
            return Err(format!("its footer: expected XXH3-64 {:016x}, found {found:016x}", self.hash));
        }
        let end = footer - FIXED;
        let list = end.checked_sub(4 * self.pages).and_then(|start| tail.get(start..end));
        let list = list.ok_or_else(|| format!("its footer: expected checksums of {} pages", self.pages))?;
        Ok(list.chunks_exact(4).map(|sum| u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]])).collect())
    }
}
