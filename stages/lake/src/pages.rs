//! The pages of a column in a row group: compressed and written one after the other, with the index of their places.
//!
//! A column of one page that takes, with its dictionary, at most [`SMALL`] bytes is not compressed: the columns of small
//! tables and those with one value take more time to compress than they are worth. All else is compressed by zstd, with
//! one context for each thread: to make a context takes longer than to compress a small page.

use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
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
    written: TrackedWrite<Vec<u8>>,
    index: OffsetIndexBuilder,
    /// Number of pages by encoding.
    counts: Vec<(Encoding, i32)>,
    uncompressed: usize,
    rows: u64,
}

impl Pages {
    /// No pages yet.
    pub fn new(column: ColumnDescPtr) -> Self {
        let written = TrackedWrite::new(Vec::new());
        let index = OffsetIndexBuilder::new();
        Self { column, held: None, written, index, counts: Vec::new(), uncompressed: 0, rows: 0 }
    }

    /// The column.
    pub fn column(&self) -> &ColumnDescPtr {
        &self.column
    }

    /// Bytes of the pages so far.
    pub fn bytes(&self) -> usize {
        self.written.bytes_written()
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
        let level = Encoding::RLE;
        let spec = SerializedPageWriter::new(&mut self.written).write_page(CompressedPage::new(
            Page::DataPage {
                buf: content.into(),
                num_values: rows as u32,
                encoding,
                def_level_encoding: level,
                rep_level_encoding: level,
                statistics: None,
            },
            size,
        ))?;
        self.index.append_offset_and_size(spec.offset as i64, spec.compressed_size as i32);
        self.index.append_row_count(rows as i64);
        match self.counts.iter_mut().find(|(of, _)| *of == encoding) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((encoding, 1)),
        }
        self.uncompressed += spec.uncompressed_size;
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
        let mut chunk = TrackedWrite::new(Vec::new());
        let mut stats: Vec<_> = self.counts.iter().map(|&(of, count)| used(PageType::DATA_PAGE, of, count)).collect();
        let dictionary_bytes = match dictionary {
            Some(dictionary) => {
                let (page, size) = dictionary.page(compress)?;
                let spec = SerializedPageWriter::new(&mut chunk).write_page(CompressedPage::new(page, size))?;
                self.uncompressed += spec.uncompressed_size;
                stats.insert(0, used(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1));
                spec.compressed_size
            }
            None => 0,
        };
        let bytes = dictionary_bytes + self.written.bytes_written();
        let mut chunk = chunk.into_inner()?;
        chunk.append(&mut self.written.into_inner()?);
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
    /// The page, and its size without compression.
    fn page(self, compress: bool) -> Result<(Page, usize)> {
        let (content, size, values) = match self {
            Self::Compressed { content, size, values } => (content, size, values),
            Self::Plain { content, values } => {
                let size = content.len();
                (if compress { compressed(&content)? } else { content }, size, values)
            }
        };
        let buf = content.into();
        Ok((Page::DictionaryPage { buf, num_values: values, encoding: Encoding::PLAIN, is_sorted: false }, size))
    }
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
