//! String table of a recording.

use heaplake_kit::memory_account::{MemoryAccount, allocated};
use heaplake_kit::{Budget, Scratch, StageError, StringWriter};
use heaplake_schemas::replay::RECORDING_TEXTS;
use rustc_hash::FxHashMap;

/// Null sentinel of text ids.
pub(crate) const NONE: u32 = u32::MAX;

/// Bytes of a text besides its own, table growth and [`Strings::all`] included.
const ENTRY: u64 = 128;

/// Longest text, bytes.
const LONGEST: usize = 8 << 10;

/// Writes texts and maps them to their ids.
pub(crate) struct Strings {
    positions: FxHashMap<Box<str>, u32>,
    writer: StringWriter,
    account: MemoryAccount,
}

impl Strings {
    /// Returns an empty table.
    pub(crate) fn new(scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        let account = MemoryAccount::new(budget, "the texts of the recording")?;
        Ok(Self { positions: FxHashMap::default(), writer: StringWriter::create(scratch, RECORDING_TEXTS)?, account })
    }

    /// Returns the id of a text.
    pub(crate) fn position(&mut self, text: &str) -> Result<u32, StageError> {
        let text = cut(text);
        if let Some(&position) = self.positions.get(text) {
            return Ok(position);
        }
        let position = u32::try_from(self.positions.len()).ok().filter(|&position| position != NONE);
        let position = position.ok_or(StageError::Overflow("the number of texts"))?;
        self.account.add(ENTRY + allocated(text.len()))?;
        self.writer.push(text.as_bytes())?;
        self.positions.insert(text.into(), position);
        Ok(position)
    }

    /// Returns the id of an optional text; [`NONE`] for none.
    pub(crate) fn optional(&mut self, text: Option<&str>) -> Result<u32, StageError> {
        text.map_or(Ok(NONE), |text| self.position(text))
    }

    /// All texts, by id.
    pub(crate) fn all(&self) -> FxHashMap<u32, &str> {
        self.positions.iter().map(|(text, &position)| (position, &**text)).collect()
    }

    /// Finishes the column.
    pub(crate) fn finish(self) -> Result<(), StageError> {
        self.writer.finish().map(drop)
    }
}

/// Cuts a text to the longest length.
pub(crate) fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
