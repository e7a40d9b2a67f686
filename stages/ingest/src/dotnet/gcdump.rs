//! `.gcdump`: a heap as `dotnet-gcdump` and PerfView write it.
//!
//! The file is one object, `GCHeapDump`, and begins with another one inside it, the graph: types, then the offset of
//! each node's description in the block of bytes that follows, then the addresses of the nodes. Nodes are described in
//! the order of the walk and numbered in the order of first mention, so the block is read at random; it is paged if it
//! does not fit into memory. Roots and handles are nodes, too, with types in square brackets.
//!
//! The layout is that of versions 9 and later. Larger graphs have a variant with counts of eight bytes but no mark of
//! it; such a file is refused, because its counts contradict each other.

use super::document::{self, DUMP, Walk};
use super::recorder::{DEGREE, DEPENDENTS, ROOTS, SIZE, TARGET, TYPE};
use super::types::{Types, node_kind};
use crate::names::NameWriter;
use heaplake_input::bytes::Bytes;
use heaplake_input::nettrace::payload::Type;
use heaplake_kit::access::{Size, bytes_per_edge, per_node};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{
    ArrayPlan, BudgetVec, ColumnReader, ColumnWriter, Context, Job, ReadAt, Scratch, StageError, create_all,
    finish_all, on_resident,
};
use heaplake_schemas::ids::MAX_NODES;
use heaplake_schemas::scratch::{self as columns, Column, Metadata};
use xxhash_rust::xxh3::xxh3_64;

/// First bytes of a dump.
pub(crate) const MAGIC: &[u8] = b"\x14\0\0\0!FastSerialization.1";

/// Offset of each node's description.
const LABEL: Column<u32> = Column::new("gcdump.label");
/// The descriptions.
const BLOCK: Column<u8> = Column::new("gcdump.block");

/// Estimated size of the descriptions: a few bytes per node, two or three for most references.
pub(crate) const DESCRIPTIONS: [Size; 2] = [per_node::<u32>(), bytes_per_edge(3)];
/// Size of the offsets of descriptions.
pub(crate) const PLACES: Size = per_node::<u32>();

/// Length limit of texts, bytes; longer ones are cut.
const LONGEST: usize = 1 << 16;

/// Bytes per read of the file.
const PIECE: usize = 64 << 10;

/// The oldest version of this layout.
const OLDEST: u32 = 9;

/// Tags of the container.
mod tag {
    pub(super) const NULL: u8 = 1;
    pub(super) const REFERENCE: u8 = 2;
    pub(super) const BEGIN: u8 = 4;
    pub(super) const BEGIN_PRIVATE: u8 = 5;
    pub(super) const END: u8 = 6;
    pub(super) const BYTE: u8 = 8;
}

/// Reads a dump into the columns of a walk; also returns the bytes spilled.
pub(crate) fn read(name: &str, bytes: &mut Bytes<'_>, job: &Job<'_>) -> Result<(Walk, Metadata, u64), StageError> {
    let Job { scratch, context, .. } = *job;
    let mut reader = Reader { bytes };
    reader.bytes.array::<24>("the beginning of a .gcdump")?;
    let (at, version, _) = reader.object("GCHeapDump")?;
    if version < OLDEST {
        return Err(reader.bytes.error(
            at,
            format!("a .gcdump of version {OLDEST} or later"),
            format!("version {version}"),
        ));
    }
    let (at, graph_version, least_reader) = reader.object("Graphs.MemoryGraph")?;
    if least_reader > 0 {
        let found = format!("version {graph_version} with names in other files");
        return Err(reader.bytes.error(at, "a graph that names its types", found));
    }
    let graph = reader.graph(scratch, context)?;
    let mut remarks = Vec::new();
    let captured_at_us = reader.rest(&mut remarks)?;
    let mut names = NameWriter::create(&context.budget, scratch)?;
    graph.types.write(&mut names, scratch, &context.budget)?;
    names.finish()?;
    let mut plan = ArrayPlan::of(job, "nodes of a .gcdump");
    let undescribed = graph.decode(reader.bytes, &mut plan, job)?;
    if undescribed > 0 {
        remarks.push(format!("{undescribed} nodes are referred to, but not described"));
    }
    scratch.discard(LABEL);
    scratch.discard(BLOCK);
    let metadata = document::metadata(DUMP, version.to_string(), graph.nodes, graph.root);
    let metadata = Metadata { captured_at_us, ..metadata };
    let class_count = u64::from(graph.types.count()) + 1;
    let walk = Walk { name: name.to_owned(), offset: 0, unit: 0, by_address: false, class_count, remarks };
    Ok((walk, metadata, plan.spilled_bytes()))
}

struct Reader<'a, 'b> {
    bytes: &'a mut Bytes<'b>,
}

/// The parts of the graph outside the columns.
struct Graph {
    root: u32,
    types: Types,
    /// Size of each type's objects that do not state their own.
    sizes: BudgetVec<i32>,
    nodes: u64,
    /// Offset of the block in the file.
    block: u64,
}

impl Reader<'_, '_> {
    fn i32(&mut self, what: &str) -> Result<i32, StageError> {
        self.bytes.array(what).map(i32::from_le_bytes)
    }

    fn i64(&mut self, what: &str) -> Result<i64, StageError> {
        self.bytes.array(what).map(i64::from_le_bytes)
    }

    /// Reads a count.
    fn count(&mut self, what: &str) -> Result<u32, StageError> {
        let at = self.bytes.offset();
        let count = self.i32(what)?;
        u32::try_from(count).map_err(|_| self.bytes.error(at, what, count.to_string()))
    }

    /// Reads a text, cut to the limit; `None` for a null text.
    fn text(&mut self, what: &str) -> Result<Option<String>, StageError> {
        let at = self.bytes.offset();
        let length = self.i32(what)?;
        if length == -1 {
            return Ok(None);
        }
        let Ok(mut left) = usize::try_from(length) else {
            return Err(self.bytes.error(at, what, format!("a text of {length} bytes")));
        };
        let mut text = Vec::new();
        while left > 0 {
            let piece = left.min(PIECE);
            let before = text.len();
            if self.bytes.append_to(&mut text, piece)? < piece {
                return Err(self.bytes.error(at, format!("{what} of {length} bytes"), "the end of the file"));
            }
            if before >= LONGEST {
                text.truncate(before);
            }
            left -= piece;
        }
        text.truncate(LONGEST);
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }

    /// Reads the head of an object: returns its offset, its version, and the least reader version.
    fn object(&mut self, expected: &str) -> Result<(u64, u32, u32), StageError> {
        let at = self.bytes.offset();
        let [tag] = self.bytes.array("an object")?;
        let [of_type] = self.bytes.array("the type of an object")?;
        let [kind] = self.bytes.array("the type of an object")?;
        let begins = |tag| matches!(tag, tag::BEGIN | tag::BEGIN_PRIVATE);
        if !begins(tag) || !begins(of_type) || !matches!(kind, tag::NULL | tag::REFERENCE) {
            let found = format!("{tag:02x} {of_type:02x} {kind:02x}");
            return Err(self.bytes.error(at, format!("an object of type {expected}"), found));
        }
        if kind == tag::REFERENCE {
            self.i32("the type of an object")?;
        }
        let version = self.count("the version of an object")?;
        let least_reader = self.count("the version of an object")?;
        let name = self.text("the name of a type")?.unwrap_or_default();
        let [end] = self.bytes.array("the end of a type")?;
        if name != expected || end != tag::END {
            return Err(self.bytes.error(at, format!("an object of type {expected}"), format!("{name:?}")));
        }
        Ok((at, version, least_reader))
    }

    fn graph(&mut self, scratch: &Scratch, context: &Context<'_>) -> Result<Graph, StageError> {
        self.i64("the size of all objects")?;
        let root_at = self.bytes.offset();
        let root = self.count("the number of the root")?;
        let (types, sizes) = self.types(context)?;
        let nodes = self.count("the number of nodes")?;
        if u64::from(nodes) > MAX_NODES {
            return Err(StageError::Overflow("the number of objects"));
        }
        if root >= nodes {
            let expected = format!("a root among {nodes} nodes");
            return Err(self.bytes.error(root_at, expected, format!("number {root}")));
        }
        let mut labels = ColumnWriter::create(scratch, LABEL)?;
        for _ in 0..nodes {
            labels.push(u32::from_le_bytes(self.bytes.array("where a node is described")?))?;
        }
        labels.finish()?;
        let block = self.block(scratch)?;
        let addresses_at = self.bytes.offset();
        let addresses = self.count("the number of addresses")?;
        if addresses != nodes {
            let (expected, found) = (format!("addresses of {nodes} nodes"), format!("of {addresses}"));
            return Err(self.bytes.error(addresses_at, expected, found));
        }
        let mut ids = ColumnWriter::create(scratch, columns::NODE_ID)?;
        for _ in 0..nodes {
            ids.push(u64::from_le_bytes(self.bytes.array("the address of a node")?))?;
        }
        ids.finish()?;
        Ok(Graph { root, types, sizes, nodes: nodes.into(), block })
    }

    /// Reads the types, and the sizes of their objects.
    fn types(&mut self, context: &Context<'_>) -> Result<(Types, BudgetVec<i32>), StageError> {
        let count = self.count("the number of types")?;
        let mut types = Types::new(&context.budget)?;
        let mut sizes = context.budget.growing("sizes of types");
        for id in 0..count {
            let name = self.text("the name of a type")?.unwrap_or_default();
            sizes.push(self.i32("the size of a type")?)?;
            let module = self.text("the module of a type")?.unwrap_or_default();
            let module_id = xxh3_64(module.as_bytes());
            types.module(module_id, &module, None)?;
            types.declare(Type::named(id.into(), module_id, name.clone()), kind_of(&name))?;
        }
        Ok((types, sizes))
    }

    /// Copies the descriptions; returns their offset.
    fn block(&mut self, scratch: &Scratch) -> Result<u64, StageError> {
        let at = self.bytes.offset();
        let length = self.count("the length of the nodes")? as usize;
        let start = self.bytes.offset();
        let mut block = ColumnWriter::create(scratch, BLOCK)?;
        let mut piece = Vec::new();
        let mut left = length;
        while left > 0 {
            piece.clear();
            let wanted = left.min(PIECE);
            if self.bytes.append_to(&mut piece, wanted)? < wanted {
                let found = format!("the end of the file after {}", length - left + piece.len());
                return Err(self.bytes.error(at, format!("{length} bytes of nodes"), found));
            }
            block.extend(&piece)?;
            left -= wanted;
        }
        block.finish()?;
        Ok(start)
    }

    /// Reads the rest of the file, of which only the time of the dump is used.
    fn rest(&mut self, remarks: &mut Vec<String>) -> Result<Option<i64>, StageError> {
        let at = self.bytes.offset();
        let tail: [u8; 3] = self.bytes.array("the end of the graph")?;
        if tail[0] != tag::BYTE || tail[2] != tag::END {
            return Err(self.bytes.error(at, "the end of the graph", format!("{tail:02x?}")));
        }
        self.bytes.array::<1>("the width of pointers")?;
        let part = |bytes: &mut Bytes<'_>| bytes.array("the part that the dump is of the heap").map(f32::from_le_bytes);
        let (counts, sizes) = (part(self.bytes)?, part(self.bytes)?);
        if counts != 1.0 || sizes != 1.0 {
            remarks.push(format!(
                "the dump is a sample: the heap has {counts} times the objects and {sizes} times the bytes"
            ));
        }
        let scripts: [u8; 1] = self.bytes.array("what is known of scripts")?;
        let heap: [u8; 1] = self.bytes.array("what is known of the heap")?;
        if scripts != [tag::NULL] || heap != [tag::NULL] {
            return Ok(None);
        }
        self.text("the log of the collection")?;
        // Units of 100 nanoseconds since the first day of year 1.
        const UNTIL_1970: i64 = 621_355_968_000_000_000;
        let ticks = self.i64("the time of the collection")?;
        Ok((ticks > UNTIL_1970).then(|| (ticks - UNTIL_1970) / 10))
    }
}

/// Returns the kind of a type's nodes. Types of roots have names in brackets, and so do those of COM objects.
fn kind_of(name: &str) -> u8 {
    let wrapped = name.starts_with("[RCW ") || name.starts_with("[CCW ");
    if name.starts_with('[') && !wrapped {
        node_kind::ROOT
    } else if name == "System.String" {
        node_kind::STRING
    } else if name.split(" (").next().is_some_and(|name| name.ends_with(']') && !wrapped) {
        node_kind::ARRAY
    } else {
        node_kind::OBJECT
    }
}

impl Graph {
    /// Decodes the descriptions of the nodes; returns the number of nodes without one.
    fn decode(&self, bytes: &Bytes<'_>, plan: &mut ArrayPlan<'_>, job: &Job<'_>) -> Result<u64, StageError> {
        // Leftovers of a trace that an earlier attempt read.
        job.scratch.withdraw(ROOTS)?;
        job.scratch.withdraw(DEPENDENTS)?;
        let mut block = plan.one(lookup(BLOCK))?;
        on_resident!(block => self.nodes(Cursor { block, at: 0 }, bytes, job))
    }

    fn nodes(&self, mut cursor: Cursor<impl ReadAt<u8>>, bytes: &Bytes<'_>, job: &Job<'_>) -> Result<u64, StageError> {
        let Job { scratch, context, .. } = *job;
        let length = cursor.block.count() as u64;
        let mut labels = ColumnReader::open(scratch, LABEL)?;
        let (mut types, mut sizes, mut degrees, mut targets) = create_all(scratch, (TYPE, SIZE, DEGREE, TARGET))?;
        let mut undescribed = 0;
        for node in 0..self.nodes as u32 {
            let label = labels.next()?;
            undescribed += u64::from(label == 0);
            cursor.at = label as usize;
            let defect = match self.node(node, &mut cursor, &mut targets)? {
                // Descriptions do not overlap, and a reference takes at least one byte.
                Ok(_) if targets.len() > length => "fewer references than bytes",
                Ok(Node { of_type, size, references }) => {
                    types.push(of_type)?;
                    sizes.push(size)?;
                    degrees.push(references)?;
                    context.check_every(1 << 16, node)?;
                    continue;
                }
                Err(expected) => expected,
            };
            let found = format!("something else at node {node}");
            return Err(bytes.error(self.block + u64::from(label), defect, found));
        }
        finish_all((types, sizes, degrees, targets))?;
        Ok(undescribed)
    }

    /// Reads the node at the cursor; the inner error is the missing expectation.
    fn node(
        &self,
        node: u32,
        cursor: &mut Cursor<impl ReadAt<u8>>,
        targets: &mut ColumnWriter<u64>,
    ) -> Result<Result<Node, &'static str>, StageError> {
        const INSIDE: &str = "a node inside the bytes of nodes";
        let Some(type_and_size) = cursor.number()? else { return Ok(Err(INSIDE)) };
        let Some(&of_type) = self.sizes[..].get((type_and_size >> 1) as u32 as usize) else {
            return Ok(Err("a type among those of the file"));
        };
        let size = if type_and_size & 1 == 1 { cursor.number()? } else { Some(of_type) };
        let (Some(size), Some(count)) = (size, cursor.number()?) else { return Ok(Err(INSIDE)) };
        let (Ok(size), Ok(references)) = (u64::try_from(size), u32::try_from(count)) else {
            return Ok(Err("a size and a number of references that are not negative"));
        };
        for _ in 0..references {
            let Some(step) = cursor.number()? else { return Ok(Err(INSIDE)) };
            let target = i64::from(node) + i64::from(step);
            match u64::try_from(target) {
                Ok(target) if target < self.nodes => targets.push(target)?,
                _ => return Ok(Err("references to nodes of the file")),
            }
        }
        Ok(Ok(Node { of_type: (type_and_size >> 1) as u32, size, references }))
    }
}

struct Node {
    of_type: u32,
    size: u64,
    references: u32,
}

/// Reads numbers of the block.
struct Cursor<B> {
    block: B,
    at: usize,
}

impl<B: ReadAt<u8>> Cursor<B> {
    /// Reads a signed number of seven bits per byte, the highest first; `None` at the end of the block or for an
    /// overlong number.
    fn number(&mut self) -> Result<Option<i32>, StageError> {
        let mut number = 0i32;
        for byte in 0..5 {
            if self.at >= self.block.count() {
                return Ok(None);
            }
            let bits = self.block.get(self.at)?;
            self.at += 1;
            let low = i32::from(bits & 0x7f);
            number = match byte {
                // The highest of the first seven bits is the sign.
                0 => low << 25 >> 25,
                _ => number << 7 | low,
            };
            if bits & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }
}
