//! Names of classes, fields and methods: texts of the dump by id, and their display form.

use super::value;
use heaplake_kit::{BudgetVec, Context, Scratch, StageError, StringTable, StringWriter};
use heaplake_schemas::scratch::{Column, StringColumns};

/// The texts of the dump, unchanged.
const TEXTS: StringColumns =
    StringColumns { bytes: Column::new("jvm.text.bytes"), start: Column::new("jvm.text.start") };

/// Length limit of a kept name, bytes: that of names in class files.
const MOST_NAME: usize = (1 << 16) - 1;

/// Writes the texts of a dump in the order of their records.
pub(crate) struct TextWriter {
    pub texts: StringWriter,
    by_id: BudgetVec<(u64, u32)>,
}

impl TextWriter {
    /// Starts empty.
    pub(crate) fn create(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        Ok(Self { texts: StringWriter::create(scratch, TEXTS)?, by_id: context.budget.growing("texts of the dump") })
    }

    /// Completes the current text under an id.
    pub(crate) fn end(&mut self, id: u64) -> Result<(), StageError> {
        let position = u32::try_from(self.texts.count()).map_err(|_| StageError::Overflow("the number of texts"))?;
        self.by_id.push((id, position))?;
        self.texts.end()
    }

    /// Completes the texts and opens them by id.
    pub(crate) fn finish(self, scratch: &Scratch) -> Result<Texts, StageError> {
        let Self { texts, mut by_id } = self;
        texts.finish()?;
        by_id.sort_unstable();
        Ok(Texts { table: StringTable::open(scratch, TEXTS)?, by_id })
    }
}

/// The texts of a dump.
pub(crate) struct Texts {
    table: StringTable,
    by_id: BudgetVec<(u64, u32)>,
}

impl Texts {
    /// Number of texts.
    pub(crate) fn count(&self) -> u64 {
        self.by_id.len() as u64
    }

    /// Returns the text of an id, cut to the length limit of names.
    pub(crate) fn get(&self, id: u64) -> Option<&[u8]> {
        let at = self.by_id.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        let text = self.table.get(self.by_id[at].1 as usize);
        Some(&text[..text.len().min(MOST_NAME)])
    }

    /// Removes the texts from the scratch folder.
    pub(crate) fn discard(self, scratch: &Scratch) {
        drop(self);
        scratch.discard(TEXTS.bytes);
        scratch.discard(TEXTS.start);
    }
}

/// Returns a class's name in source form: `java.lang.String[]` for `[Ljava/lang/String;`.
pub(crate) fn class_name(text: &[u8]) -> Vec<u8> {
    let dimensions = text.iter().take_while(|&&byte| byte == b'[').count();
    let element = &text[dimensions..];
    // In the order of the type codes.
    let code = |name: &[u8]| (4..).zip(b"ZCFDBSIJ").find(|(_, letter)| name == [**letter]).map(|(code, _)| code);
    let primitive = |name: &[u8]| code(name).and_then(value::name).map(str::as_bytes);
    let object = || element.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";"));
    let name = match dimensions {
        0 => element,
        _ => primitive(element).or_else(object).unwrap_or(element),
    };
    let mut name: Vec<u8> = standard(name).iter().map(|&byte| if byte == b'/' { b'.' } else { byte }).collect();
    name.extend(b"[]".repeat(dimensions));
    name
}

/// Decodes Java's modified UTF-8: a zero has two bytes, and a character beyond the basic plane is two surrogates of
/// three bytes each.
pub(crate) fn standard(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        let taken = match *rest {
            [0xc0, 0x80, ..] => {
                out.push(0);
                2
            }
            [0xed, a @ 0xa0..=0xaf, b, 0xed, c @ 0xb0..=0xbf, d, ..] => {
                let half = |high: u8, low: u8| u32::from(high & 0x0f) << 6 | u32::from(low & 0x3f);
                let point = 0x1_0000 + (half(a, b) << 10) + (half(c, d) & 0x3ff);
                let mut buffer = [0; 4];
                let point = char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(point.encode_utf8(&mut buffer).as_bytes());
                6
            }
            _ => {
                out.push(byte);
                1
            }
        };
        rest = &rest[taken..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_classes() {
        for (text, name) in [
            ("java/lang/String", "java.lang.String"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("[[I", "int[][]"),
            ("[Z", "boolean[]"),
            ("byte[]", "byte[]"),
            ("java.lang.Object[]", "java.lang.Object[]"),
            ("B", "B"),
            ("[", "[]"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8(class_name(text.as_bytes())).unwrap(), name);
        }
    }

    #[test]
    fn modified_utf8_becomes_utf8() {
        assert_eq!(standard(b"a\xc0\x80b"), b"a\0b");
        assert_eq!(standard(b"\xed\xa0\xbd\xed\xb8\x80!"), "\u{1f600}!".as_bytes());
        assert_eq!(standard(b"\xed\xa0\xbd"), b"\xed\xa0\xbd");
        assert_eq!(standard("\u{20ac}".as_bytes()), "\u{20ac}".as_bytes());
    }
}
