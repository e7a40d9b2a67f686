//! A text column of a row group: a dictionary of distinct texts, and a key per row.
//!
//! Texts are identified by their position in a string table; equal positions mean equal texts. So a row costs one
//! lookup in a small hash table of integers, whereas the general Parquet encoder copies, compares and hashes every text
//! again. A text is read once, when the row group ends, directly from the mapped file into the compressor; it is never
//! held in memory. Texts of more than [`LONGEST`] bytes are truncated.
//!
//! Statistics have a minimum and a maximum only if all rows have the same short text: rows are not ordered by other
//! texts, so these would exclude no row group.

use crate::bounds::of_texts;
use crate::numbers::bytes_of_bits;
use crate::pages::{DataPage, Dictionary, LEVEL, Pages};
use crate::runs;
use arrow::buffer::BooleanBuffer;
use heaplake_kit::StringTable;
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io::{BufWriter, IntoInnerError, Write};

/// Null sentinel.
pub const NONE: u32 = u32::MAX;

/// Texts by position.
#[derive(Clone, Copy)]
pub enum Texts<'a> {
    /// In a string table.
    Table(&'a StringTable),
    /// In a list of names.
    Names(&'a [String]),
    /// In a list of constant names.
    Words(&'a [&'a str]),
}

impl<'a> Texts<'a> {
    fn text(self, position: u32) -> Cow<'a, str> {
        match self {
            Self::Table(strings) if self.len(position) > LONGEST => {
                Cow::Owned(format!("{}…", strings.beginning(position as usize, LONGEST / 4)))
            }
            Self::Table(strings) => strings.text(position as usize),
            Self::Names(names) => Cow::Borrowed(&names[position as usize]),
            Self::Words(words) => Cow::Borrowed(words[position as usize]),
        }
    }

    fn len(self, position: u32) -> usize {
        match self {
            Self::Table(strings) => strings.get(position as usize).len().min(LONGEST + 1),
            Self::Names(names) => names[position as usize].len(),
            Self::Words(words) => words[position as usize].len(),
        }
    }
}

/// Longer texts of a string table are truncated and end in `…`: a page holds whole texts, in memory.
const LONGEST: usize = 1 << 20;

/// Overhead per text in a dictionary: its length, its position, and its hash table entry.
const ENTRY: usize = 20;

/// Maximum bytes of a text in statistics.
const MOST_BOUND: usize = 256;

/// Entries of the cache of recent texts: most columns have few frequent texts.
const RECENT: usize = 256;

/// Dictionaries of at least this many bytes are compressed in a stream.
const LARGE: usize = 1 << 18;

/// A text column being written.
pub struct TextChunk<'a> {
    texts: Texts<'a>,
    /// Maximum bytes of the dictionary.
    most: usize,
    taken: usize,
    keys: FxHashMap<u32, u32>,
    /// Direct-mapped cache of recent positions and their keys.
    recent: Box<[(u32, u32); RECENT]>,
    dictionary: Vec<u32>,
    /// Length and bytes of the dictionary before the last [`Self::intern`].
    before: (usize, usize),
    pages: Pages,
    nulls: u64,
}

impl<'a> TextChunk<'a> {
    /// Starts the column. Its dictionary holds `most` bytes of texts and overhead, or one text.
    pub fn new(texts: Texts<'a>, column: ColumnDescPtr, most: usize) -> Self {
        let (keys, recent) = (FxHashMap::default(), Box::new([(NONE, NONE); RECENT]));
        let (dictionary, pages) = (Vec::new(), Pages::new(column));
        Self { texts, most, taken: 0, keys, recent, dictionary, before: (0, 0), pages, nulls: 0 }
    }

    /// Bytes of pages so far.
    pub fn bytes(&self) -> usize {
        self.pages.bytes()
    }

    /// Appends the keys of the first texts, as many as fit the dictionary.
    pub fn intern(&mut self, positions: &[u32], keys: &mut Vec<u32>) {
        self.before = (self.dictionary.len(), self.taken);
        keys.reserve(positions.len());
        let (mut last, mut last_key) = (NONE, NONE);
        for &position in positions {
            if position != last {
                let place = position as usize % RECENT;
                let (known, mut key) = self.recent[place];
                if known != position {
                    let Some(found) = self.key(position) else { return };
                    key = found;
                    self.recent[place] = (position, key);
                }
                (last, last_key) = (position, key);
            }
            keys.push(last_key);
        }
    }

    /// Undoes the last [`Self::intern`].
    pub fn forget(&mut self) {
        let (length, taken) = self.before;
        self.recent.fill((NONE, NONE));
        for position in self.dictionary.drain(length..) {
            self.keys.remove(&position);
        }
        self.taken = taken;
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

    /// Appends rows by key as one page of at most 2 GiB.
    pub fn write(&mut self, keys: &[u32]) -> Result<()> {
        let rows = keys.len();
        let nulls = keys.iter().filter(|&&key| key == NONE).count();
        let width = runs::width(self.dictionary.len());
        let mut content = Vec::with_capacity(rows * width.div_ceil(8) + rows / 8 + 64);
        if self.pages.column().max_def_level() > 0 {
            let valid = BooleanBuffer::collect_bool(if nulls > 0 { rows } else { 0 }, |row| keys[row] != NONE);
            runs::levels(rows, nulls, bytes_of_bits(&valid), &mut content);
        }
        if nulls > 0 {
            let present: Vec<u32> = keys.iter().copied().filter(|&key| key != NONE).collect();
            runs::keys(&present, width, &mut content);
        } else {
            runs::keys(keys, width, &mut content);
        }
        self.nulls += nulls as u64;
        self.pages.add(DataPage { content, encoding: Encoding::RLE_DICTIONARY, rows })
    }

    /// Ends the column; returns the bytes of its dictionary and pages, and its metadata.
    pub fn close(mut self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        self.keys = FxHashMap::default(); // compression needs its room
        let dictionary = self.dictionary_page()?;
        let statistics = self.statistics();
        self.pages.close(Some(dictionary), statistics, None)
    }

    fn statistics(&self) -> Statistics {
        match &self.dictionary[..] {
            &[only] if self.texts.len(only) <= MOST_BOUND => {
                of_texts([&*self.texts.text(only)].into_iter(), self.nulls)
            }
            _ => of_texts([].into_iter(), self.nulls),
        }
    }

    fn dictionary_page(&self) -> Result<Dictionary> {
        let values = self.dictionary.len() as u32;
        if self.taken < LARGE {
            let mut content = Vec::with_capacity(self.taken);
            self.write_texts(&mut content)?;
            return Ok(Dictionary::Plain { content, values });
        }
        // Buffered: most texts are too short for a compressor call each. A text longer than the buffer bypasses it.
        let mut page = BufWriter::with_capacity(1 << 16, zstd::Encoder::new(Vec::new(), LEVEL)?);
        let size = self.write_texts(&mut page)?;
        let page = page.into_inner().map_err(IntoInnerError::into_error)?;
        Ok(Dictionary::Compressed { content: page.finish()?, size, values })
    }

    /// Writes all texts with their lengths; returns the number of bytes.
    fn write_texts(&self, to: &mut impl Write) -> Result<usize> {
        let mut size = 0;
        for &position in &self.dictionary {
            let text = self.texts.text(position);
            to.write_all(&(text.len() as u32).to_le_bytes())?;
            to.write_all(text.as_bytes())?;
            size += 4 + text.len();
        }
        Ok(size)
    }
}
