//! Stage `equality of objects`: the equality graph of a Java heap, from which duplicates are found.
//!
//! * Computes: the value of each object and its slots with targets compared by value. The value is the class, all
//!   primitive fields bit by bit, the elements of a primitive array, the length of an array, and the pattern of null
//!   references. References to classes, class loaders and threads are compared by identity; so are addresses without an
//!   object. Those objects themselves and unreachable ones are never duplicates. Weak referents are ordinary fields
//!   here. Limits are written only if the dump omits elements or the words of stacks of virtual threads, or if a tool
//!   has overwritten texts.
//! * Resident memory: a bit per node; one record per repeated value (its primitive values, and a word per reference),
//!   paged if it does not fit; the classes.
//! * Passes over disk: the content twice, and edges once, in order.
//! * Worst case: linear.
//! * Fails when: the content can no longer be read; the budget is too small for the classes.
//! * Determinism: order of the dump; the hash pass only selects, the verify pass compares values.
//! * Reference: none needed.

use super::big_endian::id;
use super::dump::{Dump, FIRST};
use super::hidden::STACK_CHUNK;
use super::kinds::node_kind;
use super::layouts::{Position, Slot, Types};
use super::meanings::{Meaning, Meanings, REFERENCES, TargetReader};
use super::record::{INSTANCE, OBJECT_ARRAY, PrimitiveArray, Record};
use super::records::{Records, Visitor};
use super::references::{ROOTED, References, UNLISTED};
use super::type_cache::TypeCache;
use super::types::{DESCRIPTORS, FIELDS, STATICS};
use super::value;
use heaplake_input::bytes::MOST_PIECE;
use heaplake_kit::access::{bits_per_node, column, document, per_edge, per_node, texts};
use heaplake_kit::dedup::{HashPass, Records as Values};
use heaplake_kit::{
    Bitset, BudgetVec, ColumnReader, ColumnWriter, Context, Job, Scratch, Stage, StageError, Stats, StringTable,
    finish_all, open_all,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::options::AnalysisOptions;
use heaplake_schemas::scratch::{self as columns, Column, Per, STRINGS, documents, limits};

/// Declaration of the stage.
pub(crate) const STAGE: Stage = Stage {
    name: "equality of objects",
    version: 5,
    when: |setting| setting.duplicates(),
    reads: &[
        document(documents::METADATA),
        Dump::DOCUMENT,
        Dump::CONTENT,
        column(DESCRIPTORS),
        column(FIELDS),
        column(STATICS),
        column(ROOTED),
        column(UNLISTED),
        column(columns::ESSENTIAL_DEGREE),
        column(columns::ESSENTIAL_TO),
        column(columns::NODE_KIND),
        column(columns::NODE_CLASS),
        column(columns::NODE_PREORDER),
        texts(STRINGS),
    ],
    writes: &[
        column(columns::EQUAL_VALUE),
        column(columns::EQUAL_DEGREE),
        column(columns::EQUAL_TO).when(|setting| setting.analysis(AnalysisOptions::looks_into_references)),
        column(columns::EQUAL_LIMITS).if_any(),
        column(RECORDS),
    ],
    // A record per repeated value.
    arrays: &[&[per_node::<[u64; 4]>()]],
    least: &[bits_per_node(2)],
    fixed: 24 << 20,
    // Hashes and lengths of records, and meanings of references.
    shares: true,
    temporary: &[per_node::<[u32; 3]>(), per_node::<u32>(), per_edge::<u8>()],
    passes: "input twice, edges once",
    run,
    ..Stage::NEW
};

/// Objects of these classes and their subclasses are compared by identity.
const OPAQUE: [&str; 3] = ["java.lang.Class", "java.lang.ClassLoader", "java.lang.Thread"];

/// Offset of each object's record in the content; 0 for objects compared by identity.
pub(super) const RECORDS: Column<u64> = Column::of("jvm.record", Per::Node);

/// Bytes of a long array per read; a multiple of a word.
const PIECE: u64 = 1 << 14;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let dump = Dump::load(job.scratch)?;
    job.context.progress.begin(STAGE.name, 2 * dump.content_bytes);
    let types = Types::load(&dump, job)?;
    let metadata = job.metadata()?;
    let nodes = metadata.node_count;
    let strings = StringTable::open(job.scratch, STRINGS)?;
    let opaque = survey(&types, &strings, nodes as usize, job)?;
    let stack = types.named(STACK_CHUNK, &strings);
    let looks = Looks { types, opaque, stack, is_sanitized: metadata.is_sanitized, nodes: nodes as u32 };
    let spilled_bytes = match dump.id_bytes {
        4 => all::<4>(&dump, &looks, job)?,
        _ => all::<8>(&dump, &looks, job)?,
    };
    Ok(Stats { rows: nodes, spilled_bytes })
}

/// Returns the objects that are compared by identity.
fn survey(types: &Types, strings: &StringTable, nodes: usize, job: &Job<'_>) -> Result<Bitset, StageError> {
    let Job { scratch, context, .. } = *job;
    let tops: Vec<usize> = OPAQUE.iter().filter_map(|name| types.named(name, strings)).collect();
    let special: BudgetVec<bool> = types.extending(&tops, context)?;
    let mut opaque = Bitset::new(&context.budget, "nodes compared by identity", nodes)?;
    let (mut kinds, mut of, mut numbers) =
        open_all(scratch, (columns::NODE_KIND, columns::NODE_CLASS, columns::NODE_PREORDER))?;
    for node in 0..nodes {
        let (kind, class, number) = (kinds.next()?, of.next()?, numbers.next()?);
        // Classes without an entry are synthetic, for objects with a class missing from the dump.
        let known =
            special[..].get(class.index()).is_some_and(|special| !special) || kind == node_kind::PRIMITIVE_ARRAY;
        if node < FIRST as usize || kind == node_kind::CLASS || number.is_none() || !known {
            opaque.insert(node);
        }
    }
    Ok(opaque)
}

/// Inputs of both passes.
struct Looks {
    types: Types,
    opaque: Bitset,
    /// Class of stack chunks of virtual threads.
    stack: Option<Position>,
    /// Whether the contents of byte and character arrays were overwritten.
    is_sanitized: bool,
    nodes: u32,
}

/// Runs both passes; returns the bytes spilled.
fn all<const ID: usize>(dump: &Dump, looks: &Looks, job: &Job<'_>) -> Result<u64, StageError> {
    let Job { scratch, context, .. } = *job;
    let looks_into_references = job.setting.looks_into_references();
    let slots = Slots {
        degrees: ColumnWriter::create(scratch, columns::EQUAL_DEGREE)?,
        to: looks_into_references.then(|| ColumnWriter::create(scratch, columns::EQUAL_TO)).transpose()?,
        missing: ColumnWriter::create(scratch, columns::EQUAL_LIMITS)?,
        any_missing: false,
        records: ColumnWriter::create(scratch, RECORDS)?,
    };
    let hashes = HashPass::new(looks.nodes, scratch, &context.budget)?;
    let found = TargetReader::new(References::open(scratch, context)?, &looks.opaque, scratch)?;
    let (hashes, slots, found) = each::<ID, _, _, _>(dump, looks, hashes, slots, found, context)?;
    slots.finish(scratch)?;
    found.finish()?;
    let verify = hashes.finish(0, context)?;
    let values = ColumnWriter::create(scratch, columns::EQUAL_VALUE)?;
    let meanings = ColumnReader::open(scratch, REFERENCES)?;
    let (verify, values, _) = each::<ID, _, _, _>(dump, looks, verify, values, meanings, context)?;
    scratch.discard(REFERENCES);
    values.finish()?;
    Ok(verify.finish(scratch))
}

/// Visits the objects once.
fn each<const ID: usize, V: Values, O: Outcome, M: Meanings>(
    dump: &Dump,
    looks: &Looks,
    values: V,
    outcome: O,
    meanings: M,
    context: &Context<'_>,
) -> Result<(V, O, M), StageError> {
    let nodes = looks.nodes;
    let cache = TypeCache::new();
    let mut objects = Objects { looks, values, outcome, meanings, cache, node: 0, nodes, degree: 0 };
    (0..FIRST).try_for_each(|_| objects.identity())?;
    Records::<ID>::open(dump, context)?.visit(&mut objects)?;
    Ok((objects.values, objects.outcome, objects.meanings))
}

/// Results that a pass keeps per object.
trait Outcome {
    /// Adds the target of a slot that is compared by value.
    fn followed(&mut self, _to: NodeId) -> Result<(), StageError> {
        Ok(())
    }

    /// Completes an object.
    fn object(&mut self, object: &Object) -> Result<(), StageError>;
}

/// An object at its end.
struct Object {
    /// The first object with its value, as far as this pass knows.
    value: u32,
    /// Number of slots with targets compared by value.
    degree: u32,
    /// Flags of the contents that the dump omits.
    missing: u8,
    /// Offset of its record; 0 for objects compared by identity.
    record: u64,
}

/// Result of the first pass: everything but the values.
struct Slots {
    degrees: ColumnWriter<u32>,
    to: Option<ColumnWriter<NodeId>>,
    missing: ColumnWriter<u8>,
    any_missing: bool,
    records: ColumnWriter<u64>,
}

impl Slots {
    fn finish(self, scratch: &Scratch) -> Result<(), StageError> {
        finish_all((self.degrees, self.to))?;
        finish_all((self.missing, self.records))?;
        if !self.any_missing {
            scratch.withdraw(columns::EQUAL_LIMITS)?;
        }
        Ok(())
    }
}

impl Outcome for Slots {
    fn followed(&mut self, to: NodeId) -> Result<(), StageError> {
        self.to.iter_mut().try_for_each(|column| column.push(to))
    }

    fn object(&mut self, object: &Object) -> Result<(), StageError> {
        self.degrees.push(object.degree)?;
        self.any_missing |= object.missing != 0;
        self.missing.push(object.missing)?;
        self.records.push(object.record)
    }
}

/// Result of the second pass: the values.
impl Outcome for ColumnWriter<NodeId> {
    fn object(&mut self, object: &Object) -> Result<(), StageError> {
        self.push(NodeId(object.value))
    }
}

/// Visits the objects in order.
struct Objects<'a, V, O, M> {
    looks: &'a Looks,
    values: V,
    outcome: O,
    meanings: M,
    cache: TypeCache,
    /// The next node.
    node: u32,
    nodes: u32,
    /// Its slots so far with targets compared by value.
    degree: u32,
}

impl<V: Values, O: Outcome, M: Meanings> Objects<'_, V, O, M> {
    /// Completes the current object as one that is compared by identity or has a unique value.
    fn identity(&mut self) -> Result<(), StageError> {
        self.outcome.object(&Object { value: self.node, degree: 0, missing: 0, record: 0 })?;
        self.node += 1;
        Ok(())
    }

    /// Completes the current object; `record` is the offset of its record.
    fn end(&mut self, record: u64, missing: u8) -> Result<(), StageError> {
        let degree = std::mem::take(&mut self.degree);
        self.outcome.object(&Object { value: self.values.end()?, degree, missing, record })?;
        self.node += 1;
        Ok(())
    }

    /// Begins an object without references; returns whether its content is needed.
    fn begin(&mut self) -> Result<bool, StageError> {
        Ok(!self.looks.opaque.contains(self.node as usize) && self.values.begin(self.node)?)
    }

    /// Begins an object of this class with this number of references; returns whether its content is needed.
    fn begin_of(&mut self, class: Position, references: u64) -> Result<bool, StageError> {
        if self.looks.opaque.contains(self.node as usize) {
            return Ok(false);
        }
        let wanted = self.values.begin(self.node)?;
        if wanted {
            self.meanings.object(self.node, class)?;
        } else {
            self.meanings.skip(references)?;
        }
        Ok(wanted)
    }

    /// Adds a reference to the value.
    #[inline]
    fn reference(&mut self, address: u64) -> Result<(), StageError> {
        let (meaning, to) = self.meanings.next(address)?;
        self.values.word(meaning as u64)?;
        match meaning {
            Meaning::Null => Ok(()),
            // Another address is another target.
            Meaning::Gone | Meaning::Identity => self.values.word(address),
            Meaning::Followed => {
                self.degree += 1;
                self.outcome.followed(to)
            }
        }
    }

    /// Adds bytes to the value; earlier words determine their number.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().try_for_each(|word| self.values.word(u64::from_le_bytes(*word)))?;
        if rest.is_empty() {
            return Ok(());
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.values.word(u64::from_le_bytes(last))
    }
}

/// Returns how many references of a layout lie inside a body of `length` bytes.
fn inside<const ID: usize>(slots: &[Slot], length: u32) -> usize {
    slots.partition_point(|slot| slot.at as usize + ID <= length as usize)
}

impl<const ID: usize, V: Values, O: Outcome, M: Meanings> Visitor<ID> for Objects<'_, V, O, M> {
    fn instance(&mut self, _id: u64, class: u64, length: u32, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        let types = &self.looks.types;
        let position = self.cache.position(class, |id| types.position(id)).filter(|_| length as usize <= MOST_PIECE);
        let Some(position) = position else {
            records.cursor.skip(length.into())?;
            return self.identity();
        };
        let layout = types.layout(position);
        let mut slots = types.slots(layout);
        // Only a damaged dump has instances shorter than their fields.
        if layout.body > length {
            slots = &slots[..inside::<ID>(slots, length)];
        }
        if !self.begin_of(position, slots.len() as u64)? {
            records.cursor.skip(length.into())?;
            return self.identity();
        }
        let body = records.cursor.take(length as usize)?;
        self.values.word(u64::from(INSTANCE) << 32 | u64::from(length))?;
        self.values.word(class)?;
        let mut end = 0;
        for slot in slots {
            let at = slot.at as usize;
            self.bytes(&body[end..at])?;
            self.reference(id::<ID>(body, at))?;
            end = at + ID;
        }
        self.bytes(&body[end..])?;
        self.end(records.start, if self.looks.stack == Some(position) { limits::STACK } else { 0 })
    }

    fn object_array(
        &mut self,
        _id: u64,
        class: u64,
        length: u32,
        records: &mut Records<'_, ID>,
    ) -> Result<(), StageError> {
        let mut left = u64::from(length) * ID as u64;
        let types = &self.looks.types;
        let position = self.cache.position(class, |id| types.position(id));
        let wanted = position.map_or(Ok(false), |position| self.begin_of(position, length.into()))?;
        if !wanted {
            records.cursor.skip(left)?;
            return self.identity();
        }
        self.values.word(u64::from(OBJECT_ARRAY) << 32 | u64::from(length))?;
        self.values.word(class)?;
        while left > 0 {
            let piece = records.cursor.some(ID, left)?;
            piece.chunks_exact(ID).try_for_each(|element| self.reference(id::<ID>(element, 0)))?;
            left -= piece.len() as u64;
        }
        self.end(records.start, 0)
    }

    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        if !self.begin()? {
            records.cursor.skip(array.bytes)?;
            return self.identity();
        }
        self.values.word(u64::from(array.element) << 32 | u64::from(array.length))?;
        // Android's runtime omits elements; then there is nothing to compare.
        self.values.word(array.bytes)?;
        let mut left = array.bytes;
        while left > 0 {
            // The words must not depend on how the bytes are cut into pieces.
            let piece = records.cursor.take(left.min(PIECE) as usize)?;
            self.bytes(piece)?;
            left -= piece.len() as u64;
        }
        let is_overwritten = self.looks.is_sanitized && matches!(array.element, value::BYTE | value::CHAR);
        let is_missing = array.length > 0 && (array.bytes == 0 || is_overwritten);
        self.end(records.start, if is_missing { limits::CONTENTS } else { 0 })
    }

    fn other(&mut self, record: Record, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        records.skip(&record)?;
        match record {
            Record::Class { .. } => self.identity(),
            _ => Ok(()),
        }
    }

    fn is_done(&self) -> bool {
        self.node >= self.nodes
    }
}
