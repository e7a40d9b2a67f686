//! Stage `equality of objects`: the equality graph of a Java heap, by which duplicates are found.
//!
//! * Computes: for each object its value and the slots whose targets are looked into. The value is the class, every
//!   primitive field bit by bit, the elements of an array of primitive values, the length of an array, and which references
//!   are null. References to classes, class loaders and threads are compared by identity; so are addresses at which the
//!   dump has no object. Those objects themselves, and what the root does not hold, are no duplicates of anything. Weak
//!   referents are ordinary fields here.
//! * Reads: the content of the dump, once more; classes; `node.{id,kind,class,preorder}`.
//! * Writes: `equal.{value,degree}`, `equal.to` where references are to be looked into, `equal.limits` where the dump
//!   leaves out elements, and where the records of objects begin.
//! * Resident memory: the index as in `link`; a bit, names 12 to 24 and offsets 8 bytes per node, where the budget allows,
//!   paged where not; the classes; some pages of the content.
//! * Passes over disk: the content once in order; objects with a value that occurred before and those that have it, at
//!   random.
//! * Worst case: linear.
//! * Fails when: the content cannot be read any more; the budget is too small for the classes.
//! * Determinism: order of the dump; hashes only propose, comparison decides.
//! * Reference: none needed.

use super::classes::{Classes, Layout};
use super::kinds::node_kind;
use super::link::lay_out;
use super::records::{PrimitiveArray, Record, Records, Visitor, header, id, u32_at, value};
use super::texts::Content;
use super::{Dump, FIRST, HINT};
use crate::index::Index;
use crate::jvm::cursor::{Cursor, MOST_PIECE};
use crate::source::Source;
use heaplake_kit::naming::{Names, mix};
use heaplake_kit::{
    Array, Bitset, BudgetVec, ColumnReader, ColumnWriter, Context, Fetch, Room, Scratch, StageError, StageInfo, Stats,
    Store,
};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::run::Options;
use heaplake_schemas::scratch::{self as columns, Column, STRINGS, limits};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "equality of objects",
    version: 2,
    bytes_per_node: 34,
    bytes_per_edge: 0,
    least_bits_per_node: 1,
    least_fixed: 24 << 20,
    scratch_per_node: 17,
    scratch_per_edge: 4,
    passes: "input once",
};

/// Objects of these classes, or below them, are compared by identity.
const OPAQUE: [&str; 3] = ["java.lang.Class", "java.lang.ClassLoader", "java.lang.Thread"];

/// Tags of the records of objects.
pub(super) const INSTANCE: u8 = 0x21;
pub(super) const OBJECT_ARRAY: u8 = 0x22;

/// Where the record of each object begins in the content; 0 for what is compared by identity.
pub(super) const RECORDS: Column<u64> = Column::new("jvm.record");

/// Bytes of a long array that are compared at a time; a multiple of all widths.
const PIECE: u64 = 1 << 14;

/// Writes the equality graph.
///
/// # Errors
/// [`StageError::Input`], [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let dump = Dump::load(scratch)?;
    context.progress.begin(STAGE.name, dump.content_bytes);
    let classes = lay_out(&dump, scratch, context)?;
    let nodes = dump.facts.node_count;
    let (opaque, many) = survey(&classes, nodes as usize, scratch, context)?;
    let capacity = Names::<Array<u64>>::capacity(many);
    let (index, spilled) = Index::build(FIRST, dump.unit, capacity as u64 * 8 + nodes, scratch, context)?;
    // The stage `link` has seen that addresses are unique.
    let Ok(index) = index else {
        let problem = "two objects have one address".to_owned();
        return Err(StageError::Scratch { path: scratch.path(columns::NODE_ID), problem });
    };
    let content = Content::open(&dump, context)?;
    let mut room = Room::plan(&context.budget, scratch, STAGE.name, &[capacity as u64 * 8, nodes * 8]);
    let names = Names::new(room.array(capacity, 0u64)?);
    let looks = Looks { classes, index, opaque, content, offsets: room.array(nodes as usize, 0)? };
    match dump.id_bytes {
        4 => all::<4>(&dump, looks, names, scratch, context)?,
        _ => all::<8>(&dump, looks, names, scratch, context)?,
    }
    context.progress.end();
    Ok(Stats { rows: nodes, spilled_bytes: spilled + room.spilled_bytes() })
}

/// The objects that are compared by identity, and how many are not.
fn survey(
    classes: &Classes,
    nodes: usize,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(Bitset, u64), StageError> {
    let strings = heaplake_kit::StringTable::open(scratch, STRINGS)?;
    let tops: Vec<usize> = OPAQUE.iter().filter_map(|name| classes.named(name, &strings)).collect();
    let special: BudgetVec<bool> = classes.extending(&tops, context)?;
    let mut opaque = Bitset::new(&context.budget, "nodes compared by identity", nodes)?;
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut of = ColumnReader::open(scratch, columns::NODE_CLASS)?;
    let mut numbers = ColumnReader::open(scratch, columns::NODE_PREORDER)?;
    let mut many = 0;
    for node in 0..nodes {
        let (kind, class, number) = (kinds.next()?, of.next()?, numbers.next()?);
        // Classes without an entry are made up for objects whose own class is not in the dump.
        let known =
            special[..].get(class.index()).is_some_and(|special| !special) || kind == node_kind::PRIMITIVE_ARRAY;
        if node < FIRST as usize || kind == node_kind::CLASS || number.is_none() || !known {
            opaque.insert(node);
        } else {
            many += 1;
        }
    }
    Ok((opaque, many))
}

/// What references and contents are looked up in.
struct Looks {
    classes: Classes,
    index: Index,
    opaque: Bitset,
    content: Content,
    /// Where the records of the objects so far begin.
    offsets: Array<u64>,
}

/// What a reference means for the equality of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Null,
    /// Nothing is there.
    Gone(u64),
    /// The target is compared by identity.
    Identity(NodeId),
    /// The target is looked into.
    Followed(NodeId),
}

impl Meaning {
    /// Whether it belongs to the value in the same way.
    fn agrees(self, other: Self) -> bool {
        matches!((self, other), (Self::Followed(_), Self::Followed(_))) || self == other
    }

    fn mixed(self, hash: u64) -> u64 {
        match self {
            Self::Null => mix(hash, 1),
            Self::Gone(address) => mix(mix(hash, 2), address),
            Self::Identity(node) => mix(mix(hash, 3), node.0.into()),
            Self::Followed(_) => mix(hash, 4),
        }
    }
}

impl Looks {
    fn meaning(&mut self, address: u64) -> Result<Meaning, StageError> {
        if address == 0 {
            return Ok(Meaning::Null);
        }
        Ok(match self.index.find(address)? {
            None => Meaning::Gone(address),
            Some(node) if self.opaque.contains(node.index()) => Meaning::Identity(node),
            Some(node) => Meaning::Followed(node),
        })
    }

    /// Whether the records of two objects have the same value.
    fn same<const ID: usize>(&mut self, left: u32, right: u32) -> Result<bool, StageError> {
        let (left, right) = (self.offsets.get(left as usize)?, self.offsets.get(right as usize)?);
        let (a, b) = (head::<ID>(&mut self.content, left)?, head::<ID>(&mut self.content, right)?);
        if a != b {
            return Ok(false);
        }
        let layout = match a.tag {
            INSTANCE => self.classes.position(a.class).map(|class| *self.classes.layout(class)),
            _ => None,
        };
        let (mut at, mut piece) = (0, Vec::new());
        while at < a.bytes {
            let count = match layout {
                // The body of an instance is taken as a whole.
                Some(_) => a.bytes as usize,
                None => (a.bytes - at).min(PIECE) as usize,
            };
            piece.clear();
            piece.extend_from_slice(self.content.window(left + a.size + at, count)?);
            let other = self.content.window(right + a.size + at, count)?;
            if piece.len() != count || other.len() != count {
                return Ok(false);
            }
            if piece != other {
                let other = other.to_vec();
                let agrees = match (a.tag, &layout) {
                    (INSTANCE, Some(layout)) => self.same_fields::<ID>(layout, &piece, &other)?,
                    (OBJECT_ARRAY, _) => self.same_elements::<ID>(&piece, &other)?,
                    _ => false,
                };
                if !agrees {
                    return Ok(false);
                }
            }
            at += count as u64;
        }
        Ok(true)
    }

    fn same_fields<const ID: usize>(&mut self, layout: &Layout, a: &[u8], b: &[u8]) -> Result<bool, StageError> {
        let mut end = 0;
        for i in 0..self.classes.slots(layout).len() {
            let at = self.classes.slots(layout)[i].at as usize;
            if at + ID > a.len() {
                break;
            }
            if a[end..at] != b[end..at] || !self.same_reference(id::<ID>(a, at), id::<ID>(b, at))? {
                return Ok(false);
            }
            end = at + ID;
        }
        Ok(a[end..] == b[end..])
    }

    fn same_elements<const ID: usize>(&mut self, a: &[u8], b: &[u8]) -> Result<bool, StageError> {
        for (a, b) in a.chunks_exact(ID).zip(b.chunks_exact(ID)) {
            if !self.same_reference(id::<ID>(a, 0), id::<ID>(b, 0))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn same_reference(&mut self, a: u64, b: u64) -> Result<bool, StageError> {
        Ok(a == b || self.meaning(a)?.agrees(self.meaning(b)?))
    }
}

/// What the head of an object's record says, its place apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub tag: u8,
    /// Class, or type of elements.
    pub class: u64,
    /// Bytes of the body.
    pub bytes: u64,
    /// Elements.
    pub length: u32,
    /// Bytes of the head.
    pub size: u64,
}

/// The head of the record at an offset.
///
/// # Errors
/// [`StageError::Io`].
pub(super) fn head<const ID: usize>(content: &mut Content, offset: u64) -> Result<Head, StageError> {
    let bytes = content.window(offset, 9 + 2 * ID)?;
    if bytes.len() < 9 + ID {
        // The first pass has read more here; the file has changed since.
        return Ok(Head { tag: 0, class: offset, bytes: 0, length: 0, size: 0 });
    }
    let tag = bytes.first().copied().unwrap_or(0);
    let whole = bytes.len() == 9 + 2 * ID;
    Ok(match tag {
        INSTANCE if whole => {
            let bytes_of = u32_at(bytes, 5 + 2 * ID);
            Head { tag, class: id::<ID>(bytes, 5 + ID), bytes: bytes_of.into(), length: 0, size: 9 + 2 * ID as u64 }
        }
        OBJECT_ARRAY if whole => {
            let length = u32_at(bytes, 5 + ID);
            let class = id::<ID>(bytes, 9 + ID);
            Head { tag, class, bytes: u64::from(length) * ID as u64, length, size: 9 + 2 * ID as u64 }
        }
        _ => {
            let (length, element) = (u32_at(bytes, 5 + ID), bytes.get(9 + ID).copied().unwrap_or(0));
            let width = value::width(element, ID).unwrap_or(0) as u64;
            // Android's runtime leaves elements out; then there is nothing to compare.
            let bytes = if tag == 0x23 { u64::from(length) * width } else { 0 };
            Head { tag, class: element.into(), bytes, length, size: 10 + ID as u64 }
        }
    })
}

fn all<const ID: usize>(
    dump: &Dump,
    looks: Looks,
    names: Names<Array<u64>>,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<(), StageError> {
    let options: Options = scratch.read_document(columns::documents::OPTIONS)?;
    let mut objects = Objects {
        looks,
        names,
        node: FIRST,
        nodes: dump.facts.node_count as u32,
        values: ColumnWriter::create(scratch, columns::EQUAL_VALUE)?,
        degrees: ColumnWriter::create(scratch, columns::EQUAL_DEGREE)?,
        to: options.looks_into_references().then(|| ColumnWriter::create(scratch, columns::EQUAL_TO)).transpose()?,
        missing: ColumnWriter::create(scratch, columns::EQUAL_LIMITS)?,
        any_missing: false,
    };
    for node in 0..FIRST {
        objects.push(NodeId(node), 0, 0)?;
    }
    let mut cursor = Cursor::new(Source::raw(&dump.content, &dump.name)?, context, HINT);
    header(&mut cursor)?;
    let mut records = Records::<ID>::new(cursor, dump.content_bytes);
    records.visit(&mut objects)?;
    let any_missing = objects.any_missing;
    objects.looks.offsets.write_to(scratch, RECORDS)?;
    objects.values.finish()?;
    objects.degrees.finish()?;
    objects.to.map(ColumnWriter::finish).transpose()?;
    objects.missing.finish()?;
    if !any_missing {
        scratch.discard(columns::EQUAL_LIMITS);
    }
    Ok(())
}

/// The objects, one after the other.
struct Objects {
    looks: Looks,
    names: Names<Array<u64>>,
    /// The next one.
    node: u32,
    nodes: u32,
    values: ColumnWriter<NodeId>,
    degrees: ColumnWriter<u32>,
    to: Option<ColumnWriter<NodeId>>,
    missing: ColumnWriter<u8>,
    any_missing: bool,
}

impl Objects {
    fn push(&mut self, value: NodeId, degree: u32, missing: u8) -> Result<(), StageError> {
        self.values.push(value)?;
        self.degrees.push(degree)?;
        self.any_missing |= missing != 0;
        self.missing.push(missing)
    }

    /// Ends the object at hand as one that is compared by identity.
    fn identity(&mut self) -> Result<(), StageError> {
        self.push(NodeId(self.node), 0, 0)?;
        self.node += 1;
        Ok(())
    }

    /// Ends the object at hand, whose record begins at an offset.
    fn end<const ID: usize>(&mut self, offset: u64, hash: u64, degree: u32, missing: u8) -> Result<(), StageError> {
        let Self { looks, names, node, .. } = self;
        looks.offsets.set(*node as usize, offset)?;
        let value = names.find(hash, *node, false, |other| looks.same::<ID>(*node, other))?;
        self.push(NodeId(value), degree, missing)?;
        self.node += 1;
        Ok(())
    }

    fn is_opaque(&self) -> bool {
        self.looks.opaque.contains(self.node as usize)
    }

    /// Takes a reference in.
    #[inline]
    fn reference(&mut self, address: u64, hash: u64, degree: &mut u32) -> Result<u64, StageError> {
        let meaning = self.looks.meaning(address)?;
        if let Meaning::Followed(to) = meaning {
            self.to.iter_mut().try_for_each(|column| column.push(to))?;
            *degree += 1;
        }
        Ok(meaning.mixed(hash))
    }
}

/// Mixes bytes into a hash.
fn mixed(mut hash: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash, u64::from_le_bytes(last) ^ (rest.len() as u64) << 56)
}

impl<const ID: usize> Visitor<ID> for Objects {
    fn instance(&mut self, _id: u64, class: u64, length: u32, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        let position = self.looks.classes.position(class).filter(|_| length as usize <= MOST_PIECE);
        let Some(position) = position.filter(|_| !self.is_opaque()) else {
            records.cursor.skip(length.into())?;
            return self.identity();
        };
        let layout = *self.looks.classes.layout(position);
        let body = records.cursor.take(length as usize)?;
        let (mut hash, mut degree, mut end) = (mix(INSTANCE.into(), class), 0, 0);
        for i in 0..self.looks.classes.slots(&layout).len() {
            let at = self.looks.classes.slots(&layout)[i].at as usize;
            if at + ID > body.len() {
                break;
            }
            if end < at {
                hash = mixed(hash, &body[end..at]);
            }
            hash = self.reference(id::<ID>(body, at), hash, &mut degree)?;
            end = at + ID;
        }
        hash = mixed(hash, &body[end..]);
        self.end::<ID>(records.start(), hash, degree, 0)
    }

    fn object_array(
        &mut self,
        _id: u64,
        class: u64,
        length: u32,
        records: &mut Records<'_, ID>,
    ) -> Result<(), StageError> {
        let mut left = u64::from(length) * ID as u64;
        if self.is_opaque() {
            records.cursor.skip(left)?;
            return self.identity();
        }
        let (mut hash, mut degree) = (mix(mix(OBJECT_ARRAY.into(), class), length.into()), 0);
        while left > 0 {
            let piece = records.cursor.some(ID, left)?;
            for element in piece.chunks_exact(ID) {
                hash = self.reference(id::<ID>(element, 0), hash, &mut degree)?;
            }
            left -= piece.len() as u64;
        }
        self.end::<ID>(records.start(), hash, degree, 0)
    }

    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        if self.is_opaque() {
            records.cursor.skip(array.bytes)?;
            return self.identity();
        }
        let mut hash = mix(array.element.into(), array.length.into());
        let mut left = array.bytes;
        while left > 0 {
            // How the bytes come in pieces must not show in the hash.
            let piece = records.cursor.take(left.min(PIECE) as usize)?;
            hash = mixed(hash, piece);
            left -= piece.len() as u64;
        }
        let missing = if array.bytes == 0 && array.length > 0 { limits::CONTENTS } else { 0 };
        self.end::<ID>(records.start(), hash, 0, missing)
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
