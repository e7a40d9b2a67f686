//! Stage `previews of objects`: previews of the members of duplicate sets.
//!
//! * Computes: a preview of the first member of each of the [`MOST`] sets that waste most: the text of a string, the
//!   first fields of an object (`Point{x: 1, y: 2}`), the first elements of an array (`int[3]{1, 2, 3}`), or the text
//!   in an array of bytes or characters. Of the other sets only strings have one.
//! * Resident memory: the index as in `link`, paged if it does not fit; the classes; the texts, about 100 bytes per
//!   preview; some pages of the content. Some columns of nodes are mapped, not accounted, and released now and then.
//! * Passes over disk: one over the sets and addresses; random reads of the dump, in its order.
//! * Worst case: linear in the sets.
//! * Fails when: the content can no longer be read; the budget is too small for the classes.
//! * Determinism: order of the sets.
//! * Reference: none needed.

use super::big_endian::{id, u32_at};
use super::content::Content;
use super::dump::{Dump, FIRST};
use super::equality::RECORDS;
use super::layouts::Types;
use super::record::{INSTANCE, OBJECT_ARRAY, PRIMITIVE_ARRAY};
use super::types::{DESCRIPTORS, FIELDS as TYPE_FIELDS, Field, STATICS};
use super::value;
use crate::index::{CHUNKS, Find, Index};
use crate::values::cut;
use heaplake_kit::access::{column, texts};
use heaplake_kit::{ColumnMap, ColumnPoints, ColumnReader, Job, Stage, StageError, Stats, StringTable, StringWriter};
use heaplake_schemas::duplicate_sets::SetRow;
use heaplake_schemas::ids::{ClassId, NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, SET_PREVIEWS, STRINGS};
use std::fmt::Write;

/// Declaration of the stage.
pub(crate) const STAGE: Stage = Stage {
    name: "previews of objects",
    when: |setting| setting.duplicates(),
    reads: &[
        Dump::DOCUMENT,
        Dump::CONTENT,
        column(DESCRIPTORS),
        column(TYPE_FIELDS),
        column(STATICS),
        column(columns::NODE_ID),
        column(CHUNKS),
        column(columns::NODE_NAME),
        column(columns::NODE_CLASS),
        column(columns::CLASS_NAME),
        column(RECORDS),
        column(columns::SET_ROW),
        texts(STRINGS),
    ],
    writes: &[texts(SET_PREVIEWS)],
    arrays: &[&[Index::SIZE]],
    fixed: 32 << 20,
    shares: true,
    passes: "sets and addresses once; first members at random",
    run,
    ..Stage::NEW
};

/// Number of sets with a preview.
const MOST: u64 = 1 << 16;

/// Limits in characters of a text by itself, and of one inside an object.
const LONG: usize = 120;
const SHORT: usize = 24;
/// Limits of rendered fields of an object, and elements of an array.
const FIELDS: usize = 4;
const ELEMENTS: usize = 8;
/// Bytes read of a record's body.
const LOOKED_AT: usize = 4 << 10;
/// Classes rendered as their only field.
const BOXES: [&str; 8] = ["Boolean", "Byte", "Character", "Double", "Float", "Integer", "Long", "Short"];

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut rows = ColumnReader::open(scratch, columns::SET_ROW)?;
    let count = rows.remaining();
    context.progress.begin(STAGE.name, count);
    let mut viewer = Viewer::open(job)?;
    let mut writer = StringWriter::create(scratch, SET_PREVIEWS)?;
    shown(&mut viewer, &mut rows, &mut writer, job)?;
    while rows.remaining() > 0 {
        let text = viewer.text_of(rows.next()?.example, LONG).unwrap_or_default();
        writer.push(text.as_bytes())?;
        if rows.remaining().is_multiple_of(1 << 12) {
            context.check()?;
            viewer.release();
        }
    }
    writer.finish()?;
    Ok(Stats { rows: count, spilled_bytes: viewer.index.spilled })
}

/// Writes the previews of the first sets, those that waste most.
fn shown(
    viewer: &mut Viewer,
    rows: &mut ColumnReader<SetRow>,
    writer: &mut StringWriter,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let count = rows.remaining().min(MOST);
    // Previews are made in the order of the dump; the sets are ordered by wasted bytes.
    let mut held = job.context.budget.reserve("previews", count * 40)?;
    let mut first = Vec::with_capacity(count as usize);
    for set in 0..count as u32 {
        first.push((rows.next()?.example, set));
    }
    first.sort_unstable();
    let mut texts = vec![String::new(); first.len()];
    for (number, &(node, set)) in (0u64..).zip(&first) {
        let text = viewer.node(node)?;
        held.grow(text.len() as u64)?;
        texts[set as usize] = text;
        if number % (1 << 12) == 0 && number > 0 {
            job.context.step(1 << 12)?;
            viewer.release();
        }
    }
    texts.iter().try_for_each(|text| writer.push(text.as_bytes()))
}

/// The head of an object's record.
#[derive(Clone, Copy)]
struct Head {
    tag: u8,
    /// Address of the class, or type code of the elements.
    class: u64,
    /// Bytes of the body.
    bytes: u64,
    /// Number of elements.
    length: u32,
    /// Bytes of the head.
    size: u64,
}

/// Reads the head of the record at an offset.
fn head<const ID: usize>(content: &mut Content, offset: u64) -> Result<Head, StageError> {
    let bytes = content.window(offset, 9 + 2 * ID)?;
    if bytes.len() < 9 + ID {
        // The file has changed; this object gets no preview.
        return Ok(Head { tag: 0, class: 0, bytes: 0, length: 0, size: 0 });
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
            // Android's runtime omits elements; then there is nothing to render.
            let bytes = if tag == PRIMITIVE_ARRAY { u64::from(length) * width } else { 0 };
            Head { tag, class: element.into(), bytes, length, size: 10 + ID as u64 }
        }
    })
}

struct Viewer {
    content: Content,
    types: Types,
    index: Index,
    id_bytes: usize,
    strings: StringTable,
    names: ColumnPoints<StringId>,
    class: ColumnPoints<ClassId>,
    class_names: ColumnMap<StringId>,
    /// Offsets of the objects' records; 0 for objects without one or without duplicates.
    records: ColumnPoints<u64>,
}

impl Viewer {
    fn open(job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let dump = Dump::load(scratch)?;
        Ok(Self {
            types: Types::load(&dump, job)?,
            // Before the index, which takes the free budget.
            content: Content::open(&dump, context)?,
            index: Index::build_again(FIRST, dump.unit, 0, job)?,
            id_bytes: dump.id_bytes.into(),
            strings: StringTable::open(scratch, STRINGS)?,
            names: ColumnPoints::open(scratch, columns::NODE_NAME)?,
            class: ColumnPoints::open(scratch, columns::NODE_CLASS)?,
            class_names: ColumnMap::uncounted(scratch, columns::CLASS_NAME)?,
            records: ColumnPoints::open(scratch, RECORDS)?,
        })
    }

    /// Releases the pages read so far, see [`ColumnPoints::release`].
    fn release(&self) {
        self.names.release();
        self.class.release();
        self.records.release();
        self.strings.release();
    }

    /// Returns the text of a string or the name of a class, quoted.
    fn text_of(&self, node: NodeId, most: usize) -> Option<String> {
        let name = self.names.at(node.index()).get()?;
        Some(format!("{:?}", cut(&self.strings.beginning(name as usize, most + 1), most)))
    }

    /// Returns the name of a node's class, without its package.
    fn class_name(&self, node: NodeId) -> String {
        let name = self.class_names[self.class.at(node.index()).index()];
        let name = name.get().map_or_else(String::new, |name| self.strings.text(name as usize).into_owned());
        cut(name.rsplit('.').next().unwrap_or_default(), 2 * SHORT)
    }

    /// Reads the head and the beginning of the body of an object's record.
    fn record(&mut self, node: NodeId) -> Result<Option<(Head, Vec<u8>)>, StageError> {
        let Some(offset) = self.records.get(node.index()).filter(|&offset| offset > 0) else { return Ok(None) };
        let head = match self.id_bytes {
            4 => head::<4>(&mut self.content, offset)?,
            _ => head::<8>(&mut self.content, offset)?,
        };
        let bytes = (head.bytes as usize).min(LOOKED_AT);
        let body = self.content.window(offset + head.size, bytes)?.to_vec();
        Ok(Some((head, body)))
    }

    /// Renders a node by itself.
    fn node(&mut self, node: NodeId) -> Result<String, StageError> {
        if let Some(text) = self.text_of(node, LONG) {
            return Ok(text);
        }
        let Some((head, body)) = self.record(node)? else { return Ok(String::new()) };
        let name = self.class_name(node);
        match head.tag {
            INSTANCE => self.instance(&name, head.class, &body),
            OBJECT_ARRAY => self.array(&with_length(&name, head.length), head.length, value::OBJECT, &body),
            _ => {
                let element = u8::try_from(head.class).unwrap_or(0);
                let name = with_length(&format!("{}[]", value::name(element).unwrap_or_default()), head.length);
                match text(element, &body, head.bytes) {
                    Some(text) => Ok(format!("{name}{text:?}")),
                    None => self.array(&name, head.length, element, &body),
                }
            }
        }
    }

    fn instance(&mut self, name: &str, class: u64, body: &[u8]) -> Result<String, StageError> {
        let mut text = format!("{name}{{");
        let fields = self.fields(class);
        for (number, &(field, at)) in fields.iter().take(FIELDS).enumerate() {
            let separator = if number > 0 { ", " } else { "" };
            let beginning = |name: u32| cut(&self.strings.beginning(name as usize, SHORT + 1), SHORT);
            let name = field.name.get().map_or_else(String::new, beginning);
            let value = self.value(field.kind as u8, body, at)?;
            // Writing into a string cannot fail.
            let _ = write!(text, "{separator}{name}: {value}");
        }
        text.push_str(if fields.len() > FIELDS { ", …}" } else { "}" });
        Ok(text)
    }

    /// Returns the first fields of a class and its superclasses with their offsets, one more than are rendered.
    fn fields(&self, class: u64) -> Vec<(Field, usize)> {
        let class = self.types.position(class);
        class.into_iter().flat_map(|class| self.types.all_fields(class)).take(FIELDS + 1).collect()
    }

    fn array(&mut self, name: &str, length: u32, element: u8, body: &[u8]) -> Result<String, StageError> {
        let width = value::width(element, self.id_bytes).unwrap_or(1);
        let mut text = format!("{name}{{");
        for at in (0..(length as usize).min(ELEMENTS)).map(|number| number * width) {
            if at > 0 {
                text.push_str(", ");
            }
            text.push_str(&self.value(element, body, at)?);
        }
        text.push_str(if length as usize > ELEMENTS { ", …}" } else { "}" });
        Ok(text)
    }

    /// Renders a value in the body of an object or array.
    fn value(&mut self, kind: u8, body: &[u8], at: usize) -> Result<String, StageError> {
        let width = value::width(kind, self.id_bytes).unwrap_or(0);
        let Some(bytes) = body.get(at..at + width) else { return Ok("…".to_owned()) };
        if kind != value::OBJECT {
            return Ok(primitive(kind, bytes));
        }
        let address = if self.id_bytes == 4 { id::<4>(bytes, 0) } else { id::<8>(bytes, 0) };
        if address == 0 {
            return Ok("null".to_owned());
        }
        match self.index.find(address)? {
            Some(node) => self.inside(node),
            None => Ok("…".to_owned()),
        }
    }

    /// Renders a node inside another one.
    fn inside(&mut self, node: NodeId) -> Result<String, StageError> {
        let name = self.class_name(node);
        if let Some(text) = self.text_of(node, SHORT) {
            return Ok(if name == "String" { text } else { format!("{name} {text}") });
        }
        let is_box = BOXES.contains(&name.as_str());
        if !is_box && !name.ends_with("[]") {
            return Ok(name);
        }
        let Some((head, body)) = self.record(node)? else { return Ok(name) };
        if !is_box {
            return Ok(with_length(&name, head.length));
        }
        match self.fields(head.class).first() {
            Some(&(Field { kind, .. }, at)) if kind != u32::from(value::OBJECT) => self.value(kind as u8, &body, at),
            _ => Ok(name),
        }
    }
}

/// Renders a primitive value as in source code; `bytes` has the width of its type.
pub(super) fn primitive(kind: u8, bytes: &[u8]) -> String {
    let bits = bytes.iter().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
    match value::name(kind) {
        Some("boolean") => (bits != 0).to_string(),
        Some("char") => format!("{:?}", char::from_u32(bits as u32).unwrap_or(char::REPLACEMENT_CHARACTER)),
        Some("float") => format!("{:?}", f32::from_bits(bits as u32)),
        Some("double") => format!("{:?}", f64::from_bits(bits)),
        Some("byte") => (bits as u8 as i8).to_string(),
        Some("short") => (bits as u16 as i16).to_string(),
        Some("int") => (bits as u32 as i32).to_string(),
        Some("long") => (bits as i64).to_string(),
        _ => "…".to_owned(),
    }
}

/// Returns the text in an array of bytes or characters, if it looks like one; `body` may be shorter than the array.
pub(super) fn text(element: u8, body: &[u8], bytes: u64) -> Option<String> {
    let text: String = match element {
        value::BYTE => std::str::from_utf8(body).ok().filter(|text| text.is_ascii())?.to_owned(),
        value::CHAR => {
            let units = body.chunks_exact(2).map(|unit| u32_at(&[0, 0, unit[0], unit[1]], 0) as u16);
            char::decode_utf16(units).collect::<Result<_, _>>().ok()?
        }
        _ => return None,
    };
    let is_text = !text.is_empty() && !text.chars().any(|c| c.is_control() && !c.is_whitespace());
    let whole = bytes as usize <= body.len();
    is_text.then(|| if whole { cut(&text, LONG) } else { cut(&(text + "…"), LONG) })
}

/// Returns the name of an array's class with the array's length.
fn with_length(name: &str, length: u32) -> String {
    match name.split_once("[]") {
        Some((element, rest)) => format!("{element}[{length}]{rest}"),
        None => format!("{name}[{length}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_types() {
        assert_eq!(primitive(4, &[1]), "true");
        assert_eq!(primitive(value::CHAR, &[0, b'x']), "'x'");
        assert_eq!(primitive(6, &1.5f32.to_be_bytes()), "1.5");
        assert_eq!(primitive(7, &(-0.0f64).to_be_bytes()), "-0.0");
        assert_eq!(primitive(value::BYTE, &[0xff]), "-1");
        assert_eq!(primitive(9, &[0x80, 0]), "-32768");
        assert_eq!(primitive(value::INT, &[0xff, 0xff, 0xff, 0xfe]), "-2");
        assert_eq!(primitive(value::LONG, &u64::MAX.to_be_bytes()), "-1");
    }

    #[test]
    fn arrays_that_are_texts() {
        assert_eq!(text(value::BYTE, b"hello", 5).as_deref(), Some("hello"));
        assert_eq!(text(value::BYTE, b"hello", 6).as_deref(), Some("hello…"));
        assert_eq!(text(value::CHAR, &[0, b'h', 0x20, 0xac], 4).as_deref(), Some("h€"));
        for (element, body) in
            [(value::BYTE, &b"\0\x01"[..]), (value::BYTE, b""), (value::BYTE, b"\xc3\xa4"), (value::INT, b"abcd")]
        {
            assert_eq!(text(element, body, body.len() as u64), None, "{body:?}");
        }
        // Half of a pair.
        assert_eq!(text(value::CHAR, &[0xd8, 0], 2), None);
    }

    #[test]
    fn lengths_in_names() {
        assert_eq!(with_length("int[]", 3), "int[3]");
        assert_eq!(with_length("Object[][]", 0), "Object[0][]");
    }
}
