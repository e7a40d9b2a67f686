//! What compressed files begin with.

/// A frame of zstd.
pub const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// If a content that begins so is compressed.
pub fn is_compressed(beginning: &[u8]) -> bool {
    is_gzip(beginning) || is_zstd(beginning)
}

/// If a file that begins so is of gzip.
pub fn is_gzip(beginning: &[u8]) -> bool {
    beginning.starts_with(&[0x1f, 0x8b])
}

/// If a file that begins so is of zstd. A skippable frame may come first; the first byte of its magic is any of 16.
pub fn is_zstd(beginning: &[u8]) -> bool {
    let skippable = beginning.split_first().filter(|(first, _)| **first >> 4 == 5);
    beginning.starts_with(&ZSTD) || skippable.is_some_and(|(_, rest)| rest.starts_with(&[0x2a, 0x4d, 0x18]))
}
