//! Random texts with the structure of tokens and numbers.

use heaplake_oracle::SplitMix64;

/// Letters of random texts.
pub(super) const ALPHANUMERIC: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(super) const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub(super) const BASE64_URL: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
pub(super) const HEX: &[u8] = b"0123456789abcdef";
pub(super) const DIGITS: &[u8] = b"0123456789";
pub(super) const WORDS: [&str; 24] = [
    "amber", "basil", "cedar", "delta", "ember", "fjord", "grape", "heron", "indigo", "jasper", "kelp", "lilac",
    "maple", "nylon", "olive", "pearl", "quartz", "raven", "sepia", "topaz", "umber", "velvet", "willow", "zephyr",
];

/// A source of random texts.
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(super) fn of(&mut self, letters: &[u8], length: usize) -> String {
        (0..length).map(|_| letters[self.0.below(letters.len())] as char).collect()
    }

    /// Random text with letters and digits in it, so that no rule can take it for a word.
    pub(super) fn mixed(&mut self, letters: &[u8], length: usize) -> String {
        loop {
            let text = self.of(letters, length);
            let has = |is: fn(&u8) -> bool| text.as_bytes().iter().filter(|byte| is(byte)).count() >= 2;
            if has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) {
                return text;
            }
        }
    }

    pub(super) fn word(&mut self) -> &'static str {
        WORDS[self.0.below(WORDS.len())]
    }

    pub(super) fn number(&mut self, below: u64) -> u64 {
        self.0.below(below as usize) as u64
    }

    /// A password as people choose them: words, digits and a sign.
    pub(super) fn password(&mut self) -> String {
        let (first, second) = (self.word(), self.word());
        let (number, sign) = (self.number(9000) + 1000, ["!", "#", "_", "-", "."][self.number(5) as usize]);
        format!("{}{first}{sign}{second}{number}", self.of(b"QWRTZPSDFGHKLXCVBNM", 1))
    }
}

/// Digits with their check digit of Luhn.
pub(super) fn luhn(digits: &str) -> String {
    let sum: u32 = digits.bytes().rev().enumerate().fold(0, |sum, (at, digit)| {
        let digit = u32::from(digit - b'0');
        sum + if at % 2 == 0 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
    });
    format!("{digits}{}", (10 - sum % 10) % 10)
}

/// An IBAN with its two check digits.
pub(super) fn iban(country: &str, account: &str) -> String {
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
pub(super) fn base64(bytes: &[u8]) -> String {
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
pub(super) fn base64_url(bytes: &[u8]) -> String {
    base64(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}
