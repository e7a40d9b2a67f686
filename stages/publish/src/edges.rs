//! Stage `edges`: the table of edges, on request.
//!
//! * Computes: nothing.
//! * Reads: `node.edge_count`, `edge.{kind,name,to,flags}`, strings.
//! * Writes: `edges.parquet`.
//! * Resident memory: one batch of rows and what the Parquet writer holds of a row group, [`WRITER_BYTES`] at most.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full.
//! * Determinism: input order.
//! * Reference: the contract of [`heaplake_schemas::edges`].

use crate::table::{self, BATCH, Table, WRITER_BYTES};
use arrow::array::{ArrayRef, BooleanArray, StringArray, UInt32Array};
use arrow::datatypes::UInt32Type;
use heaplake_kit::{ColumnReader, Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::edges::{FILE, schema};
use heaplake_schemas::run;
use heaplake_schemas::scratch::{self as columns, Facts, STRINGS, edge_flags};
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
    let mut table = Table::create(folder, FILE, schema(), &facts.input_hash)?;
    let strings = StringTable::open(scratch, STRINGS)?;
    let mut sources = Sources { counts: ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?, node: 0, left: 0 };
    let mut kinds = ColumnReader::open(scratch, columns::EDGE_KIND)?;
    let mut names = ColumnReader::open(scratch, columns::EDGE_NAME)?;
    let mut targets = ColumnReader::open(scratch, columns::EDGE_TO)?;
    let mut flags = ColumnReader::open(scratch, columns::EDGE_FLAGS)?;
    while targets.remaining() > 0 {
        let rows = targets.remaining().min(BATCH as u64) as usize;
        let (mut kind, mut name, mut flag) = (vec![0; rows], vec![0; rows], vec![0; rows]);
        kinds.read_into(&mut kind)?;
        names.read_into(&mut name)?;
        flags.read_into(&mut flag)?;
        let kind_of = |row: usize| &facts.edge_kinds[kind[row] as usize];
        let named = (0..rows).map(|row| Some(name[row]).filter(|_| !kind_of(row).indexed));
        let indexes = (0..rows).map(|row| Some(name[row]).filter(|_| kind_of(row).indexed));
        let columns: [ArrayRef; 6] = [
            Arc::new(UInt32Array::from(sources.next(rows)?)),
            table::numbers::<_, UInt32Type>(&mut targets, rows)?,
            Arc::new(StringArray::from_iter_values((0..rows).map(|row| kind_of(row).name.as_str()))),
            Arc::new(UInt32Array::from_iter(named)),
            Arc::new(UInt32Array::from_iter(indexes)),
            Arc::new(BooleanArray::from_iter(flag.iter().map(|&flag| Some(flag & edge_flags::HOLDS != 0)))),
        ];
        table.write_with_texts(&columns, &[("name", &strings)])?;
        context.step(rows as u64)?;
    }
    let table = table.finish()?;
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, stats))
}

/// The source of each edge, from the number of edges of each node.
struct Sources {
    counts: ColumnReader<u32>,
    /// One more than the node whose edges are being handed out.
    node: u32,
    left: u32,
}

impl Sources {
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
