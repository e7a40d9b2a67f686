//! A text column from arrays, not by position: for small tables and for computed texts.

use crate::bounds::of_texts;
use crate::numbers::bytes_of_bits;
use crate::pages::{DataPage, Dictionary, Pages};
use crate::runs;
use arrow::array::{Array, StringArray};
use parquet::basic::{Encoding, Type};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnIndexBuilder;
use parquet::schema::types::ColumnDescPtr;
use rustc_hash::FxHashMap;

/// Bytes of distinct texts after which pages have no dictionary.
const DICTIONARY: usize = 1 << 20;

/// A column being written.
pub(crate) struct WordChunk {
    pages: Pages,
    keys: FxHashMap<Box<str>, u32>,
    /// The dictionary page.
    dictionary: Vec<u8>,
    /// Minimum and maximum.
    bounds: Option<(String, String)>,
    page_count: usize,
    nulls: u64,
}

impl WordChunk {
    /// Starts the column.
    pub(crate) fn new(column: ColumnDescPtr) -> Self {
        let (keys, pages) = (FxHashMap::default(), Pages::new(column));
        Self { pages, keys, dictionary: Vec::new(), bounds: None, page_count: 0, nulls: 0 }
    }

    /// Bytes of pages so far.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.bytes()
    }

    /// Appends rows as one page.
    pub(crate) fn write(&mut self, texts: &StringArray) -> Result<()> {
        let rows = texts.len();
        let mut content = Vec::new();
        if self.pages.column().max_def_level() > 0 {
            let valid = texts.nulls().into_iter().flat_map(|nulls| bytes_of_bits(nulls.inner()));
            runs::levels(rows, texts.null_count(), valid, &mut content);
        }
        let encoding = if self.dictionary.len() < DICTIONARY {
            let keys: Vec<u32> = texts.iter().flatten().map(|text| self.key(text)).collect();
            runs::keys(&keys, runs::width(self.keys.len()), &mut content);
            Encoding::RLE_DICTIONARY
        } else {
            for text in texts.iter().flatten() {
                self.bound(text);
                runs::plain(text, &mut content);
            }
            Encoding::PLAIN
        };
        self.page_count += 1;
        self.nulls += texts.null_count() as u64;
        self.pages.add(DataPage { content, encoding, rows })
    }

    fn key(&mut self, text: &str) -> u32 {
        if let Some(&key) = self.keys.get(text) {
            return key;
        }
        let key = self.keys.len() as u32;
        self.keys.insert(text.into(), key);
        self.bound(text);
        runs::plain(text, &mut self.dictionary);
        key
    }

    fn bound(&mut self, text: &str) {
        match &mut self.bounds {
            None => self.bounds = Some((text.to_owned(), text.to_owned())),
            Some((least, _)) if text < least.as_str() => text.clone_into(least),
            Some((_, most)) if text > most.as_str() => text.clone_into(most),
            Some(_) => {}
        }
    }

    /// Ends the column; returns the bytes of its dictionary and pages, and its metadata.
    pub(crate) fn close(self) -> Result<(Vec<u8>, ColumnCloseResult)> {
        let bounds = self.bounds.iter().flat_map(|(least, most)| [least.as_str(), most.as_str()]);
        let statistics = of_texts(bounds, self.nulls);
        let (least, most) = (statistics.min_bytes_opt(), statistics.max_bytes_opt());
        let mut index = None;
        // A single page has the bounds of the column.
        if self.page_count == 1 && (least.is_some() || self.bounds.is_none()) {
            let bytes = |bound: Option<&[u8]>| bound.unwrap_or_default().to_vec();
            let mut of_page = ColumnIndexBuilder::new(Type::BYTE_ARRAY);
            of_page.append(self.bounds.is_none(), bytes(least), bytes(most), self.nulls as i64);
            index = Some(of_page.build()?);
        }
        let dictionary = Dictionary::Plain { content: self.dictionary, values: self.keys.len() as u32 };
        self.pages.close(Some(dictionary), statistics, index)
    }
}
