//! Stage `nodes`: the table of nodes.
//!
//! * Computes: totals over all nodes, on the way.
//! * Resident memory: a batch of a column for each thread and a row group, [`WRITER_BYTES`] at most.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full, or a sum exceeds 64 bits.
//! * Determinism: input order.
//! * Reference: the contract of [`heaplake_schemas::nodes`].

use crate::located::{Originals, located, urls};
use crate::owned;
use crate::totals::{self, detached, reachable, summed};
use crate::writer::write;
use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{Int32Type, UInt8Type, UInt32Type, UInt64Type};
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnMap, ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{Source, array, nullable, read};
use heaplake_lake::table::WRITER_BYTES;
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::ids::{ClassId, NO_ID, NodeId, StringId};
use heaplake_schemas::nodes::TABLE;
use heaplake_schemas::options::TableName;
use heaplake_schemas::run::Totals;
use heaplake_schemas::scratch::{self as columns, Column, Metadata, NO_DISTANCE, OWNER_NAMES, STRINGS, documents};
use heaplake_schemas::symbols::{ORIGINAL_PLACE, ORIGINAL_TEXTS};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "nodes",
    version: 4,
    when: |setting| setting.has(TableName::Nodes),
    reads: &[
        document(documents::METADATA),
        column(columns::NODE_ID),
        column(columns::NODE_KIND),
        column(columns::NODE_CLASS),
        column(columns::NODE_NAME),
        column(columns::NODE_SELF),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_NATIVE).if_any(),
        column(columns::NODE_RETAINED),
        column(columns::NODE_RETAINED_NATIVE).if_any(),
        column(columns::NODE_DISTANCE),
        column(columns::NODE_AVOIDED).if_any(),
        column(columns::NODE_DOMINATOR),
        column(columns::NODE_PREORDER),
        column(columns::NODE_EDGE_COUNT),
        column(columns::NODE_RETAINER_COUNT),
        column(columns::NODE_DETACHED).if_any(),
        column(columns::NODE_TRACE).if_any(),
        column(columns::LOCATION_NODE).if_any(),
        column(columns::LOCATION_SCRIPT).if_any(),
        column(columns::LOCATION_LINE).if_any(),
        column(columns::LOCATION_COLUMN).if_any(),
        column(columns::SCRIPT_ID).if_any(),
        column(columns::SCRIPT_URL).if_any(),
        column(ORIGINAL_PLACE).if_any(),
        texts(ORIGINAL_TEXTS).if_any(),
        column(columns::EQUAL_SET).if_any(),
        column(columns::NODE_OWNER).if_any(),
        column(columns::OWNER_ROW_AT).if_any(),
        texts(OWNER_NAMES).if_any(),
        column(columns::ORIGIN).if_any(),
        column(columns::ORIGIN_NODE).if_any(),
        column(columns::ORIGIN_OF_NODE).if_any(),
        column(columns::CLASS_ORIGIN).if_any(),
        column(columns::CLASS_NAME),
        texts(STRINGS),
    ],
    writes: &[document(documents::TOTALS)],
    fixed: WRITER_BYTES,
    passes: "node columns once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = job.metadata()?;
    let _writer = context.budget.reserve("nodes: Parquet writer", WRITER_BYTES)?;
    let strings = StringTable::open(scratch, STRINGS)?;
    let class_names = ColumnMap::uncounted(scratch, columns::CLASS_NAME)?;
    let mut totals = Totals::default();
    let originals = Originals::open(scratch)?;
    let owners = owned::names(scratch)?;
    let mut sources = sources(&metadata, scratch, &strings, &class_names, &mut totals)?;
    let last = sources.pop();
    sources.extend(originals.sources(scratch)?);
    sources.extend(last);
    sources.push(owned::owner(scratch, owners.as_ref())?);
    sources.push(owned::package(scratch, Texts::Table(&strings))?);
    let stats = write(job, STAGE.name, &TABLE, sources, metadata.node_count)?;
    totals::keep(totals, &metadata, scratch)?;
    Ok(stats)
}

/// The columns of the schema, in order. Totals are complete when all rows are read.
fn sources<'a>(
    metadata: &'a Metadata,
    scratch: &Scratch,
    strings: &'a StringTable,
    class_names: &'a [StringId],
    totals: &'a mut Totals,
) -> Result<Vec<Source<'a>>, StageError> {
    let Totals { shallow_bytes, native_bytes, reachable_count, reachable_bytes, detached_count } = totals;
    let strings = Texts::Table(strings);
    let native = |column| match metadata.has_native {
        true => Source::sizes(scratch, column),
        false => Ok(Source::nothing()),
    };
    Ok(vec![
        ordinals(),
        ids(scratch, metadata.root)?,
        mapped(scratch, columns::NODE_KIND, Texts::Names(&metadata.node_kinds), u32::from)?,
        mapped(scratch, columns::NODE_CLASS, strings, |class: ClassId| position(class_names[class.index()]))?,
        Source::column::<_, UInt32Type>(scratch, columns::NODE_CLASS)?,
        mapped(scratch, columns::NODE_NAME, strings, position)?,
        Source::sizes(scratch, columns::NODE_SELF)?,
        summed(scratch, columns::NODE_SHALLOW, shallow_bytes)?,
        match metadata.has_native {
            true => summed(scratch, columns::NODE_NATIVE, native_bytes)?,
            false => Source::nothing(),
        },
        Source::sizes(scratch, columns::NODE_RETAINED)?,
        native(columns::NODE_RETAINED_NATIVE)?,
        distances(scratch)?,
        match scratch.has(columns::NODE_AVOIDED) {
            true => weakly_reachable(scratch)?,
            false => Source::nothing(),
        },
        Source::column::<_, UInt32Type>(scratch, columns::NODE_DOMINATOR)?,
        match metadata.keeps_garbage {
            true => reachable(scratch, reachable_count, reachable_bytes)?,
            false => Source::values(|rows| Ok(Arc::new(BooleanArray::new(BooleanBuffer::new_set(rows), None)))),
        },
        Source::sizes(scratch, columns::NODE_EDGE_COUNT)?,
        Source::sizes(scratch, columns::NODE_RETAINER_COUNT)?,
        match scratch.has(columns::NODE_DETACHED) {
            true => detached(scratch, detached_count)?,
            false => Source::values(|rows| Ok(array::<UInt8Type>(vec![0; rows]))),
        },
        match metadata.has_trace_nodes {
            true => Source::column::<_, UInt32Type>(scratch, columns::NODE_TRACE)?,
            false => Source::nothing(),
        },
        located(scratch, columns::LOCATION_SCRIPT, |&script| script)?,
        urls(scratch, strings)?,
        located(scratch, columns::LOCATION_LINE, |&line| line)?,
        located(scratch, columns::LOCATION_COLUMN, |&column| column)?,
        match scratch.has(columns::EQUAL_SET) {
            true => duplicate_sets(scratch)?,
            false => Source::nothing(),
        },
    ])
}

/// Column of sets of duplicates; null for most nodes.
fn duplicate_sets<'a>(scratch: &Scratch) -> Result<Source<'a>, StageError> {
    let mut column = ColumnReader::open(scratch, columns::EQUAL_SET)?;
    Ok(Source::values(move |rows| {
        let sets = read(&mut column, rows)?;
        let valid = BooleanBuffer::collect_bool(rows, |row| !sets[row].is_none());
        Ok(nullable::<UInt32Type>(sets.into_iter().map(|set| set.0).collect(), valid))
    }))
}

fn position(string: StringId) -> u32 {
    string.get().unwrap_or(NONE)
}

fn ordinals<'a>() -> Source<'a> {
    let mut next = 0;
    Source::values(move |rows| {
        let first = next;
        next += rows as u32;
        Ok(array::<UInt32Type>((first..next).collect()))
    })
}

/// Column of texts at positions computed from the elements of a column.
fn mapped<'a, T: bytemuck::Pod + Send + 'a>(
    scratch: &Scratch,
    column: Column<T>,
    texts: Texts<'a>,
    position: impl Fn(T) -> u32 + Send + 'a,
) -> Result<Source<'a>, StageError> {
    let mut column = ColumnReader::open(scratch, column)?;
    Ok(Source::texts(texts, move |rows| Ok(read(&mut column, rows)?.into_iter().map(&position).collect())))
}

/// Column of input ids; null for a root that the input lacks.
fn ids<'a>(scratch: &Scratch, root: NodeId) -> Result<Source<'a>, StageError> {
    let mut column = ColumnReader::open(scratch, columns::NODE_ID)?;
    let mut first = 0;
    Ok(Source::values(move |rows| {
        let values: Vec<u64> = read(&mut column, rows)?;
        let own = root.index().wrapping_sub(first);
        first += rows;
        let valid = BooleanBuffer::collect_bool(rows, |row| row != own || values[row] != NO_ID);
        Ok(nullable::<UInt64Type>(values, valid))
    }))
}

fn distances<'a>(scratch: &Scratch) -> Result<Source<'a>, StageError> {
    let mut column = ColumnReader::open(scratch, columns::NODE_DISTANCE)?;
    Ok(Source::values(move |rows| {
        let values = read(&mut column, rows)?;
        let valid = BooleanBuffer::collect_bool(rows, |row| values[row] != NO_DISTANCE);
        Ok(nullable::<Int32Type>(values, valid))
    }))
}

fn weakly_reachable<'a>(scratch: &Scratch) -> Result<Source<'a>, StageError> {
    let mut column = ColumnReader::open(scratch, columns::NODE_AVOIDED)?;
    Ok(Source::values(move |rows| {
        let values = read(&mut column, rows)?;
        Ok(Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(rows, |row| values[row] != 0), None)))
    }))
}
