//! Stage `values`: contents of the nodes of a V8 snapshot.
//!
//! * Computes: the text of each node that is one, and the targets of its edges except weak edges and shortcuts: the
//!   text of a string, the value of a number if it was captured. A captured number is the name of the node at the end
//!   of the number's edge `value`.
//! * Resident memory: 9 bytes per node, paged if they do not fit.
//! * Passes over disk: nodes and edges twice.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: order of the input.
//! * Reference: `captureNumericValue` of the protocol of Chrome DevTools.

use super::edges::{Edge, Edges};
use super::kinds::Kinds;
use super::names;
use super::snapshot::{DOCUMENT, Snapshot};
use super::survey::TEXT;
use crate::values::{Label, ValueWriter};
use heaplake_kit::access::{column, document, per_node, texts};
use heaplake_kit::array_plan::{filled, lookup};
use heaplake_kit::{Array, ArrayPlan, ColumnReader, Job, Lookup, ReadAt, Scratch, Stage, StageError, Stats, WriteAt};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, Metadata, STRING_HASH, STRINGS};
use heaplake_schemas::values::{MOST_OF_A_NODE, VALUE_DEGREE, VALUE_ROW, VALUE_TEXTS, kind};

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "values",
    version: 2,
    when: |setting| setting.has(TableName::Values),
    reads: &[
        document(DOCUMENT),
        texts(STRINGS),
        column(STRING_HASH),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_NAME),
        column(columns::EDGE_TO),
    ],
    writes: &[column(VALUE_DEGREE), column(VALUE_ROW), texts(VALUE_TEXTS)],
    arrays: &[&[per_node::<u8>(), per_node::<StringId>(), per_node::<StringId>()]],
    fixed: 8 << 20,
    shares: true,
    passes: "nodes and edges twice",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = Snapshot::load(scratch)?;
    let metadata = &snapshot.metadata;
    context.progress.begin(STAGE.name, 2 * metadata.node_count);
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let (kinds, names, numbers) = plan.make((
        lookup(columns::NODE_KIND),
        lookup(columns::NODE_NAME),
        filled(metadata.node_count as usize, StringId::NONE),
    ))?;
    let mut values = Values { rules: Rules::new(&snapshot, scratch)?, kinds, names, numbers };
    values.find_numbers(job)?;
    let rows = values.write(metadata, job)?;
    Ok(Stats { rows, spilled_bytes: plan.spilled_bytes() })
}

/// Kinds and names that matter here.
struct Rules {
    /// Per node kind, whether it is a string.
    is_text: Vec<bool>,
    /// Per edge kind, whether its edges have no row.
    is_skipped: Vec<bool>,
    kinds: Kinds,
    value: u32,
}

impl Rules {
    fn new(snapshot: &Snapshot, scratch: &Scratch) -> Result<Self, StageError> {
        let header = &snapshot.header;
        let of = |types: &[String], such: &[&str]| types.iter().map(|name| such.contains(&name.as_str())).collect();
        Ok(Self {
            is_text: of(&header.node_types, &TEXT),
            is_skipped: of(&header.edge_types, &["weak", "shortcut"]),
            kinds: Kinds::of(header),
            value: names::find(scratch, ["value"])?[0].0,
        })
    }
}

struct Values {
    rules: Rules,
    kinds: Lookup<u8>,
    names: Lookup<StringId>,
    /// Text of each captured number.
    numbers: Array<StringId>,
}

impl Values {
    fn find_numbers(&mut self, job: &Job<'_>) -> Result<(), StageError> {
        let mut edges = Edges::open(job.scratch)?;
        let mut counts = ColumnReader::open(job.scratch, columns::NODE_EDGE_COUNT)?;
        for node in 0..counts.remaining() as u32 {
            job.context.step_every(1 << 14, node)?;
            let count = counts.next()?;
            if Some(self.kinds.get(node as usize)?) != self.rules.kinds.number {
                edges.skip(count.into())?;
                continue;
            }
            for _ in 0..count {
                let Edge { kind, name, to } = edges.next()?;
                if Some(kind) == self.rules.kinds.internal && name == self.rules.value {
                    let text = self.names.get(to.index())?;
                    self.numbers.set(node as usize, text)?;
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, metadata: &Metadata, job: &Job<'_>) -> Result<u64, StageError> {
        let mut writer = ValueWriter::create(job.scratch)?;
        let mut edges = Edges::open(job.scratch)?;
        let mut counts = ColumnReader::open(job.scratch, columns::NODE_EDGE_COUNT)?;
        for node in 0..counts.remaining() as u32 {
            job.context.step_every(1 << 14, node)?;
            let (count, own) = (counts.next()?, self.kinds.get(node as usize)?);
            if self.rules.is_text[usize::from(own)] {
                let text = self.names.get(node as usize)?;
                writer.value(Label::None, kind::TEXT, text.0.into())?;
            }
            let shown = count.min(MOST_OF_A_NODE);
            for _ in 0..shown {
                let Edge { kind: edge, name, to } = edges.next()?;
                if self.rules.is_skipped[usize::from(edge)] {
                    continue;
                }
                let is_indexed = metadata.edge_kinds[usize::from(edge)].indexed;
                let label = if is_indexed { Label::Index(name) } else { Label::Name(StringId(name)) };
                let (kind, text) = self.target(to)?;
                writer.reference(label, kind, text, to)?;
            }
            edges.skip((count - shown).into())?;
            writer.more(count - shown)?;
            writer.end()?;
        }
        writer.finish(metadata.node_count)
    }

    /// Returns the kind and text of an edge's target.
    #[inline]
    fn target(&mut self, to: NodeId) -> Result<(u8, StringId), StageError> {
        let own = self.kinds.get(to.index())?;
        Ok(if self.rules.is_text[usize::from(own)] {
            (kind::REFERENCE, self.names.get(to.index())?)
        } else if Some(own) == self.rules.kinds.number {
            (kind::NUMBER, self.numbers.get(to.index())?)
        } else {
            (kind::REFERENCE, StringId::NONE)
        })
    }
}
