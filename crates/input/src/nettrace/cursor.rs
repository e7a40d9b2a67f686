//! Reads little-endian fields sequentially; `None` past the end.

/// The remaining bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// Returns the next bytes.
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

    /// Reads a byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Reads two bytes.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads four bytes.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a pointer of the traced process.
    #[inline]
    pub fn pointer(&mut self, wide: bool) -> Option<u64> {
        if wide { self.u64() } else { self.u32().map(u64::from) }
    }

    /// Reads a varint: seven bits per byte, lowest first.
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

    /// Reads a varint of 32 bits.
    #[inline]
    pub fn varint32(&mut self) -> Option<u32> {
        self.varint().and_then(|number| u32::try_from(number).ok())
    }

    /// Reads zero-terminated UTF-16 as UTF-8, with replacement characters for invalid units.
    pub fn utf16(&mut self) -> Option<String> {
        let units = self.0.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        let count = units.clone().position(|unit| unit == 0)?;
        let text = char::decode_utf16(units.take(count)).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER));
        let text = text.collect();
        self.0 = &self.0[count * 2 + 2..];
        Some(text)
    }
}
