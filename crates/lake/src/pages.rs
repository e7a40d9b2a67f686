//! The pages of a column in a row group, compressed and written in sequence, with an index of their locations.
//!
//! A column of one page that takes, with its dictionary, at most [`SMALL`] bytes is not compressed: for columns of
//! small tables and constant columns compression does not pay. Everything else is compressed by zstd, with one context
//! per thread: creating a context takes longer than compressing a small page.
//!
//! Page headers contain the CRC-32 of the page, which the writer of the Parquet library omits.

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

/// Compression level of zstd: higher ones gain next to nothing.
pub(crate) const LEVEL: i32 = 1;

/// Maximum bytes of an uncompressed column.
const SMALL: usize = 512;

/// An uncompressed data page.
pub(crate) struct DataPage {
    /// Levels and values.
    pub content: Vec<u8>,
    /// Encoding of the values.
    pub encoding: Encoding,
    /// Number of rows, including nulls.
    pub rows: usize,
}

/// A dictionary page: plain values.
pub(crate) enum Dictionary {
    /// Not compressed.
    Plain {
        /// The values.
        content: Vec<u8>,
        /// Number of values.
        values: u32,
    },
    /// Compressed already.
    Compressed {
        /// The compressed values.
        content: Vec<u8>,
        /// Uncompressed bytes.
        size: usize,
        /// Number of values.
        values: u32,
    },
}

/// Pages of a column.
pub(crate) struct Pages {
    column: ColumnDescPtr,
    /// A small first page, held until a second one or the end.
    held: Option<DataPage>,
    written: Vec<u8>,
    index: OffsetIndexBuilder,
    /// Number of pages by encoding.
    counts: Vec<(Encoding, i32)>,
    uncompressed: usize,
    rows: u64,
}

impl Pages {
    /// Creates a column without pages.
    pub(crate) fn new(column: ColumnDescPtr) -> Self {
        let index = OffsetIndexBuilder::new();
        Self { column, held: None, written: Vec::new(), index, counts: Vec::new(), uncompressed: 0, rows: 0 }
    }

    /// The column.
    pub(crate) fn column(&self) -> &ColumnDescPtr {
        &self.column
    }

    /// Bytes of pages so far.
    pub(crate) fn bytes(&self) -> usize {
        self.written.len()
    }

    /// Appends a page of at most 2 GiB.
    pub(crate) fn add(&mut self, page: DataPage) -> Result<()> {
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

    /// Ends the column; returns the bytes of its dictionary and pages, and its metadata.
    pub(crate) fn close(
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
    /// Returns the content as written, its uncompressed size, and the number of values.
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

/// Appends a page with its header; returns the bytes of the header.
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
