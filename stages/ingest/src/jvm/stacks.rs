//! Stack traces: frames as text, and the stacks of threads.

use super::names::{Texts, class_name, standard};
use super::types::Loaded;
use crate::names::NameWriter;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{BudgetVec, ColumnWriter, Context, Scratch, StageError, create_all, finish_all};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::Column;

/// A frame with its text.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Frame {
    /// Its id.
    pub id: u64,
    /// `Class.method(File.java:line)`.
    pub text: StringId,
    /// Not used.
    pub padding: u32,
}

/// A stack.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Trace {
    /// Its serial number.
    pub serial: u32,
    /// Its number of frames.
    pub frames: u32,
    /// Its first frame in [`TRACE_FRAMES`].
    pub first: u64,
}

/// All frames, by id.
pub(crate) const FRAMES: Column<Frame> = Column::new("jvm.frame");
/// All stacks, in the order of the dump.
pub(crate) const TRACES: Column<Trace> = Column::new("jvm.trace");
/// Ids of the frames of each stack, contiguous, innermost first.
pub(crate) const TRACE_FRAMES: Column<u64> = Column::new("jvm.trace_frame");

/// A frame record of the dump.
#[derive(Clone, Copy)]
pub(crate) struct RawFrame {
    /// Its id.
    pub id: u64,
    /// Id of the method's name.
    pub method: u64,
    /// Id of the source file's name.
    pub source: u64,
    /// Serial number of the class.
    pub class: u32,
    /// Line, or a negative number.
    pub line: i32,
}

/// Line of a native method.
const NATIVE: i32 = -3;

/// Writes stacks in the order of the dump.
pub(crate) struct StackWriter {
    pub frames: BudgetVec<RawFrame>,
    traces: ColumnWriter<Trace>,
    pub trace_frames: ColumnWriter<u64>,
}

impl StackWriter {
    /// Starts empty.
    pub(crate) fn create(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let (traces, trace_frames) = create_all(scratch, (TRACES, TRACE_FRAMES))?;
        Ok(Self { frames: context.budget.growing("frames"), traces, trace_frames })
    }

    /// Starts a stack; its frames follow.
    pub(crate) fn trace(&mut self, serial: u32, frames: u32) -> Result<(), StageError> {
        self.traces.push(Trace { serial, frames, first: self.trace_frames.len() })
    }

    /// Writes the frames with their texts.
    pub(crate) fn finish(
        self,
        texts: &Texts,
        loaded: &Loaded,
        names: &mut NameWriter,
        (scratch, context): (&Scratch, &Context<'_>),
    ) -> Result<(), StageError> {
        let Self { mut frames, traces, trace_frames } = self;
        finish_all((traces, trace_frames))?;
        // An unstable sort needs no memory; only equal frames tie.
        frames.sort_unstable_by_key(|frame| (frame.id, frame.method, frame.source, frame.class, frame.line));
        let mut writer = ColumnWriter::create(scratch, FRAMES)?;
        for (number, frame) in frames.iter().enumerate() {
            context.check_every(4096, number)?;
            let text = names.intern(&describe(frame, texts, loaded))?;
            writer.push(Frame { id: frame.id, text, padding: 0 })?;
        }
        writer.finish().map(drop)
    }
}

/// Renders a frame as Java does.
fn describe(frame: &RawFrame, texts: &Texts, loaded: &Loaded) -> Vec<u8> {
    let unknown = || b"?".to_vec();
    let mut text = loaded.name_by_serial(frame.class, texts).map_or_else(unknown, class_name);
    text.push(b'.');
    text.extend(texts.get(frame.method).map_or_else(unknown, standard));
    let place = match texts.get(frame.source) {
        _ if frame.line == NATIVE => "Native Method".to_owned(),
        None => "Unknown Source".to_owned(),
        Some(file) => {
            let file = String::from_utf8_lossy(file).into_owned();
            if frame.line > 0 { format!("{file}:{}", frame.line) } else { file }
        }
    };
    text.extend(format!("({place})").as_bytes());
    text
}
