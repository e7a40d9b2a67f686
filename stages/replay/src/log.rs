//! The profiler log: heaplake's own line format, which any agent can write.
//!
//! Text, one event per line, fields apart by one space, the first field a letter. Addresses, thread handles and
//! lengths in bytes of ranges are hexadecimal without prefix; all other numbers are decimal. Names go to the end of
//! the line.
//!
//! | line | meaning |
//! |---|---|
//! | `# clrprof 1 ...` | the first line; other lines with `#` are comments |
//! | `T type name` | names a type |
//! | `F function name` | names a function (`Namespace.Type::Method`) |
//! | `S stack function...` | a stack, innermost function first; stack 0 is the empty one |
//! | `A thread address type size stack` | an allocation |
//! | `G number condemned reason [beside]` | a collection begins; `condemned` has a digit per generation 0, 1, 2, large, pinned; reason 1 is induced; a 1 at the end says that it runs beside the program: others may begin and end inside it, and its `V` lines, at its end, tell all memory that objects fill then |
//! | `B generation start used reserved` | addresses of a generation, all lengths hexadecimal, at the beginning and at the end |
//! | `M old new length` | objects survive and move (or stay, where both are equal) |
//! | `V start length` | objects survive where they are |
//! | `R address kind flags id` | a root; kinds: 0 other, 1 stack, 2 finalizer queue, 3 handle |
//! | `O address type reference...` | an object of a walk of the heap, after moves |
//! | `E number` | the collection ends |
//! | `Q`, `H`, `h` | finalizer queue, handles made and gone: passed over |
//!
//! Definitions precede use. Lines with other letters are refused, because their meaning is unknown. The last line of
//! a log that is complete begins with `# end`; one that ends before it is replayed as far as it goes, which is
//! counted as an anomaly, but a last line without its end is refused: what is left of it may look like another one.

use crate::events::{Allocation, CollectionStart, Range, Reason, Root};
use crate::replay::Replay;
use crate::stacks::{EMPTY, Frames, Stacks};
use crate::symbols::Function;
use crate::track::Survival;
use heaplake_input::bytes::Bytes;
use heaplake_kit::{Budget, BudgetVec, StageError};

/// How a log begins.
pub const MAGIC: &[u8] = b"# clrprof ";

/// The only version.
const VERSION: &[u8] = b"1";

/// How a complete log ends.
const END: &[u8] = b"# end";

/// What is found where a line has no end.
const CUT: &str = "the end of the log within it";

/// Bytes of a line, at most.
const LONGEST: usize = 16 << 20;

/// Stacks by the numbers that the log gives them.
struct Known {
    /// The node of each, one more; 0 where there is none.
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

/// Why a line is not right: what was expected.
type Bad = &'static str;

/// What may go wrong with a line.
enum Failure {
    Line(Bad),
    Stage(StageError),
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

impl From<Bad> for Failure {
    fn from(bad: Bad) -> Self {
        Self::Line(bad)
    }
}

/// Reads a log from its first line to its end; gives its version.
///
/// # Errors
/// [`StageError::Input`] for a line that is not of the format, and those of the replay.
pub fn read(bytes: &mut Bytes<'_>, replay: &mut Replay, budget: &Budget) -> Result<Option<String>, StageError> {
    let mut complete = false;
    let mut stacks = Known { nodes: budget.growing("the stacks of the log"), unknown: 0 };
    let (version, ended) = match bytes.line(LONGEST)? {
        Some((line, ended)) => {
            let rest = line.strip_prefix(MAGIC).unwrap_or_default();
            (rest.split(|&byte| byte == b' ').next().unwrap_or_default().to_vec(), ended)
        }
        None => (Vec::new(), false),
    };
    if version != VERSION {
        let found = String::from_utf8_lossy(&version).into_owned();
        return Err(bytes.error(0, "a profiler log of version 1", format!("version {found:?}")));
    }
    if !ended {
        return Err(bytes.error(0, "a line", CUT));
    }
    loop {
        bytes.check()?;
        let start = bytes.offset();
        let Some((line, ended)) = bytes.line(LONGEST)? else { break };
        if !ended && !line.starts_with(END) {
            return Err(bytes.error(start, "a line", CUT));
        }
        complete = line.starts_with(END);
        match event(line, replay, &mut stacks) {
            Ok(()) => {}
            Err(Failure::Stage(error)) => return Err(error),
            Err(Failure::Line(expected)) => {
                let found = shown(line);
                return Err(bytes.error(start, expected, found));
            }
        }
    }
    replay.anomalies.without_end += u64::from(!complete);
    replay.anomalies.unknown_stacks += stacks.unknown;
    Ok(Some(String::from_utf8_lossy(VERSION).into_owned()))
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
    format!("{text:?}")
}

fn event(line: &[u8], replay: &mut Replay, stacks: &mut Known) -> Result<(), Failure> {
    let Some((&letter, rest)) = line.split_first() else { return Err("an event".into()) };
    let mut fields = Fields(rest);
    match letter {
        b'A' => allocation(&mut fields, replay, stacks),
        b'T' => {
            let id = fields.decimal("T type name")?;
            Ok(replay.types.name(id, fields.rest("T type name")?)?)
        }
        b'F' => {
            let id = fields.decimal("F function name")?;
            let name = String::from_utf8_lossy(fields.rest("F function name")?).into_owned();
            Ok(replay.symbols.define(id, Function { handle: id, name, ..Function::default() })?)
        }
        b'S' => stack(&mut fields, replay, stacks),
        b'G' => start(&mut fields, replay),
        b'B' | b'M' | b'V' => range(letter, &mut fields, replay),
        b'R' => root(&mut fields, replay),
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

/// A collection begins.
fn start(fields: &mut Fields<'_>, replay: &mut Replay) -> Result<(), Failure> {
    const LINE: Bad = "G number condemned reason [beside]";
    let number = fields.small(LINE)?;
    let condemned = fields.flags(LINE)?;
    let reason = Reason::Profiler(fields.small(LINE)?);
    let concurrent = !fields.0.is_empty() && fields.small(LINE)? == 1;
    fields.end(LINE)?;
    Ok(replay.start(CollectionStart { number, condemned, reason, concurrent, time: 0 })?)
}

/// Addresses: of a generation, or of objects that survive.
fn range(letter: u8, fields: &mut Fields<'_>, replay: &mut Replay) -> Result<(), Failure> {
    match letter {
        b'B' => {
            const LINE: Bad = "B generation start used reserved";
            let generation = fields.generation(LINE)?;
            let (start, used) = (fields.hex(LINE)?, fields.hex(LINE)?);
            fields.hex(LINE)?;
            fields.end(LINE)?;
            replay.range(Range { generation, start, used })?;
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
    fields.hex(LINE)?;
    replay.root(match fields.small(LINE)? {
        1 => Root::Stack,
        2 => Root::Finalizer,
        3 => Root::Handle,
        _ => Root::Other,
    });
    Ok(())
}

fn stack(fields: &mut Fields<'_>, replay: &mut Replay, stacks: &mut Known) -> Result<(), Failure> {
    const LINE: Bad = "S stack function...";
    let number = fields.small(LINE)? as usize;
    // From the outermost function down, which is the last of the line.
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

/// The fields of a line behind its letter, each with a space before it.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    #[inline]
    fn next(&mut self, line: Bad) -> Result<&'a [u8], Bad> {
        let rest = self.0.strip_prefix(b" ").ok_or(line)?;
        let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
        let (field, rest) = rest.split_at(end);
        self.0 = rest;
        Ok(field)
    }

    #[inline]
    fn hex(&mut self, line: Bad) -> Result<u64, Bad> {
        let field = self.next(line)?;
        if field.is_empty() || field.len() > 16 {
            return Err(line);
        }
        field.iter().try_fold(0, |number, &byte| {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                b'A'..=b'F' => byte - b'A' + 10,
                _ => return Err(line),
            };
            Ok(number << 4 | u64::from(digit))
        })
    }

    #[inline]
    fn decimal(&mut self, line: Bad) -> Result<u64, Bad> {
        number(self.next(line)?, line)
    }

    fn small(&mut self, line: Bad) -> Result<u32, Bad> {
        u32::try_from(self.decimal(line)?).map_err(|_| line)
    }

    fn generation(&mut self, line: Bad) -> Result<u8, Bad> {
        u8::try_from(self.decimal(line)?).ok().filter(|&generation| generation < 5).ok_or(line)
    }

    /// A digit for each generation, from 0 on.
    fn flags(&mut self, line: Bad) -> Result<u32, Bad> {
        let field = self.next(line)?;
        if field.is_empty() || field.len() > 5 {
            return Err(line);
        }
        field.iter().zip(0..).try_fold(0, |mask, (&byte, generation)| match byte {
            b'0' => Ok(mask),
            b'1' => Ok(mask | 1 << generation),
            _ => Err(line),
        })
    }

    /// The last field as a number, taken off; nothing where none is left.
    fn last(&mut self, line: Bad) -> Result<Option<u64>, Bad> {
        let Some(space) = memchr::memrchr(b' ', self.0) else {
            return if self.0.is_empty() { Ok(None) } else { Err(line) };
        };
        let field = &self.0[space + 1..];
        self.0 = &self.0[..space];
        number(field, line).map(Some)
    }

    /// Everything that is left.
    fn rest(&mut self, line: Bad) -> Result<&'a [u8], Bad> {
        self.0.strip_prefix(b" ").ok_or(line)
    }

    fn end(&self, line: Bad) -> Result<(), Bad> {
        if self.0.is_empty() { Ok(()) } else { Err(line) }
    }
}

#[inline]
fn number(field: &[u8], line: Bad) -> Result<u64, Bad> {
    if field.is_empty() || field.len() > 20 {
        return Err(line);
    }
    field.iter().try_fold(0_u64, |number, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(line);
        }
        number.checked_mul(10).and_then(|number| number.checked_add(u64::from(digit))).ok_or(line)
    })
}
