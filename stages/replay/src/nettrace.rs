//! `.nettrace` of .NET's EventPipe: passes the payloads of events to the replay.
//!
//! Versions 4 and 5 of the container are read; version 6 is refused by name.

use crate::events::{Allocation, Clock, CollectionStart, Range, Reason, Root, RootKind};
use crate::replay::Replay;
use crate::stacks::{self, EMPTY, Frames};
use crate::symbols::Function;
use crate::track::Survival;
use heaplake_input::bytes::Bytes;
use heaplake_input::nettrace::kinds::{RUNDOWN, RUNTIME};
use heaplake_input::nettrace::{self, Around, Cursor, Events, Stacks, Trace, payload};
use heaplake_kit::{Budget, StageError};
use heaplake_symbols::Build;

pub(crate) use heaplake_input::nettrace::MAGIC;

/// Reads a trace; returns its version.
pub(crate) fn read(bytes: &mut Bytes<'_>, replay: &mut Replay, budget: &Budget) -> Result<Option<String>, StageError> {
    let outcome = nettrace::read(bytes, &mut Reader(replay), budget)?;
    replay.anomalies.unknown_stacks += outcome.unknown_stacks;
    replay.anomalies.lost_events = outcome.lost_events;
    Ok(Some(outcome.version.to_string()))
}

/// An event that a replay uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Start of a collection (version of the payload).
    Start(u32),
    /// End of a collection.
    End,
    /// Allocation tick (version of the payload).
    Tick(u32),
    /// Allocation of an object.
    Allocation,
    /// Types.
    Types,
    /// Roots.
    Roots,
    /// Objects of a heap walk.
    Nodes,
    /// Ranges that survive in place.
    Surviving,
    /// Moved ranges.
    Moved,
    /// Range of a generation.
    Range,
    /// A method with its code.
    Method,
    /// A module.
    Module,
}

struct Reader<'a>(&'a mut Replay);

impl Events for Reader<'_> {
    type Kind = Kind;

    fn kind(provider: &str, event: u32, version: u32) -> Option<Kind> {
        Some(match (provider, event) {
            (RUNTIME, 1) => Kind::Start(version),
            (RUNTIME, 2) => Kind::End,
            (RUNTIME, 10) => Kind::Tick(version),
            (RUNTIME, 20 | 32) => Kind::Allocation,
            (RUNTIME, 15) => Kind::Types,
            (RUNTIME, 16) => Kind::Roots,
            (RUNTIME, 18) => Kind::Nodes,
            (RUNTIME, 21) => Kind::Surviving,
            (RUNTIME, 22) => Kind::Moved,
            (RUNTIME, 23) => Kind::Range,
            // Load and unload; start and end of a rundown.
            (RUNTIME | RUNDOWN, 143 | 144) => Kind::Method,
            (RUNTIME, 152) | (RUNDOWN, 153 | 154) => Kind::Module,
            _ => return None,
        })
    }

    fn trace(&mut self, trace: &Trace) {
        let &Trace { frequency, origin_us, origin, .. } = trace;
        self.0.clock = Clock { frequency: frequency as f64, origin_us, origin };
    }

    fn lost(&mut self, events: u64) {
        self.0.lost(events);
    }

    #[inline]
    fn event(
        &mut self,
        kind: Kind,
        payload: &[u8],
        around: Around,
        stacks: &mut Stacks<'_>,
    ) -> Result<bool, StageError> {
        apply(kind, &mut Cursor(payload), around, self.0, &mut Written(stacks)).transpose().map(|done| done.is_some())
    }
}

/// The stacks of the trace.
struct Written<'a, 'b>(&'a mut Stacks<'b>);

impl Frames for Written<'_, '_> {
    #[inline]
    fn node(&mut self, stack: u32, stacks: &mut stacks::Stacks) -> Result<u32, StageError> {
        if stack == 0 {
            return Ok(EMPTY);
        }
        let node = self.0.named(stack, |frames| stacks.whole(frames))?;
        Ok(node.unwrap_or(EMPTY))
    }
}

/// Generations condemned by a collection of the oldest one, as bits.
const FULL: u32 = 0b1_1111;

/// Passes on an event; `None` if its payload ends too early.
fn apply(
    kind: Kind,
    fields: &mut Cursor<'_>,
    around: Around,
    replay: &mut Replay,
    frames: &mut impl Frames,
) -> Option<Result<(), StageError>> {
    let wide = around.wide;
    Some(match kind {
        Kind::Allocation => replay.allocation(&allocation(fields, around)?, frames),
        Kind::Tick(version) => {
            let (type_handle, name, bytes) = tick(fields, version, wide)?;
            let named = if name.is_empty() { Ok(()) } else { replay.types.name(type_handle, name.as_bytes()) };
            named.and_then(|()| replay.tick(type_handle, bytes, around.stack, frames))
        }
        Kind::Start(version) => replay.start(start(fields, version, around.time)?),
        Kind::End => replay.end(fields.u32()?, around.time),
        Kind::Range => replay.range(range(fields, wide)?),
        Kind::Method => {
            let (start, size, function) = method(fields)?;
            replay.symbols.load(start, size, function)
        }
        Kind::Module => {
            let module = payload::Module::read(fields)?;
            replay.symbols.name_module(module.id, &module.path, module.pdb.and_then(Build::new))
        }
        Kind::Types => return bulk(fields, false, |fields| Some(name(payload::Type::read(fields)?, replay))),
        Kind::Roots => return bulk(fields, true, |fields| Some(replay.root(root(fields, wide)?))),
        Kind::Nodes => {
            return bulk(fields, true, |fields| Some(replay.walked(payload::Node::read(fields, wide)?.address)));
        }
        Kind::Surviving => {
            return bulk(fields, true, |fields| {
                let from = fields.pointer(wide)?;
                Some(replay.survives(Survival { from, to: from, length: fields.u64()? }, false))
            });
        }
        Kind::Moved => {
            return bulk(fields, true, |fields| {
                let (from, to) = (fields.pointer(wide)?, fields.pointer(wide)?);
                Some(replay.survives(Survival { from, to, length: fields.u64()? }, true))
            });
        }
    })
}

#[inline]
fn allocation(fields: &mut Cursor<'_>, around: Around) -> Option<Allocation> {
    Some(Allocation {
        address: fields.pointer(around.wide)?,
        type_handle: fields.pointer(around.wide)?,
        count: u64::from(fields.u32()?),
        bytes: fields.u64()?,
        stack: around.stack,
        time: around.time,
    })
}

/// Reads type, its name and the bytes since the last tick.
fn tick(fields: &mut Cursor<'_>, version: u32, wide: bool) -> Option<(u64, String, u64)> {
    let amount = u64::from(fields.u32()?);
    fields.u32()?; // small or large objects
    if version < 2 {
        return Some((0, String::new(), amount));
    }
    fields.u16()?;
    let amount = fields.u64()?;
    let type_handle = fields.pointer(wide)?;
    Some((type_handle, fields.utf16()?, amount))
}

fn start(fields: &mut Cursor<'_>, version: u32, time: u64) -> Option<CollectionStart> {
    let number = fields.u32()?;
    let generation = if version == 0 { 2 } else { fields.u32()? };
    let reason = Reason::Runtime(fields.u32()?);
    // 0 stops the program, 1 is concurrent, 2 stops the program inside a concurrent one.
    let concurrent = version > 0 && fields.u32()? == 1;
    let condemned = match generation {
        0 => 0b1,
        1 => 0b11,
        _ => FULL,
    };
    Some(CollectionStart { number, condemned, reason, concurrent, time })
}

fn range(fields: &mut Cursor<'_>, wide: bool) -> Option<Range> {
    let generation = fields.u8()?;
    let start = fields.pointer(wide)?;
    let used = fields.u64()?;
    Some(Range { generation, start, used, reserved: fields.u64().unwrap_or(used) })
}

fn method(fields: &mut Cursor<'_>) -> Option<(u64, u64, Function)> {
    let handle = fields.u64()?;
    let module = fields.u64()?;
    let start = fields.u64()?;
    let size = u64::from(fields.u32()?);
    let token = fields.u32()?;
    fields.u32()?; // flags
    let (namespace, method, signature) = (fields.utf16()?, fields.utf16()?, fields.utf16()?);
    // Generic arguments distinguish functions of one name.
    let (type_name, arguments) = match namespace.find('[') {
        Some(at) if namespace.ends_with(']') => namespace.split_at(at),
        _ => (namespace.as_str(), ""),
    };
    let name = if type_name.is_empty() { method } else { format!("{type_name}::{method}") };
    let signature = if arguments.is_empty() { signature } else { format!("{arguments} {signature}") };
    Some((start, size, Function { handle, name, signature, module, token, ..Function::default() }))
}

/// Passes on an event of many entries. Counts and entries must agree; entries before the failure are kept.
fn bulk(
    fields: &mut Cursor<'_>,
    indexed: bool,
    mut entry: impl FnMut(&mut Cursor<'_>) -> Option<Result<(), StageError>>,
) -> Option<Result<(), StageError>> {
    let payload::Bulk { count, .. } = payload::Bulk::read(fields, indexed)?;
    for _ in 0..count {
        if let Err(error) = entry(fields)? {
            return Some(Err(error));
        }
    }
    Some(Ok(()))
}

fn name(of: payload::Type, replay: &mut Replay) -> Result<(), StageError> {
    if of.name.is_empty() { replay.types.describe(of) } else { replay.types.name(of.id, of.display().as_bytes()) }
}

fn root(fields: &mut Cursor<'_>, wide: bool) -> Option<Root> {
    let payload::Root { object, kind, flags, place } = payload::Root::read(fields, wide)?;
    let kind = match kind {
        0 => RootKind::Stack,
        1 => RootKind::Finalizer,
        2 => RootKind::Handle,
        _ => RootKind::Other,
    };
    Some(Root { object, kind, flags, id: place })
}
