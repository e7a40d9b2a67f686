//! The profiler log: heaplake's own line format, which any agent can write.
//!
//! Text, one event per line, fields separated by one space, the first field a letter. Addresses, thread handles and
//! lengths in bytes of ranges are hexadecimal without prefix; all other numbers are decimal. Names extend to the end of
//! the line.
//!
//! | line | meaning |
//! |---|---|
//! | `# clrprof 1 ...` | the first line; other lines with `#` are comments |
//! | `T type name` | names a type |
//! | `F function name` | names a function (`Namespace.Type::Method`) |
//! | `S stack function...` | a stack, innermost function first; stack 0 is the empty one |
//! | `A thread address type size stack` | an allocation |
//! | `G number condemned reason [beside]` | starts a collection; `condemned`: digits for 0, 1, 2, large, pinned |
//! | `B generation start used reserved` | a range of a generation, before and after; all lengths hexadecimal |
//! | `M old new length` | objects survive and move (or stay, if both are equal) |
//! | `V start length` | objects survive in place |
//! | `R address kind flags id` | a root; kinds: 0 other, 1 stack, 2 finalizer queue, 3 handle |
//! | `O address type reference...` | an object of a heap walk, after moves |
//! | `E number` | the collection ends |
//! | `Q`, `H`, `h` | finalizer queue, handles made and freed: ignored |
//!
//! Reason 1 of a collection is induced. `beside` 1 marks it as concurrent: others may start and end inside it, and its
//! `V` lines, at its end, list all memory that objects then fill.
//!
//! Definitions precede use. Lines with other letters are refused, since their meaning is unknown. The last line of a
//! complete log begins with `# end`; a log without it is replayed as far as it goes, which counts as an anomaly, but an
//! unterminated last line is refused: its remainder may look like another one.

use crate::events::{Allocation, CollectionStart, Range, Reason, Root, RootKind};
use crate::replay::Replay;
use crate::stacks::{EMPTY, Frames, Stacks};
use crate::symbols::Function;
use crate::track::Survival;
use heaplake_input::bytes::Bytes;
pub use heaplake_input::profiler_log::MAGIC;
use heaplake_input::profiler_log::{self, Bad, Failure, Fields};
use heaplake_kit::{Budget, BudgetVec, StageError};

/// Stacks by their numbers in the log.
struct Known {
    /// Node of each stack plus 1; 0 for none.
    nodes: BudgetVec<u32>,
    unknown: u64,
}

impl Frames for Known {
    #[inline]
    fn node(&mut self, stack: u32, _: &mut Stacks) -> Result<u32, StageError> {
        if stack == 0 {
            return Ok(EMPTY);
        }
        match self.nodes.get(stack as usize) {
            Some(&node) if node > 0 => Ok(node - 1),
            _ => {
                self.unknown += 1;
                Ok(EMPTY)
            }
        }
    }
}

/// Reads a log; returns its version.
pub fn read(bytes: &mut Bytes<'_>, replay: &mut Replay, budget: &Budget) -> Result<Option<String>, StageError> {
    let mut stacks = Known { nodes: budget.growing("the stacks of the log"), unknown: 0 };
    let complete = profiler_log::read(bytes, |letter, fields, _| event(letter, fields, replay, &mut stacks))?;
    replay.anomalies.without_end += u64::from(!complete);
    replay.anomalies.unknown_stacks += stacks.unknown;
    Ok(Some(profiler_log::VERSION.to_owned()))
}

#[inline]
fn event(letter: u8, fields: &mut Fields<'_>, replay: &mut Replay, stacks: &mut Known) -> Result<(), Failure> {
    match letter {
        b'A' => allocation(fields, replay, stacks),
        b'T' => {
            let id = fields.decimal("T type name")?;
            Ok(replay.types.name(id, fields.rest("T type name")?)?)
        }
        b'F' => {
            let id = fields.decimal("F function name")?;
            let name = String::from_utf8_lossy(fields.rest("F function name")?).into_owned();
            Ok(replay.symbols.define(id, Function { handle: id, name, ..Function::default() })?)
        }
        b'S' => stack(fields, replay, stacks),
        b'G' => start(fields, replay),
        b'B' | b'M' | b'V' => range(letter, fields, replay),
        b'R' => root(fields, replay),
        b'O' => Ok(replay.walked(fields.hex("O address type reference...")?)?),
        b'E' => {
            let number = fields.small("E number")?;
            fields.end("E number")?;
            Ok(replay.end(number, 0)?)
        }
        b'Q' | b'H' | b'h' | b'#' => Ok(()),
        _ => Err("an event of a profiler log (a line that begins with one of ABEFGHMOQRSTVh#)".into()),
    }
}

#[inline]
fn allocation(fields: &mut Fields<'_>, replay: &mut Replay, stacks: &mut Known) -> Result<(), Failure> {
    const LINE: Bad = "A thread address type size stack";
    fields.hex(LINE)?;
    let allocation = Allocation {
        address: fields.hex(LINE)?,
        type_handle: fields.decimal(LINE)?,
        bytes: fields.decimal(LINE)?,
        stack: fields.small(LINE)?,
        count: 1,
        time: 0,
    };
    fields.end(LINE)?;
    Ok(replay.allocation(&allocation, stacks)?)
}

fn start(fields: &mut Fields<'_>, replay: &mut Replay) -> Result<(), Failure> {
    const LINE: Bad = "G number condemned reason [beside]";
    let number = fields.small(LINE)?;
    let condemned = fields.flags(LINE)?;
    let reason = Reason::Profiler(fields.small(LINE)?);
    let concurrent = !fields.is_done() && fields.small(LINE)? == 1;
    fields.end(LINE)?;
    Ok(replay.start(CollectionStart { number, condemned, reason, concurrent, time: 0 })?)
}

/// Reads a range of a generation or of survivors.
fn range(letter: u8, fields: &mut Fields<'_>, replay: &mut Replay) -> Result<(), Failure> {
    match letter {
        b'B' => {
            const LINE: Bad = "B generation start used reserved";
            let generation = fields.generation(LINE)?;
            let (start, used) = (fields.hex(LINE)?, fields.hex(LINE)?);
            let reserved = fields.hex(LINE)?;
            fields.end(LINE)?;
            replay.range(Range { generation, start, used, reserved })?;
        }
        b'M' => {
            const LINE: Bad = "M old new length";
            let (from, to, length) = (fields.hex(LINE)?, fields.hex(LINE)?, fields.hex(LINE)?);
            fields.end(LINE)?;
            replay.survives(Survival { from, length, to }, true)?;
        }
        _ => {
            const LINE: Bad = "V start length";
            let (from, length) = (fields.hex(LINE)?, fields.hex(LINE)?);
            fields.end(LINE)?;
            replay.survives(Survival { from, length, to: from }, false)?;
        }
    }
    Ok(())
}

fn root(fields: &mut Fields<'_>, replay: &mut Replay) -> Result<(), Failure> {
    const LINE: Bad = "R address kind flags id";
    let object = fields.hex(LINE)?;
    let kind = match fields.small(LINE)? {
        1 => RootKind::Stack,
        2 => RootKind::Finalizer,
        3 => RootKind::Handle,
        _ => RootKind::Other,
    };
    // Agents may omit the rest.
    let flags = if fields.is_done() { 0 } else { fields.small(LINE)? };
    let id = if fields.is_done() { 0 } else { fields.hex(LINE)? };
    Ok(replay.root(Root { object, kind, flags, id })?)
}

fn stack(fields: &mut Fields<'_>, replay: &mut Replay, stacks: &mut Known) -> Result<(), Failure> {
    const LINE: Bad = "S stack function...";
    let number = fields.small(LINE)? as usize;
    // From the outermost function, the last of the line, down.
    let mut node = EMPTY;
    while let Some(function) = fields.last(LINE)? {
        node = replay.stacks.callee(node, function)?;
    }
    // Numbers are given in order; one far beyond the others would take memory for all between.
    if number > stacks.nodes.len() + (1 << 20) {
        return Err("a stack whose number follows the others".into());
    }
    while stacks.nodes.len() <= number {
        stacks.nodes.push(0)?;
    }
    stacks.nodes[number] = node + 1;
    Ok(())
}
