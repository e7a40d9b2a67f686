//! URLs of scripts, if the input has them.

use heaplake_kit::{ColumnMap, Scratch, StageError, StringTable};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{SCRIPT_ID, SCRIPT_URL, STRINGS};
use std::borrow::Cow;

/// URLs of scripts by number.
pub(crate) struct Scripts {
    numbers: ColumnMap<u32>,
    urls: ColumnMap<StringId>,
    strings: StringTable,
}

impl Scripts {
    /// Opens the columns; `None` if the input has no scripts.
    pub(crate) fn open(scratch: &Scratch) -> Result<Option<Self>, StageError> {
        if !scratch.has(SCRIPT_ID) {
            return Ok(None);
        }
        Ok(Some(Self {
            numbers: ColumnMap::uncounted(scratch, SCRIPT_ID)?,
            urls: ColumnMap::uncounted(scratch, SCRIPT_URL)?,
            strings: StringTable::open(scratch, STRINGS)?,
        }))
    }

    /// URL of the script number that a class key begins with.
    pub(crate) fn of_class(&self, key: &str) -> Option<Cow<'_, str>> {
        let (number, _) = key.split_once(',')?;
        self.url(number.parse().ok()?)
    }

    /// URL of a script.
    pub(crate) fn url(&self, number: u32) -> Option<Cow<'_, str>> {
        let row = self.numbers.binary_search(&number).ok()?;
        Some(self.strings.text(self.urls[row].get()? as usize)).filter(|url| !url.is_empty())
    }
}
