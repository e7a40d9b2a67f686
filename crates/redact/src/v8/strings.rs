//! Second pass over the strings: texts are masked, names stay unless they look like data.
//!
//! Resident memory: 4 KiB for a name, and 48 bytes per string that is a name and a text, whose mask follows the table.

use super::uses::{Use, Uses};
use crate::key::{Digest, Hashing, Key, Purpose};
use crate::mask::{self, Shape};
use crate::options::{Options, Texts};
use crate::shapes::{self, Verdict};
use crate::sink::Sink;
use crate::summary::Summary;
use heaplake_input::json::StringSink;
use heaplake_kit::{Budget, BudgetVec, StageError};
use std::mem;
use std::ops::Range;

/// Longest name. Longer ones are data.
const MOST_NAME: usize = 4 << 10;

/// Least characters of a masked text, so that different short texts stay different.
const LEAST: u32 = 14;

/// Fixed words among texts: names of strings in parts.
const FIXED_TEXTS: [&[u8]; 3] = [b"", b"(concatenated string)", b"(sliced string)"];

/// Text of a captured number that may be negative.
const ZERO: &[u8] = b"0";

/// Fixed words among values: names of numbers, whose value is elsewhere.
const FIXED_VALUES: [&[u8]; 8] =
    [b"", b"heap number", b"smi number", b"number", b"int", b"double", b"bigint", b"heap bigint"];

/// Writes the strings.
pub(super) struct Strings<'a, 's> {
    uses: &'a Uses,
    options: &'a Options,
    sink: &'a mut Sink<'s>,
    summary: &'a mut Summary,
    /// Number of the current string.
    string: u64,
    /// Its beginning, length, digest and shape.
    held: Vec<u8>,
    bytes: u64,
    hashing: Hashing,
    shape: Shape,
    /// Texts of strings that are names, too.
    split: BudgetVec<Entry>,
}

/// An entry behind the table.
#[derive(Clone, Copy)]
enum Entry {
    /// The mask of a text.
    Mask(Shape, Digest),
    /// A text that stays.
    Fixed(&'static [u8]),
}

impl<'a, 's> Strings<'a, 's> {
    /// Starts the table.
    pub(super) fn new(
        uses: &'a Uses,
        options: &'a Options,
        sink: &'a mut Sink<'s>,
        (summary, budget): (&'a mut Summary, &Budget),
    ) -> Self {
        Self {
            uses,
            options,
            sink,
            summary,
            string: 0,
            held: Vec::new(),
            bytes: 0,
            hashing: options.key.digest(Purpose::Text),
            shape: Shape::default(),
            split: budget.growing("texts that are names"),
        }
    }

    /// Writes the entries of the texts that are names, too.
    pub(super) fn finish(self) -> Result<(), StageError> {
        for entry in self.split.iter() {
            self.sink.put(b",\n\"")?;
            match *entry {
                Entry::Mask(shape, digest) => put_text(self.options.texts, shape, digest, self.sink)?,
                Entry::Fixed(text) => self.sink.put(text)?,
            }
            self.sink.put(b"\"")?;
        }
        Ok(())
    }

    fn is_fixed(&self, words: &[&[u8]]) -> bool {
        self.bytes == self.held.len() as u64 && words.contains(&self.held.as_slice())
    }

    /// Returns the current text if it is one that stays. A zero is: analyses must know that it may be negative.
    fn fixed_text(&self) -> Option<&'static [u8]> {
        let zero = (self.options.texts == Texts::Hash).then_some(ZERO);
        FIXED_TEXTS.into_iter().chain(zero).find(|text| self.is_fixed(&[text]))
    }

    fn text(&mut self, kind: &'static str) -> Result<(), StageError> {
        if let Some(text) = self.fixed_text() {
            return self.sink.put(text);
        }
        self.summary.add(kind, self.bytes);
        put_text(self.options.texts, self.shape, self.hashing.finish(), self.sink)
    }

    fn name(&mut self, of: Use) -> Result<(), StageError> {
        let is_long = self.bytes > self.held.len() as u64;
        let is_number = of.is_value && is_number(&self.held);
        let verdict = if is_long || is_number { Verdict::Whole } else { shapes::judge(&self.held) };
        match verdict {
            Verdict::Keep => escaped(&self.held, self.sink),
            Verdict::Whole => {
                self.summary.add("names that look like data", self.bytes);
                put_mask(&self.shape, Some(self.hashing.finish()), self.sink)
            }
            Verdict::Parts(parts) => {
                self.summary.add("parts of names", parts.iter().map(|part| part.len() as u64).sum());
                self.parts(&parts)
            }
        }
    }

    /// Masks parts of a name.
    fn parts(&mut self, parts: &[Range<usize>]) -> Result<(), StageError> {
        let name = mem::take(&mut self.held);
        let mut end = 0;
        for part in parts {
            escaped(&name[end..part.start], self.sink)?;
            let mut shape = Shape::default();
            shape.add(&name[part.clone()]);
            let digest = self.options.key.of(Purpose::Text, &name[part.clone()]);
            put_mask(&shape, Some(digest), self.sink)?;
            end = part.end;
        }
        escaped(&name[end..], self.sink)?;
        self.held = name;
        Ok(())
    }

    /// Writes the current string, and notes its text if that needs another entry.
    fn write(&mut self) -> Result<(), StageError> {
        let of = self.uses.of(self.string);
        if of.is_split() {
            let entry = match self.fixed_text() {
                Some(text) => Entry::Fixed(text),
                None => Entry::Mask(self.shape, self.hashing.finish()),
            };
            if let Entry::Mask(..) = entry {
                self.summary.add("texts", self.bytes);
            }
            self.split.push(entry)?;
        }
        match of {
            Use { is_value: true, is_text: false, .. } if self.is_fixed(&FIXED_VALUES) => {
                escaped(&self.held, self.sink)
            }
            Use { is_name: true, .. } => self.name(of),
            Use { is_text: true, .. } => self.text("texts"),
            Use { is_value: true, .. } => self.text("numbers"),
            _ => self.text("texts without a use"),
        }
    }
}

impl StringSink for Strings<'_, '_> {
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        let room = MOST_NAME - self.held.len();
        self.held.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.bytes += bytes.len() as u64;
        self.hashing.add(bytes);
        self.shape.add(bytes);
        Ok(())
    }

    fn end(&mut self) -> Result<(), StageError> {
        self.sink.put(if self.string == 0 { b"\"" } else { b",\n\"" })?;
        self.write()?;
        self.sink.put(b"\"")?;
        self.string += 1;
        self.held.clear();
        self.bytes = 0;
        self.hashing = self.options.key.digest(Purpose::Text);
        self.shape = Shape::default();
        Ok(())
    }
}

/// Writes the mask of a text.
fn put_text(texts: Texts, shape: Shape, digest: Digest, sink: &mut Sink<'_>) -> Result<(), StageError> {
    match texts {
        Texts::Hash => put_mask(&shape.at_least(LEAST), Some(digest), sink),
        Texts::None => put_mask(&shape, None, sink),
    }
}

fn put_mask(shape: &Shape, digest: Option<Digest>, sink: &mut Sink<'_>) -> Result<(), StageError> {
    mask::text(shape, digest, |bytes| sink.put(bytes))
}

/// True for the text of a number.
fn is_number(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok())
}

/// Writes a text inside a JSON string. Bytes that are no UTF-8 stay; lone surrogates become escapes.
fn escaped(text: &[u8], sink: &mut Sink<'_>) -> Result<(), StageError> {
    let mut from = 0;
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let surrogate = byte == 0xed && text.get(at + 1).is_some_and(|&next| next >= 0xa0) && at + 2 < text.len();
        let escape = match byte {
            b'"' | b'\\' => format!("\\{}", char::from(byte)),
            b'\n' => "\\n".to_owned(),
            0..=0x1f => format!("\\u{byte:04x}"),
            _ if surrogate => {
                let unit = 0xd000 | u32::from(text[at + 1] & 0x3f) << 6 | u32::from(text[at + 2] & 0x3f);
                format!("\\u{unit:04x}")
            }
            _ => {
                at += 1;
                continue;
            }
        };
        sink.put(&text[from..at])?;
        sink.put(escape.as_bytes())?;
        at += if surrogate { 3 } else { 1 };
        from = at;
    }
    sink.put(&text[from..])
}

/// Masks the key of an unknown section, if it looks like data.
pub(super) fn key(name: &[u8], key: &Key, sink: &mut Sink<'_>) -> Result<(), StageError> {
    if shapes::judge(name) == Verdict::Keep {
        return escaped(name, sink);
    }
    let digest = key.of(Purpose::Text, name).words[0];
    sink.put(format!("masked_{digest:016x}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn escapes_give_the_text_back() {
        let mut out = Vec::new();
        let mut sink = Sink::new(&mut out, Path::new("test"));
        escaped(b"a\"b\\c\n\x01\xed\xa0\x80\xc3\xa9\xff", &mut sink).unwrap();
        sink.flush().unwrap();
        assert_eq!(out, b"a\\\"b\\\\c\\n\\u0001\\ud800\xc3\xa9\xff");
    }

    #[test]
    fn numbers_are_known() {
        assert!(["1", "-2.5e9", "NaN", "0"].iter().all(|text| is_number(text.as_bytes())));
        assert!(["", "map", "1 / a"].iter().all(|text| !is_number(text.as_bytes())));
    }
}
