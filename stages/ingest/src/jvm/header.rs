//! The header of a dump.

use super::big_endian::{u32_at, u64_at};
use heaplake_input::bytes::Bytes;
use heaplake_kit::StageError;

/// Contents of the header of a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Version, as `1.0.2`.
    pub version: String,
    /// Bytes of an id, 4 or 8.
    pub id_bytes: u8,
    /// When the dump was taken, milliseconds since 1970.
    pub captured_at_ms: u64,
}

/// First bytes of every dump.
pub(crate) const MAGIC: &[u8] = b"JAVA PROFILE 1.0.";

/// Limit of the bytes of a version, [`MAGIC`] included.
const MOST_MAGIC: usize = 32;

/// Reads the header of a dump.
pub(crate) fn header(cursor: &mut Bytes<'_>) -> Result<Header, StageError> {
    let mut magic = Vec::with_capacity(MOST_MAGIC);
    loop {
        match cursor.take(1)?[0] {
            0 => break,
            byte => magic.push(byte),
        }
        if magic.len() > MOST_MAGIC {
            break;
        }
    }
    let version = magic.strip_prefix(&MAGIC[..13]).map(|version| String::from_utf8_lossy(version).into_owned());
    let Some(version) = version.filter(|_| magic.starts_with(MAGIC) && magic.len() <= MOST_MAGIC) else {
        let found = format!("{:?}", String::from_utf8_lossy(&magic));
        return Err(cursor.error(0, "JAVA PROFILE 1.0.1, 1.0.2 or 1.0.3 and a zero byte", found));
    };
    let offset = cursor.offset();
    let bytes = cursor.take(12)?;
    let (id_bytes, captured_at_ms) = (u32_at(bytes, 0), u64_at(bytes, 4));
    match id_bytes {
        4 | 8 => Ok(Header { version, id_bytes: id_bytes as u8, captured_at_ms }),
        other => Err(cursor.error(offset, "ids of 4 or 8 bytes", other.to_string())),
    }
}
