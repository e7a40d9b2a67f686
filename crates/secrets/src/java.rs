//! The arrays of bytes and characters of a heap dump of Java: texts of strings, builders and buffers.
//!
//! * An array of characters is UTF-16. One of bytes is searched as it is; where every other byte is often zero, also
//!   as UTF-16 of the byte order that this suggests.
//! * Passes: one; one before to measure a compressed file.
//! * Resident memory: two [`Window`]s, 24 bytes per secret and array, and the texts that are asked for.

use crate::hits::Hits;
use crate::matching::Matcher;
use crate::window::Window;
use heaplake_input::bytes::Bytes;
use heaplake_kit::{Context, Reservation, StageError};
use heaplake_redact::Content;
use heaplake_redact::hprof::{BYTE, CHAR, Visitor, pass};
use rustc_hash::FxHashMap;

/// Bytes of a text that is asked for, and of its entry in a table.
const MOST_TEXT: usize = 4 << 10;
const ENTRY: u64 = 64;

/// Texts of arrays by their ids.
pub type Texts = FxHashMap<u64, Vec<u8>>;

/// Searches all arrays of bytes and characters; hits have ids of arrays. Also fills the beginnings of `texts`. Returns
/// the number of arrays.
///
/// # Errors
/// [`StageError::Input`] if the dump is damaged, [`StageError::Refused`] if it changes meanwhile.
pub fn arrays(
    content: &mut Content,
    matcher: &Matcher,
    hits: &mut Hits<'_>,
    texts: &mut Texts,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let bytes = content.bytes(context)?;
    let held = context.budget.reserve("texts of arrays", texts.len() as u64 * ENTRY)?;
    let (narrow, wide) = (Window::new(matcher), Window::new(matcher));
    let mut arrays = Arrays { narrow, wide, hits, texts, held, count: 0 };
    pass("arrays", content, bytes, &mut arrays, context)?;
    Ok(arrays.count)
}

struct Arrays<'a, 't> {
    narrow: Window<'a>,
    wide: Window<'a>,
    hits: &'a mut Hits<'t>,
    texts: &'a mut Texts,
    held: Reservation,
    count: u64,
}

/// How an array of bytes is read as UTF-16.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    None,
    Big,
    Little,
}

impl Order {
    /// The order that a beginning suggests: most characters of texts with tokens have a zero byte.
    fn of(bytes: &[u8]) -> Self {
        let zeros = |offset: usize| bytes.iter().skip(offset).step_by(2).filter(|&&byte| byte == 0).count();
        let (first, second) = (zeros(0), zeros(1));
        let is_often = |zeros: usize| zeros >= 4 && zeros * 8 >= bytes.len() / 2;
        match (is_often(first), is_often(second)) {
            (true, _) if first > second => Self::Big,
            (_, true) if second > first => Self::Little,
            _ => Self::None,
        }
    }

    fn decode(self, bytes: &[u8], out: &mut Vec<u8>) {
        for pair in bytes.chunks_exact(2) {
            let unit = match self {
                Self::Big => u16::from_be_bytes([pair[0], pair[1]]),
                _ => u16::from_le_bytes([pair[0], pair[1]]),
            };
            match u8::try_from(unit).ok().filter(u8::is_ascii) {
                Some(byte) => out.push(byte),
                None => {
                    let c = char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
    }
}

impl Visitor for Arrays<'_, '_> {
    fn array(&mut self, id: u64, element: u8, length: u64, cursor: &mut Bytes<'_>) -> Result<(), StageError> {
        if element != BYTE && element != CHAR {
            return cursor.skip(length);
        }
        self.count += 1;
        let mut kept = self.texts.get_mut(&id).map(std::mem::take);
        let mut left = length;
        while left > 0 {
            let piece = cursor.some(if left > 1 { 2 } else { 1 }, left)?;
            left -= piece.len() as u64;
            let Self { narrow, wide, hits, .. } = self;
            let mut found = |rule: u16, secret: &[u8]| hits.add(id, rule, secret);
            let order = if element == CHAR { Order::Big } else { Order::of(&piece[..piece.len().min(MOST_TEXT)]) };
            if element == BYTE {
                narrow.grow(|text| text.extend_from_slice(piece), &mut found);
            }
            if order != Order::None {
                wide.grow(|text| order.decode(piece, text), &mut found);
            }
            if let Some(kept) = kept.as_mut().filter(|kept| kept.len() < MOST_TEXT) {
                let some = &piece[..piece.len().min(MOST_TEXT)];
                match order {
                    Order::None => kept.extend_from_slice(some),
                    order => order.decode(some, kept),
                }
            }
        }
        let Self { narrow, wide, hits, .. } = self;
        let mut found = |rule: u16, secret: &[u8]| hits.add(id, rule, secret);
        narrow.end(&mut found);
        wide.end(&mut found);
        if let Some(kept) = kept {
            self.held.grow(kept.capacity() as u64)?;
            self.texts.insert(id, kept);
        }
        self.hits.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_order_is_that_of_the_zeros() {
        let wide = |text: &str, little: bool| -> Vec<u8> {
            text.encode_utf16().flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
        };
        for (text, little, order) in [("password=ж", true, Order::Little), ("password=ж", false, Order::Big)] {
            let bytes = wide(text, little);
            assert!(Order::of(&bytes) == order);
            let mut out = Vec::new();
            order.decode(&bytes, &mut out);
            assert_eq!(out, text.as_bytes());
        }
        assert!(Order::of(b"plain text") == Order::None && Order::of(&[0; 64]) == Order::None);
        assert!(Order::of(b"") == Order::None && Order::of(b"a") == Order::None);
    }
}
