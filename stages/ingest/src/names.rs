//! The string table, for formats with few names that arrive one by one.

use heaplake_kit::{Budget, Reservation, Scratch, StageError, StringWriter};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::STRINGS;
use rustc_hash::FxHashMap;

/// Writer of the string table; every name is stored once.
pub(crate) struct NameWriter {
    strings: StringWriter,
    by_name: FxHashMap<Box<[u8]>, StringId>,
    reservation: Reservation,
}

/// Memory per name besides its bytes: its slot in the table, a second slot while the table grows, and the allocator's
/// overhead.
const BYTES_PER_NAME: u64 = 80;

impl NameWriter {
    /// Starts an empty table.
    pub(crate) fn create(budget: &Budget, scratch: &Scratch) -> Result<Self, StageError> {
        Self::with(StringWriter::create(scratch, STRINGS)?, budget)
    }

    /// Appends to an existing table; its strings are not deduplicated against.
    pub(crate) fn append(budget: &Budget, scratch: &Scratch) -> Result<Self, StageError> {
        Self::with(StringWriter::append(scratch, STRINGS)?, budget)
    }

    fn with(strings: StringWriter, budget: &Budget) -> Result<Self, StageError> {
        Ok(Self { strings, by_name: FxHashMap::default(), reservation: budget.reserve("names", 0)? })
    }

    /// Returns the id of a name, which is stored if it is new.
    pub(crate) fn intern(&mut self, name: &[u8]) -> Result<StringId, StageError> {
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

    /// Completes the table.
    pub(crate) fn finish(self) -> Result<(), StageError> {
        self.strings.finish().map(drop)
    }
}
