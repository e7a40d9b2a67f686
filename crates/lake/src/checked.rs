//! Table files whose bytes are verified as they are read, before any allocation that depends on their content.
//!
//! | part | check |
//! |---|---|
//! | the footer and the indexes | length at most [`MOST_FOOTER`]; no list longer than its bytes; XXH3-64 ([`tail`]) |
//! | a page | CRC-32, if the file has one; sizes at most [`MOST_PAGE`] and [`MOST_VALUES`] |
//!
//! All readers of tables, this crate and query engines, get their metadata here and pass the bytes of pages through
//! [`Checked::check`].
//!
//! Cost: 0.1 ns per byte of pages read (CRC-32 with carry-less multiplication), and reading the column indexes, which
//! lie between pages and footer.

use crate::tail::{self, Page};
use crate::thrift::{PageHeader, walk};
use bytes::Bytes;
use heaplake_kit::panics;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use std::sync::Arc;

/// Maximum bytes of a footer with its indexes.
pub const MOST_FOOTER: u64 = 64 << 20;
/// Maximum uncompressed bytes of a page. heaplake writes pages of 64 Ki rows, dictionaries of 8 MiB, and texts of 1 MiB
/// at most.
pub const MOST_PAGE: i32 = 64 << 20;
/// Maximum values of a page, including elements of lists.
pub const MOST_VALUES: i32 = 16 << 20;

/// Bytes of the first read at the end of a file.
const FIRST: u64 = 16 << 10;

/// Bytes of a page header: usual, and with long statistics.
const HEADER: usize = 256;
const LONG_HEADER: usize = 1 << 20;

/// The metadata of a table file, and the location of its pages.
#[derive(Debug)]
pub struct Checked {
    metadata: Arc<ParquetMetaData>,
    pages: Vec<Page>,
}

/// Result of reading the end of a file.
pub enum Opened {
    /// Complete.
    Done(Checked),
    /// This many bytes of the end are needed.
    Needs(u64),
}

impl Checked {
    /// Returns the bytes of the end of a file to read first.
    pub fn first_bytes(length: u64) -> u64 {
        length.min(FIRST)
    }

    /// Parses the end of a file; may need more of it.
    ///
    /// # Errors
    /// The defect, in one line.
    pub fn open(tail: &Bytes, length: u64) -> Result<Opened, String> {
        panics::silent(|| open(tail, length)).unwrap_or_else(|| Err("its footer is damaged".to_owned()))
    }

    /// Footer and indexes.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.metadata
    }

    /// Checks all pages within these bytes of the file.
    ///
    /// # Errors
    /// The defect, in one line with column, row group and offset.
    pub fn check(&self, start: u64, bytes: &[u8]) -> Result<(), String> {
        if self.pages.is_empty() {
            return self.walk_chunk(start, bytes);
        }
        let end = start + bytes.len() as u64;
        let first = self.pages.partition_point(|page| page.start < start);
        let pages = self.pages[first..].iter().take_while(|page| page.start < end);
        for page in pages.filter(|page| page.start.saturating_add(page.bytes) <= end) {
            let from = (page.start - start) as usize;
            self.check_page(page, &bytes[from..from + page.bytes as usize])?;
        }
        Ok(())
    }

    /// Checks the sizes of all pages of a file without page locations: its readers request page contents without
    /// headers. `read` returns bytes of the file. No effect on other files.
    pub fn check_headers(&self, mut read: impl FnMut(u64, usize) -> Result<Bytes, String>) -> Result<(), String> {
        let chunks = self.metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
        for chunk in chunks.filter(|_| self.pages.is_empty()) {
            let name = chunk.column_path().string();
            let number =
                |number: i64| u64::try_from(number).map_err(|_| format!("column {name}: found offset {number}"));
            let mut at = number(chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()))?;
            let end = at.saturating_add(number(chunk.compressed_size())?);
            while at < end {
                let of = |problem: &str| format!("column {name}, page at offset {at}: {problem}");
                let most = usize::try_from(end - at).unwrap_or(usize::MAX);
                let header = PageHeader::read(&read(at, most.min(HEADER))?);
                let header =
                    if header.is_some() { header } else { PageHeader::read(&read(at, most.min(LONG_HEADER))?) };
                let (header, length) = header.ok_or_else(|| of("expected the header of a page"))?;
                fits(header).map_err(|problem| of(&problem))?;
                at = at.saturating_add(length as u64 + u64::from(header.compressed.cast_unsigned()));
            }
        }
        Ok(())
    }

    fn check_page(&self, page: &Page, bytes: &[u8]) -> Result<(), String> {
        if let Some(expected) = page.sum {
            let found = crc32fast::hash(bytes);
            if found != expected {
                return Err(self.of_page(page, &format!("expected CRC-32 {expected:08x}, found {found:08x}")));
            }
        }
        let Some((header, length)) = PageHeader::read(bytes) else {
            return Err(self.of_page(page, "expected the header of a page"));
        };
        fits(header).map_err(|problem| self.of_page(page, &problem))?;
        let content = &bytes[length..];
        if header.compressed as usize != content.len() {
            let problem = format!("expected {} bytes, found {}", header.compressed, content.len());
            return Err(self.of_page(page, &problem));
        }
        match header.crc.filter(|_| page.sum.is_none()) {
            Some(expected) if crc32fast::hash(content) != expected => {
                let found = crc32fast::hash(content);
                Err(self.of_page(page, &format!("expected CRC-32 {expected:08x}, found {found:08x}")))
            }
            _ => Ok(()),
        }
    }

    fn of_page(&self, page: &Page, problem: &str) -> String {
        let Page { start, group, column, .. } = *page;
        let name = self.metadata.row_group(group).column(column).column_path().string();
        format!("column {name}, row group {group}, page at offset {start}: {problem}")
    }

    /// Checks the pages of a whole column of a file without page locations.
    fn walk_chunk(&self, start: u64, bytes: &[u8]) -> Result<(), String> {
        let mut chunks = self.metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
        let Some(chunk) = chunks.find(|chunk| chunk.byte_range() == (start, bytes.len() as u64)) else {
            return Ok(());
        };
        let mut left = bytes;
        while !left.is_empty() {
            let at = start + (bytes.len() - left.len()) as u64;
            let of = |problem: &str| format!("column {}, page at offset {at}: {problem}", chunk.column_path().string());
            let (header, length) = PageHeader::read(left).ok_or_else(|| of("expected the header of a page"))?;
            fits(header).map_err(|problem| of(&problem))?;
            let next = left.get(length + header.compressed as usize..);
            left = next.ok_or_else(|| of("expected its end before that of its column"))?;
        }
        Ok(())
    }
}

/// Checks that a page may be allocated.
fn fits(header: PageHeader) -> Result<(), String> {
    let sizes = [
        ("bytes", header.compressed, i32::MAX),
        ("bytes uncompressed", header.uncompressed, MOST_PAGE),
        ("values", header.values, MOST_VALUES),
    ];
    match sizes.into_iter().find(|(_, found, most)| !(0..=*most).contains(found)) {
        Some((of, found, most)) => Err(format!("expected at most {most} {of}, found {found}")),
        None => Ok(()),
    }
}

fn open(tail: &Bytes, length: u64) -> Result<Opened, String> {
    let there = tail.len() as u64;
    let needs = |bytes: u64| match bytes {
        bytes if bytes > length => Err(format!("expected {bytes} bytes, found a file of {length}")),
        bytes if bytes > MOST_FOOTER => Err(format!("expected a footer of at most {MOST_FOOTER} bytes, found {bytes}")),
        bytes => Ok(Opened::Needs(bytes)),
    };
    let Some(end) = tail.len().checked_sub(tail::END) else { return needs(tail::END as u64) };
    if tail[end + 4..] != *b"PAR1" {
        return Err("expected PAR1 at the end".to_owned());
    }
    let footer_bytes = u64::from(u32::from_le_bytes([tail[end], tail[end + 1], tail[end + 2], tail[end + 3]]));
    let with_sums = footer_bytes + (tail::END + tail::FIXED) as u64;
    // A file without page checksums: by an older heaplake or another writer.
    let has_no_sums = with_sums > length;
    let Some(footer) = tail::footer(tail).filter(|&at| at >= tail::FIXED || has_no_sums) else {
        return needs(if has_no_sums { footer_bytes + tail::END as u64 } else { with_sums });
    };
    let sums = match tail::fixed(tail, footer) {
        None => None,
        Some(sums) => match length.checked_sub(sums.start) {
            Some(bytes) if bytes > there => return needs(bytes),
            Some(bytes) if bytes >= (tail.len() - footer + tail::FIXED) as u64 => {
                let from = tail.len() - bytes as usize;
                Some(sums.check(&tail[from..], footer - from)?)
            }
            _ => return Err("its footer: expected checksums behind the pages".to_owned()),
        },
    };
    walk(&tail[footer..end]).ok_or_else(|| "its footer is damaged".to_owned())?;
    parse(tail, length, sums)
}

fn parse(tail: &Bytes, length: u64, sums: Option<Vec<u32>>) -> Result<Opened, String> {
    let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Skip);
    reader.try_parse_sized(tail, length).and_then(|()| reader.finish()).map_err(|error| line(&error)).and_then(
        |metadata| {
            let start = indexes_start(&metadata).unwrap_or(length);
            if length.saturating_sub(start) > tail.len() as u64 {
                let bytes = length - start;
                if bytes > MOST_FOOTER {
                    return Err(format!("expected a footer of at most {MOST_FOOTER} bytes, found {bytes}"));
                }
                return Ok(Opened::Needs(bytes));
            }
            check_indexes(&metadata, tail, length)?;
            let mut reader =
                ParquetMetaDataReader::new_with_metadata(metadata).with_page_index_policy(PageIndexPolicy::Optional);
            let metadata = reader
                .read_page_indexes_sized(tail, length)
                .and_then(|()| reader.finish())
                .map_err(|error| line(&error))?;
            let mut pages = tail::pages(&metadata);
            if let Some(sums) = sums {
                if sums.len() != pages.len() {
                    return Err(format!("its footer: expected {} pages, found {}", sums.len(), pages.len()));
                }
                pages.iter_mut().zip(sums).for_each(|(page, sum)| page.sum = Some(sum));
            }
            Ok(Opened::Done(Checked { metadata: Arc::new(metadata), pages }))
        },
    )
}

/// Returns the start of the first index.
fn indexes_start(metadata: &ParquetMetaData) -> Option<u64> {
    indexes(metadata).map(|(start, _)| start).min()
}

/// Returns start and length of all indexes.
fn indexes(metadata: &ParquetMetaData) -> impl Iterator<Item = (u64, u64)> {
    let chunks = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let both = chunks.flat_map(|chunk| {
        [
            chunk.column_index_offset().zip(chunk.column_index_length()),
            chunk.offset_index_offset().zip(chunk.offset_index_length()),
        ]
    });
    both.flatten().map(|(start, bytes)| (start.cast_unsigned(), u64::from(bytes.cast_unsigned())))
}

/// Checks the lengths claimed inside the indexes.
fn check_indexes(metadata: &ParquetMetaData, tail: &[u8], length: u64) -> Result<(), String> {
    for (start, bytes) in indexes(metadata) {
        let from = (start + tail.len() as u64).checked_sub(length).and_then(|from| usize::try_from(from).ok());
        let index = from.and_then(|from| tail.get(from..from.checked_add(usize::try_from(bytes).ok()?)?));
        if bytes > 0 && index.and_then(walk).is_none() {
            return Err(format!("its footer: expected an index of {bytes} bytes at offset {start}"));
        }
    }
    Ok(())
}

fn line(error: &ParquetError) -> String {
    error.to_string().replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
