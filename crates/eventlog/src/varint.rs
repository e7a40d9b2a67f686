//! Variable-length integers: seven bits per byte, lowest first; the highest bit of a byte says that more follow.

/// Most bytes of a number.
pub const LONGEST: usize = 10;

/// Appends a number.
#[inline]
pub fn put(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Maps small negative and positive numbers to small ones: 0, -1, 1, -2 to 0, 1, 2, 3.
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// A position in bytes, from which numbers and texts are read.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Offset of the next byte.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether all bytes are consumed.
    pub fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next byte; `None` at the end.
    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The next number; `None` if it is cut off or has more than 64 bits.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        let (mut value, mut shift) = (u64::from(first & 0x7f), 7);
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift > 63 || (shift == 63 && bits > 1) {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }

    /// The next number, if it fits 32 bits.
    #[inline]
    pub fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    /// The next text: its length, then its bytes.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let end = self.at.checked_add(length)?;
        let text = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(text)
    }

    /// The bytes from `start` to here.
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }
}
