//! Stage `edges`: the table of edges, on request.
//!
//! * Resident memory: a batch of a column for each thread and a row group, [`WRITER_BYTES`] at most.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: input order.
//! * Reference: the contract of [`heaplake_schemas::edges`].

use crate::writer::write;
use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::UInt32Type;
use heaplake_kit::access::{column, document, texts};
use heaplake_kit::{ColumnReader, Job, Scratch, Stage, StageError, Stats, StringTable};
use heaplake_lake::source::{Source, array, nullable, read};
use heaplake_lake::table::WRITER_BYTES;
use heaplake_lake::text::{NONE, Texts};
use heaplake_schemas::edges::TABLE;
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, Column, Metadata, STRINGS, documents, edge_flags};
use std::sync::Arc;

/// The stage's declaration.
pub(crate) const STAGE: Stage = Stage {
    name: "edges",
    when: |setting| setting.has(TableName::Edges),
    reads: &[
        document(documents::METADATA),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_NAME),
        column(columns::EDGE_TO),
        column(columns::EDGE_FLAGS),
        texts(STRINGS),
    ],
    fixed: WRITER_BYTES,
    passes: "edge columns once",
    run,
    ..Stage::NEW
};

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let metadata = job.metadata()?;
    let _writer = job.context.budget.reserve("edges: Parquet writer", WRITER_BYTES)?;
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let kinds: Vec<String> = metadata.edge_kinds.iter().map(|kind| kind.name.clone()).collect();
    let sources = sources(&metadata, job.scratch, &strings, &kinds)?;
    write(job, STAGE.name, &TABLE, sources, metadata.edge_count)
}

/// The columns of the schema, in order.
fn sources<'a>(
    metadata: &'a Metadata,
    scratch: &Scratch,
    strings: &'a StringTable,
    kinds: &'a [String],
) -> Result<Vec<Source<'a>>, StageError> {
    let open = || Ok::<_, StageError>((reader(scratch, columns::EDGE_KIND)?, reader(scratch, columns::EDGE_NAME)?));
    let indexed = |kind: u8| metadata.edge_kinds[kind as usize].indexed;
    let mut from = From { counts: reader(scratch, columns::NODE_EDGE_COUNT)?, node: 0, left: 0 };
    let (mut kind, mut named, mut numbered) = (reader(scratch, columns::EDGE_KIND)?, open()?, open()?);
    let mut flags = reader(scratch, columns::EDGE_FLAGS)?;
    Ok(vec![
        Source::values(move |rows| Ok(array::<UInt32Type>(from.next(rows)?))),
        Source::column::<_, UInt32Type>(scratch, columns::EDGE_TO)?,
        Source::texts(Texts::Names(kinds), move |rows| Ok(read(&mut kind, rows)?.into_iter().map(u32::from).collect())),
        Source::texts(Texts::Table(strings), move |rows| {
            let (kinds, mut names) = (read(&mut named.0, rows)?, read(&mut named.1, rows)?);
            for (name, _) in names.iter_mut().zip(kinds).filter(|(_, kind)| indexed(*kind)) {
                *name = NONE;
            }
            Ok(names)
        }),
        Source::values(move |rows| {
            let (kinds, indexes) = (read(&mut numbered.0, rows)?, read(&mut numbered.1, rows)?);
            let valid = BooleanBuffer::collect_bool(rows, |row| indexed(kinds[row]));
            Ok(nullable::<UInt32Type>(indexes, valid))
        }),
        Source::values(move |rows| {
            let flags = read(&mut flags, rows)?;
            let essential = BooleanBuffer::collect_bool(rows, |row| flags[row] & edge_flags::ESSENTIAL != 0);
            Ok(Arc::new(BooleanArray::new(essential, None)))
        }),
    ])
}

fn reader<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>) -> Result<ColumnReader<T>, StageError> {
    ColumnReader::open(scratch, column)
}

/// Computes the source node of each edge from the edge counts of nodes.
struct From {
    counts: ColumnReader<u32>,
    /// One more than the current node.
    node: u32,
    left: u32,
}

impl From {
    fn next(&mut self, rows: usize) -> Result<Vec<u32>, StageError> {
        let mut sources = Vec::with_capacity(rows);
        while sources.len() < rows {
            while self.left == 0 {
                self.left = self.counts.next()?;
                self.node += 1;
            }
            let count = (rows - sources.len()).min(self.left as usize);
            sources.resize(sources.len() + count, self.node - 1);
            self.left -= count as u32;
        }
        Ok(sources)
    }
}
