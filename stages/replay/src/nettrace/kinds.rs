//! Which events of a trace mean something to a replay.

use super::cursor::Cursor;
use crate::charge::Charge;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Bytes of an entry.
const ENTRY: u64 = 48;

/// An event that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A collection begins (version of the payload).
    Start(u32),
    /// It ends.
    End,
    /// So many bytes were allocated (version of the payload).
    Tick(u32),
    /// An object was allocated.
    Allocation,
    /// Types.
    Types,
    /// Roots.
    Roots,
    /// Objects of a walk of the heap.
    Nodes,
    /// Ranges that survive where they are.
    Surviving,
    /// Ranges that move.
    Moved,
    /// Addresses of a generation.
    Range,
    /// A method with its code.
    Method,
    /// A module.
    Module,
}

impl Kind {
    fn of(provider: &str, event: u32, version: u32) -> Option<Self> {
        Some(match (provider, event) {
            (RUNTIME, 1) => Self::Start(version),
            (RUNTIME, 2) => Self::End,
            (RUNTIME, 10) => Self::Tick(version),
            (RUNTIME, 20 | 32) => Self::Allocation,
            (RUNTIME, 15) => Self::Types,
            (RUNTIME, 16) => Self::Roots,
            (RUNTIME, 18) => Self::Nodes,
            (RUNTIME, 21) => Self::Surviving,
            (RUNTIME, 22) => Self::Moved,
            (RUNTIME, 23) => Self::Range,
            // Loaded and unloaded; at the beginning and the end of a rundown.
            (RUNTIME | RUNDOWN, 143 | 144) => Self::Method,
            (RUNTIME, 152) | (RUNDOWN, 153 | 154) => Self::Module,
            _ => return None,
        })
    }
}

/// Descriptions of events, by number.
pub struct Kinds {
    kinds: FxHashMap<u32, Option<Kind>>,
    charge: Charge,
}

impl Kinds {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self { kinds: FxHashMap::default(), charge: Charge::new(budget, "the descriptions of events")? })
    }

    /// Takes a description; false where it ends too early.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn define(&mut self, payload: &[u8]) -> Result<bool, StageError> {
        let Some((number, kind)) = parse(payload) else { return Ok(false) };
        self.charge.add(ENTRY)?;
        self.kinds.insert(number, kind);
        Ok(true)
    }

    /// What an event is; nothing where it has no description.
    #[inline]
    #[must_use]
    pub fn get(&self, number: u32) -> Option<Option<Kind>> {
        self.kinds.get(&number).copied()
    }
}

fn parse(payload: &[u8]) -> Option<(u32, Option<Kind>)> {
    let mut fields = Cursor(payload);
    let number = fields.u32()?;
    let provider = fields.utf16()?;
    let event = fields.u32()?;
    fields.utf16()?;
    fields.u64()?;
    let version = fields.u32()?;
    Some((number, Kind::of(&provider, event, version)))
}
