//! Stage `values of objects`: contents of the objects of a Java heap.
//!
//! * Computes: the fields of each instance, from its class up through the superclasses; the length and the first
//!   elements of arrays; the text that the target of a reference represents. Classes have no values.
//! * Resident memory: the index as in `link`; 4 bytes per node for names, paged if they do not fit; the classes.
//! * Passes over disk: the content once, in order.
//! * Worst case: linear.
//! * Fails when: the content can no longer be read; the budget is too small for the classes.
//! * Determinism: order of the dump.
//! * Reference: `HPROF_GC_INSTANCE_DUMP` of the format.

use super::big_endian::id;
use super::dump::{Dump, FIRST};
use super::layouts::{Position, Types};
use super::previews::{primitive, text};
use super::record::{PrimitiveArray, Record};
use super::records::{Records, Visitor};
use super::types::{DESCRIPTORS, FIELDS, STATICS};
use super::value;
use crate::index::{CHUNKS, Find, Index};
use crate::values::{Label, ValueWriter};
use heaplake_input::bytes::MOST_PIECE;
use heaplake_kit::access::{column, document, per_node, texts};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{ArrayPlan, Job, Lookup, ReadAt, Stage, StageError, Stats};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::options::TableName;
use heaplake_schemas::scratch::{self as columns, STRINGS, documents};
use heaplake_schemas::values::{MOST_OF_A_NODE, VALUE_DEGREE, VALUE_ROW, VALUE_TEXTS, kind};

/// Declaration of the stage.
pub(crate) const STAGE: Stage = Stage {
    name: "values of objects",
    version: 2,
    when: |setting| setting.has(TableName::Values),
    reads: &[
        document(documents::METADATA),
        Dump::DOCUMENT,
        Dump::CONTENT,
        column(DESCRIPTORS),
        column(FIELDS),
        column(STATICS),
        column(columns::NODE_ID),
        column(columns::NODE_NAME),
        column(CHUNKS),
        texts(STRINGS),
    ],
    writes: &[column(VALUE_DEGREE), column(VALUE_ROW), texts(VALUE_TEXTS)],
    arrays: &[&[Index::SIZE, per_node::<StringId>()]],
    fixed: 24 << 20,
    passes: "input once",
    run,
    ..Stage::NEW
};

/// Bytes of an array of primitive values that are read, and characters of it that are rendered.
const LOOKED_AT: u64 = 480;
const SHOWN: usize = 120;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let dump = Dump::load(job.scratch)?;
    job.context.progress.begin(STAGE.name, dump.content_bytes);
    let nodes = job.metadata()?.node_count;
    let types = Types::load(&dump, job)?;
    let index = Index::build_again(FIRST, dump.unit, 4 * nodes, job)?;
    let spilled_bytes = index.spilled;
    let names = ArrayPlan::of(job, STAGE.name).one(lookup(columns::NODE_NAME))?;
    let writer = ValueWriter::create(job.scratch)?;
    let objects = Objects { types, values: Values { index, names, writer }, node: 0, nodes };
    let rows = match dump.id_bytes {
        4 => all::<4>(&dump, objects, job)?,
        _ => all::<8>(&dump, objects, job)?,
    };
    Ok(Stats { rows, spilled_bytes })
}

fn all<const ID: usize>(dump: &Dump, mut objects: Objects, job: &Job<'_>) -> Result<u64, StageError> {
    (0..FIRST).try_for_each(|_| objects.end())?;
    Records::<ID>::open(dump, job.context)?.visit(&mut objects)?;
    objects.values.writer.finish(objects.nodes)
}

/// Writes values of objects.
struct Values {
    index: Index,
    names: Lookup<StringId>,
    writer: ValueWriter,
}

impl Values {
    /// Writes a value from the bytes of an object.
    fn value(&mut self, label: Label, of: u8, bytes: &[u8]) -> Result<(), StageError> {
        let bits = bytes.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        if of != value::OBJECT {
            return self.writer.value(label, of, bits);
        }
        if bits == 0 {
            return self.writer.value(label, kind::NULL, 0);
        }
        match self.index.find(bits)? {
            None => self.writer.value(label, kind::ADDRESS, bits),
            Some(to) => {
                let text = self.names.get(to.index())?;
                self.writer.reference(label, kind::REFERENCE, text, to)
            }
        }
    }
}

/// Visits the objects in order.
struct Objects {
    types: Types,
    values: Values,
    /// The next node.
    node: u64,
    nodes: u64,
}

impl Objects {
    fn end(&mut self) -> Result<(), StageError> {
        self.node += 1;
        self.values.writer.end()
    }

    /// Writes the fields of an instance.
    fn fields<const ID: usize>(&mut self, class: Position, body: &[u8]) -> Result<(), StageError> {
        for (field, at) in self.types.all_fields(class) {
            let of = field.kind as u8;
            let Some(bytes) = body.get(at..at + value::width(of, ID).unwrap_or(0)) else { break };
            self.values.value(Label::Name(field.name), of, bytes)?;
        }
        Ok(())
    }
}

impl<const ID: usize> Visitor<ID> for Objects {
    fn instance(&mut self, _id: u64, class: u64, length: u32, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        let position = self.types.position(class).filter(|_| length as usize <= MOST_PIECE);
        match position {
            None => records.cursor.skip(length.into())?,
            Some(position) => {
                let body = records.cursor.take(length as usize)?;
                self.fields::<ID>(position, body)?;
            }
        }
        self.end()
    }

    fn object_array(
        &mut self,
        _id: u64,
        _class: u64,
        length: u32,
        records: &mut Records<'_, ID>,
    ) -> Result<(), StageError> {
        self.values.writer.value(Label::None, kind::LENGTH, length.into())?;
        let shown = length.min(MOST_OF_A_NODE);
        let elements = records.cursor.take(shown as usize * ID)?;
        for (index, element) in (0..).zip(elements.chunks_exact(ID)) {
            let address = id::<ID>(element, 0).to_be_bytes();
            self.values.value(Label::Index(index), value::OBJECT, &address)?;
        }
        records.cursor.skip(u64::from(length - shown) * ID as u64)?;
        self.values.writer.more(length - shown)?;
        self.end()
    }

    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        self.values.writer.value(Label::None, kind::LENGTH, array.length.into())?;
        let looked_at = array.bytes.min(LOOKED_AT);
        let body = records.cursor.take(looked_at as usize)?;
        // Android's runtime omits elements.
        let shown = (array.bytes > 0 || array.length == 0).then(|| beginning(array.element, body, array.bytes));
        self.values.writer.elements(shown.as_deref())?;
        records.cursor.skip(array.bytes - looked_at)?;
        self.end()
    }

    fn other(&mut self, record: Record, records: &mut Records<'_, ID>) -> Result<(), StageError> {
        records.skip(&record)?;
        match record {
            Record::Class { .. } => self.end(),
            _ => Ok(()),
        }
    }

    fn is_done(&self) -> bool {
        self.node >= self.nodes
    }
}

/// Renders the beginning of an array of primitive values: as text if it is one, otherwise its first elements.
fn beginning(element: u8, body: &[u8], bytes: u64) -> String {
    if let Some(text) = text(element, body, bytes) {
        return format!("{text:?}");
    }
    let width = value::width(element, 0).unwrap_or(1).max(1);
    let mut shown = String::from("{");
    for (number, bytes) in body.chunks_exact(width).enumerate() {
        let separator = if number > 0 { ", " } else { "" };
        if shown.len() > SHOWN {
            return shown + ", …}";
        }
        shown += separator;
        shown += &primitive(element, bytes);
    }
    shown + if bytes > body.len() as u64 { ", …}" } else { "}" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_begin_with_their_first_elements() {
        assert_eq!(beginning(value::INT, &[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe], 8), "{1, -2}");
        assert_eq!(beginning(value::INT, &[0, 0, 0, 1], 8), "{1, …}");
        assert_eq!(beginning(value::BYTE, b"hello", 5), "\"hello\"");
        assert_eq!(beginning(value::BYTE, &[], 0), "{}");
        let many = beginning(value::SHORT, &[0; 480], 1 << 20);
        assert!(many.ends_with(", 0, …}") && many.len() < 140, "{many}");
    }
}
