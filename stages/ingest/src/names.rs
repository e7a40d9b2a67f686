//! The string table, for formats whose names are few and come one by one.

use heaplake_kit::{Budget, Reservation, Scratch, StageError, StringWriter};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::STRINGS;
use rustc_hash::FxHashMap;

/// The string table in the making, in which every name is once.
pub struct Names {
    strings: StringWriter,
    by_name: FxHashMap<Box<[u8]>, StringId>,
    reservation: Reservation,
}

/// What a name takes in memory besides its bytes: a slot of the table, its like while the table grows, and the heap's
/// own.
const BYTES_PER_NAME: u64 = 80;

impl Names {
    /// An empty table.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn create(budget: &Budget, scratch: &Scratch) -> Result<Self, StageError> {
        Self::with(StringWriter::create(scratch, STRINGS)?, budget)
    }

    /// Appends to a table, without a look-up of the strings that it already has.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn append(budget: &Budget, scratch: &Scratch) -> Result<Self, StageError> {
        Self::with(StringWriter::append(scratch, STRINGS)?, budget)
    }

    fn with(strings: StringWriter, budget: &Budget) -> Result<Self, StageError> {
        Ok(Self { strings, by_name: FxHashMap::default(), reservation: budget.reserve("names", 0)? })
    }

    /// The id of a name.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`].
    pub fn intern(&mut self, name: &[u8]) -> Result<StringId, StageError> {
        if let Some(&id) = self.by_name.get(name) {
            return Ok(id);
        }
        self.reservation.grow(name.len() as u64 + BYTES_PER_NAME)?;
        let id = self.strings.count();
        let id = StringId(u32::try_from(id).map_err(|_| StageError::Overflow("the string table"))?);
        self.strings.push(name)?;
        self.by_name.insert(name.into(), id);
        Ok(id)
    }

    /// Ends the table.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<(), StageError> {
        self.strings.finish().map(drop)
    }
}
