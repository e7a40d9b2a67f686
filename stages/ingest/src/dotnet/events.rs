//! Walks of the heap among the events of a trace.
//!
//! The runtime walks the heap at the end of a full garbage collection. Between the collection's start and end events
//! come its roots, objects and references, each kind in bulk events that are numbered from 0, so that a lost one is
//! detected. The references of all objects form one sequence; each object states its number. Types may be defined
//! before, between and after, modules even at the end of the trace.

use super::document::{self, FIRST, ROOT, TRACE, Walk, Walks};
use super::recorder::{Dependent, Recorder, Root, root_kind};
use super::types::Types;
use crate::names::NameWriter;
use heaplake_input::bytes::HINT;
use heaplake_input::nettrace::kinds::{RUNDOWN, RUNTIME};
use heaplake_input::nettrace::{Around, Cursor, Events, Outcome, Stacks, Trace, payload};
use heaplake_kit::{Context, Scratch, StageError};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::Metadata;
use heaplake_schemas::symbols::Symbols;
use heaplake_symbols::{Build, Library};

/// Advice of errors about missing walks.
const RECORD: &str = "record with the keyword GCHeapDump (0x100000) and level 5, or name the trace to heaplake replay";

/// An event that matters for a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A garbage collection begins.
    Start,
    /// A garbage collection ends.
    End,
    /// Types.
    Types,
    /// A module.
    Module,
    /// Static fields.
    Statics,
    /// A numbered event of a walk.
    Numbered(Series),
}

/// The series of numbered events of a walk; each is numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    /// Roots.
    Roots,
    /// Dependent handles.
    Dependents,
    /// Objects.
    Nodes,
    /// References.
    Edges,
}

impl Series {
    fn name(self) -> &'static str {
        ["roots", "dependent handles", "objects", "references"][self as usize]
    }
}

/// A walk in progress.
struct Current {
    recorder: Option<Recorder>,
    /// Expected number of the next event of each series.
    next: [u32; 4],
    /// Offset of its first event of objects.
    offset: u64,
    /// Start of the walk, in ticks.
    time: u64,
    /// Its first defect: offset, expected and found.
    defect: Option<(u64, String, String)>,
}

impl Current {
    fn has_objects(&self) -> bool {
        self.next[Series::Nodes as usize] > 0
    }
}

/// A completed walk.
struct Taken {
    number: u32,
    objects: u64,
    unit: u32,
    offset: u64,
    time: u64,
    defect: Option<(u64, String, String)>,
}

/// Reads one walk of a trace.
pub(crate) struct Walker<'a> {
    name: String,
    walks: Walks,
    scratch: &'a Scratch,
    context: &'a Context<'a>,
    trace: Option<Trace>,
    types: Types,
    names: NameWriter,
    current: Option<Current>,
    taken: Option<Taken>,
}

impl<'a> Walker<'a> {
    /// Reads the walk with the number `wanted`, or the last one. `name` is the trace's name in messages.
    pub(crate) fn new(
        name: String,
        wanted: Option<u32>,
        scratch: &'a Scratch,
        context: &'a Context<'a>,
    ) -> Result<Self, StageError> {
        Ok(Self {
            name,
            walks: Walks { input: "trace", record: RECORD, wanted, count: 0 },
            scratch,
            context,
            trace: None,
            types: Types::new(&context.budget)?,
            names: NameWriter::create(&context.budget, scratch)?,
            current: None,
            taken: None,
        })
    }

    /// Returns the walk in progress, which starts here if there is none.
    fn current(&mut self, around: Around) -> Result<&mut Current, StageError> {
        if self.current.is_none() {
            let is_wanted = self.walks.wants(self.walks.count + 1);
            let recorder = if is_wanted { Some(Recorder::create(self.scratch, &self.context.budget)?) } else { None };
            let (offset, time) = (around.offset, around.time);
            self.current = Some(Current { recorder, next: [0; 4], offset, time, defect: None });
            if is_wanted {
                self.taken = None;
            }
        }
        self.current.as_mut().ok_or(StageError::Cancelled)
    }

    /// Completes the walk in progress; discards one without objects.
    fn end(&mut self) -> Result<(), StageError> {
        let Some(current) = self.current.take() else { return Ok(()) };
        if !current.has_objects() {
            return Ok(());
        }
        self.walks.count += 1;
        let Some(recorder) = current.recorder else { return Ok(()) };
        let recorded = recorder.finish(self.scratch, &self.context.budget)?;
        let short = (recorded.promised != recorded.references).then(|| {
            let expected = format!("a walk with {} references", recorded.promised);
            (current.offset, expected, format!("one with {}", recorded.references))
        });
        self.taken = Some(Taken {
            number: self.walks.count,
            objects: recorded.objects,
            unit: recorded.unit,
            offset: current.offset,
            time: current.time,
            defect: current.defect.or(short),
        });
        Ok(())
    }

    /// Completes the trace: returns the wanted walk, and writes names and keys of classes.
    ///
    /// # Errors
    /// [`StageError::Input`] if that walk is missing or incomplete.
    pub(crate) fn finish(
        mut self,
        outcome: &Outcome,
        end: u64,
        symbols: Option<&Symbols>,
    ) -> Result<(Walk, Metadata), StageError> {
        self.end()?;
        let Some(taken) = self.taken.take() else { return Err(self.walks.missing(&self.name, end)) };
        if let Some((offset, expected, found)) = taken.defect {
            let found = format!("{found} (walk {} of {})", taken.number, self.walks.count);
            return Err(StageError::input(self.name, offset, expected, found, HINT));
        }
        let mut library = Library::new(symbols, &self.context.budget);
        self.types.resolve(&mut library)?;
        let unknown = self.types.write(&mut self.names, self.scratch, &self.context.budget)?;
        self.names.finish()?;
        let mut remarks = library.remarks();
        remarks.extend(self.walks.remarks(taken.number, unknown));
        if outcome.lost_events > 0 {
            remarks.push(format!("the recorder had no room for {} events, none of this walk", outcome.lost_events));
        }
        let nodes = taken.objects + u64::from(FIRST);
        let mut metadata = document::metadata(TRACE, outcome.version.to_string(), nodes, ROOT);
        metadata.captured_at_us = self.trace.and_then(|trace| when(&trace, taken.time));
        let (offset, unit) = (taken.offset, taken.unit);
        let class_count = u64::from(self.types.count()) + 1;
        Ok((Walk { name: self.name, offset, unit, by_address: true, class_count, remarks }, metadata))
    }

    /// Reads the head of a numbered event. An unexpected number starts a new walk (0) or is a defect.
    fn numbered(&mut self, series: Series, fields: &mut Cursor<'_>, around: Around) -> Result<Option<u32>, StageError> {
        let Some(payload::Bulk { index, count }) = payload::Bulk::read(fields, true) else { return Ok(None) };
        if index == 0 && self.current.as_ref().is_some_and(|current| current.next[series as usize] > 0) {
            self.end()?;
        }
        let current = self.current(around)?;
        let expected = current.next[series as usize];
        if index != expected && current.defect.is_none() {
            let expected = format!("event {expected} of the {} of a walk", series.name());
            current.defect = Some((around.offset, expected, format!("event {index}: the recorder lost events")));
        }
        if series == Series::Nodes && expected == 0 {
            current.offset = around.offset;
        }
        current.next[series as usize] = index.wrapping_add(1);
        Ok(Some(count))
    }

    fn bulk(&mut self, series: Series, fields: &mut Cursor<'_>, around: Around) -> Result<bool, StageError> {
        let Some(count) = self.numbered(series, fields, around)? else { return Ok(false) };
        let Some(current) = &mut self.current else { return Ok(true) };
        let Some(recorder) = &mut current.recorder else { return Ok(true) };
        let wide = around.wide;
        for _ in 0..count {
            match series {
                Series::Nodes => {
                    let Some(node) = payload::Node::read(fields, wide) else { return Ok(false) };
                    let references = u32::try_from(node.references).unwrap_or(u32::MAX);
                    let of_type = self.types.position(node.type_id)?;
                    recorder.object(node.address, node.size, of_type, references)?;
                }
                Series::Edges => {
                    let Some(target) = fields.pointer(wide) else { return Ok(false) };
                    if fields.u32().is_none() {
                        return Ok(false);
                    }
                    recorder.targets.push(target)?;
                }
                Series::Dependents => {
                    let (key, value, at) = (fields.pointer(wide), fields.pointer(wide), fields.pointer(wide));
                    let (Some(key), Some(value), Some(_)) = (key, value, at) else { return Ok(false) };
                    recorder.dependents.push(Dependent { key, value })?;
                }
                Series::Roots => {
                    let Some(root) = payload::Root::read(fields, wide) else { return Ok(false) };
                    if root.flags & payload::Root::WEAK == 0 && root.object != 0 {
                        let (object, kind) = (root.object, kind_of(root));
                        recorder.roots.push(Root { object, kind, field: StringId::NONE })?;
                    }
                }
            }
        }
        Ok(true)
    }

    fn types(&mut self, fields: &mut Cursor<'_>) -> Result<bool, StageError> {
        let Some(payload::Bulk { count, .. }) = payload::Bulk::read(fields, false) else { return Ok(false) };
        for _ in 0..count {
            let Some(of) = payload::Type::read(fields) else { return Ok(false) };
            self.types.define(of)?;
        }
        Ok(true)
    }

    fn statics(&mut self, fields: &mut Cursor<'_>, around: Around) -> Result<bool, StageError> {
        const THREAD_LOCAL: u32 = 1;
        let (Some(count), Some(_), Some(_)) = (fields.u32(), fields.u64(), fields.u16()) else { return Ok(false) };
        for _ in 0..count {
            let mut entry = || {
                fields.u64()?; // address of the field
                Some((fields.u64()?, fields.u64()?, fields.u32()?, fields.utf16()?))
            };
            // The type is the object's; the field's class is unknown.
            let Some((object, _, flags, field)) = entry() else { return Ok(false) };
            let field = self.names.intern(field.as_bytes())?;
            let kind = if flags & THREAD_LOCAL == 0 { root_kind::STATIC } else { root_kind::THREAD_STATIC };
            if let Some(recorder) = &mut self.current(around)?.recorder
                && object != 0
            {
                recorder.roots.push(Root { object, kind, field })?;
            }
        }
        Ok(true)
    }
}

impl Events for Walker<'_> {
    type Kind = Kind;

    fn kind(provider: &str, event: u32, _: u32) -> Option<Kind> {
        Some(match (provider, event) {
            (RUNTIME, 1) => Kind::Start,
            (RUNTIME, 2) => Kind::End,
            (RUNTIME, 15) => Kind::Types,
            (RUNTIME, 16) => Kind::Numbered(Series::Roots),
            (RUNTIME, 17) => Kind::Numbered(Series::Dependents),
            (RUNTIME, 18) => Kind::Numbered(Series::Nodes),
            (RUNTIME, 19) => Kind::Numbered(Series::Edges),
            (RUNTIME, 38) => Kind::Statics,
            (RUNTIME, 152) | (RUNDOWN, 153 | 154) => Kind::Module,
            _ => return None,
        })
    }

    fn trace(&mut self, trace: &Trace) {
        self.trace = Some(*trace);
    }

    fn event(&mut self, kind: Kind, bytes: &[u8], around: Around, _: &mut Stacks<'_>) -> Result<bool, StageError> {
        let fields = &mut Cursor(bytes);
        match kind {
            // A nested garbage collection has no walk of its own.
            Kind::Start => {
                if self.current.as_ref().is_some_and(Current::has_objects) {
                    self.end()?;
                }
                Ok(true)
            }
            Kind::End => self.end().map(|()| true),
            Kind::Types => self.types(fields),
            Kind::Module => {
                let Some(module) = payload::Module::read(fields) else { return Ok(false) };
                self.types.module(module.id, &module.path, module.pdb.and_then(Build::new)).map(|()| true)
            }
            Kind::Statics => self.statics(fields, around),
            Kind::Numbered(series) => self.bulk(series, fields, around),
        }
    }
}

/// Returns the position of a root's kind in [`ROOT_KINDS`](super::recorder::ROOT_KINDS).
fn kind_of(root: payload::Root) -> u32 {
    match u32::from(root.kind) {
        root_kind::HANDLE if root.flags & payload::Root::COUNTED != 0 => root_kind::COUNTED,
        root_kind::HANDLE if root.flags & payload::Root::PINNED != 0 => root_kind::PINNED,
        kind if kind < root_kind::PINNED => kind,
        _ => root_kind::OTHER,
    }
}

/// Converts a tick to microseconds since 1970; `None` if the trace lacks the origin.
fn when(trace: &Trace, time: u64) -> Option<i64> {
    let ticks = time.checked_sub(trace.origin)?;
    let microseconds = u128::from(ticks) * 1_000_000 / u128::from((trace.frequency > 0).then_some(trace.frequency)?);
    trace.origin_us.checked_add(i64::try_from(microseconds).ok()?)
}
