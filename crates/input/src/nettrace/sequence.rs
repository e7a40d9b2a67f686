//! Sequence numbers of events by thread. A gap reveals events dropped by the recorder.

use super::cursor::Cursor;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// Bytes per entry.
const ENTRY: u64 = 48;

/// The last number of each thread.
pub struct Sequences {
    last: FxHashMap<u64, u32>,
    /// Cache: the last thread looked up, and its number.
    current: Option<(u64, u32)>,
    account: MemoryAccount,
    /// Number of missing events.
    pub lost: u64,
}

impl Sequences {
    /// Creates an empty table.
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let account = MemoryAccount::new(budget, "the threads of the trace")?;
        Ok(Self { last: FxHashMap::default(), current: None, account, lost: 0 })
    }

    /// Records an event of a thread.
    #[inline]
    pub fn event(&mut self, thread: u64, number: u32) -> Result<(), StageError> {
        if let Some((current, last)) = &mut self.current
            && *current == thread
        {
            self.lost += steps(*last, number).saturating_sub(1);
            *last = number;
            return Ok(());
        }
        self.other(thread, number)
    }

    #[cold]
    fn other(&mut self, thread: u64, number: u32) -> Result<(), StageError> {
        self.put_back()?;
        if let Some(&last) = self.last.get(&thread) {
            self.lost += steps(last, number).saturating_sub(1);
        }
        self.current = Some((thread, number));
        Ok(())
    }

    fn put_back(&mut self) -> Result<(), StageError> {
        if let Some((thread, last)) = self.current.take()
            && self.last.insert(thread, last).is_none()
        {
            self.account.add(ENTRY)?;
        }
        Ok(())
    }

    /// Records a sequence point: the last number of each thread with events. False if its block ends too early.
    pub fn point(&mut self, block: &[u8]) -> Result<bool, StageError> {
        self.put_back()?;
        let mut fields = Cursor(block);
        let (Some(_), Some(count)) = (fields.u64(), fields.u32()) else { return Ok(false) };
        for _ in 0..count {
            let (Some(thread), Some(number)) = (fields.u64(), fields.u32()) else { return Ok(false) };
            match self.last.insert(thread, number) {
                Some(last) => self.lost += steps(last, number),
                None => self.account.add(ENTRY)?,
            }
        }
        Ok(true)
    }
}

/// Number of steps from one number to another; 0 if they decrease.
fn steps(last: u32, number: u32) -> u64 {
    let steps = number.wrapping_sub(last);
    if steps < 1 << 31 { steps.into() } else { 0 }
}
