//! Allocations of the functions on a call tree.

use crate::call_originals::{fill, push};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array_plan::filled;
use heaplake_kit::{
    Array, ArrayPlan, ColumnReader, ColumnWriter, Job, ReadAt, Scratch, StageError, StringTable, StringWriter, WriteAt,
};
use heaplake_schemas::allocation_functions::{FROM_TRACE, FunctionRow};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::replay::{FUNCTIONS, STRINGS as TEXTS};
use heaplake_schemas::scratch::{self as columns, STRINGS};
use std::cmp::Reverse;

pub(crate) const NONE: u32 = u32::MAX;

/// Allocations, and the part of them that is alive.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Amount {
    pub count: u64,
    pub bytes: u64,
    pub live_count: u64,
    pub live_bytes: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.live_count = self.live_count.saturating_add(other.live_count);
        self.live_bytes = self.live_bytes.saturating_add(other.live_bytes);
    }
}

/// Allocations of each function: exclusive, and including its callees.
pub(crate) struct ByFunction {
    count: usize,
    exclusive: Array<Amount>,
    inclusive: Array<Amount>,
    /// Number of calls of each function on the path to the current node.
    on_path: Array<u32>,
    /// Whether the function is on the tree.
    seen: Array<u8>,
}

impl ByFunction {
    /// Returns empty sums of `count` functions.
    pub(crate) fn new(count: usize, plan: &mut ArrayPlan<'_>) -> Result<Self, StageError> {
        let (exclusive, inclusive, on_path, seen) = plan.make((
            filled(count, Amount::zeroed()),
            filled(count, Amount::zeroed()),
            filled(count, 0_u32),
            filled(count, 0_u8),
        ))?;
        Ok(Self { count, exclusive, inclusive, on_path, seen })
    }

    /// Enters a node. Only the outermost call of a function counts the nodes below, so that a recursive function counts
    /// them once. A damaged file may refer to missing functions.
    pub(crate) fn enter(&mut self, function: u32, own: &Amount, all: &Amount) -> Result<(), StageError> {
        let function = function as usize;
        if function >= self.count {
            return Ok(());
        }
        self.seen.set(function, 1)?;
        self.exclusive.change(function, |sum| sum.add(own))?;
        let before = self.on_path.change(function, |count| std::mem::replace(count, *count + 1))?;
        if before == 0 {
            self.inclusive.change(function, |sum| sum.add(all))?;
        }
        Ok(())
    }

    pub(crate) fn leave(&mut self, function: u32) -> Result<(), StageError> {
        match function as usize {
            function if function < self.count => Ok(self.on_path.change(function, |count| *count -= 1)?),
            _ => Ok(()),
        }
    }

    /// Writes the rows of functions, with their texts.
    pub(crate) fn write(mut self, job: &Job<'_>) -> Result<(), StageError> {
        let Job { scratch, context, .. } = *job;
        let mut texts = StringWriter::create(scratch, TEXTS)?;
        let mut rows = context.budget.growing("call tree: functions");
        let mut named = if self.count > 0 { Some(Named::open(scratch)?) } else { None };
        for function in 0..self.count {
            context.check_every(1 << 12, function)?;
            let amounts = self.amounts(function)?;
            let seen = self.seen.get(function)? > 0;
            if let Some(named) = &mut named
                && let Some(row) = named.next(amounts, seen.then_some(&mut texts))?
            {
                rows.push(row)?;
            }
        }
        fill(&mut rows, &mut texts, job)?;
        texts.finish()?;
        rows.sort_unstable_by_key(|row: &FunctionRow| (Reverse(row.inclusive_bytes), row.function_id));
        ColumnWriter::write_all(scratch, FUNCTIONS, &rows).map(drop)
    }

    /// Returns the row of a function without its name and place.
    fn amounts(&mut self, function: usize) -> Result<FunctionRow, StageError> {
        let (own, all) = (self.exclusive.get(function)?, self.inclusive.get(function)?);
        Ok(FunctionRow {
            function_id: function as u32,
            name: NONE,
            method_signature: NONE,
            module: NONE,
            file: NONE,
            line: NONE,
            column: NONE,
            script: NONE,
            reserved: 0,
            line_from: NONE,
            original_file: NONE,
            original_line: NONE,
            original_column: NONE,
            original_name: NONE,
            inclusive_count: all.count,
            inclusive_bytes: all.bytes,
            exclusive_count: own.count,
            exclusive_bytes: own.bytes,
            inclusive_samples: all.count,
            exclusive_samples: own.count,
            inclusive_live_count: all.live_count,
            inclusive_live_bytes: all.live_bytes,
            exclusive_live_count: own.live_count,
            exclusive_live_bytes: own.live_bytes,
        })
    }
}

/// Names and places of the functions in order.
struct Named {
    strings: StringTable,
    name: ColumnReader<StringId>,
    file: ColumnReader<StringId>,
    script: ColumnReader<u32>,
    line: ColumnReader<u32>,
    column: ColumnReader<u32>,
}

impl Named {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            strings: StringTable::open(scratch, STRINGS)?,
            name: ColumnReader::open(scratch, columns::FUNCTION_NAME)?,
            file: ColumnReader::open(scratch, columns::FUNCTION_SCRIPT_NAME)?,
            script: ColumnReader::open(scratch, columns::FUNCTION_SCRIPT)?,
            line: ColumnReader::open(scratch, columns::FUNCTION_LINE)?,
            column: ColumnReader::open(scratch, columns::FUNCTION_COLUMN)?,
        })
    }

    /// Completes the row of the next function; `None` if it is skipped.
    fn next(&mut self, row: FunctionRow, texts: Option<&mut StringWriter>) -> Result<Option<FunctionRow>, StageError> {
        let (name, file) = (self.name.next()?, self.file.next()?);
        let (script, line, column) = (self.script.next()?, self.line.next()?, self.column.next()?);
        let Some(texts) = texts else { return Ok(None) };
        let text = |id: StringId| id.get().map_or("".into(), |id| self.strings.text(id as usize));
        let (name, file) = (text(name), text(file));
        let known = |number: u32| if number == 0 { NONE } else { number };
        Ok(Some(FunctionRow {
            name: push(texts, if name.is_empty() { "(anonymous)" } else { &name })?,
            file: push(texts, &file)?,
            line: known(line),
            line_from: if line == 0 { NONE } else { FROM_TRACE },
            column: known(column),
            script: known(script),
            ..row
        }))
    }
}
