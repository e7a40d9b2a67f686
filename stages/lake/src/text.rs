//! A column of texts in a row group: a dictionary of the distinct texts, and a key for each row.
//!
//! Texts are identified by their position in a string table, and equal positions mean equal texts. So a row costs one
//! lookup in a small hash table of integers, whereas the general Parquet encoder copies, compares and hashes every
//! text again. A text is read once, when the row group ends, directly from the mapped file into the compressor; it is
//! never held in memory. Of a text of more than [`LONGEST`] bytes the table has the beginning.
//!
//! Keys take four bits or whole bytes: tighter packing is no smaller after compression, since the compressor finds
//! fewer repeated bytes. The statistics have a minimum and a maximum only where all rows have the same short text, such
//! as the release: rows are not ordered by other texts, so these would exclude no row group.

use heaplake_kit::StringTable;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io::{BufWriter, IntoInnerError, Write};

/// The position that means null.
pub const NONE: u32 = u32::MAX;

/// The texts by position.
#[derive(Clone, Copy)]
pub enum Texts<'a> {
    /// In a string table.
    Table(&'a StringTable),
    /// In a list of names.
    Names(&'a [String]),
}

impl<'a> Texts<'a> {
    fn text(self, position: u32) -> Cow<'a, str> {
        match self {
            Self::Table(strings) if self.len(position) > LONGEST => {
                Cow::Owned(format!("{}…", strings.beginning(position as usize, LONGEST / 4)))
            }
            Self::Table(strings) => strings.text(position as usize),
            Self::Names(names) => Cow::Borrowed(&names[position as usize]),
        }
    }

    fn len(self, position: u32) -> usize {
        match self {
            Self::Table(strings) => strings.get(position as usize).len().min(LONGEST + 1),
            Self::Names(names) => names[position as usize].len(),
        }
    }
}

/// Texts of a string table that have more bytes are cut, and end in `…`: a page holds whole texts, in memory.
const LONGEST: usize = 1 << 20;

/// Bytes of a text in a dictionary besides its content: its length, its position, and its entry in the hash table.
const ENTRY: usize = 20;

/// Longest text in statistics, bytes.
const MOST_BOUND: usize = 256;

/// Compression level of zstd: a higher one gains next to nothing.
const LEVEL: i32 = 1;

/// A column of texts that is being written.
pub struct TextChunk<'a> {
    texts: Texts<'a>,
    column: ColumnDescPtr,
    /// Maximum number of bytes of the dictionary.
    most: usize,
    taken: usize,
    keys: FxHashMap<u32, u32>,
    dictionary: Vec<u32>,
    pages: TrackedWrite<Vec<u8>>,
    index: OffsetIndexBuilder,
    page_count: i32,
    uncompressed: usize,
    rows: u64,
    nulls: u64,
}

impl<'a> TextChunk<'a> {
    /// Starts the column. Its dictionary holds `most` bytes of texts and overhead, or one text.
    #[must_use]
    pub fn new(texts: Texts<'a>, column: ColumnDescPtr, most: usize) -> Self {
        Self {
            texts,
            column,
            most,
            taken: 0,
            keys: FxHashMap::default(),
            dictionary: Vec::new(),
            pages: TrackedWrite::new(Vec::new()),
            index: OffsetIndexBuilder::new(),
            page_count: 0,
            uncompressed: 0,
            rows: 0,
            nulls: 0,
        }
    }

    /// Bytes of the pages so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pages.bytes_written()
    }

    /// Appends the keys of the first texts, as many as fit the dictionary.
    pub fn intern(&mut self, positions: &[u32], keys: &mut Vec<u32>) {
        keys.reserve(positions.len());
        let (mut last, mut last_key) = (NONE, NONE);
        for &position in positions {
            if position != last {
                let Some(key) = self.key(position) else { return };
                (last, last_key) = (position, key);
            }
            keys.push(last_key);
        }
    }

    #[inline]
    fn key(&mut self, position: u32) -> Option<u32> {
        if position == NONE {
            return Some(NONE);
        }
        if let Some(&key) = self.keys.get(&position) {
            return Some(key);
        }
        let taken = self.taken.saturating_add(self.texts.len(position)).saturating_add(ENTRY);
        if taken > self.most && !self.dictionary.is_empty() {
            return None;
        }
        self.taken = taken;
        let key = self.dictionary.len() as u32;
        self.dictionary.push(position);
        self.keys.insert(position, key);
        Some(key)
    }

    /// Appends rows by their keys, as one page.
    ///
    /// # Errors
    /// Errors of compression, or a page larger than 2 GiB.
    pub fn write(&mut self, keys: &[u32]) -> Result<()> {
        let nulls = keys.iter().filter(|&&key| key == NONE).count();
        let width = self.width();
        let mut page = Vec::with_capacity(keys.len() * width.div_ceil(8) + keys.len() / 8 + 64);
        if self.column.max_def_level() > 0 {
            levels(keys, nulls, &mut page);
        }
        page.push(width as u8);
        if nulls < keys.len() {
            varint((keys.len() - nulls).div_ceil(8) << 1 | 1, &mut page);
        }
        pack(keys.iter().copied().filter(|&key| key != NONE), width, &mut page);

        let size = page.len();
        let page = zstd::bulk::compress(&page, LEVEL)?;
        let spec = SerializedPageWriter::new(&mut self.pages).write_page(CompressedPage::new(
            Page::DataPage {
                buf: page.into(),
                num_values: keys.len() as u32,
                encoding: Encoding::RLE_DICTIONARY,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            },
            size,
        ))?;
        self.index.append_offset_and_size(spec.offset as i64, spec.compressed_size as i32);
        self.index.append_row_count(keys.len() as i64);
        self.page_count += 1;
        self.uncompressed += spec.uncompressed_size;
        self.rows += keys.len() as u64;
        self.nulls += nulls as u64;
        Ok(())
    }

    /// Bits per key.
    fn width(&self) -> usize {
        match self.dictionary.len() {
            0..=0x10 => 4,
            0x11..=0x100 => 8,
            0x101..=0x1_0000 => 16,
            0x1_0001..=0x100_0000 => 24,
            _ => 32,
        }
    }

    /// Ends the column; returns the bytes of its dictionary and pages, and its metadata.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn close(mut self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        self.keys = FxHashMap::default(); // compression needs its room
        let (page, size) = self.dictionary_page()?;
        let (num_values, bound) = (self.dictionary.len() as u32, self.only_text());
        let page = Page::DictionaryPage { buf: page.into(), num_values, encoding: Encoding::PLAIN, is_sorted: false };
        let mut chunk = TrackedWrite::new(Vec::new());
        let spec = SerializedPageWriter::new(&mut chunk).write_page(CompressedPage::new(page, size))?;
        let (dictionary, pages) = (spec.compressed_size, self.pages.bytes_written());
        let mut chunk = chunk.into_inner()?;
        chunk.append(&mut self.pages.into_inner()?);
        let stats = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
        let metadata = ColumnChunkMetaData::builder(self.column)
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_page_encoding_stats(vec![
                stats(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
                stats(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, self.page_count),
            ])
            .set_num_values(self.rows as i64)
            .set_total_compressed_size((dictionary + pages) as i64)
            .set_total_uncompressed_size((self.uncompressed + spec.uncompressed_size) as i64)
            .set_data_page_offset(0)
            .set_statistics(Statistics::byte_array(bound.clone(), bound, None, Some(self.nulls), false))
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: (dictionary + pages) as u64,
            rows_written: self.rows,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(self.index.build()),
        };
        Ok((chunk, close.update_dictionary_location(dictionary)?))
    }

    /// The text of all rows that have one, if they share one that is short.
    fn only_text(&self) -> Option<ByteArray> {
        let &[only] = &self.dictionary[..] else { return None };
        (self.texts.len(only) <= MOST_BOUND).then(|| ByteArray::from(&*self.texts.text(only)))
    }

    /// The compressed dictionary, and its uncompressed size.
    fn dictionary_page(&self) -> Result<(Vec<u8>, usize)> {
        // Most texts are shorter than a call of the compressor is worth; a text longer than the buffer bypasses it.
        let mut page = BufWriter::with_capacity(1 << 16, zstd::Encoder::new(Vec::new(), LEVEL)?);
        let mut size = 0;
        for &position in &self.dictionary {
            let text = self.texts.text(position);
            page.write_all(&(text.len() as u32).to_le_bytes())?;
            page.write_all(text.as_bytes())?;
            size += 4 + text.len();
        }
        let page = page.into_inner().map_err(IntoInnerError::into_error)?;
        Ok((page.finish()?, size))
    }
}

/// Definition levels of Parquet: one run if all rows are alike, else one bit per row.
fn levels(keys: &[u32], nulls: usize, page: &mut Vec<u8>) {
    let mut levels = Vec::with_capacity(keys.len() / 8 + 16);
    if nulls == 0 || nulls == keys.len() {
        varint(keys.len() << 1, &mut levels);
        levels.push(u8::from(nulls == 0));
    } else {
        varint(keys.len().div_ceil(8) << 1 | 1, &mut levels);
        levels.extend(
            keys.chunks(8)
                .map(|keys| keys.iter().enumerate().fold(0, |bits, (bit, &key)| bits | u8::from(key != NONE) << bit)),
        );
    }
    page.extend_from_slice(&(levels.len() as u32).to_le_bytes());
    page.append(&mut levels);
}

/// Appends a number as LEB128.
fn varint(mut number: usize, page: &mut Vec<u8>) {
    while number > 0x7f {
        page.push(number as u8 | 0x80);
        number >>= 7;
    }
    page.push(number as u8);
}

/// Appends keys of `width` bits, padded with zeros to a multiple of eight keys.
fn pack(keys: impl Iterator<Item = u32>, width: usize, page: &mut Vec<u8>) {
    let (start, mut count) = (page.len(), 0_usize);
    for key in keys {
        match width {
            4 if count.is_multiple_of(2) => page.push(key as u8),
            4 => *page.last_mut().unwrap_or(&mut 0) |= (key as u8) << 4,
            _ => page.extend_from_slice(&key.to_le_bytes()[..width / 8]),
        }
        count += 1;
    }
    page.resize(start + count.div_ceil(8) * width, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_packed_to_groups_of_eight() {
        let packed = |width, keys: &[u32]| {
            let mut page = vec![9];
            pack(keys.iter().copied(), width, &mut page);
            page
        };
        assert_eq!(packed(4, &[1, 2, 15]), [9, 0x21, 0x0f, 0, 0]);
        assert_eq!(packed(16, &[0x0102; 8]), [&[9][..], &[2, 1].repeat(8)].concat());
        assert_eq!(packed(24, &[0x01_0203]).len(), 1 + 24);
        assert_eq!(packed(8, &[]), [9]);
    }

    #[test]
    fn levels_are_runs_or_bits() {
        let of = |keys: &[u32]| {
            let mut page = Vec::new();
            levels(keys, keys.iter().filter(|&&key| key == NONE).count(), &mut page);
            page
        };
        assert_eq!(of(&[0; 3]), [2, 0, 0, 0, 6, 1]);
        assert_eq!(of(&[NONE; 100]), [3, 0, 0, 0, 0xc8, 1, 0]);
        assert_eq!(of(&[0, NONE, 0, 0, 0, 0, 0, 0, NONE, 5]), [3, 0, 0, 0, 5, 0xfd, 0x02]);
    }
}
