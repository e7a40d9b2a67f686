//! Little-endian fields of a piece of bytes, front to back. Nothing past the end: then a field is not there.

/// What is left of a piece of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// The next bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk()?;
        self.0 = tail;
        Some(*head)
    }

    /// A byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A pointer of the process.
    #[inline]
    pub fn pointer(&mut self, wide: bool) -> Option<u64> {
        if wide { self.u64() } else { self.u32().map(u64::from) }
    }

    /// A number of seven bits a byte, the lowest first.
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// The same where only 32 bits count.
    #[inline]
    pub fn varint32(&mut self) -> Option<u32> {
        self.varint().and_then(|number| u32::try_from(number).ok())
    }

    /// UTF-16 up to a zero, as UTF-8; what is no text in it is replaced.
    pub fn utf16(&mut self) -> Option<String> {
        let units = self.0.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        let count = units.clone().position(|unit| unit == 0)?;
        let text = char::decode_utf16(units.take(count)).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER));
        let text = text.collect();
        self.0 = &self.0[count * 2 + 2..];
        Some(text)
    }
}
