//! The functions on stacks, their allocations, and the call tree.

use crate::calls::{Amount, NONE};
use crate::ordered::Space;
use crate::replay::Replay;
use crate::symbolize::{Places, Sources, from_one};
use crate::symbols::{Function, Symbols};
use crate::tree::{Children, Place, Step, Tree};
use bytemuck::Zeroable;
use heaplake_kit::array_plan::filled;
use heaplake_kit::{Array, ArrayPlan, BudgetVec, ColumnWriter, ReadAt, StageError, StringWriter, WriteAt};
use heaplake_schemas::allocation_callees::CalleeRow;
use heaplake_schemas::allocation_functions::{FROM_PDB, FROM_TRACE, FunctionRow};
use heaplake_schemas::replay::{self as columns, ABSENT};
use std::cmp::Reverse;

/// Memory account of the arrays.
const WHO: &str = "the functions of the call tree";

/// Functions on any stack, numbered in order of first occurrence among the frames.
pub(crate) struct Functions<'a> {
    symbols: &'a Symbols,
    /// Number of each function of the trace; [`NONE`] if not yet numbered.
    numbers: BudgetVec<u32>,
    /// Positions of the functions in the trace, by number.
    pub list: BudgetVec<u32>,
    /// Frames of unknown functions.
    pub unresolved: u64,
}

impl<'a> Functions<'a> {
    /// Returns an empty numbering.
    pub(crate) fn new(replay: &'a Replay, space: Space<'_>) -> Result<Self, StageError> {
        let symbols = &replay.symbols;
        let count = symbols.functions().len();
        let (numbers, list) = (space.budget().filled(WHO, count, NONE)?, space.budget().with_room(WHO, count)?);
        Ok(Self { symbols, numbers, list, unresolved: 0 })
    }

    /// Returns the number of a frame's function; [`NONE`] if unknown.
    pub(crate) fn of(&mut self, frame: u64) -> Result<u32, StageError> {
        let Some(function) = self.symbols.resolve(frame) else {
            self.unresolved += 1;
            return Ok(NONE);
        };
        let number = &mut self.numbers[function as usize];
        if *number == NONE {
            *number = self.list.len() as u32;
            self.list.push(function)?;
        }
        Ok(*number)
    }

    /// Writes rows and texts of functions; returns the text id of each name.
    pub(crate) fn write(
        self,
        replay: &Replay,
        mut sums: ByFunction,
        sources: &mut Sources<'_>,
        space: Space<'_>,
    ) -> Result<BudgetVec<u32>, StageError> {
        let Self { symbols, numbers, list, .. } = self;
        drop(numbers);
        let places = Places::of(symbols, &list, sources, space.budget())?;
        let mut strings = StringWriter::create(space.scratch, columns::STRINGS)?;
        let mut names = space.budget().with_room("the names of functions", list.len())?;
        let mut rows = space.budget().with_room("the rows of functions", list.len())?;
        for (at, &function) in list.iter().enumerate() {
            space.check(at)?;
            let function = &symbols.functions()[function as usize];
            let row = described(function, (replay, &places, at), &mut strings)?;
            names.push(row.name)?;
            let (inclusive, exclusive) = (sums.inclusive.get(at)?, sums.exclusive.get(at)?);
            let row = FunctionRow {
                inclusive_count: inclusive.count,
                inclusive_bytes: inclusive.bytes,
                exclusive_count: exclusive.count,
                exclusive_bytes: exclusive.bytes,
                inclusive_samples: inclusive.samples,
                exclusive_samples: exclusive.samples,
                inclusive_live_count: ABSENT,
                inclusive_live_bytes: ABSENT,
                exclusive_live_count: ABSENT,
                exclusive_live_bytes: ABSENT,
                ..row
            };
            // Functions without counted stacks have no row.
            if inclusive.is_there() {
                rows.push(row)?;
            }
        }
        strings.finish()?;
        rows.sort_unstable_by_key(|row| (Reverse(row.inclusive_bytes), row.function_id));
        let mut writer = ColumnWriter::create(space.scratch, columns::FUNCTIONS)?;
        writer.extend(&rows)?;
        writer.finish()?;
        Ok(names)
    }
}

/// Returns the row of a function without its amounts.
fn described(
    function: &Function,
    (replay, places, at): (&Replay, &Places, usize),
    strings: &mut StringWriter,
) -> Result<FunctionRow, StageError> {
    let stated = function.line.map(|line| (function.file.as_str(), line, FROM_TRACE));
    let found = || places.line(at).map(|(file, line)| (file, line, FROM_PDB));
    let place = stated.or_else(found);
    let original = places.original(at);
    Ok(FunctionRow {
        function_id: at as u32,
        name: text(strings, Some(&function.name))?,
        method_signature: text(strings, some(&function.signature))?,
        module: text(strings, replay.symbols.module(function))?,
        file: text(strings, place.map_or(some(&function.file), |(file, ..)| some(file)))?,
        line: place.map_or(NONE, |(_, line, _)| line),
        column: function.column().unwrap_or(NONE),
        script: NONE,
        line_from: place.map_or(NONE, |(.., from)| from),
        original_file: text(strings, original.and_then(|original| original.source.as_deref()))?,
        original_line: from_one(original.and_then(|original| original.line)),
        original_column: from_one(original.and_then(|original| original.column)),
        original_name: text(strings, original.and_then(|original| original.name.as_deref()))?,
        ..FunctionRow::zeroed()
    })
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Adds a text; returns its id, [`NONE`] for none.
fn text(strings: &mut StringWriter, text: Option<&str>) -> Result<u32, StageError> {
    let Some(text) = text else { return Ok(NONE) };
    let position = strings.count() as u32;
    strings.push(text.as_bytes())?;
    Ok(position)
}

/// Allocations of each function: exclusive and inclusive.
pub(crate) struct ByFunction {
    exclusive: Array<Amount>,
    inclusive: Array<Amount>,
    /// Occurrences of each function on the path to the current node.
    on_path: Array<u32>,
}

impl ByFunction {
    /// Enters a node with these amounts. Only the outermost call of a function adds to the inclusive sum, so that
    /// recursion counts once.
    fn enter(&mut self, function: usize, own: &Amount, all: &Amount) -> Result<(), StageError> {
        self.exclusive.change(function, |sum| sum.add(own))?;
        let before = self.on_path.change(function, |count| std::mem::replace(count, *count + 1))?;
        if before == 0 {
            self.inclusive.change(function, |sum| sum.add(all))?;
        }
        Ok(())
    }

    fn leave(&mut self, function: usize) -> Result<(), StageError> {
        Ok(self.on_path.change(function, |count| *count -= 1)?)
    }
}

/// Writes the call tree from the exclusive and inclusive amounts of its nodes; returns the position of each node in it,
/// and the amounts of `functions` functions.
pub(crate) fn callees(
    tree: &mut Tree,
    (exclusive, inclusive): &mut (Array<Amount>, Array<Amount>),
    functions: usize,
    space: Space<'_>,
) -> Result<(Array<u32>, ByFunction), StageError> {
    let weight = |node: usize| {
        let amount = inclusive.get(node)?;
        Ok(amount.is_there().then_some(amount.bytes))
    };
    let children = Children::new(tree, weight, space)?;
    let mut plan = ArrayPlan::new(space.budget(), space.scratch, WHO);
    let (mut positions, on_path, all, own) = plan.make((
        filled(tree.count, NONE),
        filled(functions, 0_u32),
        filled(functions, Amount::default()),
        filled(functions, Amount::default()),
    ))?;
    let mut sums = ByFunction { exclusive: own, inclusive: all, on_path };
    let mut writer = ColumnWriter::create(space.scratch, columns::CALLEES)?;
    let mut position = 0;
    children.walk(tree, space, |step| {
        let Place { node, link, depth } = match step {
            Step::Enter(place) => place,
            Step::Leave(link) => return sums.leave(link.function as usize),
        };
        let (own, all) = (exclusive.get(node as usize)?, inclusive.get(node as usize)?);
        sums.enter(link.function as usize, &own, &all)?;
        positions.set(node as usize, position)?;
        position += 1;
        writer.push(CalleeRow {
            node: position - 1,
            parent: positions.get(link.parent as usize)?,
            depth,
            function_id: link.function,
            trace_node: NONE,
            padding: 0,
            inclusive_samples: all.samples,
            inclusive_bytes: all.bytes,
            exclusive_samples: own.samples,
            exclusive_bytes: own.bytes,
            inclusive_count: all.count,
            exclusive_count: own.count,
            inclusive_live_count: ABSENT,
            inclusive_live_bytes: ABSENT,
            exclusive_live_count: ABSENT,
            exclusive_live_bytes: ABSENT,
        })
    })?;
    writer.finish()?;
    Ok((positions, sums))
}
