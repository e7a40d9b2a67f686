//! A cursor over the fields of a chunk. All reads return `None` if the bytes end too early.

/// Most bytes of a compressed integer, which has seven bits per byte and eight in the last.
const LONGEST: usize = 9;

/// Longest text returned: class names have at most 65,535 bytes.
const LONGEST_TEXT: usize = 1 << 16;

/// Reads fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    compressed: bool,
}

/// A text as encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written<'a> {
    /// Null.
    Null,
    /// The text constant with this key.
    Constant(i64),
    /// UTF-8, possibly invalid.
    Utf8(&'a [u8]),
    /// UTF-16 units, each an integer.
    Units(Cursor<'a>, usize),
    /// Latin-1.
    Latin(&'a [u8]),
}

impl<'a> Cursor<'a> {
    /// Starts at the beginning of some bytes; `compressed` applies to integers.
    pub(crate) fn new(bytes: &'a [u8], compressed: bool) -> Self {
        Self { bytes, at: 0, compressed }
    }

    /// Number of bytes read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Number of bytes left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The same bytes, from another offset.
    pub(crate) fn from(&self, at: usize) -> Self {
        Self { at: at.min(self.bytes.len()), ..*self }
    }

    /// Reads some bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    /// Reads a byte.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn plain<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Reads seven bits per byte, lowest first; the ninth byte has eight.
    fn packed(&mut self) -> Option<i64> {
        let mut value = 0_u64;
        for number in 0..LONGEST {
            let byte = u64::from(self.byte()?);
            if number == LONGEST - 1 {
                return Some((value | byte << (7 * number)) as i64);
            }
            value |= (byte & 0x7f) << (7 * number);
            if byte < 0x80 {
                break;
            }
        }
        Some(value as i64)
    }

    /// Reads a 64-bit integer.
    pub(crate) fn long(&mut self) -> Option<i64> {
        if self.compressed { self.packed() } else { self.plain().map(i64::from_be_bytes) }
    }

    /// Reads a 32-bit integer.
    pub(crate) fn int(&mut self) -> Option<i32> {
        if self.compressed { self.packed().map(|value| value as i32) } else { self.plain().map(i32::from_be_bytes) }
    }

    /// Reads a 16-bit integer, signed or not.
    pub(crate) fn short(&mut self) -> Option<u16> {
        if self.compressed { self.packed().map(|value| value as u16) } else { self.plain().map(u16::from_be_bytes) }
    }

    /// Reads a count of items of at least one byte each.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.int()?).ok()?;
        (count <= self.left()).then_some(count)
    }

    /// Reads a text.
    pub(crate) fn text(&mut self) -> Option<Written<'a>> {
        Some(match self.byte()? {
            0 => Written::Null,
            1 => Written::Utf8(&[]),
            2 => Written::Constant(self.long()?),
            3 => {
                let length = self.count()?;
                Written::Utf8(self.take(length)?)
            }
            4 => {
                let length = self.count()?;
                let units = *self;
                for _ in 0..length {
                    self.short()?;
                }
                Written::Units(units, length)
            }
            5 => {
                let length = self.count()?;
                Written::Latin(self.take(length)?)
            }
            _ => return None,
        })
    }
}

impl PartialEq for Cursor<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes[self.at..] == other.bytes[other.at..]
    }
}

impl Eq for Cursor<'_> {}

impl Written<'_> {
    /// The text, cut if very long; empty for null and constants. Invalid Unicode is replaced.
    #[must_use]
    pub(crate) fn text(self) -> String {
        match self {
            Self::Null | Self::Constant(_) => String::new(),
            Self::Utf8(bytes) => String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_TEXT)]).into_owned(),
            Self::Units(mut units, length) => {
                let units = (0..length.min(LONGEST_TEXT)).map_while(|_| units.short());
                char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
            }
            Self::Latin(bytes) => bytes.iter().take(LONGEST_TEXT).map(|&byte| char::from(byte)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the virtual machine encodes them.
    fn packed(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in 0..LONGEST {
            if number == LONGEST - 1 || value < 0x80 {
                bytes.push(value as u8);
                break;
            }
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1_u64 << shift).wrapping_sub(1), u64::MAX << shift] {
                let bytes = packed(value);
                let mut cursor = Cursor::new(&bytes, true);
                assert_eq!((cursor.long(), cursor.left()), (Some(value as i64), 0), "{value:x}");
                for end in 0..bytes.len() {
                    assert_eq!(Cursor::new(&bytes[..end], true).long(), None, "{value:x}");
                }
                assert_eq!(Cursor::new(&value.to_be_bytes(), false).long(), Some(value as i64));
            }
        }
        assert_eq!(Cursor::new(&[0xff; 9], true).int(), Some(-1));
        assert_eq!(Cursor::new(&[0xff; 4], true).int(), None);
    }

    #[test]
    fn texts_of_all_encodings() {
        let text = |bytes: &[u8]| Cursor::new(bytes, true).text().map(Written::text);
        assert_eq!(text(&[0]).as_deref(), Some(""));
        assert_eq!(text(&[1]).as_deref(), Some(""));
        assert_eq!(text(&[3, 2, 0xc3, 0xa9]).as_deref(), Some("é"));
        assert_eq!(text(&[4, 2, 0xe9, 0x01, b'a']).as_deref(), Some("éa"));
        assert_eq!(text(&[4, 1, 0x80, 0xb0, 0x03]).as_deref(), Some("\u{fffd}"));
        assert_eq!(text(&[5, 1, 0xe9]).as_deref(), Some("é"));
        assert_eq!(Cursor::new(&[2, 7], true).text(), Some(Written::Constant(7)));
        for bad in [&[6][..], &[3, 2, b'a'], &[3, 0xff, 0xff, 0xff, 0xff, 0x0f], &[4, 2, b'a'], &[]] {
            assert_eq!(text(bad), None, "{bad:?}");
        }
    }
}
