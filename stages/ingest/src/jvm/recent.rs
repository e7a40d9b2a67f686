//! The string table with a cache that deduplicates recent short texts.

use heaplake_kit::{BudgetVec, Context, Scratch, StageError, StringWriter};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::STRINGS;
use xxhash_rust::xxh3::xxh3_64;

/// log2 of the entries of the cache.
const RECENT: u32 = 17;

/// Length limit of cached texts, bytes.
const SHORT: usize = 59;

/// See the module. The size of the cache, hence the result, does not depend on the memory.
pub(super) struct Recent {
    strings: StringWriter,
    /// By leading bits of the hash.
    entries: BudgetVec<Entry>,
    /// Trailing bits of each entry's hash: they fit the processor's cache and reject most texts that are not cached.
    tags: BudgetVec<u16>,
}

#[derive(Clone, Copy)]
struct Entry {
    id: StringId,
    length: u8,
    text: [u8; SHORT],
}

impl Recent {
    /// Opens the table for appending, with an empty cache.
    pub(super) fn append(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let empty = Entry { id: StringId::NONE, length: 0, text: [0; SHORT] };
        Ok(Self {
            strings: StringWriter::append(scratch, STRINGS)?,
            entries: context.budget.filled("texts that came by", 1 << RECENT, empty)?,
            tags: context.budget.zeroed("texts that came by", 1 << RECENT)?,
        })
    }

    /// Returns the id of a text.
    pub(super) fn intern(&mut self, text: &[u8]) -> Result<StringId, StageError> {
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

    /// Completes the table.
    pub(super) fn finish(self) -> Result<(), StageError> {
        self.strings.finish().map(drop)
    }
}
