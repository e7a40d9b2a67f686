//! Magic numbers of compressed files.

/// A zstd frame.
pub(crate) const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// True if a content with this beginning is compressed.
pub(crate) fn is_compressed(beginning: &[u8]) -> bool {
    is_gzip(beginning) || is_zstd(beginning)
}

/// True for the beginning of a gzip file.
pub(crate) fn is_gzip(beginning: &[u8]) -> bool {
    beginning.starts_with(&[0x1f, 0x8b])
}

/// True for the beginning of a zstd file. It may be a skippable frame; the first byte of its magic is one of 16.
pub(crate) fn is_zstd(beginning: &[u8]) -> bool {
    let skippable = beginning.split_first().filter(|(first, _)| **first >> 4 == 5);
    beginning.starts_with(&ZSTD) || skippable.is_some_and(|(_, rest)| rest.starts_with(&[0x2a, 0x4d, 0x18]))
}
