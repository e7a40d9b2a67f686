//! Reads the section `strings` into the string table, with hashes.

use super::ephemerons;
use super::snapshot::{EPHEMERON_SHARED, EPHEMERON_STRING, EPHEMERON_TABLE, TAG_STRING};
use heaplake_input::json::StringSink;
use heaplake_kit::{BudgetVec, ColumnWriter, Context, Scratch, StageError, StringWriter, finish_all};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{STRING_HASH, STRINGS};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Writes the string table with hashes, and collects the names that later stages need.
pub struct Strings {
    table: StringWriter,
    hash: ColumnWriter<u64>,
    tag: ColumnWriter<StringId>,
    ephemeron: ColumnWriter<StringId>,
    ephemeron_table: ColumnWriter<u64>,
    ephemeron_shared: ColumnWriter<u64>,
    /// The current string, while it is short.
    text: Vec<u8>,
    /// Hash of the current string, once it is long.
    long: Option<Box<Xxh3>>,
    room: BudgetVec<u8>,
}

impl Strings {
    /// Limit in bytes of a string kept in one piece. V8 cuts the names of interest at 1,024 characters.
    const SHORT: usize = 64 << 10;

    /// Creates the table.
    pub fn create(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        Ok(Self {
            table: StringWriter::create(scratch, STRINGS)?,
            hash: ColumnWriter::create(scratch, STRING_HASH)?,
            tag: ColumnWriter::create(scratch, TAG_STRING)?,
            ephemeron: ColumnWriter::create(scratch, EPHEMERON_STRING)?,
            ephemeron_table: ColumnWriter::create(scratch, EPHEMERON_TABLE)?,
            ephemeron_shared: ColumnWriter::create(scratch, EPHEMERON_SHARED)?,
            text: Vec::new(),
            long: None,
            room: context.budget.zeroed("strings: one string", 2 * Self::SHORT)?,
        })
    }

    /// Completes the table; returns the number of strings.
    pub fn finish(self) -> Result<u64, StageError> {
        drop(self.room);
        finish_all((self.hash, self.tag, self.ephemeron, self.ephemeron_table, self.ephemeron_shared))?;
        self.table.finish()
    }
}

impl StringSink for Strings {
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        if self.long.is_none() && self.text.len() + bytes.len() <= Self::SHORT {
            self.text.extend_from_slice(bytes);
            return Ok(());
        }
        let hash = self.long.get_or_insert_with(|| Box::new(Xxh3::new()));
        for piece in [&self.text, bytes] {
            hash.update(piece);
            self.table.extend(piece)?;
        }
        self.text.clear();
        Ok(())
    }

    fn end(&mut self) -> Result<(), StageError> {
        let hash = match self.long.take() {
            Some(hash) => hash.digest(),
            None => {
                let id = StringId(self.table.count().min(u64::from(u32::MAX)) as u32);
                if matches!(self.text.first(), Some(b'<' | b'D'))
                    && (self.text[0] == b'<' || self.text.starts_with(b"Detached <"))
                {
                    self.tag.push(id)?;
                } else if self.text.first().is_some_and(u8::is_ascii_digit)
                    && let Some(ephemeron) = ephemerons::parse(&self.text)
                {
                    self.ephemeron.push(id)?;
                    self.ephemeron_table.push(ephemeron.table)?;
                    self.ephemeron_shared.push(xxh3_64(ephemeron.shared))?;
                }
                self.table.extend(&self.text)?;
                xxh3_64(&self.text)
            }
        };
        self.text.clear();
        self.hash.push(hash)?;
        self.table.end()
    }
}
