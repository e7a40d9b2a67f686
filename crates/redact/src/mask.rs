//! Masked contents: letters in place of texts, permuted numbers in place of numbers.
//!
//! * Texts become letters that depend on a keyed digest of the whole text, so equal texts stay equal. Letters only: a
//!   masked text can look like no mail, number or token.
//! * Numbers and short texts are permuted by a keyed permutation (a Feistel network): different ones stay different.
//!
//! Cost: one digest per text; six rounds of SipHash-1-3 per number.

use crate::key::{Digest, Key};

/// Number of letters.
const LETTERS: u64 = 52;

/// Letter of masks without a digest: `x`.
const UNKEYED: u8 = 23;

/// Bytes of letters made at a time.
const PIECE: usize = 64;

/// Letters drawn from a word of 64 bits.
const PER_WORD: u32 = 11;

/// Rounds of the permutation of a block of bytes, and of a single byte.
const ROUNDS: u8 = 6;
const ROUNDS_OF_A_BYTE: u8 = 10;

/// Largest permuted block, bytes.
pub(crate) const MOST_PERMUTED: usize = 16;

/// A sequence of pseudorandom values that depends on a digest.
pub(crate) struct Values {
    words: [u64; 2],
    next: usize,
    word: u64,
    left: u32,
}

impl Values {
    /// Starts the sequence of a digest.
    pub(crate) fn new(digest: Digest) -> Self {
        Self { words: digest.words, next: 0, word: 0, left: 0 }
    }

    /// Returns 64 bits.
    #[inline]
    pub(crate) fn word(&mut self) -> u64 {
        // SplitMix64, alternately from both halves of the digest.
        let state = &mut self.words[self.next];
        self.next ^= 1;
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a value below 52.
    #[inline]
    fn draw(&mut self) -> u8 {
        if self.left == 0 {
            (self.word, self.left) = (self.word(), PER_WORD);
        }
        self.left -= 1;
        let product = u128::from(self.word) * u128::from(LETTERS);
        self.word = product as u64;
        (product >> 64) as u8
    }

    /// Returns a value below `limit`, which is at most 52.
    #[inline]
    pub(crate) fn below(&mut self, limit: u64) -> u8 {
        (u64::from(self.draw()) % limit) as u8
    }

    /// Returns a letter.
    #[inline]
    pub(crate) fn letter(&mut self) -> u8 {
        letter(self.draw())
    }

    /// Fills a piece with letters.
    #[inline]
    fn letters(&mut self, piece: &mut [u8]) {
        piece.iter_mut().for_each(|byte| *byte = self.letter());
    }
}

/// Returns the letter of a value below 52.
#[inline]
const fn letter(value: u8) -> u8 {
    // The capitals follow the small letters in this order without a branch.
    value + b'a' - (value >= 26) as u8 * (b'a' + 26 - b'A')
}

/// Permutes a block of at most [`MOST_PERMUTED`] bytes in place. Blocks of one length stay distinct.
pub(crate) fn permute(key: &Key, block: &mut [u8]) {
    debug_assert!(block.len() <= MOST_PERMUTED);
    if let [byte] = block {
        *byte = permuted_byte(key, *byte);
        return;
    }
    let length = block.len() as u8;
    let (left, right) = block.split_at_mut(block.len() / 2);
    for round in 0..ROUNDS {
        let (from, to) = if round % 2 == 0 { (&*right, &mut *left) } else { (&*left, &mut *right) };
        let mut half = [0; 8];
        half[..from.len()].copy_from_slice(from);
        let mask = key.round([round, length], u64::from_le_bytes(half)).to_le_bytes();
        to.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
}

/// Permutes a byte by its halves of four bits.
fn permuted_byte(key: &Key, byte: u8) -> u8 {
    let (mut left, mut right) = (byte >> 4, byte & 15);
    for round in 0..ROUNDS_OF_A_BYTE {
        let mask = key.round([round, 1], right.into()) as u8 & 15;
        (left, right) = (right, left ^ mask);
    }
    left << 4 | right
}

/// Contents of a text that its mask keeps: characters by their width, and signs of characters lost in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Characters of ASCII, of Latin-1, and others of two, three and four bytes.
    pub widths: [u32; 5],
    /// Whether the text has `???`, as V8 writes some characters.
    pub has_questions: bool,
    /// Whether it has U+FFFD.
    pub has_replaced: bool,
    /// Question marks at the end of the text so far.
    questions: u8,
}

impl Shape {
    /// Adds a piece of the text.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        if piece.is_ascii() {
            self.widths[0] = self.widths[0].saturating_add(piece.len() as u32);
        } else {
            piece.iter().for_each(|&byte| self.count(byte));
            self.has_replaced |= piece.windows(3).any(|three| three == "\u{fffd}".as_bytes());
        }
        if !self.has_questions {
            self.see_questions(piece);
        }
    }

    fn count(&mut self, byte: u8) {
        let class = match byte {
            0..=0x7f => 0,
            0x80..=0xbf => return,
            0xc0..=0xc3 => 1,
            0xc4..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xff => 4,
        };
        self.widths[class] = self.widths[class].saturating_add(1);
    }

    fn see_questions(&mut self, piece: &[u8]) {
        if memchr::memchr(b'?', piece).is_none() {
            self.questions = 0;
            return;
        }
        for &byte in piece {
            self.questions = if byte == b'?' { self.questions + 1 } else { 0 };
            if self.questions == 3 {
                self.has_questions = true;
                return;
            }
        }
    }

    /// Number of characters.
    pub(crate) fn characters(&self) -> u64 {
        self.widths.iter().map(|&count| u64::from(count)).sum()
    }

    /// Lengthens a short text with characters of ASCII to at least `least`; an empty one stays empty.
    #[must_use]
    pub(crate) fn at_least(mut self, least: u32) -> Self {
        let characters = self.characters();
        if characters > 0 && characters < u64::from(least) {
            self.widths[0] += least - characters as u32;
        }
        self
    }
}

/// Passes the mask of a text in UTF-8 to `put`, in pieces; without a digest, one letter masks all.
pub(crate) fn text<E>(
    shape: &Shape,
    digest: Option<Digest>,
    mut put: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut values = digest.map(Values::new);
    let questions = if shape.has_questions { 3.min(shape.widths[0]) } else { 0 };
    let mut left = (shape.widths[0] - questions) as usize;
    let mut piece = [letter(UNKEYED); PIECE];
    while left > 0 {
        let piece = &mut piece[..left.min(PIECE)];
        if let Some(values) = &mut values {
            values.letters(piece);
        }
        put(piece)?;
        left -= piece.len();
    }
    if questions > 0 {
        put(&b"???"[..questions as usize])?;
    }
    if shape.widths[1..] == [0; 4] {
        return Ok(());
    }
    let mut below = |limit: u64| values.as_mut().map_or(UNKEYED.min(limit as u8 - 1), |values| values.below(limit));
    // Latin-1 letters, Cyrillic ones, ideographs, faces.
    for (class, first, limit) in [(1, 0xc0, 23), (2, 0x430, 32), (3, 0x4e00, 52), (4, 0x1f600, 52)] {
        for at in 0..shape.widths[class] {
            let is_replaced = class == 3 && shape.has_replaced && at == 0;
            let c = if is_replaced { 0xfffd } else { first + u32::from(below(limit)) };
            let c = char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER);
            put(c.encode_utf8(&mut [0; 4]).as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Purpose;
    use std::collections::HashSet;
    use std::convert::Infallible;

    fn masked(text: &str, digest: Option<Digest>) -> String {
        let mut shape = Shape::default();
        shape.add(text.as_bytes());
        let mut out = Vec::new();
        super::text::<Infallible>(&shape, digest, |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_of_all_widths_stay_distinct() {
        let key = Key::random();
        let of = |block: &[u8]| {
            let mut block = block.to_vec();
            permute(&key, &mut block);
            block
        };
        for bytes in [1, 2] {
            let all = (0..1u32 << (8 * bytes)).map(|number| of(&number.to_be_bytes()[4 - bytes..]));
            assert_eq!(all.collect::<HashSet<_>>().len(), 1 << (8 * bytes));
        }
        for bytes in 3..=16 {
            let all = (0..10_000u128).map(|number| of(&number.to_be_bytes()[16 - bytes..]));
            let all: HashSet<_> = all.collect();
            assert_eq!(all.len(), 10_000);
        }
    }

    #[test]
    fn masks_keep_the_number_of_characters_by_width() {
        let text = "añ№文😀 x???\u{fffd}";
        for digest in [None, Some(Key::random().of(Purpose::Text, text.as_bytes()))] {
            let mask = masked(text, digest);
            assert_eq!(mask.chars().count(), text.chars().count());
            assert_eq!(mask.len(), text.len());
            assert!(mask.contains("???") && mask.contains('\u{fffd}') && !mask.contains('ñ'), "{mask}");
        }
        assert_eq!(masked("secret", None), "xxxxxx");
        assert_eq!(masked("", None), "");
    }

    #[test]
    fn question_marks_count_across_pieces() {
        let mut shape = Shape::default();
        shape.add(b"a??");
        shape.add(b"?");
        assert!(shape.has_questions);
        let mut shape = Shape::default();
        shape.add(b"a??");
        shape.add(b"b");
        shape.add(b"?");
        assert!(!shape.has_questions);
    }

    #[test]
    fn short_texts_are_lengthened_and_empty_ones_are_not() {
        let shape = |text: &[u8]| {
            let mut shape = Shape::default();
            shape.add(text);
            shape.at_least(14).characters()
        };
        assert_eq!((shape(b""), shape(b"a"), shape("文文".as_bytes()), shape(&[b'a'; 20])), (0, 14, 14, 20));
    }

    #[test]
    fn letters_are_about_equally_frequent() {
        let mut counts = [0u32; 256];
        let mut values = Values::new(Digest { words: [1, 2] });
        (0..52_000).for_each(|_| counts[usize::from(values.letter())] += 1);
        let seen: Vec<u32> = counts.iter().copied().filter(|&count| count > 0).collect();
        assert_eq!(seen.len(), 52);
        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
    }
}
