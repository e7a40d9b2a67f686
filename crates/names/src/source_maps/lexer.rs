//! Tokens of JavaScript and TypeScript, without texts, comments and regular expressions.

use std::ops::Range;

/// A token, as far as declarations need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A name or keyword.
    Word(Range<usize>),
    /// A text, number or regular expression.
    Value,
    /// Any other character, and its position. `{` and `}` include those of `${…}` in templates.
    Other(u8, usize),
}

/// Words after which `/` begins a regular expression.
const BEFORE_REGEX: [&str; 12] =
    ["return", "typeof", "case", "in", "of", "delete", "void", "instanceof", "new", "do", "else", "yield"];

/// Whether a byte can be part of a name; bytes of non-ASCII characters can.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Iterator over tokens.
pub(super) struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Whether `/` is a division here.
    divides: bool,
    /// For each open brace, whether it belongs to `${` in a template.
    braces: Vec<bool>,
    /// Whether a template continues here.
    in_template: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0, divides: false, braces: Vec::new(), in_template: false }
    }

    fn looking_at(&self, mark: &str) -> bool {
        self.bytes[self.at..].starts_with(mark.as_bytes())
    }

    /// Moves behind the next occurrence, or to the end.
    fn skip_past(&mut self, mark: &str) {
        let found = self.text.get(self.at..).and_then(|rest| rest.find(mark));
        self.at = found.map_or(self.bytes.len(), |found| self.at + found + mark.len());
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            if self.looking_at("//") {
                self.skip_past("\n");
            } else if self.looking_at("/*") {
                self.at += 2;
                self.skip_past("*/");
            } else if self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// Moves behind a text that ends with `quote`, or to the end of the line.
    fn skip_quoted(&mut self, quote: u8) {
        self.at += 1;
        let mut in_class = false;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 1,
                b'\n' => return,
                // A bracket in a regular expression hides its end.
                b'[' if quote == b'/' => in_class = true,
                b']' if quote == b'/' => in_class = false,
                _ if byte == quote && !in_class => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.bytes.len());
    }

    /// Scans a template from inside: moves behind its end, or to the brace of its next `${`.
    fn template(&mut self) -> Mark {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\\' => self.at += 1,
                b'`' => {
                    self.at += 1;
                    self.divides = true;
                    return Mark::Value;
                }
                b'$' if self.bytes.get(self.at + 1) == Some(&b'{') => {
                    self.at += 2;
                    self.divides = false;
                    self.braces.push(true);
                    return Mark::Other(b'{', self.at - 1);
                }
                _ => {}
            }
            self.at += 1;
        }
        self.at = self.at.min(self.bytes.len());
        Mark::Value
    }

    fn word(&mut self) -> Mark {
        let start = self.at;
        self.at += self.bytes[start..].iter().position(|&byte| !is_word(byte)).unwrap_or(self.bytes.len() - start);
        self.divides = !BEFORE_REGEX.contains(&&self.text[start..self.at]);
        if self.bytes[start].is_ascii_digit() { Mark::Value } else { Mark::Word(start..self.at) }
    }

    fn other(&mut self, byte: u8) -> Mark {
        let at = self.at;
        self.at += 1;
        self.divides = matches!(byte, b')' | b']' | b'}');
        match byte {
            b'{' => self.braces.push(false),
            // The token of the brace comes first; the rest of the template is the next value.
            b'}' if self.braces.pop() == Some(true) => {
                self.in_template = true;
            }
            _ => {}
        }
        Mark::Other(byte, at)
    }
}

impl Iterator for Lexer<'_> {
    type Item = Mark;

    fn next(&mut self) -> Option<Mark> {
        if std::mem::take(&mut self.in_template) {
            return Some(self.template());
        }
        self.skip_blanks_and_comments();
        let &byte = self.bytes.get(self.at)?;
        Some(match byte {
            b'\'' | b'"' => {
                self.skip_quoted(byte);
                self.divides = true;
                Mark::Value
            }
            b'/' if !self.divides => {
                self.skip_quoted(byte);
                self.divides = true;
                Mark::Value
            }
            b'`' => {
                self.at += 1;
                self.template()
            }
            _ if is_word(byte) => self.word(),
            _ => self.other(byte),
        })
    }
}
