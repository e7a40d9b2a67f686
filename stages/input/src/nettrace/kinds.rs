//! Which events of a trace mean something to its reader.

use super::cursor::Cursor;
use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// The runtime, as a provider of events.
pub const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

/// What the runtime says of itself at the beginning or the end of a recording.
pub const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Bytes of an entry.
const ENTRY: u64 = 48;

/// Descriptions of events, by number.
pub struct Kinds<K> {
    kinds: FxHashMap<u32, Option<K>>,
    charge: Charge,
}

impl<K: Copy> Kinds<K> {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self { kinds: FxHashMap::default(), charge: Charge::new(budget, "the descriptions of events")? })
    }

    /// Takes a description; `kind` says what provider, number and version of an event mean. False where it ends too
    /// early.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn define(
        &mut self,
        payload: &[u8],
        kind: impl FnOnce(&str, u32, u32) -> Option<K>,
    ) -> Result<bool, StageError> {
        let Some((number, provider, event, version)) = parse(payload) else { return Ok(false) };
        self.charge.add(ENTRY)?;
        self.kinds.insert(number, kind(&provider, event, version));
        Ok(true)
    }

    /// What an event is; nothing where it has no description.
    #[inline]
    #[must_use]
    pub fn get(&self, number: u32) -> Option<Option<K>> {
        self.kinds.get(&number).copied()
    }
}

fn parse(payload: &[u8]) -> Option<(u32, String, u32, u32)> {
    let mut fields = Cursor(payload);
    let number = fields.u32()?;
    let provider = fields.utf16()?;
    let event = fields.u32()?;
    fields.utf16()?;
    fields.u64()?;
    let version = fields.u32()?;
    Some((number, provider, event, version))
}
