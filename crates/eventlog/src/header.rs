//! The beginning of a log: magic bytes, the version, and properties of the recording as pairs of texts.
//!
//! Bytes: [`MAGIC`]; version and length of the properties, 32 bits each, little-endian; the properties; the CRC-32 of all
//! before it. A property is two texts, each with its length. Readers pass over properties that they do not know.

use crate::Bad;
use crate::varint::{self, Cursor};

/// First bytes of a log.
pub const MAGIC: &[u8; 8] = b"hlevents";

/// The version that this crate writes and reads.
pub const VERSION: u32 = 1;

/// Most bytes of the properties.
pub const MOST: usize = 64 << 10;

/// Bytes before the properties.
pub const FIXED: usize = 16;

/// Microseconds since 1970 at the start of the recording, decimal.
pub const STARTED_US: &str = "started_us";

/// `java`, `dotnet` or `node`.
pub const RUNTIME: &str = "runtime";

/// `creation` or `lifetimes`.
pub const MODE: &str = "mode";

/// Mean number of objects of a class for each one with size and stack.
pub const INTERVAL: &str = "interval";

/// Properties of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Names and values.
    pub properties: Vec<(String, String)>,
}

impl Header {
    /// Makes a header of these properties.
    pub fn new<N: Into<String>, V: Into<String>>(properties: impl IntoIterator<Item = (N, V)>) -> Self {
        Self { properties: properties.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// The value of a property.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a property that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// Returns its bytes. Properties beyond [`MOST`] bytes are left out.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for (name, value) in &self.properties {
            if body.len() + name.len() + value.len() + 2 * varint::LONGEST > MOST {
                break;
            }
            for text in [name, value] {
                varint::put(&mut body, text.len() as u64);
                body.extend_from_slice(text.as_bytes());
            }
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&body);
        let sum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Returns the number of bytes after the first [`FIXED`].
    ///
    /// # Errors
    /// For other magic bytes, another version, or a length beyond [`MOST`].
    pub fn rest(fixed: &[u8; FIXED]) -> Result<usize, Bad> {
        if !fixed.starts_with(MAGIC) {
            let found = String::from_utf8_lossy(&fixed[..MAGIC.len()]).into_owned();
            return Err(Bad::new(0, "an event log (hlevents)", format!("{found:?}")));
        }
        let [version, length] =
            [8, 12].map(|at| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]));
        if version != VERSION {
            return Err(Bad::new(8, format!("version {VERSION} of the event log"), format!("version {version}")));
        }
        if length as usize > MOST {
            return Err(Bad::new(12, format!("at most {MOST} bytes of properties"), format!("{length}")));
        }
        Ok(length as usize + 4)
    }

    /// Reads a whole header.
    ///
    /// # Errors
    /// If its checksum differs or a property is cut off.
    pub fn decode(bytes: &[u8]) -> Result<Self, Bad> {
        let Some((body, sum)) = bytes.split_last_chunk::<4>().filter(|(body, _)| body.len() >= FIXED) else {
            return Err(Bad::new(bytes.len() as u64, "the header of an event log", "its end"));
        };
        let (stated, found) = (u32::from_le_bytes(*sum), crc32fast::hash(body));
        if stated != found {
            return Err(Bad::new(
                body.len() as u64,
                format!("the header's checksum {stated:08x}"),
                format!("{found:08x}"),
            ));
        }
        let (mut properties, mut fields) = (Vec::new(), Cursor::new(&body[FIXED..]));
        while !fields.is_done() {
            let at = (FIXED + fields.at()) as u64;
            let pair = fields.text().zip(fields.text()).ok_or_else(|| Bad::new(at, "a property", "the end of all"))?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            properties.push((text(pair.0), text(pair.1)));
        }
        Ok(Self { properties })
    }
}
