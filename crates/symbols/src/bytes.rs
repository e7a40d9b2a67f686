//! Little-endian numbers at positions in a file; `None` beyond its end.

/// Slice of `length` bytes at a position.
pub(crate) fn part(bytes: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(length)?)
}

pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    part(bytes, at, N)?.try_into().ok()
}

pub(crate) fn u16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

/// A number as a position or length.
pub(crate) fn offset(bytes: &[u8], at: usize) -> Option<usize> {
    u32(bytes, at).map(|number| number as usize)
}
