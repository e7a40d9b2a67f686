//! Stage `edges`: the table of edges, on request.
//!
//! * Computes: nothing.
//! * Reads: `node.edge_count`, `edge.{kind,name,to,flags}`, strings.
//! * Writes: `edges.parquet`.
//! * Resident memory: a batch of a column for each thread and what a row group holds, [`WRITER_BYTES`] at most.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: input order.
//! * Reference: the contract of [`heaplake_schemas::edges`].

use crate::source::{Source, array, nullable, read};
use crate::table::{Table, WRITER_BYTES};
use crate::text::{NONE, Texts};
use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::UInt32Type;
use heaplake_kit::{ColumnReader, Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::edges::{FILE, schema};
use heaplake_schemas::run;
use heaplake_schemas::scratch::{self as columns, Column, Facts, STRINGS, edge_flags};
use std::path::Path;
use std::sync::Arc;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "edges",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: WRITER_BYTES,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "edge columns once",
};

/// Columns of edges that it reads.
pub const READS: [&str; 4] =
    [columns::EDGE_KIND.name, columns::EDGE_NAME.name, columns::EDGE_TO.name, columns::EDGE_FLAGS.name];

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(
    facts: &Facts,
    scratch: &Scratch,
    folder: &Path,
    context: &Context<'_>,
) -> Result<(run::Table, Stats), StageError> {
    context.progress.begin(STAGE.name, facts.edge_count);
    let _writer = context.budget.reserve("edges: Parquet writer", WRITER_BYTES)?;
    let strings = StringTable::open(scratch, STRINGS)?;
    let kinds: Vec<String> = facts.edge_kinds.iter().map(|kind| kind.name.clone()).collect();
    let mut table = Table::create(folder, FILE, schema(), &facts.input_hash)?;
    let sources = sources(facts, scratch, &strings, &kinds)?;
    table.fill(sources, facts.edge_count, context)?;
    let table = table.finish()?;
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, stats))
}

/// The columns of the schema, in order.
fn sources<'a>(
    facts: &'a Facts,
    scratch: &Scratch,
    strings: &'a StringTable,
    kinds: &'a [String],
) -> Result<Vec<Source<'a>>, StageError> {
    let open = || Ok::<_, StageError>((column(scratch, columns::EDGE_KIND)?, column(scratch, columns::EDGE_NAME)?));
    let indexed = |kind: u8| facts.edge_kinds[kind as usize].indexed;
    let mut from = From { counts: column(scratch, columns::NODE_EDGE_COUNT)?, node: 0, left: 0 };
    let (mut kind, mut named, mut numbered) = (column(scratch, columns::EDGE_KIND)?, open()?, open()?);
    let mut flags = column(scratch, columns::EDGE_FLAGS)?;
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
            let holds = BooleanBuffer::collect_bool(rows, |row| flags[row] & edge_flags::ESSENTIAL != 0);
            Ok(Arc::new(BooleanArray::new(holds, None)))
        }),
    ])
}

fn column<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>) -> Result<ColumnReader<T>, StageError> {
    ColumnReader::open(scratch, column)
}

/// The source of each edge, from the number of edges of each node.
struct From {
    counts: ColumnReader<u32>,
    /// One more than the node whose edges are being handed out.
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
