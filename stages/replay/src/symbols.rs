//! Functions of a trace, and which of them a frame belongs to.
//!
//! Formats that name functions themselves define each by its number; formats with addresses report methods with the
//! ranges of their code, often only at the end of the trace. Where code was thrown away and its addresses used again,
//! the range that was reported last counts.

use crate::charge::Charge;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Bytes of an entry besides its texts.
const ENTRY: u64 = 256;

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// The runtime's handle.
    pub handle: u64,
    /// `Namespace.Type::Method`.
    pub name: String,
    /// What tells overloads apart; empty where the trace has none.
    pub signature: String,
    /// Module; empty where the trace has none.
    pub module: String,
    /// Source file; empty where the trace has none.
    pub file: String,
    /// Line in it.
    pub line: Option<u32>,
}

/// All functions of a trace.
pub struct Symbols {
    functions: Vec<Function>,
    numbers: FxHashMap<Function, u32>,
    frames: FxHashMap<u64, u32>,
    /// Start of a range of code: its end and function.
    ranges: BTreeMap<u64, (u64, u32)>,
    charge: Charge,
}

impl Symbols {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            functions: Vec::new(),
            numbers: FxHashMap::default(),
            frames: FxHashMap::default(),
            ranges: BTreeMap::new(),
            charge: Charge::new(budget, "the functions of the trace")?,
        })
    }

    fn number(&mut self, function: Function) -> Result<u32, StageError> {
        if let Some(&number) = self.numbers.get(&function) {
            return Ok(number);
        }
        let Function { name, signature, module, file, .. } = &function;
        // Each text is held twice, in the list and in the table.
        self.charge.add(ENTRY + 2 * (name.len() + signature.len() + module.len() + file.len()) as u64)?;
        let number = self.functions.len() as u32;
        self.functions.push(function.clone());
        self.numbers.insert(function, number);
        Ok(number)
    }

    /// A function that frames name by a number of their own.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn define(&mut self, frame: u64, function: Function) -> Result<(), StageError> {
        let number = self.number(function)?;
        self.frames.insert(frame, number);
        Ok(())
    }

    /// Code of a function, `size` bytes from `start` on. What was known of those addresses no longer counts.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn load(&mut self, start: u64, size: u64, function: Function) -> Result<(), StageError> {
        let end = start.saturating_add(size);
        if start == end {
            return Ok(());
        }
        let number = self.number(function)?;
        if self.ranges.get(&start) == Some(&(end, number)) {
            return Ok(());
        }
        let before = self.ranges.range(..start).next_back().map(|(&start, &range)| (start, range));
        if let Some((at, (old_end, old))) = before
            && old_end > start
        {
            self.ranges.insert(at, (start, old));
            if old_end > end {
                self.ranges.insert(end, (old_end, old));
            }
        }
        while let Some((&at, &(old_end, old))) = self.ranges.range(start..end).next() {
            self.ranges.remove(&at);
            if old_end > end {
                self.ranges.insert(end, (old_end, old));
            }
        }
        self.charge.add(ENTRY)?;
        self.ranges.insert(start, (end, number));
        Ok(())
    }

    /// The function of a frame, as a position in [`Self::functions`].
    #[must_use]
    pub fn resolve(&self, frame: u64) -> Option<u32> {
        if let Some(&number) = self.frames.get(&frame) {
            return Some(number);
        }
        let (_, &(end, number)) = self.ranges.range(..=frame).next_back()?;
        (frame < end).then_some(number)
    }

    /// All functions.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
}
