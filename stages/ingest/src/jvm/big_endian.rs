//! Numbers in the byte order of the format.

/// An id of `W` bytes.
#[inline]
#[must_use]
pub fn id<const W: usize>(bytes: &[u8], at: usize) -> u64 {
    if W == 8 { u64_at(bytes, at) } else { u64::from(u32_at(bytes, at)) }
}

/// A number of 16 bits.
#[inline]
#[must_use]
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes[at..].first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes))
}

/// A number of 32 bits.
#[inline]
#[must_use]
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// A number of 64 bits.
#[inline]
#[must_use]
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}
