//! Stage `class rows`: counts and sizes per class, without double counting.
//!
//! * Computes: per class, over its nodes of non-zero shallow size (of any size if the format requires it; without
//!   garbage): count, sums of sizes, least distance, largest retained size, and the sum of retained sizes over those
//!   nodes that no other node of the class dominates.
//! * Resident memory: some 60 bytes per class, and as much for each part under way (twice the number of threads, plus
//!   one, if the budget allows), with buffers of [`BUFFERS`].
//! * Passes over disk: one over the node columns.
//! * Worst case: linear.
//! * Fails when: the budget is too small, or a sum exceeds 64 bits.
//! * Determinism: threads sum over parts of the nodes; sums, minima and maxima do not depend on the order.
//! * Reference: Chrome DevTools, aggregates and their retained sizes.

use bytemuck::Zeroable;
use heaplake_kit::access::{column, document};
use heaplake_kit::column::BLOCK;
use heaplake_kit::{ColumnReader, ColumnWriter, Context, Job, OrderedPool, Scratch, Stage, StageError, Stats};
use heaplake_schemas::classes::ClassRow;
use heaplake_schemas::ids::{ClassId, Preorder};
use heaplake_schemas::scratch::{self as columns, Metadata, documents};
use std::cmp::Reverse;
use std::ops::Range;

/// The stage's declaration.
pub const STAGE: Stage = Stage {
    name: "class rows",
    version: 3,
    reads: &[
        document(documents::METADATA),
        column(columns::NODE_PREORDER),
        column(columns::CLASS_NAME),
        column(columns::NODE_CLASS),
        column(columns::NODE_SELF),
        column(columns::NODE_SHALLOW),
        column(columns::NODE_NATIVE).if_any(),
        column(columns::NODE_RETAINED),
        column(columns::NODE_OUTERMOST),
        column(columns::NODE_DISTANCE),
    ],
    writes: &[column(columns::CLASS_ROW)],
    fixed: 4 << 20,
    passes: "node columns once",
    run,
    ..Stage::NEW
};

/// Maximum number of threads that share the nodes.
const MOST_THREADS: usize = 16;
/// Minimum number of nodes of a part.
const LEAST_NODES: usize = 16 * BLOCK;
/// Minimum number of nodes of a part per class, so that adding up the parts costs little.
const NODES_PER_CLASS: usize = 8;
/// Bytes of the buffers of all columns in files.
const BUFFERS: u64 = 1 << 20;

/// Writes the rows of all classes with a counted node, by retained size, largest first, equals by class.
fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let metadata = &job.metadata()?;
    context.progress.begin(STAGE.name, metadata.node_count);
    let mut rows = context.budget.filled(STAGE.name, job.class_count()?, nothing())?;
    add_up(metadata, &mut rows, scratch, context)?;
    rows.retain_mut(|class, row| {
        row.class_id = class as u32;
        row.count > 0
    });
    rows.sort_unstable_by_key(|row| (Reverse(row.retained_bytes), row.class_id));
    let rows = ColumnWriter::write_all(scratch, columns::CLASS_ROW, &rows)?;
    context.progress.end();
    Ok(Stats { rows, spilled_bytes: 0 })
}

fn nothing() -> ClassRow {
    ClassRow { distance: i32::MAX, ..ClassRow::zeroed() }
}

#[derive(Default)]
struct Part {
    nodes: Range<usize>,
    rows: Vec<ClassRow>,
    failed: Option<StageError>,
}

/// Sums over all nodes, with one part per thread.
fn add_up(
    metadata: &Metadata,
    rows: &mut [ClassRow],
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let (classes, nodes) = (rows.len(), metadata.node_count as usize);
    let part_bytes = BUFFERS + size_of_val(rows) as u64;
    let pool = OrderedPool::plan(context, "class rows: parts of the nodes", MOST_THREADS, part_bytes)?;
    let mut parts = (0..nodes).step_by(LEAST_NODES.max((NODES_PER_CLASS * classes).next_multiple_of(BLOCK)));
    let mut first = parts.next();
    pool.run(
        context,
        |part: &mut Part| {
            let Some(start) = first.take() else { return Ok(false) };
            first = parts.next();
            part.nodes = start..first.unwrap_or(nodes);
            Ok(true)
        },
        || {
            |part: &mut Part| {
                part.rows.resize(classes, nothing());
                part.failed = part.add_up(metadata, scratch).err();
            }
        },
        |part| {
            part.failed.take().map_or(Ok(()), Err)?;
            for (row, part) in rows.iter_mut().zip(&mut part.rows).filter(|(_, part)| part.count > 0) {
                add_all(row, &std::mem::replace(part, nothing()))?;
            }
            context.step(part.nodes.len() as u64)
        },
    )
}

impl Part {
    fn add_up(&mut self, metadata: &Metadata, scratch: &Scratch) -> Result<(), StageError> {
        let mut members = Members::open(self.nodes.start as u64, metadata, scratch)?;
        for first in self.nodes.clone().step_by(BLOCK) {
            members.add_up(first..self.nodes.end.min(first + BLOCK), metadata, &mut self.rows)?;
        }
        Ok(())
    }
}

/// Adds a row to another one of the same class.
fn add_all(row: &mut ClassRow, other: &ClassRow) -> Result<(), StageError> {
    row.count += other.count;
    for (sum, bytes) in [
        (&mut row.self_bytes, other.self_bytes),
        (&mut row.shallow_bytes, other.shallow_bytes),
        (&mut row.native_bytes, other.native_bytes),
        (&mut row.retained_bytes, other.retained_bytes),
    ] {
        let Some(total) = sum.checked_add(bytes) else { return Err(StageError::Overflow("the size of a class")) };
        *sum = total;
    }
    row.max_retained_bytes = row.max_retained_bytes.max(other.max_retained_bytes);
    // As in DevTools, the mark for "no distance" is below every distance and wins.
    row.distance = row.distance.min(other.distance);
    Ok(())
}

struct Members {
    class: ColumnReader<ClassId>,
    self_bytes: ColumnReader<u64>,
    shallow: ColumnReader<u64>,
    native: Option<ColumnReader<u64>>,
    retained: ColumnReader<u64>,
    outermost: ColumnReader<u8>,
    distance: ColumnReader<i32>,
    /// Present if some nodes may be garbage.
    preorder: Option<ColumnReader<Preorder>>,
}

impl Members {
    /// Opens the columns at a node.
    fn open(first: u64, metadata: &Metadata, scratch: &Scratch) -> Result<Self, StageError> {
        let native = metadata.has_native.then(|| ColumnReader::open_at(scratch, columns::NODE_NATIVE, first));
        let preorder = metadata.keeps_garbage.then(|| ColumnReader::open_at(scratch, columns::NODE_PREORDER, first));
        Ok(Self {
            class: ColumnReader::open_at(scratch, columns::NODE_CLASS, first)?,
            self_bytes: ColumnReader::open_at(scratch, columns::NODE_SELF, first)?,
            shallow: ColumnReader::open_at(scratch, columns::NODE_SHALLOW, first)?,
            native: native.transpose()?,
            retained: ColumnReader::open_at(scratch, columns::NODE_RETAINED, first)?,
            outermost: ColumnReader::open_at(scratch, columns::NODE_OUTERMOST, first)?,
            distance: ColumnReader::open_at(scratch, columns::NODE_DISTANCE, first)?,
            preorder: preorder.transpose()?,
        })
    }

    /// Adds the next nodes, at most a block, to the rows of their classes.
    fn add_up(&mut self, nodes: Range<usize>, metadata: &Metadata, rows: &mut [ClassRow]) -> Result<(), StageError> {
        let count = nodes.len();
        let (class, distance) = (self.class.block(count)?, self.distance.block(count)?);
        let (own, shallow, retained) =
            (self.self_bytes.block(count)?, self.shallow.block(count)?, self.retained.block(count)?);
        let outermost = self.outermost.block(count)?;
        let native = self.native.as_mut().map(|native| native.block(count)).transpose()?;
        let order = self.preorder.as_mut().map(|order| order.block(count)).transpose()?;
        for (at, node) in nodes.enumerate() {
            let is_garbage = order.is_some_and(|order| order[at].is_none());
            if counts(metadata, node as u32, shallow[at]) && !is_garbage {
                let member = ClassRow {
                    count: 1,
                    self_bytes: own[at],
                    shallow_bytes: shallow[at],
                    native_bytes: native.map_or(0, |native| native[at]),
                    retained_bytes: if outermost[at] == 0 { 0 } else { retained[at] },
                    max_retained_bytes: retained[at],
                    distance: distance[at],
                    ..ClassRow::zeroed()
                };
                add_all(&mut rows[class[at].index()], &member)?;
            }
        }
        Ok(())
    }
}

/// Whether a node counts for its class.
#[inline]
pub(crate) fn counts(metadata: &Metadata, node: u32, size: u64) -> bool {
    size > 0 || (metadata.counts_empty && node != metadata.root.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::Budget;
    use heaplake_kit::ColumnMap;
    use heaplake_kit::stage::Silent;
    use heaplake_oracle::SplitMix64;
    use heaplake_schemas::ids::StringId;
    use heaplake_schemas::options::{AnalysisOptions, Options};
    use heaplake_schemas::scratch::Column;
    use std::sync::atomic::AtomicBool;

    fn write<T: bytemuck::Pod>(scratch: &Scratch, column: Column<T>, values: impl IntoIterator<Item = T>) {
        let mut writer = ColumnWriter::create(scratch, column).unwrap();
        values.into_iter().for_each(|value| writer.push(value).unwrap());
        writer.finish().unwrap();
    }

    #[test]
    fn parts_of_the_nodes_add_up() {
        const CLASSES: usize = 50;
        let nodes = 2 * LEAST_NODES + 777;
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(&folder.path().join("scratch")).unwrap();
        let rng = &mut SplitMix64::new(7);
        let mut rows = vec![nothing(); CLASSES];
        let members: Vec<_> = (0..nodes as u32)
            .map(|node| (rng.below(CLASSES - 1), rng.below(3) as u64, 100 - (node % 90) as i32, rng.one_in(2)))
            .collect();
        for &(class, size, distance, outermost) in members.iter().filter(|member| member.1 > 0) {
            let row = &mut rows[class];
            row.class_id = class as u32;
            row.count += 1;
            row.self_bytes += size + 1;
            row.shallow_bytes += size;
            row.retained_bytes += if outermost { size + 2 } else { 0 };
            row.max_retained_bytes = row.max_retained_bytes.max(size + 2);
            row.distance = row.distance.min(distance);
        }
        rows.retain(|row| row.count > 0);
        rows.sort_by_key(|row| (Reverse(row.retained_bytes), row.class_id));
        write(&scratch, columns::CLASS_NAME, (0..CLASSES as u32).map(StringId));
        write(&scratch, columns::NODE_CLASS, members.iter().map(|member| ClassId(member.0 as u32)));
        write(&scratch, columns::NODE_SELF, members.iter().map(|member| member.1 + 1));
        write(&scratch, columns::NODE_SHALLOW, members.iter().map(|member| member.1));
        write(&scratch, columns::NODE_RETAINED, members.iter().map(|member| member.1 + 2));
        write(&scratch, columns::NODE_OUTERMOST, members.iter().map(|member| u8::from(member.3)));
        write(&scratch, columns::NODE_DISTANCE, members.iter().map(|member| member.2));
        scratch
            .write_document(documents::METADATA, &Metadata { node_count: nodes as u64, ..Metadata::default() })
            .unwrap();
        let (cancel, options) = (AtomicBool::new(false), Options::Analysis(AnalysisOptions::default()));
        for threads in [1, 2, 5] {
            let context = Context { budget: Budget::new(32 << 20), threads, progress: &Silent, cancel: &cancel };
            (STAGE.run)(&Job::on(&scratch, &context, &options)).unwrap();
            assert_eq!(context.budget.used(), 0, "all memory is given back");
            assert_eq!(*ColumnMap::uncounted(&scratch, columns::CLASS_ROW).unwrap(), *rows, "{threads} threads");
        }
    }
}
