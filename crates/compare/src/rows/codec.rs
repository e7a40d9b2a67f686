//! Encodes records in scratch files, to about a third of their size in memory.
//!
//! A record: a byte of flags, the key, run and row, fingerprint (unless equal to the key), class fingerprint (unless
//! 0), a bit set of null measures (unless empty), and the measures. Numbers are varints, hashes take 8 bytes.

use super::record::{HEAD, Head, Record};
use std::io::{self, Read};

/// The fingerprint equals the key.
const IS_KEY: u8 = 1;
/// There is no class.
const NO_CLASS: u8 = 2;
/// No measure is null.
const NO_NULLS: u8 = 4;

/// Maximum bytes of a varint.
const VARINT: usize = 10;
/// Bytes per read.
const CHUNK: usize = 256 << 10;

/// Maximum bytes of a record of `width` words.
pub(super) fn most_bytes(width: usize) -> usize {
    1 + 3 * 8 + (width - HEAD + 3) * VARINT
}

/// Appends a record.
pub(super) fn encode(record: Record<'_>, out: &mut Vec<u8>) {
    let Head { key, run, row, fingerprint, class, nulls } = *record.head;
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    out.push(flag(fingerprint == key, IS_KEY) | flag(class == 0, NO_CLASS) | flag(nulls == 0, NO_NULLS));
    out.extend(key.to_le_bytes());
    varint(run.into(), out);
    varint(row.into(), out);
    if fingerprint != key {
        out.extend(fingerprint.to_le_bytes());
    }
    if class != 0 {
        out.extend(class.to_le_bytes());
    }
    if nulls != 0 {
        varint(nulls, out);
    }
    record.measures.iter().for_each(|&value| varint(value, out));
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `records` records of `width` words to `words`; fails if `from` ends early.
pub(super) fn decode(mut from: impl Read, width: usize, records: u64, words: &mut Vec<u64>) -> io::Result<()> {
    let most = most_bytes(width);
    let mut chunk = vec![0; CHUNK.max(2 * most)];
    let (mut at, mut filled) = (0, 0);
    for _ in 0..records {
        if filled - at < most {
            chunk.copy_within(at..filled, 0);
            (filled, at) = (filled - at, 0);
            while filled < chunk.len() {
                match from.read(&mut chunk[filled..]) {
                    Ok(0) => break,
                    Ok(read) => filled += read,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let mut bytes = Bytes { rest: &chunk[at..filled] };
        bytes.record(width, words).ok_or(io::ErrorKind::UnexpectedEof)?;
        at = filled - bytes.rest.len();
    }
    Ok(())
}

struct Bytes<'a> {
    rest: &'a [u8],
}

impl Bytes<'_> {
    fn record(&mut self, width: usize, words: &mut Vec<u64>) -> Option<()> {
        let flags = self.byte()?;
        let key = self.word()?;
        let (run, row) = (self.varint()? as u32, self.varint()? as u32);
        let fingerprint = if flags & IS_KEY == 0 { self.word()? } else { key };
        let class = if flags & NO_CLASS == 0 { self.word()? } else { 0 };
        let nulls = if flags & NO_NULLS == 0 { self.varint()? } else { 0 };
        words.extend_from_slice(bytemuck::cast_slice(&[Head { key, run, row, fingerprint, class, nulls }]));
        for _ in HEAD..width {
            words.push(self.varint()?);
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            heads in prop::collection::vec((any::<u64>(), any::<u64>(), any::<bool>(), 0..3_u64, 0..8_u64), 0..300),
            values in prop::collection::vec(prop_oneof![0..200_u64, any::<u64>()], 3),
        ) {
            let mut records = Vec::new();
            for (key, place, own, class, nulls) in heads {
                records.extend([key, place, if own { key } else { key ^ place }, class, nulls]);
                records.extend(values.iter().map(|value| value.rotate_left(key as u32)));
            }
            let mut bytes = Vec::new();
            Record::all(&records, HEAD + 3).for_each(|record| encode(record, &mut bytes));
            let count = (records.len() / (HEAD + 3)) as u64;
            prop_assert!(bytes.len() <= count as usize * most_bytes(HEAD + 3));
            let mut found = Vec::new();
            decode(&bytes[..], HEAD + 3, count, &mut found).unwrap();
            prop_assert_eq!(&found, &records);
            prop_assert!(decode(&bytes[..], HEAD + 3, count + 1, &mut found).is_err());
        }
    }
}
