//! Functions of a trace, and which of them a frame belongs to.
//!
//! Formats that name functions themselves define each by its number; formats with addresses report methods with the
//! ranges of their code, often only at the end of the trace. Where code was thrown away and its addresses used again,
//! the range that was reported last counts.

use heaplake_kit::charge::Charge;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Bytes of an entry besides its texts.
const ENTRY: u64 = 256;

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Function {
    /// The runtime's handle.
    pub handle: u64,
    /// `Namespace.Type::Method`.
    pub name: String,
    /// What tells overloads apart; empty where the trace has none.
    pub signature: String,
    /// The runtime's handle of its module; 0 where the trace has none.
    pub module: u64,
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
    modules: FxHashMap<u64, String>,
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
            modules: FxHashMap::default(),
            charge: Charge::new(budget, "the functions of the trace")?,
        })
    }

    fn number(&mut self, function: Function) -> Result<u32, StageError> {
        if let Some(&number) = self.numbers.get(&function) {
            return Ok(number);
        }
        let Function { name, signature, file, .. } = &function;
        // Each text is held twice, in the list and in the table.
        self.charge.add(ENTRY + 2 * (name.len() + signature.len() + file.len()) as u64)?;
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

    /// The frame of a function that has no other number.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn frame(&mut self, function: Function) -> Result<u64, StageError> {
        let number = self.number(function)?;
        self.frames.insert(u64::from(number), number);
        Ok(u64::from(number))
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

    /// Names a module, by the path of its file.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn name_module(&mut self, handle: u64, path: &str) -> Result<(), StageError> {
        self.charge.add(ENTRY + path.len() as u64)?;
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        self.modules.insert(handle, name.to_owned());
        Ok(())
    }

    /// The name of a function's module, where it has one.
    #[must_use]
    pub fn module(&self, function: &Function) -> Option<&str> {
        self.modules.get(&function.module).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The function of a frame, as a position in [`Self::functions`].
    #[must_use]
    pub fn resolve(&self, frame: u64) -> Option<u32> {
        if let Some(&number) = self.frames.get(&frame) {
            return Some(number);
        }
        // Frames are return addresses: that of a call at the end of a function is no part of it any more.
        self.code(frame.saturating_sub(1)).or_else(|| self.code(frame))
    }

    fn code(&self, address: u64) -> Option<u32> {
        let (_, &(end, number)) = self.ranges.range(..=address).next_back()?;
        (address < end).then_some(number)
    }

    /// All functions.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
}
