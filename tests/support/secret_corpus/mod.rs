//! Planted secrets and near misses: what a scanner for secrets must find, and what it must not.
//!
//! All texts are made up by a generator with a fixed seed, and put together from pieces, so that no source file has a
//! text that looks like a token.

mod misses;
mod secrets;

pub use misses::misses;
pub use secrets::secrets;

use heaplake_oracle::SplitMix64;

/// How a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a field.
    Field,
    /// As an element of an array.
    Element,
    /// As the value of a map.
    Map,
    /// As a string of several pieces; in Java as a field.
    Pieces,
    /// In Java as an array of characters; in JavaScript as a field.
    Chars,
    /// In Java as an array of bytes; in JavaScript as a field.
    Bytes,
}

impl Place {
    const ALL: [Self; 6] = [Self::Field, Self::Element, Self::Map, Self::Pieces, Self::Chars, Self::Bytes];

    /// Name, for the programs that plant.
    pub fn name(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Element => "element",
            Self::Map => "map",
            Self::Pieces => "pieces",
            Self::Chars => "chars",
            Self::Bytes => "bytes",
        }
    }
}

/// A text of the corpus.
#[derive(Clone, Debug)]
pub struct Item {
    /// Name of the class of the only object that holds it: `Plant17`, `Miss42`.
    pub holder: String,
    /// Name of the field.
    pub field: String,
    /// Kind, for reports.
    pub kind: &'static str,
    /// The text of the string.
    pub text: String,
    /// The secret inside; empty in a near miss.
    pub secret: String,
    /// How it is held.
    pub place: Place,
}

/// Makes the items of a list of kind, field, text and secret.
fn items(prefix: &str, texts: Vec<(&'static str, &str, String, String)>) -> Vec<Item> {
    let item = |(at, (kind, field, text, secret)): (usize, (&'static str, &str, String, String))| {
        // A field with a telling name must be the direct holder.
        let place = if field == "value" { Place::ALL[at % Place::ALL.len()] } else { Place::Field };
        // A third of the texts have characters beyond Latin-1.
        let text = if at % 3 == 1 && field == "value" { format!("{text} → ж") } else { text };
        Item { holder: format!("{prefix}{at}"), field: field.to_owned(), kind, text, secret, place }
    };
    texts.into_iter().enumerate().map(item).collect()
}

/// Letters of random texts.
const ALPHANUMERIC: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const HEX: &[u8] = b"0123456789abcdef";
const DIGITS: &[u8] = b"0123456789";
const WORDS: [&str; 24] = [
    "amber", "basil", "cedar", "delta", "ember", "fjord", "grape", "heron", "indigo", "jasper", "kelp", "lilac",
    "maple", "nylon", "olive", "pearl", "quartz", "raven", "sepia", "topaz", "umber", "velvet", "willow", "zephyr",
];

/// A source of random texts.
struct Random(SplitMix64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    fn of(&mut self, letters: &[u8], length: usize) -> String {
        (0..length).map(|_| letters[self.0.below(letters.len() as u64) as usize] as char).collect()
    }

    /// Random text with letters and digits in it, so that no rule can take it for a word.
    fn mixed(&mut self, letters: &[u8], length: usize) -> String {
        loop {
            let text = self.of(letters, length);
            let has = |is: fn(&u8) -> bool| text.as_bytes().iter().filter(|byte| is(byte)).count() >= 2;
            if has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) {
                return text;
            }
        }
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.0.below(WORDS.len() as u64) as usize]
    }

    fn number(&mut self, below: u64) -> u64 {
        self.0.below(below)
    }

    /// A password as people choose them: words, digits and a sign.
    fn password(&mut self) -> String {
        let (first, second) = (self.word(), self.word());
        let (number, sign) = (self.number(9000) + 1000, ["!", "#", "_", "-", "."][self.number(5) as usize]);
        format!("{}{first}{sign}{second}{number}", self.of(b"QWRTZPSDFGHKLXCVBNM", 1))
    }
}

/// Digits with their check digit of Luhn.
fn luhn(digits: &str) -> String {
    let sum: u32 = digits.bytes().rev().enumerate().fold(0, |sum, (at, digit)| {
        let digit = u32::from(digit - b'0');
        sum + if at % 2 == 0 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
    });
    format!("{digits}{}", (10 - sum % 10) % 10)
}

/// An IBAN with its two check digits.
fn iban(country: &str, account: &str) -> String {
    let digits = |text: &str| -> String {
        text.bytes()
            .map(|byte| match byte {
                b'0'..=b'9' => (byte - b'0').to_string(),
                _ => (u32::from(byte - b'A') + 10).to_string(),
            })
            .collect()
    };
    let rest = digits(&format!("{account}{country}00"))
        .bytes()
        .fold(0u32, |rest, digit| (rest * 10 + u32::from(digit - b'0')) % 97);
    format!("{country}{:02}{account}", 98 - rest)
}

/// Base64 of bytes, padded.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            out.push(if at <= three.len() { BASE64[bits >> (18 - 6 * at) & 63] as char } else { '=' });
        }
    }
    out
}

/// Base64 for URLs, without padding.
fn base64_url(bytes: &[u8]) -> String {
    base64(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}
