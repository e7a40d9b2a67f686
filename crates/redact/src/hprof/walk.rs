//! The records of a dump, in order, for visitors that read, copy or change their bodies.

use heaplake_input::bytes::Bytes;
use heaplake_kit::StageError;

/// Advice of errors.
pub(super) const HINT: &str = "the dump is damaged or incomplete: take or copy it again";

/// Type code of a reference.
pub(super) const OBJECT: u8 = 2;
/// Type code of `boolean`.
pub(super) const BOOLEAN: u8 = 4;
/// Type code of `char`.
pub const CHAR: u8 = 5;
/// Type code of `byte`.
pub const BYTE: u8 = 8;

/// First bytes of a dump.
const MAGIC: &[u8] = b"JAVA PROFILE 1.0.";

/// Length limit of the version at the head of a dump.
const MOST_MAGIC: usize = 32;

/// Receives the records of a dump. Each method that gets a length must consume the body from the cursor; by default it
/// skips it.
pub trait Visitor {
    /// Bytes that stay as they are: heads of records, ids, types.
    fn keep(&mut self, _bytes: &[u8]) -> Result<(), StageError> {
        Ok(())
    }
    /// A body that stays as it is.
    fn body(&mut self, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        cursor.skip(length)
    }
    /// The body of a record with an unknown tag.
    fn unknown(&mut self, _tag: u8, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        cursor.skip(length)
    }
    /// A text.
    fn text(&mut self, _id: u64, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        cursor.skip(length)
    }
    /// Text ids of names: of a loaded class, or of a frame.
    fn names(&mut self, _class: Option<u64>, _names: &[u64]) -> Result<(), StageError> {
        Ok(())
    }
    /// A heap dump begins.
    fn heap(&mut self) {}
    /// A thread is a root.
    fn thread(&mut self, _object: u64) {}
    /// A class begins.
    fn class(&mut self, _id: u64, _superclass: u64) -> Result<(), StageError> {
        Ok(())
    }
    /// A value of a class: a constant, or a static field with a name.
    fn value(&mut self, _name: Option<u64>, _kind: u8, _value: &[u8]) -> Result<(), StageError> {
        Ok(())
    }
    /// A field of instances of the class.
    fn field(&mut self, _name: u64, _kind: u8) -> Result<(), StageError> {
        Ok(())
    }
    /// The fields of an instance.
    fn instance(&mut self, _id: u64, _class: u64, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        cursor.skip(length)
    }
    /// The elements of a primitive array.
    fn array(&mut self, _id: u64, _element: u8, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        cursor.skip(length)
    }
}

/// Bytes of a value of this type; `None` for unknown types.
pub(super) fn width(kind: u8, id: usize) -> Option<usize> {
    match kind {
        OBJECT => Some(id),
        4 | 8 => Some(1),
        5 | 9 => Some(2),
        6 | 10 => Some(4),
        7 | 11 => Some(8),
        _ => None,
    }
}

/// Reads a number of up to eight bytes.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Bytes after the object's id in the record of a root; `None` for tags that are no root's.
fn root_bytes(tag: u8, id: usize) -> Option<usize> {
    match tag {
        0xff | 0x05 | 0x07 | 0x89..=0x8d | 0x90 => Some(0),
        0x01 => Some(id),
        0x02 | 0x03 | 0x08 | 0x8e => Some(8),
        0x04 | 0x06 => Some(4),
        _ => None,
    }
}

/// A pass over the records of a dump.
pub(super) struct Walk<'a, 'c> {
    cursor: &'a mut Bytes<'c>,
    /// Bytes of the content.
    content_bytes: u64,
    /// Bytes of an id.
    id: usize,
    /// End of the current heap dump or segment.
    segment_end: u64,
    segments: u64,
    /// Whether segments lack their end record.
    is_open: bool,
    /// Offset of the current record.
    start: u64,
}

impl<'a, 'c> Walk<'a, 'c> {
    /// Reads the header of a dump of `content_bytes` bytes.
    pub(super) fn begin(
        cursor: &'a mut Bytes<'c>,
        content_bytes: u64,
        visitor: &mut impl Visitor,
    ) -> Result<Self, StageError> {
        let mut magic = Vec::new();
        while magic.len() <= MOST_MAGIC && magic.last() != Some(&0) {
            magic.push(cursor.take(1)?[0]);
        }
        if !magic.starts_with(MAGIC) || magic.last() != Some(&0) {
            let found = format!("{:?}", String::from_utf8_lossy(&magic));
            return Err(cursor.error(0, "JAVA PROFILE 1.0.1, 1.0.2 or 1.0.3 and a zero byte", found));
        }
        visitor.keep(&magic)?;
        let offset = cursor.offset();
        let head = cursor.take(12)?;
        visitor.keep(head)?;
        let id = number(&head[..4]);
        if id != 4 && id != 8 {
            return Err(cursor.error(offset, "ids of 4 or 8 bytes", id.to_string()));
        }
        let id = id as usize;
        Ok(Self { cursor, content_bytes, id, segment_end: 0, segments: 0, is_open: false, start: 0 })
    }

    /// Bytes of an id.
    pub(super) fn id_bytes(&self) -> usize {
        self.id
    }

    /// Visits all records.
    ///
    /// # Errors
    /// [`StageError::Input`] if the dump is damaged or cut.
    pub(super) fn all(&mut self, visitor: &mut impl Visitor) -> Result<(), StageError> {
        loop {
            self.start = self.cursor.offset();
            if self.start < self.segment_end {
                self.inside(visitor)?;
            } else if self.cursor.at_end()? {
                break;
            } else {
                self.top(visitor)?;
            }
        }
        let end = self.cursor.offset();
        if self.segments == 0 {
            return Err(self.cursor.error(end, "a heap dump", "the end of the content"));
        }
        if self.is_open {
            let expected = "another segment, or the record (0x2c) that ends the heap dump";
            return Err(self.cursor.error(end, expected, "the end of the content"));
        }
        Ok(())
    }

    /// Takes bytes that stay, and passes them to the visitor.
    fn kept(&mut self, count: usize, visitor: &mut impl Visitor) -> Result<&[u8], StageError> {
        let bytes = self.cursor.take(count)?;
        visitor.keep(bytes)?;
        Ok(bytes)
    }

    /// Takes an id, which stays.
    fn id(&mut self, visitor: &mut impl Visitor) -> Result<u64, StageError> {
        self.kept(self.id, visitor).map(number)
    }

    /// Takes a number of two bytes, which stays.
    fn short(&mut self, visitor: &mut impl Visitor) -> Result<u64, StageError> {
        self.kept(2, visitor).map(number)
    }

    /// Visits a record outside of heap dumps.
    fn top(&mut self, visitor: &mut impl Visitor) -> Result<(), StageError> {
        let head = self.kept(9, visitor)?;
        let (tag, stated) = (head[0], number(&head[5..]));
        let is_magic = MAGIC.starts_with(head);
        let left = self.content_bytes.saturating_sub(self.cursor.offset());
        // Writers of a dump longer than 4 GiB store its length modulo 2^32; it is the last record.
        let is_long = tag == 0x0c && left >= stated && (left - stated).is_multiple_of(1 << 32);
        let length = if is_long { left } else { stated };
        if length > left || tag == 0 || is_magic {
            let expected = format!("a record that ends with the content, {left} bytes on");
            return Err(self.cursor.error(self.start, expected, format!("one of {length} bytes ({tag:#04x})")));
        }
        let least = match tag {
            0x01 => self.id,
            0x02 => 8 + 2 * self.id,
            0x04 => 4 * self.id + 8,
            _ => 0,
        } as u64;
        if length < least {
            let expected = format!("a record ({tag:#04x}) of {least} bytes at least");
            return Err(self.cursor.error(self.start, expected, length.to_string()));
        }
        self.top_body(tag, length, visitor)
    }

    fn top_body(&mut self, tag: u8, length: u64, visitor: &mut impl Visitor) -> Result<(), StageError> {
        let id = self.id;
        match tag {
            0x01 => {
                let text = self.id(visitor)?;
                visitor.text(text, length - id as u64, self.cursor)
            }
            0x02 => {
                let bytes = self.kept(8 + 2 * id, visitor)?;
                let (class, name) = (number(&bytes[4..4 + id]), number(&bytes[8 + id..]));
                visitor.names(Some(class), &[name])?;
                visitor.body(length - 8 - 2 * id as u64, self.cursor)
            }
            0x04 => {
                let bytes = self.kept(4 * id, visitor)?;
                let names: Vec<u64> = bytes.chunks_exact(id).skip(1).map(number).collect();
                visitor.names(None, &names)?;
                visitor.body(length - 4 * id as u64, self.cursor)
            }
            0x0c | 0x1c => {
                if !self.is_open {
                    visitor.heap();
                }
                self.segment_end = self.cursor.offset() + length;
                self.segments += 1;
                self.is_open = tag == 0x1c;
                Ok(())
            }
            0x03 | 0x05..=0x07 | 0x0a | 0x0b | 0x0d | 0x0e | 0x2c => {
                self.is_open &= tag != 0x2c;
                visitor.body(length, self.cursor)
            }
            _ => visitor.unknown(tag, length, self.cursor),
        }
    }

    /// Visits a record inside a heap dump.
    fn inside(&mut self, visitor: &mut impl Visitor) -> Result<(), StageError> {
        let id = self.id;
        let tag = self.kept(1, visitor)?[0];
        match tag {
            0x20 => self.class(visitor)?,
            0x21 => {
                let head = self.kept(2 * id + 8, visitor)?;
                let (object, class) = (number(&head[..id]), number(&head[id + 4..2 * id + 4]));
                let length = number(&head[2 * id + 4..]);
                self.fits(length)?;
                visitor.instance(object, class, length, self.cursor)?;
            }
            0x22 => {
                let head = self.kept(2 * id + 8, visitor)?;
                let length = number(&head[id + 4..id + 8]) * id as u64;
                self.fits(length)?;
                visitor.body(length, self.cursor)?;
            }
            0x23 | 0xc3 => self.array(tag, visitor)?,
            0xfe => drop(self.kept(4 + id, visitor)?),
            _ => {
                let Some(bytes) = root_bytes(tag, id) else {
                    let found = format!("the unknown tag {tag:#04x}");
                    return Err(self.cursor.error(self.start, "an object, a class or a root", found));
                };
                let object = self.id(visitor)?;
                self.kept(bytes, visitor)?;
                if tag == 0x08 {
                    visitor.thread(object);
                }
            }
        }
        self.fits(0)
    }

    fn array(&mut self, tag: u8, visitor: &mut impl Visitor) -> Result<(), StageError> {
        let id = self.id;
        let head = self.kept(id + 9, visitor)?;
        let (object, count, element) = (number(&head[..id]), number(&head[id + 4..id + 8]), head[id + 8]);
        let Some(width) = width(element, id).filter(|_| element != OBJECT) else {
            return Err(self.cursor.error(self.start, "an array of a primitive type", element.to_string()));
        };
        // Android's runtime omits the elements of some arrays.
        if tag == 0xc3 {
            return Ok(());
        }
        let length = count * width as u64;
        self.fits(length)?;
        visitor.array(object, element, length, self.cursor)
    }

    fn class(&mut self, visitor: &mut impl Visitor) -> Result<(), StageError> {
        let id = self.id;
        let head = self.kept(7 * id + 8, visitor)?;
        visitor.class(number(&head[..id]), number(&head[id + 4..2 * id + 4]))?;
        for _ in 0..self.short(visitor)? {
            self.short(visitor)?;
            self.value(None, visitor)?;
        }
        for _ in 0..self.short(visitor)? {
            let name = self.id(visitor)?;
            self.value(Some(name), visitor)?;
        }
        for _ in 0..self.short(visitor)? {
            let name = self.id(visitor)?;
            let (kind, _) = self.kind(visitor)?;
            visitor.field(name, kind)?;
        }
        Ok(())
    }

    /// Reads a type; returns it with its width.
    fn kind(&mut self, visitor: &mut impl Visitor) -> Result<(u8, usize), StageError> {
        let offset = self.cursor.offset();
        let kind = self.kept(1, visitor)?[0];
        let width = width(kind, self.id);
        width.map(|width| (kind, width)).ok_or_else(|| self.cursor.error(offset, "a known type", kind.to_string()))
    }

    fn value(&mut self, name: Option<u64>, visitor: &mut impl Visitor) -> Result<(), StageError> {
        let (kind, width) = self.kind(visitor)?;
        visitor.value(name, kind, self.cursor.take(width)?)
    }

    /// Checks that a body fits the heap dump.
    fn fits(&self, body: u64) -> Result<(), StageError> {
        let end = self.cursor.offset() + body;
        if end <= self.segment_end {
            return Ok(());
        }
        let expected = format!("an object that ends with its segment, at {}", self.segment_end);
        Err(StageError::input(self.cursor.name(), self.start, expected, format!("one that ends at {end}"), HINT))
    }
}
