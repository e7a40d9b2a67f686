//! Stage `threads`: the table of threads.
//!
//! * Resident memory: the texts of `FRAMES` frames, or those of the longest stack.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the nodes.
//! * Reference: the contract of [`heaplake_schemas::threads`].

use crate::writer;
use arrow::array::{ArrayRef, ListArray, StringBuilder};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{ColumnPoints, ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{array, sizes};
use heaplake_schemas::column::{Type, element};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, STRINGS};
use heaplake_schemas::threads::TABLE;
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "threads",
    when: |setting| setting.has(TableName::Threads),
    reads: &[
        column(columns::THREAD_NODE),
        column(columns::THREAD_LOCALS),
        column(columns::THREAD_FRAME_COUNT),
        column(columns::THREAD_FRAME),
        column(columns::NODE_NAME),
        column(columns::NODE_RETAINED),
        texts(STRINGS),
    ],
    fixed: 8 << 20,
    passes: "threads once",
    run,
    ..Stage::NEW
};

/// Frames after which a row group ends.
const FRAMES: usize = 1 << 14;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut nodes = ColumnReader::open(scratch, columns::THREAD_NODE)?;
    context.progress.begin(STAGE.name, nodes.remaining());
    let mut locals = ColumnReader::open(scratch, columns::THREAD_LOCALS)?;
    let mut counts = ColumnReader::open(scratch, columns::THREAD_FRAME_COUNT)?;
    let mut frames = ColumnReader::open(scratch, columns::THREAD_FRAME)?;
    let texts = Texts::open(scratch)?;
    let mut table = writer::create(job, &TABLE)?;
    let mut rows = Rows::default();
    while nodes.remaining() > 0 {
        let node = nodes.next()?;
        rows.push(node, locals.next()?, &texts);
        for _ in 0..counts.next()? {
            rows.frame(frames.next()?, &texts);
        }
        if rows.frames >= FRAMES || nodes.remaining() == 0 {
            context.step(rows.nodes.len() as u64)?;
            table.write(&std::mem::take(&mut rows).finish())?;
        }
    }
    writer::finish(job, table)
}

struct Texts {
    strings: StringTable,
    names: ColumnPoints<StringId>,
    retained: ColumnPoints<u64>,
}

impl Texts {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        Ok(Self {
            strings: StringTable::open(scratch, STRINGS)?,
            names: ColumnPoints::open(scratch, columns::NODE_NAME)?,
            retained: ColumnPoints::open(scratch, columns::NODE_RETAINED)?,
        })
    }
}

/// Rows of a row group.
#[derive(Default)]
struct Rows {
    nodes: Vec<u32>,
    names: StringBuilder,
    /// Number of frames of each row.
    lengths: Vec<usize>,
    texts: StringBuilder,
    locals: Vec<u64>,
    retained: Vec<u64>,
    frames: usize,
}

impl Rows {
    fn push(&mut self, node: NodeId, locals: u64, texts: &Texts) {
        self.nodes.push(node.0);
        append(&mut self.names, texts.names.at(node.index()), texts);
        self.lengths.push(0);
        self.locals.push(locals);
        self.retained.push(texts.retained.at(node.index()));
    }

    /// Adds a frame to the last row.
    fn frame(&mut self, frame: StringId, texts: &Texts) {
        append(&mut self.texts, frame, texts);
        if let Some(length) = self.lengths.last_mut() {
            *length += 1;
        }
        self.frames += 1;
    }

    fn finish(mut self) -> [ArrayRef; 5] {
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        let frames = ListArray::new(Arc::new(element(&Type::Utf8, true)), offsets, Arc::new(self.texts.finish()), None);
        [
            array::<UInt32Type>(self.nodes),
            Arc::new(self.names.finish()),
            Arc::new(frames),
            sizes(self.locals),
            sizes(self.retained),
        ]
    }
}

fn append(builder: &mut StringBuilder, text: StringId, texts: &Texts) {
    match text.get() {
        Some(id) => builder.append_value(texts.strings.text(id as usize)),
        None => builder.append_null(),
    }
}
