//! Texts of a recording, each once.

use heaplake_kit::charge::{Charge, allocated};
use heaplake_kit::{Budget, Scratch, StageError, StringWriter};
use heaplake_schemas::replay::RECORDING_TEXTS;
use rustc_hash::FxHashMap;

/// No text.
pub const NONE: u32 = u32::MAX;

/// Bytes of a text besides its own, also while the table grows, and at the end.
const ENTRY: u64 = 128;

/// A text is cut where it is longer, bytes.
const LONGEST: usize = 8 << 10;

/// Writes texts and knows where they are.
pub struct Texts {
    positions: FxHashMap<Box<str>, u32>,
    writer: StringWriter,
    charge: Charge,
}

impl Texts {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn new(scratch: &Scratch, budget: &Budget) -> Result<Self, StageError> {
        let charge = Charge::new(budget, "the texts of the recording")?;
        Ok(Self { positions: FxHashMap::default(), writer: StringWriter::create(scratch, RECORDING_TEXTS)?, charge })
    }

    /// The position of a text.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn position(&mut self, text: &str) -> Result<u32, StageError> {
        let text = cut(text);
        if let Some(&position) = self.positions.get(text) {
            return Ok(position);
        }
        let position = u32::try_from(self.positions.len()).ok().filter(|&position| position != NONE);
        let position = position.ok_or(StageError::Overflow("the number of texts"))?;
        self.charge.add(ENTRY + allocated(text.len()))?;
        self.writer.push(text.as_bytes())?;
        self.positions.insert(text.into(), position);
        Ok(position)
    }

    /// The position of a text that may be none.
    ///
    /// # Errors
    /// [`StageError`].
    pub fn optional(&mut self, text: Option<&str>) -> Result<u32, StageError> {
        text.map_or(Ok(NONE), |text| self.position(text))
    }

    /// All texts, by position.
    #[must_use]
    pub fn all(&self) -> FxHashMap<u32, &str> {
        self.positions.iter().map(|(text, &position)| (position, &**text)).collect()
    }

    /// Ends them.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<(), StageError> {
        self.writer.finish().map(drop)
    }
}

/// A text, cut where it is too long.
pub fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
