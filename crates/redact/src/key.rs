//! The key of a redaction, and keyed digests.

use siphasher::sip::SipHasher13;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Hexadecimal digits of a key.
const DIGITS: usize = 32;

/// The key of a redaction: 128 bits. Whoever has it can test guesses of masked texts, and can compute masked numbers
/// back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key {
    words: [u64; 2],
}

/// Purpose of a digest: equal contents of different purposes have different digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Texts.
    Text = 1,
    /// Arrays of numbers.
    Array = 2,
    /// The fingerprint of the key.
    Fingerprint = 4,
}

/// A digest of 128 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    pub words: [u64; 2],
}

impl Key {
    /// Makes a random key, from the source of randomness of the standard library's hash tables (the system's).
    #[must_use]
    pub fn random() -> Self {
        let (one, other) = (RandomState::new(), RandomState::new());
        let mut words = [0; 2];
        for (at, word) in words.iter_mut().enumerate() {
            *word = one.hash_one(at) ^ other.hash_one(at + 2).rotate_left(32);
        }
        Self { words }
    }

    /// Parses a key: 32 hexadecimal digits, with white space around them. `None` for another text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_key = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_key)?;
        Some(Self { words: [(number >> 64) as u64, number as u64] })
    }

    /// Returns the key of two words.
    #[must_use]
    pub const fn of_words(words: [u64; 2]) -> Self {
        Self { words }
    }

    /// Its two words, from which [`Self::of_words`] makes it again.
    #[must_use]
    pub const fn words(&self) -> [u64; 2] {
        self.words
    }

    /// Returns 16 hexadecimal digits that tell the key from others, and tell nothing else of it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        format!("{:016x}", self.of(Purpose::Fingerprint, b"").words[0])
    }

    /// Returns the text that [`Self::parse`] reads, with a line end.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{:016x}{:016x}\n", self.words[0], self.words[1])
    }

    /// Starts a digest.
    pub(crate) fn digest(&self, purpose: Purpose) -> Hashing {
        Hashing(SipHasher24::new_with_keys(self.words[0], self.words[1] ^ purpose as u64))
    }

    /// Returns a mask for a round of a permutation, from a half of its block.
    #[inline]
    pub(crate) fn round(&self, [round, length]: [u8; 2], half: u64) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.words[0] ^ 3, self.words[1]);
        hasher.write_u64(half);
        hasher.write_u64(u64::from(round) << 8 | u64::from(length));
        hasher.finish()
    }

    /// Returns the digest of a content.
    pub(crate) fn of(&self, purpose: Purpose, content: &[u8]) -> Digest {
        let mut hashing = self.digest(purpose);
        hashing.add(content);
        hashing.finish()
    }
}

/// Hides the key from messages.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// An unfinished digest: SipHash-2-4 with 128 bits.
#[derive(Clone)]
pub(crate) struct Hashing(SipHasher24);

impl Hashing {
    /// Adds bytes of the content.
    #[inline]
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Returns the digest.
    #[inline]
    pub(crate) fn finish(&self) -> Digest {
        let hash = self.0.finish128();
        Digest { words: [hash.h1, hash.h2] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_back_and_differ() {
        let key = Key::random();
        assert_eq!(Key::parse(&key.text()), Some(key));
        assert_ne!(key, Key::random());
        for text in ["", "12", &"g".repeat(32), &format!("+{}", "1".repeat(31)), &"1".repeat(33)] {
            assert_eq!(Key::parse(text), None, "{text}");
        }
        assert_eq!(format!("{key:?}"), "Key");
        assert_eq!(Key::of_words(key.words()), key);
        assert_ne!(key.fingerprint(), Key::random().fingerprint());
        assert_eq!((key.fingerprint(), key.fingerprint().len()), (Key::of_words(key.words()).fingerprint(), 16));
    }

    #[test]
    fn digests_depend_on_key_purpose_and_content_but_not_on_pieces() {
        let (one, other) = (Key::random(), Key::random());
        assert_eq!(one.of(Purpose::Text, b"abc"), one.of(Purpose::Text, b"abc"));
        assert_ne!(one.of(Purpose::Text, b"abc"), one.of(Purpose::Text, b"abd"));
        assert_ne!(one.of(Purpose::Text, b"abc"), one.of(Purpose::Array, b"abc"));
        assert_ne!(one.of(Purpose::Text, b"abc"), other.of(Purpose::Text, b"abc"));
        let mut pieces = one.digest(Purpose::Text);
        pieces.add(b"a");
        pieces.add(b"bc");
        assert_eq!(pieces.finish(), one.of(Purpose::Text, b"abc"));
    }

    #[test]
    fn the_digest_is_siphash() {
        let key = Key::parse("07060504030201000f0e0d0c0b0a0908").unwrap();
        let digest = SipHasher24::new_with_keys(key.words[0], key.words[1]).finish128();
        assert_eq!((digest.h1, digest.h2), (0xe6a8_25ba_047f_81a3, 0x9302_55c7_1472_f66d));
    }
}
