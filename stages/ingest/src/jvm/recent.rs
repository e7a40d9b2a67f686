//! The string table with a cache of recent short texts, which are not added again.

use heaplake_kit::{BudgetVec, Context, Scratch, StageError, StringWriter};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::STRINGS;
use xxhash_rust::xxh3::xxh3_64;

/// Entries of the cache, as a power of two.
const RECENT: u32 = 17;

/// The longest of them, bytes.
const SHORT: usize = 59;

/// See the module. How many texts are remembered does not depend on the memory, so neither does the result.
pub(super) struct Recent {
    strings: StringWriter,
    /// By some bits of the hash.
    entries: BudgetVec<Entry>,
    /// Other bits of the hash of each entry. They fit the processor's cache and reject most texts that are not in the
    /// table.
    tags: BudgetVec<u16>,
}

#[derive(Clone, Copy)]
struct Entry {
    id: StringId,
    length: u8,
    text: [u8; SHORT],
}

impl Recent {
    /// Appends to the table, with an empty cache.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn append(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let empty = Entry { id: StringId::NONE, length: 0, text: [0; SHORT] };
        Ok(Self {
            strings: StringWriter::append(scratch, STRINGS)?,
            entries: context.budget.filled("texts that came by", 1 << RECENT, empty)?,
            tags: context.budget.zeroed("texts that came by", 1 << RECENT)?,
        })
    }

    /// The id of a text.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Overflow`].
    pub fn intern(&mut self, text: &[u8]) -> Result<StringId, StageError> {
        if text.len() > SHORT {
            return self.add(text);
        }
        let hash = xxh3_64(text);
        let (at, tag) = ((hash >> (64 - RECENT)) as usize, hash as u16);
        if self.tags[at] == tag {
            let entry = &self.entries[at];
            if !entry.id.is_none() && &entry.text[..entry.length as usize] == text {
                return Ok(entry.id);
            }
        }
        let id = self.add(text)?;
        self.tags[at] = tag;
        let entry = &mut self.entries[at];
        entry.text[..text.len()].copy_from_slice(text);
        (entry.id, entry.length) = (id, text.len() as u8);
        Ok(id)
    }

    fn add(&mut self, text: &[u8]) -> Result<StringId, StageError> {
        let id = u32::try_from(self.strings.count()).ok().filter(|&id| id != u32::MAX);
        self.strings.push(text)?;
        let Some(id) = id else { return Err(StageError::Overflow("the string table")) };
        Ok(StringId(id))
    }

    /// Ends the table.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<(), StageError> {
        self.strings.finish().map(drop)
    }
}
