//! Reads big-endian numbers, the byte order of HPROF.

/// Reads an id of `W` bytes.
#[inline]
pub(crate) fn id<const W: usize>(bytes: &[u8], at: usize) -> u64 {
    if W == 8 { u64_at(bytes, at) } else { u64::from(u32_at(bytes, at)) }
}

/// Reads a 16-bit number.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes[at..].first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes))
}

/// Reads a 32-bit number.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Reads a 64-bit number.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}
