//! Writes the string table.

use std::io::Write;

use crate::rng::mix;
use crate::write::Out;

/// Size of the text from which longer strings are cut; its characters need no JSON escapes, so any cut is valid.
const POOL_BYTES: usize = 64 << 10;

/// Escapes found in real files, with their lengths in characters; one space follows each.
const ESCAPES: [(&str, u64); 8] = [
    ("\\\"quoted\\\"", 8),
    ("line\\nbreak", 10),
    ("tab\\tstop", 8),
    ("back\\\\slash", 10),
    ("\\u0001\\u001f", 2),
    ("caf\u{e9} \u{65e5}\u{672c}", 7),
    ("\\ud83d\\ude00 pair", 7),
    ("lone \\ud800 half", 11),
];

/// A string table being written.
pub(crate) struct Strings<'a, W: Write> {
    out: &'a mut Out<W>,
    pool: Vec<u8>,
    count: u64,
}

impl<'a, W: Write> Strings<'a, W> {
    /// Continues a table that already has `count` strings.
    pub(crate) fn new(out: &'a mut Out<W>, seed: u64, count: u64) -> Self {
        Self { out, pool: pool(seed), count }
    }

    /// Strings in the table so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The writer, for error checks between blocks.
    pub(crate) fn out(&mut self) -> &mut Out<W> {
        self.out
    }

    fn open(&mut self) {
        self.out.bytes(if self.count == 0 { b"\"" } else { b",\n\"" });
        self.count += 1;
    }

    /// A string of plain text; escapes quotes and backslashes.
    pub(crate) fn text(&mut self, text: &str) {
        self.open();
        for byte in text.bytes() {
            match byte {
                b'"' | b'\\' => self.out.bytes(&[b'\\', byte]),
                _ => self.out.bytes(&[byte]),
            }
        }
        self.out.bytes(b"\"");
    }

    /// A unique string: the prefix, which must need no escapes, and its own index as twelve digits.
    pub(crate) fn unique(&mut self, prefix: &str) {
        let index = self.count;
        self.open();
        self.out.bytes(prefix.as_bytes());
        self.out.bytes(&digits(index));
        self.out.bytes(b"\"");
    }

    /// A unique string of `length` characters (at least [`LONG_LEAST`]), some with an escape.
    pub(crate) fn long(&mut self, length: u64, key: u64) {
        let index = self.count;
        self.open();
        self.out.bytes(&digits(index));
        let mut left = length - 12;
        let (escape, taken) = ESCAPES[(key % 8) as usize];
        if key & 0x700 == 0 && left > taken {
            self.out.bytes(b" ");
            self.out.bytes(escape.as_bytes());
            left -= taken + 1;
        }
        let mut at = key >> 16;
        while left > 0 {
            let start = at as usize % (POOL_BYTES / 2);
            let take = left.min(POOL_BYTES as u64 / 2);
            self.out.bytes(&self.pool[start..start + take as usize]);
            left -= take;
            at = mix(at, left);
        }
        self.out.bytes(b"\"");
    }

    /// The name of a WeakMap entry's edge as V8 writes it.
    pub(crate) fn ephemeron(&mut self, number: u64, key: (&str, u64), value: (&str, u64), table: u64) {
        self.open();
        self.out.number(number);
        self.out.bytes(b" / part of key (");
        self.out.bytes(key.0.as_bytes());
        self.out.bytes(b" @");
        self.out.number(key.1);
        self.out.bytes(b") -> value (");
        self.out.bytes(value.0.as_bytes());
        self.out.bytes(b" @");
        self.out.number(value.1);
        self.out.bytes(b") pair in WeakMap (table @");
        self.out.number(table);
        self.out.bytes(b")\"");
    }
}

/// The shortest length of [`Strings::long`].
pub(crate) const LONG_LEAST: u64 = 12;

/// Characters of a [`Strings::unique`] string after its prefix.
pub(crate) const UNIQUE_DIGITS: u64 = 12;

fn digits(mut number: u64) -> [u8; 12] {
    let mut text = [b'0'; 12];
    for place in text.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
    text
}

fn pool(seed: u64) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "order",
        "customer",
        "invoice",
        "shipment",
        "status",
        "pending",
        "request",
        "response",
        "warning",
        "component",
        "render",
        "timeout",
        "account",
        "balance",
        "http://example.test/",
        "{a: 1, b: [2, 3]}",
    ];
    let mut text = Vec::with_capacity(POOL_BYTES + 32);
    let mut drawn = 0;
    while text.len() < POOL_BYTES {
        drawn += 1;
        text.extend_from_slice(WORDS[(mix(seed, drawn) % 16) as usize].as_bytes());
        text.push(b' ');
    }
    text
}
