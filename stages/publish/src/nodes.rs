//! Stage `nodes`: the table of nodes.
//!
//! * Computes: totals over all nodes, on the way.
//! * Reads: all `node.*` columns, `location.*`, `class.name`, strings.
//! * Writes: `nodes.parquet`.
//! * Resident memory: one batch of rows and what the Parquet writer holds of a row group, [`WRITER_BYTES`] at most.
//! * Passes over disk: one.
//! * Worst case: linear.
//! * Fails when: the disk is full, or a sum leaves 64 bits.
//! * Determinism: input order.
//! * Reference: the contract of [`heaplake_schemas::nodes`].

use crate::table::{self, BATCH, Table, WRITER_BYTES};
use arrow::array::{
    ArrayRef, BooleanArray, Int32Array, StringArray, UInt8Array, UInt32Array, UInt64Array, new_null_array,
};
use arrow::datatypes::{DataType, UInt32Type, UInt64Type};
use heaplake_kit::{ColumnMap, ColumnReader, Context, Scratch, StageError, StageInfo, Stats, StringTable};
use heaplake_schemas::ids::{ClassId, NodeId, Preorder, StringId};
use heaplake_schemas::nodes::{FILE, schema};
use heaplake_schemas::run;
use heaplake_schemas::scratch::{self as columns, Facts, NO_DISTANCE, STRINGS};
use std::path::Path;
use std::sync::Arc;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "nodes",
    version: 1,
    bytes_per_node: 0,
    bytes_per_edge: 0,
    least_bits_per_node: 0,
    least_fixed: WRITER_BYTES,
    scratch_per_node: 0,
    scratch_per_edge: 0,
    passes: "node columns once",
};

/// Sums over all nodes; sizes in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Shallow sizes of all nodes.
    pub shallow_bytes: u64,
    /// Native sizes of all nodes.
    pub native_bytes: u64,
    /// Reachable nodes.
    pub reachable_count: u64,
    /// Their shallow sizes.
    pub reachable_bytes: u64,
    /// Detached DOM nodes.
    pub detached_count: u64,
}

/// Writes the table.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Overflow`], [`StageError::Cancelled`].
pub fn run(
    facts: &Facts,
    scratch: &Scratch,
    folder: &Path,
    context: &Context<'_>,
) -> Result<(run::Table, Totals, Stats), StageError> {
    context.progress.begin(STAGE.name, facts.node_count);
    let _writer = context.budget.reserve("nodes: Parquet writer", WRITER_BYTES)?;
    let mut table = Table::create(folder, FILE, schema(), &facts.input_hash)?;
    let mut rows = Rows::open(facts, scratch)?;
    let mut next = 0;
    while next < facts.node_count {
        let count = (facts.node_count - next).min(BATCH as u64) as usize;
        let columns = rows.batch(next as u32, count)?;
        table.write_with_texts(&columns, &[("class", &rows.strings), ("name", &rows.strings)])?;
        next += count as u64;
        context.step(count as u64)?;
    }
    let (table, totals) = (table.finish()?, rows.totals);
    context.progress.end();
    let stats = Stats { rows: table.rows, spilled_bytes: 0 };
    Ok((table, totals, stats))
}

/// All columns, read front to back.
struct Rows<'a> {
    facts: &'a Facts,
    strings: StringTable,
    class_names: ColumnMap<StringId>,
    id: ColumnReader<u64>,
    kind: ColumnReader<u8>,
    class: ColumnReader<ClassId>,
    name: ColumnReader<StringId>,
    self_bytes: ColumnReader<u64>,
    shallow: ColumnReader<u64>,
    native: Option<ColumnReader<u64>>,
    retained: ColumnReader<u64>,
    retained_native: Option<ColumnReader<u64>>,
    distance: ColumnReader<i32>,
    dominator: ColumnReader<NodeId>,
    preorder: ColumnReader<Preorder>,
    edge_count: ColumnReader<u32>,
    retainer_count: ColumnReader<u32>,
    detached: ColumnReader<u8>,
    trace: Option<ColumnReader<u32>>,
    locations: Locations,
    totals: Totals,
}

impl<'a> Rows<'a> {
    fn open(facts: &'a Facts, scratch: &Scratch) -> Result<Self, StageError> {
        let native = |column| facts.has_native.then(|| ColumnReader::open(scratch, column)).transpose();
        Ok(Self {
            facts,
            strings: StringTable::open(scratch, STRINGS)?,
            class_names: ColumnMap::open(scratch, columns::CLASS_NAME, None)?,
            id: ColumnReader::open(scratch, columns::NODE_ID)?,
            kind: ColumnReader::open(scratch, columns::NODE_KIND)?,
            class: ColumnReader::open(scratch, columns::NODE_CLASS)?,
            name: ColumnReader::open(scratch, columns::NODE_NAME)?,
            self_bytes: ColumnReader::open(scratch, columns::NODE_SELF)?,
            shallow: ColumnReader::open(scratch, columns::NODE_SHALLOW)?,
            native: native(columns::NODE_NATIVE)?,
            retained: ColumnReader::open(scratch, columns::NODE_RETAINED)?,
            retained_native: native(columns::NODE_RETAINED_NATIVE)?,
            distance: ColumnReader::open(scratch, columns::NODE_DISTANCE)?,
            dominator: ColumnReader::open(scratch, columns::NODE_DOMINATOR)?,
            preorder: ColumnReader::open(scratch, columns::NODE_PREORDER)?,
            edge_count: ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?,
            retainer_count: ColumnReader::open(scratch, columns::NODE_RETAINER_COUNT)?,
            detached: ColumnReader::open(scratch, columns::NODE_DETACHED)?,
            trace: facts.has_trace_nodes.then(|| ColumnReader::open(scratch, columns::NODE_TRACE)).transpose()?,
            locations: Locations::open(scratch)?,
            totals: Totals::default(),
        })
    }

    /// The next rows, from node `first` on, in the order of the schema; positions of strings in place of texts.
    fn batch(&mut self, first: u32, rows: usize) -> Result<Vec<ArrayRef>, StageError> {
        let classes = read(&mut self.class, rows)?;
        let names = read(&mut self.name, rows)?;
        let shallow = read(&mut self.shallow, rows)?;
        let native = self.native.as_mut().map(|column| read(column, rows)).transpose()?;
        let detached = read(&mut self.detached, rows)?;
        let reachable = self.reachable(rows)?;
        self.add_up(&shallow, native.as_deref(), &reachable, &detached)?;
        let class_names = UInt32Array::from_iter(classes.iter().map(|class| self.class_names[class.index()].get()));
        let place = self.locations.batch(first, rows)?;
        let distance = read(&mut self.distance, rows)?;
        Ok(vec![
            Arc::new(UInt32Array::from_iter_values(first..first + rows as u32)),
            table::numbers::<_, UInt64Type>(&mut self.id, rows)?,
            self.kinds(rows)?,
            Arc::new(class_names),
            Arc::new(UInt32Array::from_iter_values(classes.iter().map(|class| class.0))),
            Arc::new(UInt32Array::from_iter(names.iter().map(|name| name.get()))),
            table::numbers::<_, UInt64Type>(&mut self.self_bytes, rows)?,
            Arc::new(UInt64Array::from(shallow)),
            optional(native, rows),
            table::numbers::<_, UInt64Type>(&mut self.retained, rows)?,
            optional(self.retained_native.as_mut().map(|column| read(column, rows)).transpose()?, rows),
            Arc::new(Int32Array::from_iter(distance.iter().map(|&far| Some(far).filter(|&far| far != NO_DISTANCE)))),
            table::numbers::<_, UInt32Type>(&mut self.dominator, rows)?,
            Arc::new(reachable),
            table::numbers::<_, UInt32Type>(&mut self.edge_count, rows)?,
            table::numbers::<_, UInt32Type>(&mut self.retainer_count, rows)?,
            Arc::new(UInt8Array::from(detached)),
            match &mut self.trace {
                Some(trace) => table::numbers::<_, UInt32Type>(trace, rows)?,
                None => new_null_array(&DataType::UInt32, rows),
            },
            place[0].clone(),
            place[1].clone(),
            place[2].clone(),
            new_null_array(&DataType::UInt32, rows),
        ])
    }

    fn kinds(&mut self, rows: usize) -> Result<ArrayRef, StageError> {
        let kinds = read(&mut self.kind, rows)?;
        let names = kinds.iter().map(|&kind| self.facts.node_kinds[kind as usize].as_str());
        Ok(Arc::new(StringArray::from_iter_values(names)))
    }

    /// Where a format keeps garbage, what the search from the root found; elsewhere everything.
    fn reachable(&mut self, rows: usize) -> Result<BooleanArray, StageError> {
        let numbers = read(&mut self.preorder, rows)?;
        let all = !self.facts.keeps_garbage;
        Ok(BooleanArray::from_iter(numbers.iter().map(|number| Some(all || !number.is_none()))))
    }

    fn add_up(
        &mut self,
        shallow: &[u64],
        native: Option<&[u64]>,
        reachable: &BooleanArray,
        detached: &[u8],
    ) -> Result<(), StageError> {
        let totals = &mut self.totals;
        let add = |sum: &mut u64, bytes: u64| {
            *sum = sum.checked_add(bytes).ok_or(StageError::Overflow("the size of the heap"))?;
            Ok::<(), StageError>(())
        };
        shallow.iter().try_for_each(|&bytes| add(&mut totals.shallow_bytes, bytes))?;
        native.unwrap_or_default().iter().try_for_each(|&bytes| add(&mut totals.native_bytes, bytes))?;
        for (&bytes, _) in shallow.iter().zip(reachable.values()).filter(|(_, reachable)| *reachable) {
            totals.reachable_count += 1;
            totals.reachable_bytes += bytes;
        }
        totals.detached_count += detached.iter().filter(|&&state| state == 2).count() as u64;
        Ok(())
    }
}

fn read<T: bytemuck::Pod>(column: &mut ColumnReader<T>, rows: usize) -> Result<Vec<T>, StageError> {
    let mut values = vec![T::zeroed(); rows];
    column.read_into(&mut values)?;
    Ok(values)
}

fn optional(values: Option<Vec<u64>>, rows: usize) -> ArrayRef {
    match values {
        Some(values) => Arc::new(UInt64Array::from(values)),
        None => new_null_array(&DataType::UInt64, rows),
    }
}

/// Source locations, spread over the nodes that have one.
struct Locations {
    node: ColumnReader<NodeId>,
    places: [ColumnReader<u32>; 3],
    next: Option<(NodeId, [u32; 3])>,
}

impl Locations {
    fn open(scratch: &Scratch) -> Result<Self, StageError> {
        let mut locations = Self {
            node: ColumnReader::open(scratch, columns::LOCATION_NODE)?,
            places: [
                ColumnReader::open(scratch, columns::LOCATION_SCRIPT)?,
                ColumnReader::open(scratch, columns::LOCATION_LINE)?,
                ColumnReader::open(scratch, columns::LOCATION_COLUMN)?,
            ],
            next: None,
        };
        locations.advance()?;
        Ok(locations)
    }

    fn advance(&mut self) -> Result<(), StageError> {
        self.next = None;
        if self.node.remaining() > 0 {
            let [script, line, column] = &mut self.places;
            self.next = Some((self.node.next()?, [script.next()?, line.next()?, column.next()?]));
        }
        Ok(())
    }

    /// Script, line and column of the nodes from `first` on.
    fn batch(&mut self, first: u32, rows: usize) -> Result<[ArrayRef; 3], StageError> {
        let mut places: [Vec<Option<u32>>; 3] = std::array::from_fn(|_| vec![None; rows]);
        while let Some((node, place)) = self.next {
            let row = (node.0 - first) as usize;
            if row >= rows {
                break;
            }
            for (column, value) in places.iter_mut().zip(place) {
                column[row] = Some(value);
            }
            self.advance()?;
        }
        Ok(places.map(|column| Arc::new(UInt32Array::from(column)) as ArrayRef))
    }
}
