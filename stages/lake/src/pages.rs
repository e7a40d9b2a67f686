//! The pages of a column in a row group: compressed and written one after the other, with the index of their places.
//!
//! A column of one page that takes, with its dictionary, at most [`SMALL`] bytes is not compressed: the columns of small
//! tables and those with one value take more time to compress than they are worth. All else is compressed by zstd, with
//! one context for each thread: to make a context takes longer than to compress a small page.
//!
//! The header of each page has the CRC-32 of the page, which the writer of the Parquet library leaves out.

use crate::thrift::PageHeader;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;
use std::cell::RefCell;
use std::io;
use zstd::bulk::Compressor;

/// Compression level of zstd: a higher one gains next to nothing.
pub const LEVEL: i32 = 1;

/// Most bytes of a column that is not compressed.
const SMALL: usize = 512;

/// A page of data before its compression.
pub struct DataPage {
    /// Levels and values.
    pub content: Vec<u8>,
    /// How values are encoded.
    pub encoding: Encoding,
    /// Number of rows, with nulls.
    pub rows: usize,
}

/// The page of a dictionary: plain values.
pub enum Dictionary {
    /// Not compressed.
    Plain {
        /// The values.
        content: Vec<u8>,
        /// Their number.
        values: u32,
    },
    /// Compressed already.
    Compressed {
        /// The compressed values.
        content: Vec<u8>,
        /// Bytes of the values.
        size: usize,
        /// Their number.
        values: u32,
    },
}

/// Pages of a column.
pub struct Pages {
    column: ColumnDescPtr,
    /// A small first page, until it is known whether others follow.
    held: Option<DataPage>,
    written: Vec<u8>,
    index: OffsetIndexBuilder,
    /// Number of pages by encoding.
    counts: Vec<(Encoding, i32)>,
    uncompressed: usize,
    rows: u64,
}

impl Pages {
    /// No pages yet.
    pub fn new(column: ColumnDescPtr) -> Self {
        let index = OffsetIndexBuilder::new();
        Self { column, held: None, written: Vec::new(), index, counts: Vec::new(), uncompressed: 0, rows: 0 }
    }

    /// The column.
    pub fn column(&self) -> &ColumnDescPtr {
        &self.column
    }

    /// Bytes of the pages so far.
    pub fn bytes(&self) -> usize {
        self.written.len()
    }

    /// Appends a page.
    ///
    /// # Errors
    /// Those of compression, or a page of more than 2 GiB.
    pub fn add(&mut self, page: DataPage) -> Result<()> {
        if self.counts.is_empty() && self.held.is_none() && page.content.len() <= SMALL {
            self.held = Some(page);
            return Ok(());
        }
        if let Some(held) = self.held.take() {
            self.write(held, true)?;
        }
        self.write(page, true)
    }

    fn write(&mut self, page: DataPage, compress: bool) -> Result<()> {
        let DataPage { content, encoding, rows } = page;
        let size = content.len();
        let content = if compress { compressed(&content)? } else { content };
        let offset = self.written.len();
        let of_header = append((false, rows, encoding), size, &content, &mut self.written)?;
        self.index.append_offset_and_size(offset as i64, (self.written.len() - offset) as i32);
        self.index.append_row_count(rows as i64);
        match self.counts.iter_mut().find(|(of, _)| *of == encoding) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((encoding, 1)),
        }
        self.uncompressed += of_header + size;
        self.rows += rows as u64;
        Ok(())
    }

    /// Ends the column; returns the bytes of its dictionary and pages, and what the file says of it.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn close(
        mut self,
        dictionary: Option<Dictionary>,
        statistics: Statistics,
        column_index: Option<ColumnIndexMetaData>,
    ) -> Result<(Vec<u8>, ColumnCloseResult)> {
        let compress = !self.is_small(dictionary.as_ref());
        if let Some(held) = self.held.take() {
            self.write(held, compress)?;
        }
        let mut chunk = Vec::new();
        let mut stats: Vec<_> = self.counts.iter().map(|&(of, count)| used(PageType::DATA_PAGE, of, count)).collect();
        if let Some(dictionary) = dictionary {
            let (content, size, values) = dictionary.content(compress)?;
            let page = (true, values as usize, Encoding::PLAIN);
            self.uncompressed += append(page, size, &content, &mut chunk)? + size;
            stats.insert(0, used(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1));
        }
        let dictionary_bytes = chunk.len();
        let bytes = dictionary_bytes + self.written.len();
        chunk.append(&mut self.written);
        let encodings = stats.iter().map(|stats| stats.encoding).chain([Encoding::RLE]).collect();
        let metadata = ColumnChunkMetaData::builder(self.column)
            .set_compression(if compress { Compression::ZSTD(ZstdLevel::default()) } else { Compression::UNCOMPRESSED })
            .set_encodings(encodings)
            .set_page_encoding_stats(stats)
            .set_num_values(self.rows as i64)
            .set_total_compressed_size(bytes as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_data_page_offset(0)
            .set_statistics(statistics)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes as u64,
            rows_written: self.rows,
            metadata,
            bloom_filter: None,
            column_index,
            offset_index: Some(self.index.build()),
        };
        Ok((chunk, close.update_dictionary_location(dictionary_bytes)?))
    }

    fn is_small(&self, dictionary: Option<&Dictionary>) -> bool {
        let dictionary = match dictionary {
            Some(Dictionary::Compressed { .. }) => return false,
            Some(Dictionary::Plain { content, .. }) => content.len(),
            None => 0,
        };
        self.held.as_ref().is_some_and(|held| held.content.len() + dictionary <= SMALL)
    }
}

impl Dictionary {
    /// Its content as it is written, its size without compression, and the number of its values.
    fn content(self, compress: bool) -> Result<(Vec<u8>, usize, u32)> {
        Ok(match self {
            Self::Compressed { content, size, values } => (content, size, values),
            Self::Plain { content, values } => {
                let size = content.len();
                (if compress { compressed(&content)? } else { content }, size, values)
            }
        })
    }
}

/// Appends a page with its header: whether it is that of a dictionary, its number of values and their encoding; returns the
/// bytes of the header.
fn append(
    (is_dictionary, values, encoding): (bool, usize, Encoding),
    size: usize,
    content: &[u8],
    to: &mut Vec<u8>,
) -> Result<usize> {
    let number = |size: usize| {
        i32::try_from(size).map_err(|_| ParquetError::General(format!("a page of {size} bytes or values is too large")))
    };
    let (uncompressed, compressed, values) = (number(size)?, number(content.len())?, number(values)?);
    let header = PageHeader { is_dictionary, uncompressed, compressed, crc: Some(crc32fast::hash(content)), values };
    let before = to.len();
    header.write(encoding, to);
    let of_header = to.len() - before;
    to.extend_from_slice(content);
    Ok(of_header)
}

fn used(page_type: PageType, encoding: Encoding, count: i32) -> PageEncodingStats {
    PageEncodingStats { page_type, encoding, count }
}

/// Compresses a page.
fn compressed(content: &[u8]) -> io::Result<Vec<u8>> {
    thread_local! {
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    }
    COMPRESSOR.with_borrow_mut(|compressor| {
        let compressor = match compressor {
            Some(compressor) => compressor,
            None => compressor.insert(Compressor::new(LEVEL)?),
        };
        compressor.compress(content)
    })
}
