//! Strings as JSON.

use crate::key::{Key, Purpose};
use crate::shapes::{self, Verdict};
use crate::sink::Sink;
use heaplake_input::json::StringSink;
use heaplake_kit::StageError;

/// Writes the elements of an array of strings.
pub(super) struct Entries<'a, 's> {
    sink: &'a mut Sink<'s>,
    is_first: bool,
    /// Whether the current string has its opening quote.
    is_open: bool,
}

impl<'a, 's> Entries<'a, 's> {
    /// Starts behind the bracket of the array.
    pub(super) fn new(sink: &'a mut Sink<'s>) -> Self {
        Self { sink, is_first: true, is_open: false }
    }

    #[inline]
    fn open(&mut self) -> Result<(), StageError> {
        if self.is_open {
            return Ok(());
        }
        self.is_open = true;
        self.sink.put(if std::mem::take(&mut self.is_first) { b"\"" } else { b",\n\"" })
    }
}

impl StringSink for Entries<'_, '_> {
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        self.open()?;
        escaped(bytes, self.sink)
    }

    fn end(&mut self) -> Result<(), StageError> {
        self.open()?;
        self.is_open = false;
        self.sink.put(b"\"")
    }
}

/// Writes a text inside a JSON string. Bytes that are no UTF-8 stay; lone surrogates become escapes.
fn escaped(text: &[u8], sink: &mut Sink<'_>) -> Result<(), StageError> {
    // Without branches, so that the compiler makes vector instructions of it.
    let is_special =
        |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte == 0xed);
    if text.iter().fold(0, |any, &byte| any | is_special(byte)) == 0 {
        return sink.put(text);
    }
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
    fn strings_become_the_elements_of_an_array() {
        let mut out = Vec::new();
        let mut sink = Sink::new(&mut out, Path::new("test"));
        let mut entries = Entries::new(&mut sink);
        for text in [&["a", "b\""][..], &[], &["c"]] {
            text.iter().for_each(|piece| entries.piece(piece.as_bytes()).unwrap());
            entries.end().unwrap();
        }
        sink.flush().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\"ab\\\"\",\n\"\",\n\"c\"");
    }
}
