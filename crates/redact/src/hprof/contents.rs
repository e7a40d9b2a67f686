//! Masks of the contents of arrays, texts and fields. Lengths stay.

use super::classes::{Care, Step};
use super::walk::{BOOLEAN, BYTE, CHAR};
use crate::key::{Digest, Key, Purpose};
use crate::mask::{self, Values};
use crate::options::{Choice, Options, Texts};
use crate::sink::Sink;
use heaplake_input::bytes::Bytes;
use heaplake_kit::StageError;

/// Bytes of a block of a long content. The mask of a block depends on all blocks up to it.
const BLOCK: usize = 1 << 20;

/// Contents of fewer bytes are permuted, so that different ones stay different: those that too few letters represent.
const PERMUTED: u64 = 8;
const PERMUTED_CHARS: u64 = 16;

/// Length of a mask that is repeated to the length of the content.
const PATTERN: usize = 64;

/// Tweak of the masks of booleans, besides the lengths of blocks.
const OF_BOOLEANS: u8 = 0xb0;

/// Kind of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// An array with elements of this type.
    Array(u8),
    /// A text of the dump, in UTF-8.
    Text,
}

/// Number of remembered masks of numbers.
const RECENT: usize = 1 << 12;

/// Masks contents.
pub(super) struct Contents<'a> {
    pub options: &'a Options,
    block: Vec<u8>,
    /// Masks of numbers, by a hash of these: most numbers of a heap are few.
    recent: Box<[Recent]>,
}

/// A number of `width` bytes, and its mask; 0 bytes for none.
#[derive(Clone, Copy, Default)]
struct Recent {
    number: u64,
    mask: u64,
    width: usize,
}

impl<'a> Contents<'a> {
    /// Starts with empty buffers.
    pub(super) fn new(options: &'a Options) -> Self {
        Self { options, block: Vec::new(), recent: vec![Recent::default(); RECENT].into() }
    }

    /// Whether arrays with elements of this type are masked.
    pub(super) fn masks_array(&self, element: u8) -> bool {
        element == BYTE || element == CHAR || self.options.numbers == Choice::Mask
    }

    /// Reads a content of `length` bytes and writes its mask.
    pub(super) fn mask(
        &mut self,
        of: Of,
        length: u64,
        cursor: &mut Bytes<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), StageError> {
        let permuted = match of {
            Of::Text | Of::Array(BOOLEAN) => 0,
            Of::Array(CHAR) => PERMUTED_CHARS,
            Of::Array(_) => PERMUTED,
        };
        let mut left = length;
        let mut digest = Digest::default();
        while left > 0 {
            let offset = cursor.offset();
            let wanted = left.min(BLOCK as u64) as usize;
            self.block.clear();
            let found = cursor.append_to(&mut self.block, wanted)?;
            if found < wanted {
                let found = format!("the end of the content, {found} bytes further on");
                return Err(cursor.error(offset, format!("{wanted} bytes"), found));
            }
            match self.options.texts {
                Texts::None => self.block.fill(0),
                Texts::Hash if length < permuted => {
                    let mut block = std::mem::take(&mut self.block);
                    self.permute(&mut block);
                    self.block = block;
                }
                Texts::Hash => {
                    digest = chained(&self.options.key, of, digest, &self.block);
                    fill(of, digest, &mut self.block);
                }
            }
            if self.options.texts == Texts::None {
                blank(of, &mut self.block);
            }
            sink.put(&self.block)?;
            left -= wanted as u64;
        }
        Ok(())
    }

    /// Masks a value of a field or of a class in place; returns whether it did.
    #[inline]
    pub(super) fn value(&mut self, step: &Step, value: &mut [u8]) -> bool {
        let masks = match step.care {
            Care::Keep => false,
            Care::Text => true,
            Care::Number | Care::Boxed => self.options.numbers == Choice::Mask,
        };
        match self.options.texts {
            _ if !masks => {}
            Texts::None => value.fill(0),
            Texts::Hash if step.is_boolean => {
                let swap = self.options.key.round([OF_BOOLEANS, 0], step.at.into()) as u8 & 1;
                value.iter_mut().for_each(|byte| *byte = (*byte & 1) ^ swap);
            }
            Texts::Hash => self.permute(value),
        }
        masks
    }

    /// Permutes a block. The mask of a short one may be remembered.
    #[inline]
    fn permute(&mut self, block: &mut [u8]) {
        let width = block.len();
        if width == 0 || width > 8 {
            return mask::permute(&self.options.key, block);
        }
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(block);
        let number = u64::from_le_bytes(bytes);
        // Fibonacci hashing.
        let at = (number ^ (width as u64) << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - RECENT.ilog2());
        let recent = &mut self.recent[at as usize];
        if recent.number != number || recent.width != width {
            mask::permute(&self.options.key, block);
            bytes[..width].copy_from_slice(block);
            *recent = Recent { number, mask: u64::from_le_bytes(bytes), width };
        }
        block.copy_from_slice(&recent.mask.to_le_bytes()[..width]);
    }
}

/// Returns the digest of a block, given that of the blocks before.
fn chained(key: &Key, of: Of, before: Digest, block: &[u8]) -> Digest {
    let purpose = match of {
        Of::Text | Of::Array(BYTE | CHAR) => Purpose::Text,
        Of::Array(_) => Purpose::Array,
    };
    let mut hashing = key.digest(purpose);
    hashing.add(&before.words[0].to_le_bytes());
    hashing.add(&before.words[1].to_le_bytes());
    hashing.add(block);
    hashing.finish()
}

/// Fills a block with the mask of a digest.
fn fill(of: Of, digest: Digest, block: &mut [u8]) {
    let mut values = Values::new(digest);
    let mut pattern = [0; PATTERN];
    let begin = &mut pattern[..PATTERN.min(block.len())];
    match of {
        Of::Text | Of::Array(BYTE) => begin.iter_mut().for_each(|byte| *byte = values.letter()),
        Of::Array(CHAR) => begin.iter_mut().skip(1).step_by(2).for_each(|byte| *byte = values.letter()),
        Of::Array(BOOLEAN) => {
            let mut bits = values.word();
            begin.iter_mut().for_each(|byte| (*byte, bits) = (bits as u8 & 1, bits >> 1));
        }
        Of::Array(_) => {
            for piece in begin.chunks_mut(8) {
                piece.copy_from_slice(&values.word().to_le_bytes()[..piece.len()]);
            }
        }
    }
    block.chunks_mut(PATTERN).for_each(|piece| piece.copy_from_slice(&pattern[..piece.len()]));
}

/// Turns zeros into the letter `x` where contents are texts.
fn blank(of: Of, block: &mut [u8]) {
    match of {
        Of::Text | Of::Array(BYTE) => block.fill(b'x'),
        Of::Array(CHAR) => block.iter_mut().skip(1).step_by(2).for_each(|byte| *byte = b'x'),
        Of::Array(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_input::source::Source;
    use heaplake_kit::stage::Silent;
    use heaplake_kit::{Budget, Context};
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    fn masked(content: &[u8], of: Of, options: &Options, block: usize) -> Vec<u8> {
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(64 << 20), threads: 1, progress: &Silent, cancel: &cancel };
        let mut cursor = Bytes::new(Source::of_bytes(content, block), &context);
        let mut out = Vec::new();
        let mut sink = Sink::new(&mut out, Path::new("test"));
        Contents::new(options).mask(of, content.len() as u64, &mut cursor, &mut sink).unwrap();
        sink.flush().unwrap();
        out
    }

    fn options(texts: Texts) -> Options {
        Options { texts, numbers: Choice::Mask, thread_names: Choice::Mask, key: Key::random() }
    }

    #[test]
    fn masks_keep_lengths_and_equality() {
        let options = options(Texts::Hash);
        for of in [Of::Text, Of::Array(BYTE), Of::Array(CHAR), Of::Array(10)] {
            for length in [0, 2, 6, 8, 14, 16, 100, 5000, BLOCK + 2, 3 * BLOCK] {
                let content = vec![b'q'; length];
                let mask = masked(&content, of, &options, 1 << 16);
                assert_eq!(mask.len(), length);
                assert_eq!(mask, masked(&content, of, &options, 1000));
                if length >= 8 {
                    assert!(!mask.windows(8).any(|window| window == [b'q'; 8]), "{of:?} {length}");
                }
                // Shorter ends have too few masks to differ each time.
                if length >= 8 && !(1..8).contains(&(length % BLOCK)) {
                    let mut other = content.clone();
                    other[length - 1] = b'r';
                    let differs = mask != masked(&other, of, &options, 1 << 16);
                    assert!(differs, "{of:?} {length}");
                }
            }
        }
    }

    #[test]
    fn lengths_alone_stay_without_digests() {
        let options = options(Texts::None);
        assert_eq!(masked(b"secret", Of::Array(BYTE), &options, 9), b"xxxxxx");
        assert_eq!(masked(b"\0s\0e", Of::Array(CHAR), &options, 9), b"\0x\0x");
        assert_eq!(masked(&[1; 8], Of::Array(11), &options, 9), [0; 8]);
    }

    #[test]
    fn booleans_stay_booleans() {
        let options = options(Texts::Hash);
        assert!(masked(&[1; 100], Of::Array(BOOLEAN), &options, 9).iter().all(|&byte| byte < 2));
        let mut contents = Contents::new(&options);
        let step = Step { at: 12, width: 1, is_boolean: true, care: Care::Number };
        let mut both = [0, 1].map(|value| {
            let mut value = [value];
            assert!(contents.value(&step, &mut value));
            value[0]
        });
        both.sort_unstable();
        assert_eq!(both, [0, 1]);
    }
}
