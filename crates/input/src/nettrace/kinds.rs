//! Kinds of events that a reader understands.

use super::cursor::Cursor;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// Provider name of the runtime.
pub const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

/// Provider name of the runtime's rundown events, at the beginning or the end of a recording.
pub const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Bytes per entry.
const ENTRY: u64 = 48;

/// Event metadata by number.
pub struct Kinds<K> {
    kinds: FxHashMap<u32, Option<K>>,
    account: MemoryAccount,
}

impl<K: Copy> Kinds<K> {
    /// Creates an empty table.
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self { kinds: FxHashMap::default(), account: MemoryAccount::new(budget, "the descriptions of events")? })
    }

    /// Adds an event's metadata; `kind` interprets provider, event number and version. False if it ends too early.
    pub fn define(
        &mut self,
        payload: &[u8],
        kind: impl FnOnce(&str, u32, u32) -> Option<K>,
    ) -> Result<bool, StageError> {
        let Some((number, provider, event, version)) = parse(payload) else { return Ok(false) };
        self.account.add(ENTRY)?;
        self.kinds.insert(number, kind(&provider, event, version));
        Ok(true)
    }

    /// Returns the kind of an event; `None` if it has no metadata.
    #[inline]
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
