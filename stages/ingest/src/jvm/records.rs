//! Iterates over the records of a dump: top-level records and those inside heap dump segments.
//!
//! Both passes read a dump through [`Records`]. It reads the head of each record; the caller reads the body (fields of
//! an instance, elements of an array, text) from the cursor or skips it.

use super::big_endian::{id, u16_at, u32_at};
use super::dump::{Dump, HINT};
use super::header::{MAGIC, header};
use super::passed::{ANOTHER_FILE, Passed};
use super::record::{
    ARRAY_WITHOUT_ELEMENTS, ClassPart, INSTANCE, OBJECT_ARRAY, PRIMITIVE_ARRAY, PrimitiveArray, Record,
};
use super::root_kinds::{JNI_GLOBAL, ROOT_KINDS, RootKind};
use super::value;
use heaplake_input::bytes::Bytes;
use heaplake_input::source::Source;
use heaplake_kit::{Context, StageError};
use std::ops::Range;

/// Visitor of the records of a dump, in order. It gets the head of a record and must consume the body from the cursor.
/// Objects are method calls, not values, because there are millions of them.
pub(crate) trait Visitor<const W: usize> {
    /// An object with `length` bytes of fields.
    fn instance(&mut self, id: u64, class: u64, length: u32, records: &mut Records<'_, W>) -> Result<(), StageError>;

    /// An array of `length` ids.
    fn object_array(
        &mut self,
        id: u64,
        class: u64,
        length: u32,
        records: &mut Records<'_, W>,
    ) -> Result<(), StageError>;

    /// An array of primitive values.
    fn primitive_array(&mut self, array: PrimitiveArray, records: &mut Records<'_, W>) -> Result<(), StageError>;

    /// Any other record.
    fn other(&mut self, record: Record, records: &mut Records<'_, W>) -> Result<(), StageError>;

    /// Whether the visitor needs no more records.
    fn is_done(&self) -> bool {
        false
    }
}

/// Limit of the heap dumps distinguished in one file.
const MOST_DUMPS: usize = 1 << 10;

/// Tag of the record that ends the segments of a heap dump.
const END: u8 = 0x2c;

/// The records of a dump with ids of `W` bytes.
pub(crate) struct Records<'a, const W: usize> {
    /// Cursor over the content, from which visitors read bodies.
    pub cursor: Bytes<'a>,
    /// Bytes of the content.
    content_bytes: u64,
    /// End of the current heap dump segment.
    segment_end: u64,
    /// Heap dumps and segments so far.
    pub segments: u64,
    /// Segments without an end record (0x2c) after them. Every writer of segments writes one, so such a dump was cut
    /// between two; a single heap dump (0x0c) states its length and needs none.
    pub unended: bool,
    /// Offset of the last record.
    pub start: u64,
    /// Skipped top-level records with unknown tags.
    pub passed: Passed,
    /// Offsets of heap dumps that may be dumps of their own.
    pub dumps: Vec<u64>,
    /// Offsets of the heap records to visit; others are skipped.
    wanted: Range<u64>,
}

impl<'a, const W: usize> Records<'a, W> {
    /// Starts at a cursor after the header of a content of `content_bytes` bytes.
    pub(crate) fn new(cursor: Bytes<'a>, content_bytes: u64) -> Self {
        Self {
            cursor,
            content_bytes,
            segment_end: 0,
            segments: 0,
            unended: false,
            start: 0,
            passed: Passed::default(),
            dumps: Vec::new(),
            wanted: 0..u64::MAX,
        }
    }

    /// Opens the content of a scanned dump, whose heap records it visits.
    pub(crate) fn open(dump: &Dump, context: &'a Context<'a>) -> Result<Self, StageError> {
        Self::of(dump, Source::raw(&dump.content, &dump.name, false)?, context)
    }

    /// As [`Self::open`], with the source of the content.
    pub(crate) fn of(dump: &Dump, source: Source, context: &'a Context<'a>) -> Result<Self, StageError> {
        let mut cursor = Bytes::new(source, context).with_hint(HINT);
        header(&mut cursor)?;
        Ok(Self::new(cursor, dump.content_bytes).within(dump.heap.clone()))
    }

    /// Restricts the visit to heap records that begin in a range of the content: one of several heap dumps.
    #[must_use]
    pub(crate) fn within(self, wanted: Range<u64>) -> Self {
        Self { wanted, ..self }
    }

    /// Visits the records up to the end of the content.
    #[inline]
    pub(crate) fn visit(&mut self, visitor: &mut impl Visitor<W>) -> Result<(), StageError> {
        while !visitor.is_done() {
            if self.cursor.offset() < self.segment_end {
                self.inside(visitor)?;
            } else if self.cursor.offset() >= self.wanted.end || self.cursor.at_end()? {
                break;
            } else if let Some(record) = self.top()? {
                visitor.other(record, self)?;
            }
        }
        Ok(())
    }

    /// Skips the body of a record.
    pub(crate) fn skip(&mut self, record: &Record) -> Result<(), StageError> {
        match *record {
            Record::Text { length, .. } => self.cursor.skip(length),
            Record::Trace { frames, .. } => self.cursor.skip(u64::from(frames) * W as u64),
            Record::Class { .. } => self.class_body(|_| {}),
            Record::LoadClass { .. } | Record::Frame { .. } | Record::Root { .. } => Ok(()),
        }
    }

    /// Reads the head of a top-level record.
    #[cold]
    fn top(&mut self) -> Result<Option<Record>, StageError> {
        let offset = self.cursor.offset();
        self.start = offset;
        let head = self.cursor.take(9)?;
        let (tag, stated, is_magic) = (head[0], u64::from(u32_at(head, 5)), MAGIC.starts_with(head));
        let start = self.cursor.offset();
        let left = self.content_bytes.saturating_sub(start);
        let length = if tag == 0x0c { extended(stated, left) } else { stated };
        if !matches!(tag, 0x01..=0x07 | 0x0a..=0x0e | 0x1c | 0x2c) {
            self.unknown(tag, offset, if is_magic { ANOTHER_FILE } else { length }, left)?;
            return Ok(None);
        }
        self.passed.known();
        // The objects of a segment that ends too early are readable up to its end.
        if length > left && !matches!(tag, 0x0c | 0x1c) {
            let expected = format!("a record ({tag:#04x}) that ends with the content, {left} bytes on");
            return Err(self.cursor.error(offset, expected, format!("one of {length} bytes")));
        }
        let least = match tag {
            0x01 => W,
            0x02 => 8 + 2 * W,
            0x04 => 4 * W + 8,
            0x05 => 12,
            _ => 0,
        };
        if length < least as u64 {
            let expected = format!("a record ({tag:#04x}) of {least} bytes at least");
            return Err(self.cursor.error(offset, expected, length.to_string()));
        }
        Ok(match tag {
            0x01 => Some(Record::Text { id: id::<W>(self.cursor.take(W)?, 0), length: length - W as u64 }),
            0x02 | 0x04 | 0x05 => Some(self.described(tag, length, least)?),
            0x0c | 0x1c => {
                self.heap(tag, offset, length)?;
                None
            }
            _ => {
                self.unended &= tag != END;
                self.cursor.skip(length)?;
                None
            }
        })
    }

    /// Enters or skips a heap dump or segment.
    fn heap(&mut self, tag: u8, offset: u64, length: u64) -> Result<(), StageError> {
        if !self.unended && self.dumps.len() < MOST_DUMPS {
            self.dumps.push(offset);
        }
        if self.wanted.contains(&offset) {
            self.segment_end = self.cursor.offset() + length;
            self.segments += 1;
        } else {
            let left = self.content_bytes.saturating_sub(self.cursor.offset());
            self.cursor.skip(length.min(left))?;
        }
        self.unended = tag == 0x1c;
        Ok(())
    }

    /// Skips a record with an unknown tag, if it is plausible.
    fn unknown(&mut self, tag: u8, offset: u64, length: u64, left: u64) -> Result<(), StageError> {
        match self.passed.see((tag, offset), length, left) {
            Ok(()) => self.cursor.skip(length),
            Err((offset, expected, found)) => Err(self.cursor.error(offset, expected, found)),
        }
    }

    /// Reads a loaded class, a frame or a trace; only its first `least` bytes count.
    fn described(&mut self, tag: u8, length: u64, least: usize) -> Result<Record, StageError> {
        let offset = self.cursor.offset();
        let bytes = self.cursor.take(least)?;
        let record = match tag {
            0x02 => {
                Record::LoadClass { serial: u32_at(bytes, 0), class: id::<W>(bytes, 4), name: id::<W>(bytes, W + 8) }
            }
            0x04 => Record::Frame {
                id: id::<W>(bytes, 0),
                method: id::<W>(bytes, W),
                source: id::<W>(bytes, 3 * W),
                class: u32_at(bytes, 4 * W),
                line: u32_at(bytes, 4 * W + 4) as i32,
            },
            _ => Record::Trace { serial: u32_at(bytes, 0), frames: u32_at(bytes, 8) },
        };
        let rest = length - least as u64;
        if let Record::Trace { frames, .. } = record {
            if u64::from(frames) * W as u64 != rest {
                let expected = format!("a stack of as many frames as fit its {rest} bytes");
                return Err(self.cursor.error(offset, expected, frames.to_string()));
            }
        } else {
            self.cursor.skip(rest)?;
        }
        Ok(record)
    }

    /// Reads a record inside a segment.
    #[inline(always)]
    fn inside(&mut self, visitor: &mut impl Visitor<W>) -> Result<(), StageError> {
        self.start = self.cursor.offset();
        if let Some(&head) = self.cursor.ahead().first_chunk()
            && let Some(size) = head_bytes::<W>(head[0])
        {
            self.cursor.advance(size);
            self.object(&head, visitor)
        } else {
            self.inside_slowly(visitor)
        }
    }

    /// [`Self::inside`] for a head that spans two blocks, or one that is no object's.
    #[cold]
    fn inside_slowly(&mut self, visitor: &mut impl Visitor<W>) -> Result<(), StageError> {
        let mut head = [0; HEAD];
        head[0] = self.cursor.take(1)?[0];
        if let Some(size) = head_bytes::<W>(head[0]) {
            head[1..size].copy_from_slice(self.cursor.take(size - 1)?);
            return self.object(&head, visitor);
        }
        let record = self.rare(head[0])?;
        let end = self.cursor.offset();
        match record {
            _ if end > self.segment_end => Err(self.overlong(end)),
            Some(record) => visitor.other(record, self),
            None => Ok(()),
        }
    }

    /// Dispatches an object with its head.
    #[inline(always)]
    fn object(&mut self, head: &[u8; HEAD], visitor: &mut impl Visitor<W>) -> Result<(), StageError> {
        let id_at = |at| id::<W>(head, at);
        match head[0] {
            INSTANCE => {
                let length = u32_at(head, 2 * W + 5);
                self.fits(length.into())?;
                visitor.instance(id_at(1), id_at(W + 5), length, self)
            }
            OBJECT_ARRAY => {
                let length = u32_at(head, W + 5);
                self.fits(u64::from(length) * W as u64)?;
                visitor.object_array(id_at(1), id_at(W + 9), length, self)
            }
            tag => {
                let (length, element) = (u32_at(head, W + 5), head[W + 9]);
                let width = value::WIDTHS.get(usize::from(element)).copied().unwrap_or(0);
                if width == 0 {
                    return Err(self.cursor.error(self.start, "an array of a primitive type", element.to_string()));
                }
                let bytes = if tag == ARRAY_WITHOUT_ELEMENTS { 0 } else { u64::from(length) * u64::from(width) };
                self.fits(bytes)?;
                visitor.primitive_array(PrimitiveArray { id: id_at(1), element, length, bytes }, self)
            }
        }
    }

    /// Checks that a body of `body` bytes fits the segment.
    #[inline]
    fn fits(&self, body: u64) -> Result<(), StageError> {
        let end = self.cursor.offset() + body;
        if end > self.segment_end { Err(self.overlong(end)) } else { Ok(()) }
    }

    #[cold]
    fn overlong(&self, end: u64) -> StageError {
        let expected = format!("an object that ends with its segment, at {}", self.segment_end);
        self.cursor.error(self.start, expected, format!("one that ends at {end}"))
    }

    /// Reads a class or a root, or skips the heap information of Android.
    #[cold]
    fn rare(&mut self, tag: u8) -> Result<Option<Record>, StageError> {
        let offset = self.start;
        if tag == 0x20 {
            let head = self.cursor.take(7 * W + 8)?;
            let (class, superclass, loader) = (id::<W>(head, 0), id::<W>(head, W + 4), id::<W>(head, 2 * W + 4));
            let instance_bytes = u32_at(head, 7 * W + 4);
            return Ok(Some(Record::Class { id: class, superclass, loader, instance_bytes }));
        }
        if tag == 0xfe {
            self.cursor.skip(4 + W as u64)?;
            return Ok(None);
        }
        let Some(kind) = ROOT_KINDS.iter().position(|kind| kind.tag == tag) else {
            return Err(self.cursor.error(
                offset,
                "an object, a class or a root",
                format!("the unknown tag {tag:#04x}"),
            ));
        };
        let RootKind { extra, of_thread, has_frame, .. } = ROOT_KINDS[kind];
        let jni = if tag == JNI_GLOBAL { W } else { 0 };
        let bytes = self.cursor.take(W + extra + jni)?;
        let number = |there: bool, at: usize| if there { u32_at(bytes, at) } else { 0 };
        let (thread, frame) = (number(of_thread, W), number(has_frame, W + 4));
        Ok(Some(Record::Root { kind: kind as u8, object: id::<W>(bytes, 0), thread, frame }))
    }

    /// Reads the body of a class, part by part.
    pub(crate) fn class_body(&mut self, mut each: impl FnMut(ClassPart)) -> Result<(), StageError> {
        for _ in 0..u16_at(self.cursor.take(2)?, 0) {
            self.cursor.skip(2)?;
            self.typed_value()?;
        }
        for _ in 0..u16_at(self.cursor.take(2)?, 0) {
            let name = id::<W>(self.cursor.take(W)?, 0);
            let (kind, value) = self.typed_value()?;
            each(ClassPart::Static { name, kind, value });
        }
        for _ in 0..u16_at(self.cursor.take(2)?, 0) {
            let offset = self.cursor.offset();
            let bytes = self.cursor.take(W + 1)?;
            let (name, kind) = (id::<W>(bytes, 0), bytes[W]);
            self.width(kind, offset)?;
            each(ClassPart::Field { name, kind });
        }
        let end = self.cursor.offset();
        if end > self.segment_end { Err(self.overlong(end)) } else { Ok(()) }
    }

    /// Reads a type and a value; returns the value of a reference, otherwise 0.
    fn typed_value(&mut self) -> Result<(u8, u64), StageError> {
        let offset = self.cursor.offset();
        let kind = self.cursor.take(1)?[0];
        let width = self.width(kind, offset)?;
        let bytes = self.cursor.take(width)?;
        Ok((kind, if kind == value::OBJECT { id::<W>(bytes, 0) } else { 0 }))
    }

    fn width(&self, kind: u8, offset: u64) -> Result<usize, StageError> {
        value::width(kind, W).ok_or_else(|| self.cursor.error(offset, "a field of a known type", kind.to_string()))
    }
}

/// Returns the actual length of a heap dump record with `left` bytes of content after its head. The field has 32 bits;
/// writers of a longer record store the length modulo 2^32, and such a record is the last one.
pub(crate) fn extended(stated: u64, left: u64) -> u64 {
    if left >= stated && (left - stated).is_multiple_of(1 << 32) { left } else { stated }
}

/// Largest head of an object's record, bytes.
const HEAD: usize = 25;

/// Returns the bytes of the head of an object's record; `None` for other tags.
#[inline]
const fn head_bytes<const W: usize>(tag: u8) -> Option<usize> {
    match tag {
        INSTANCE | OBJECT_ARRAY => Some(9 + 2 * W),
        PRIMITIVE_ARRAY | ARRAY_WITHOUT_ELEMENTS => Some(10 + W),
        _ => None,
    }
}
