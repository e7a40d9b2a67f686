//! GC roots: edges from the root of the graph, and edges from threads to the locals of their stacks.

use super::layouts::Types;
use super::root_kinds::{ROOT_KINDS, STICKY_CLASS, THREAD_OBJECT, UNREACHABLE};
use super::stacks::{FRAMES, Frame, TRACE_FRAMES, TRACES, Trace};
use super::types::load;
use crate::index::Find;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{BudgetVec, ColumnMap, ColumnReader, Context, Scratch, StageError};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::Column;

/// Roots between two checks for cancellation.
const CHECKED: u64 = 1 << 12;

/// A root record of the dump.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct RootRecord {
    /// Address of the object.
    pub object: u64,
    /// Position in [`ROOT_KINDS`].
    pub kind: u32,
    /// Serial number of the thread, if the kind has one.
    pub thread: u32,
    /// Frame number in the thread's stack; for a thread object, the serial number of its stack.
    pub frame: u32,
    /// Not used.
    pub padding: u32,
}

/// The roots, in the order of the dump.
pub(crate) const ROOTS: Column<RootRecord> = Column::new("jvm.root");

/// An edge from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RootEdge {
    /// The object.
    pub to: NodeId,
    /// Kind of root, a position in [`ROOT_KINDS`].
    pub kind: u8,
}

/// An edge from a thread to an object that its stack refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Local {
    /// The thread.
    pub thread: NodeId,
    /// The object.
    pub to: NodeId,
    /// The frame as text; [`StringId::NONE`] for an unknown frame.
    pub frame: StringId,
    /// Kind of root, a position in [`ROOT_KINDS`].
    pub kind: u8,
}

/// A thread of the dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Thread {
    /// Its object.
    pub node: NodeId,
    /// Its serial number.
    pub serial: u32,
    /// Serial number of its stack.
    pub trace: u32,
}

/// The roots of a dump.
pub(crate) struct Roots {
    /// Edges from the root, by object, without duplicates.
    pub edges: BudgetVec<RootEdge>,
    /// References from stacks, by thread.
    pub locals: BudgetVec<Local>,
    /// Threads with an object in the dump, by object.
    pub threads: BudgetVec<Thread>,
    /// The stacks.
    pub stacks: Stacks,
}

impl Roots {
    /// Loads the roots and finds their objects.
    pub(crate) fn load(
        index: &mut impl Find,
        types: &Types,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<Self, StageError> {
        let budget = &context.budget;
        let mut roots = Self {
            edges: budget.growing("roots"),
            locals: budget.growing("references from stacks"),
            threads: budget.growing("threads"),
            stacks: Stacks::load(scratch, context)?,
        };
        roots.find_threads(index, scratch, context)?;
        roots.threads.sort_unstable_by_key(|thread| (thread.serial, thread.node));
        let mut sticky = false;
        let mut records = ColumnReader::open(scratch, ROOTS)?;
        while let Some(root) = records.pop()? {
            context.check_every(CHECKED, records.remaining())?;
            let kind = &ROOT_KINDS[root.kind as usize];
            // Roots may refer to objects missing from the dump, as fields may.
            let Some(to) = index.find(root.object)? else { continue };
            if kind.tag == UNREACHABLE {
                continue;
            }
            sticky |= kind.tag == STICKY_CLASS;
            match roots.thread(root.thread).filter(|_| kind.of_thread && kind.tag != THREAD_OBJECT) {
                Some(thread) => {
                    let frame = roots.stacks.frame(thread.trace, root.frame);
                    roots.locals.push(Local { thread: thread.node, to, frame, kind: root.kind as u8 })?;
                }
                None => roots.edges.push(RootEdge { to, kind: root.kind as u8 })?,
            }
        }
        if !sticky {
            // Without sticky-class roots in the dump, the classes of the boot loader become roots.
            let kind = ROOT_KINDS.iter().position(|kind| kind.tag == STICKY_CLASS).unwrap_or(0) as u8;
            for class in types.descriptors.iter().filter(|class| class.loader == 0) {
                roots.edges.push(RootEdge { to: class.node, kind })?;
            }
        }
        roots.threads.sort_unstable();
        roots.locals.sort_unstable();
        roots.edges.sort_unstable();
        let mut last = None;
        roots.edges.retain_mut(|_, edge| last.replace(*edge) != Some(*edge));
        Ok(roots)
    }

    fn find_threads(
        &mut self,
        index: &mut impl Find,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<(), StageError> {
        let mut records = ColumnReader::open(scratch, ROOTS)?;
        while let Some(RootRecord { object, kind, thread, frame, .. }) = records.pop()? {
            context.check_every(CHECKED, records.remaining())?;
            if ROOT_KINDS[kind as usize].tag != THREAD_OBJECT {
                continue;
            }
            if let Some(node) = index.find(object)? {
                self.threads.push(Thread { node, serial: thread, trace: frame })?;
            }
        }
        Ok(())
    }

    /// Returns the thread with a serial number; `threads` are sorted by it here.
    fn thread(&self, serial: u32) -> Option<Thread> {
        let at = self.threads.partition_point(|thread| thread.serial < serial);
        self.threads[..].get(at).filter(|thread| thread.serial == serial).copied()
    }
}

/// Stacks by serial number, frames by id.
pub(crate) struct Stacks {
    traces: BudgetVec<Trace>,
    frames: BudgetVec<Frame>,
    trace_frames: ColumnMap<u64>,
}

impl Stacks {
    fn load(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let mut traces = load(scratch, context, "stacks", TRACES)?;
        traces.sort_unstable_by_key(|trace| (trace.serial, trace.first));
        let frames = load(scratch, context, "frames", FRAMES)?;
        Ok(Self { traces, frames, trace_frames: ColumnMap::uncounted(scratch, TRACE_FRAMES)? })
    }

    /// Number of stacks.
    pub(crate) fn count(&self) -> usize {
        self.traces.len()
    }

    /// Returns the position of the stack with a serial number.
    pub(crate) fn position(&self, serial: u32) -> Option<usize> {
        let at = self.traces.partition_point(|other| other.serial < serial);
        self.traces[..].get(at).filter(|other| other.serial == serial).map(|_| at)
    }

    /// Returns the frame ids of the stack at a position, innermost first.
    pub(crate) fn ids(&self, position: usize) -> &[u64] {
        let trace = &self.traces[position];
        let first = trace.first as usize;
        self.trace_frames[..].get(first..first + trace.frames as usize).unwrap_or_default()
    }

    /// Returns a frame as text, by its id.
    pub(crate) fn text(&self, id: u64) -> StringId {
        match self.frames.binary_search_by_key(&id, |frame| frame.id) {
            Ok(at) => self.frames[at].text,
            Err(_) => StringId::NONE,
        }
    }

    /// Returns a frame of a stack as text, in two binary searches whatever its depth.
    fn frame(&self, trace: u32, number: u32) -> StringId {
        let ids = self.position(trace).map_or(&[][..], |at| self.ids(at));
        ids.get(number as usize).map_or(StringId::NONE, |&id| self.text(id))
    }
}
