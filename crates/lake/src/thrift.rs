//! The Thrift compact protocol, as used by headers and footer of Parquet.
//!
//! [`walk`] validates a structure before the Parquet library decodes it, which allocates lists and texts of any length
//! that the bytes claim. [`PageHeader`] is the header of a page.

use crate::runs::zigzag;
use parquet::basic::Encoding;

/// Maximum nesting of structures: Parquet uses at most seven.
const DEEPEST: usize = 16;

/// Bytes being decoded.
struct Bytes<'a> {
    left: &'a [u8],
}

impl Bytes<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.left.split_first()?;
        self.left = rest;
        Some(first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        self.left = self.left.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    /// Reads the next field header: number and type; `Some(None)` at the end of the structure.
    fn field(&mut self, last: &mut i64) -> Option<Option<(i64, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *last = match head >> 4 {
            0 => self.zigzag()?,
            delta => last.checked_add(i64::from(delta))?,
        };
        Some(Some((*last, head & 0xf)))
    }

    /// Skips a value. In lists, a boolean is a byte.
    fn value(&mut self, kind: u8, in_list: bool, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1 | 2 if in_list => self.skip(1),
            1 | 2 => Some(()),
            3 => self.skip(1),
            4..=6 => self.varint().map(drop),
            7 => self.skip(8),
            8 => self.varint().and_then(|length| self.skip(length)),
            9 | 10 => self.list(depth),
            11 => self.map(depth),
            12 => self.structure(depth),
            13 => self.skip(16),
            _ => None,
        }
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        // An element takes at least one byte.
        if count > self.left.len() as u64 {
            return None;
        }
        (0..count).try_for_each(|_| self.value(head & 0xf, true, depth))
    }

    fn map(&mut self, depth: usize) -> Option<()> {
        let count = self.varint()?;
        if count > self.left.len() as u64 {
            return None;
        }
        let kinds = if count == 0 { 0 } else { self.byte()? };
        (0..count).try_for_each(|_| {
            self.value(kinds >> 4, true, depth)?;
            self.value(kinds & 0xf, true, depth)
        })
    }

    fn structure(&mut self, depth: usize) -> Option<()> {
        let mut last = 0;
        while let Some((_, kind)) = self.field(&mut last)? {
            self.value(kind, false, depth)?;
        }
        Some(())
    }
}

/// Returns the length of the structure at the beginning of the bytes; `None` if there is none, or if a list or a text
/// in it exceeds the bytes.
pub(crate) fn walk(bytes: &[u8]) -> Option<usize> {
    let mut read = Bytes { left: bytes };
    read.structure(DEEPEST)?;
    Some(bytes.len() - read.left.len())
}

/// The header of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// True for a dictionary page.
    pub is_dictionary: bool,
    /// Uncompressed bytes of the content.
    pub uncompressed: i32,
    /// Compressed bytes of the content.
    pub compressed: i32,
    /// CRC-32 of the compressed content.
    pub crc: Option<u32>,
    /// Number of values, including nulls.
    pub values: i32,
}

/// Page types.
const DATA: i64 = 0;
const DICTIONARY: i64 = 2;

impl PageHeader {
    /// Decodes the header at the beginning of the bytes; returns its length, too.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let mut read = Bytes { left: bytes };
        let (mut numbers, mut crc, mut values, mut last) = ([None; 3], None, 0, 0);
        while let Some((field, kind)) = read.field(&mut last)? {
            match (field, kind) {
                (1..=3, 5) => numbers[field as usize - 1] = Some(read.zigzag()?),
                (4, 5) => crc = Some(read.zigzag()? as u32),
                (5 | 7 | 8, 12) => values = read.first_number()?,
                _ => read.value(kind, false, DEEPEST)?,
            }
        }
        let [kind, uncompressed, compressed] = numbers;
        let [uncompressed, compressed] = [uncompressed?, compressed?].map(i32::try_from);
        let header = Self {
            is_dictionary: kind? == DICTIONARY,
            uncompressed: uncompressed.ok()?,
            compressed: compressed.ok()?,
            crc,
            values: i32::try_from(values).ok()?,
        };
        Some((header, bytes.len() - read.left.len()))
    }

    /// Appends the header to the bytes of a page.
    pub(crate) fn write(&self, encoding: Encoding, to: &mut Vec<u8>) {
        // Per field: delta of the field number, and type.
        let mut number = |number: i64| {
            to.push(0x15);
            zigzag(number, to);
        };
        number(if self.is_dictionary { DICTIONARY } else { DATA });
        number(i64::from(self.uncompressed));
        number(i64::from(self.compressed));
        number(i64::from(self.crc.unwrap_or_default().cast_signed()));
        let encoding = encoding as i64;
        if self.is_dictionary {
            to.push(0x3c);
        } else {
            to.push(0x1c);
        }
        let mut number = |number: i64| {
            to.push(0x15);
            zigzag(number, to);
        };
        number(i64::from(self.values));
        number(encoding);
        if self.is_dictionary {
            // Not sorted.
            to.push(0x12);
        } else {
            number(Encoding::RLE as i64);
            number(Encoding::RLE as i64);
        }
        to.extend([0, 0]);
    }
}

impl Bytes<'_> {
    /// Returns the first field of a structure, a number, and skips the others.
    fn first_number(&mut self) -> Option<i64> {
        let (mut first, mut last) = (None, 0);
        while let Some((field, kind)) = self.field(&mut last)? {
            match (field, kind) {
                (1, 5) => first = Some(self.zigzag()?),
                _ => self.value(kind, false, DEEPEST)?,
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_written() {
        for (is_dictionary, crc) in [(true, 7), (false, u32::MAX), (false, 0x8000_0000)] {
            let header =
                PageHeader { is_dictionary, uncompressed: 300, compressed: 77, crc: Some(crc), values: 65_536 };
            let mut bytes = Vec::new();
            header.write(Encoding::DELTA_BINARY_PACKED, &mut bytes);
            assert_eq!(walk(&bytes), Some(bytes.len()));
            let length = bytes.len();
            bytes.extend([1, 2, 3]);
            assert_eq!(PageHeader::read(&bytes), Some((header, length)));
            (0..length).for_each(|end| assert!(PageHeader::read(&bytes[..end]).is_none(), "{end}"));
        }
    }

    #[test]
    fn lengths_beyond_the_bytes_are_refused() {
        // A list of 2^31 - 1 structures, a text of 2^40 bytes, and deeply nested structures.
        assert_eq!(walk(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0, 0]), None);
        assert_eq!(walk(&[0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0]), None);
        assert_eq!(walk(&[0x1c; 100]), None);
        assert_eq!(walk(&[0x18, 2, b'a', b'b', 0, 9]), Some(5));
    }
}
