//! Makes the columns of a damaged snapshot consistent.
//!
//! * A node with missing edges has fewer; edges that no node announces and edges without a target are dropped.
//! * Names outside the string table become one string, [`NAMELESS`].
//!
//! One pass over the columns of nodes and edges, in fixed buffers.

use super::edges::{Edge, Edges};
use super::header::{Header, is_indexed};
use super::salvage::Damage;
use bytemuck::Pod;
use heaplake_kit::{ColumnReader, ColumnWriter, Context, Scratch, StageError, StringWriter, create_all};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Column, Per, STRING_HASH, STRINGS};
use xxhash_rust::xxh3::xxh3_64;

/// Replaces missing strings.
pub const NAMELESS: &str = "(missing)";

/// Rows between checks for cancellation.
const PATIENCE: u64 = 1 << 16;

const NEW_COUNT: Column<u32> = Column::of("v8.repaired.edge_count", Per::Node);
const NEW_KIND: Column<u8> = Column::of("v8.repaired.edge_kind", Per::Edge);
const NEW_EDGE_NAME: Column<u32> = Column::of("v8.repaired.edge_name", Per::Edge);
const NEW_TO: Column<NodeId> = Column::of("v8.repaired.edge_to", Per::Edge);
const NEW_NAME: &str = "v8.repaired.name";

/// Repairs the columns and sets the header's number of edges; returns the number of strings. `edges` and `strings` are
/// the numbers read; `nameless` says that some name is outside the string table.
pub fn repair(
    header: &mut Header,
    (edges, strings, nameless): (u64, u64, bool),
    damage: &mut Damage,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let mut names = NameRepair { strings, lost: damage.lost_strings(), damage };
    names.of(columns::NODE_NAME, "nodes", scratch, context)?;
    header.edge_count = repair_edges(header, edges, &mut names, scratch, context)?;
    for column in [columns::FUNCTION_NAME, columns::FUNCTION_SCRIPT_NAME] {
        if scratch.has(column) {
            names.of(column, "trace_function_infos", scratch, context)?;
        }
    }
    if !nameless {
        return Ok(strings);
    }
    let mut table = StringWriter::append(scratch, STRINGS)?;
    table.push(NAMELESS.as_bytes())?;
    let mut hashes = ColumnWriter::append(scratch, STRING_HASH)?;
    hashes.push(xxh3_64(NAMELESS.as_bytes()))?;
    hashes.finish()?;
    table.finish()
}

/// Replaces names outside the string table.
struct NameRepair<'a> {
    strings: u64,
    /// Whether many strings are missing, so that single names are not reported.
    lost: bool,
    damage: &'a mut Damage,
}

impl NameRepair<'_> {
    fn valid(&mut self, name: u32, row: u64, section: &str) -> u32 {
        if u64::from(name) < self.strings {
            return name;
        }
        if self.lost {
            self.damage.nameless += 1;
        } else {
            self.damage.bad.note_name(row, section, name, self.strings);
        }
        self.strings as u32
    }

    fn of(
        &mut self,
        column: Column<StringId>,
        section: &str,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<(), StageError> {
        let mut names = ColumnReader::open(scratch, column)?;
        let renamed = Column::of(NEW_NAME, column.per);
        let mut new = ColumnWriter::create(scratch, renamed)?;
        for row in 0..names.remaining() {
            new.push(StringId(self.valid(names.next()?.0, row, section)))?;
            context.check_every(PATIENCE, row)?;
        }
        new.finish()?;
        scratch.replace(column, renamed)
    }
}

/// Distributes the edges to the nodes; returns the number kept.
fn repair_edges(
    header: &Header,
    edges: u64,
    names: &mut NameRepair<'_>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let named: Vec<bool> = header.edge_types.iter().map(|name| !is_indexed(name)).collect();
    let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
    let mut old = Edges::open(scratch)?;
    let (mut new_counts, mut new_kinds, mut new_names, mut new_targets) =
        create_all(scratch, (NEW_COUNT, NEW_KIND, NEW_EDGE_NAME, NEW_TO))?;
    let mut row = 0;
    while let Some(announced) = counts.pop()? {
        let there = (edges - row).min(announced.into()) as u32;
        names.damage.unmatched[0] += u64::from(announced - there);
        let before = new_targets.len();
        for _ in 0..there {
            let Edge { kind, name, to } = old.next()?;
            if u64::from(to.0) < header.node_count {
                let name = if named[usize::from(kind)] { names.valid(name, row, "edges") } else { name };
                new_kinds.push(kind)?;
                new_names.push(name)?;
                new_targets.push(to)?;
            }
            row += 1;
            context.check_every(PATIENCE, row)?;
        }
        new_counts.push((new_targets.len() - before) as u32)?;
    }
    names.damage.unmatched[1] += edges - row;
    replace(scratch, columns::NODE_EDGE_COUNT, NEW_COUNT, new_counts)?;
    replace(scratch, columns::EDGE_KIND, NEW_KIND, new_kinds)?;
    replace(scratch, columns::EDGE_NAME, NEW_EDGE_NAME, new_names)?;
    replace(scratch, columns::EDGE_TO, NEW_TO, new_targets)
}

/// Completes a column and substitutes it for another one; returns its length.
fn replace<T: Pod>(
    scratch: &Scratch,
    column: Column<T>,
    by: Column<T>,
    writer: ColumnWriter<T>,
) -> Result<u64, StageError> {
    let elements = writer.finish()?;
    scratch.replace(column, by)?;
    Ok(elements)
}
