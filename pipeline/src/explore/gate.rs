//! Answers share the memory of the command: each waits until its part is free.
//!
//! Most questions read columns in batches. Those with an entry per object take what `heaplake_query` documents, and
//! comparisons and statements, which keep to any budget, take all.

use crate::mcp::asking::Ask;
use heaplake_kit::overhead::FIXED_OVERHEAD;
use heaplake_kit::text::size;
use heaplake_kit::threads::locked;
use heaplake_mcp::failure::Failure;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of an answer that reads batches: buffers of columns, rows, and the answer itself.
const BATCHES: u64 = 24 << 20;
/// Bytes per object: `why` (dominators, and a shortest path), `top` (dominators and depths).
const WHY: u64 = 21;
const TOP: u64 = 8;
/// Interval between looks at the flag of cancellation.
const LOOK: Duration = Duration::from_millis(50);

/// The memory of all answers.
pub(super) struct Gate {
    whole: u64,
    free: Mutex<u64>,
    freed: Condvar,
}

/// The part of an answer.
pub(super) struct Turn<'a> {
    gate: &'a Gate,
    bytes: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *locked(&self.gate.free) += self.bytes;
        self.gate.freed.notify_all();
    }
}

impl Gate {
    /// A gate with this memory.
    pub(super) fn new(memory: u64) -> Self {
        let whole = memory.saturating_sub(FIXED_OVERHEAD);
        Self { whole, free: Mutex::new(whole), freed: Condvar::new() }
    }

    /// Waits for the memory of a question.
    ///
    /// # Errors
    /// It is more than there is, or nobody waits for the answer any more.
    pub(super) fn enter(&self, question: &str, ask: &Ask<'_>) -> Result<Turn<'_>, Failure> {
        let per_object = match question {
            "compare" | "clusters" | "query" => return self.taken(self.whole, ask),
            "why" => WHY,
            "top" => TOP,
            _ => 0,
        };
        let objects = if per_object > 0 { ask.objects()? } else { 0 };
        let bytes = BATCHES + per_object.saturating_mul(objects);
        if bytes > self.whole && per_object > 0 {
            let problem = format!("this takes {}, and --memory leaves {}", size(bytes), size(self.whole));
            let advice =
                format!("start heaplake explore with --memory {}MiB", (bytes + FIXED_OVERHEAD).div_ceil(1 << 20));
            return Err(Failure::new(problem, advice));
        }
        self.taken(bytes.min(self.whole), ask)
    }

    fn taken(&self, bytes: u64, ask: &Ask<'_>) -> Result<Turn<'_>, Failure> {
        let mut free = locked(&self.free);
        while *free < bytes {
            if ask.is_cancelled() {
                return Err(Failure::new("the question was cancelled", "ask again"));
            }
            free = self.freed.wait_timeout(free, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= bytes;
        Ok(Turn { gate: self, bytes })
    }
}
