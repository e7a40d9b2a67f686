//! Functions of a trace, and their frames.
//!
//! Formats that name functions themselves define each by its number; formats with addresses report methods with their
//! code ranges, often only at the end of the trace. If code was unloaded and its addresses were reused, the last
//! reported range counts.

use crate::index_table::IndexTable;
use crate::intervals::Intervals;
use heaplake_kit::memory_account::{MemoryAccount, allocated};
use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_symbols::{Build, Module};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// Memory account.
const WHO: &str = "the functions of the trace";

/// Bytes per entry of a map, without its text, growth included.
const ENTRY: u64 = 96;

/// Bytes per row at the end, with the function's number and text id.
const ROW: u64 = 88;

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Function {
    /// The runtime's handle.
    pub handle: u64,
    /// `Namespace.Type::Method`.
    pub name: String,
    /// Distinguishes overloads; empty if unknown.
    pub signature: String,
    /// The runtime's handle of its module; 0 if unknown.
    pub module: u64,
    /// Its token in the module's metadata; 0 if unknown.
    pub token: u32,
    /// Source file; empty if unknown.
    pub file: String,
    /// Line in the file.
    pub line: Option<u32>,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

impl Function {
    /// Its column, if known.
    pub fn column(&self) -> Option<u32> {
        (self.column > 0).then_some(self.column)
    }
}

/// All functions of a trace.
pub struct Symbols {
    functions: BudgetVec<Function>,
    index: IndexTable,
    frames: FxHashMap<u64, u32>,
    /// Functions of code.
    ranges: Intervals<u32>,
    modules: FxHashMap<u64, (String, Option<Build>)>,
    account: MemoryAccount,
    /// Account of the rows at the end, which are made in memory.
    later: MemoryAccount,
}

impl Symbols {
    /// Returns an empty set.
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        Ok(Self {
            functions: budget.growing(WHO),
            index: IndexTable::new(budget, WHO)?,
            frames: FxHashMap::default(),
            ranges: Intervals::new(budget, WHO)?,
            modules: FxHashMap::default(),
            account: MemoryAccount::new(budget, WHO)?,
            later: MemoryAccount::new(budget, "the rows of functions at the end")?,
        })
    }

    /// Releases the reserve for the end.
    pub fn begin_end(&mut self) {
        self.later.release();
    }

    fn number(&mut self, function: Function) -> Result<u32, StageError> {
        // The table uses the upper bits of a hash.
        let hash = |function: &Function| FxBuildHasher.hash_one(function).rotate_right(26);
        let functions = &self.functions;
        if let Some(number) = self.index.find(hash(&function), |number| functions[number as usize] == function) {
            return Ok(number);
        }
        let Function { name, signature, file, .. } = &function;
        let texts = [name, signature, file].map(String::capacity).into_iter().filter(|&bytes| bytes > 0);
        self.account.add(texts.map(allocated).sum())?;
        self.later.add(ROW)?;
        let number =
            u32::try_from(self.functions.len()).map_err(|_| StageError::Overflow("the number of functions"))?;
        self.functions.push(function)?;
        let functions = &self.functions;
        self.index.add(number, |number| hash(&functions[number as usize]))?;
        Ok(number)
    }

    fn set_frame(&mut self, frame: u64, number: u32) -> Result<(), StageError> {
        if self.frames.insert(frame, number).is_none() {
            self.account.add(ENTRY)?;
        }
        Ok(())
    }

    /// Defines a function that frames refer to by a number of the format.
    pub fn define(&mut self, frame: u64, function: Function) -> Result<(), StageError> {
        let number = self.number(function)?;
        self.set_frame(frame, number)
    }

    /// Returns the frame of a function without such a number.
    pub fn frame(&mut self, function: Function) -> Result<u64, StageError> {
        let number = self.number(function)?;
        self.set_frame(u64::from(number), number)?;
        Ok(u64::from(number))
    }

    /// Adds code of a function, `size` bytes from `start` on; overrides earlier ranges.
    pub fn load(&mut self, start: u64, size: u64, function: Function) -> Result<(), StageError> {
        let end = start.saturating_add(size);
        if start == end {
            return Ok(());
        }
        let number = self.number(function)?;
        self.ranges.overlay(start, end, number)
    }

    /// Names a module, by the path of its file, with its build if known.
    pub fn name_module(&mut self, handle: u64, path: &str, build: Option<Build>) -> Result<(), StageError> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        self.account.add(ENTRY + allocated(name.len()))?;
        self.modules.insert(handle, (name.to_owned(), build));
        Ok(())
    }

    /// Name of a function's module, if it has one.
    pub fn module(&self, function: &Function) -> Option<&str> {
        self.described(function.module).map(|module| module.name)
    }

    /// Returns a named module by its handle.
    pub fn described(&self, handle: u64) -> Option<Module<'_>> {
        let (name, build) = self.modules.get(&handle)?;
        (!name.is_empty()).then_some(Module { name, build: *build })
    }

    /// Returns the function of a frame, as a position in [`Self::functions`].
    pub fn resolve(&self, frame: u64) -> Option<u32> {
        if let Some(&number) = self.frames.get(&frame) {
            return Some(number);
        }
        // Frames are return addresses: that of a call at the end of a function is beyond it.
        self.ranges.at(frame.saturating_sub(1)).or_else(|| self.ranges.at(frame))
    }

    /// All functions.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
}
