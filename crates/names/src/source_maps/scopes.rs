//! Declarations in a file of JavaScript or TypeScript.
//!
//! The file is split into tokens, with only the grammar that classes and functions need: braces, texts, comments,
//! regular expressions. Where that fails (an odd regular expression, text in JSX), braces do not match, and later
//! places have no names.

use super::lexer::{Lexer, Mark};
use std::ops::Range;

/// Keyword at the start of a class's constructor.
pub(super) const CONSTRUCTOR: &str = "constructor";

/// Words that may precede a declared name.
const BEFORE: [&str; 9] = ["export", "default", "abstract", "declare", "async", "const", "let", "var", "public"];

/// Classes and functions of a file.
pub(super) struct Scopes<'a> {
    text: &'a str,
    /// Positions of line starts.
    lines: Vec<usize>,
    /// Sorted by start. Regions that overlap are nested.
    regions: Vec<Region>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// From the name or keyword of a class to its body.
    ClassHead,
    ClassBody,
    /// From the name or keyword of a function to its body.
    FunctionHead,
    /// Other braces.
    Braces,
}

#[derive(Clone, Debug)]
struct Region {
    kind: Kind,
    place: Range<usize>,
    name: Option<Range<usize>>,
}

impl<'a> Scopes<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut builder = Builder { text, ..Builder::default() };
        for mark in Lexer::of(text) {
            builder.add(&mark);
        }
        let mut regions = builder.finish();
        regions.sort_by_key(|region| region.place.start);
        let lines = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, lines, regions }
    }

    /// Name of the class, function or method declared at a place, or of the class whose constructor begins there. Names
    /// of methods are seldom minified: a word there that equals the generated name is the name.
    pub(super) fn declared(&self, line: u32, column: u32, generated: &str) -> Option<&'a str> {
        let mut at = self.position(line, column)?;
        if !generated.is_empty() && word(self.text, at) == generated {
            return Some(word(self.text, at));
        }
        if word(self.text, at) == CONSTRUCTOR {
            let class = self.around(at).find(|region| region.kind == Kind::ClassBody)?;
            return class.name.clone().map(|name| &self.text[name]);
        }
        while BEFORE.contains(&word(self.text, at)) {
            at += word(self.text, at).len();
            at += self.text[at..].len() - self.text[at..].trim_start().len();
        }
        let innermost = self.around(at).next().filter(|region| region.kind != Kind::Braces)?;
        innermost.name.clone().map(|name| &self.text[name])
    }

    /// Regions around a place, the innermost first.
    fn around(&self, at: usize) -> impl Iterator<Item = &Region> {
        let begun = self.regions.partition_point(|region| region.place.start <= at);
        self.regions[..begun].iter().rev().filter(move |region| at < region.place.end)
    }

    /// Byte position of a place with a column in UTF-16 units.
    fn position(&self, line: u32, column: u32) -> Option<usize> {
        let start = *self.lines.get(line as usize)?;
        let mut units = column as usize;
        for (at, c) in self.text[start..].char_indices() {
            if units == 0 {
                return Some(start + at);
            }
            if c == '\n' {
                return None;
            }
            units = units.saturating_sub(c.len_utf16());
        }
        (units == 0).then_some(self.text.len())
    }
}

/// The word that begins at a place.
fn word(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.bytes().position(|byte| !super::lexer::is_word(byte)).unwrap_or(rest.len())]
}

/// Builds regions from tokens.
#[derive(Default)]
struct Builder<'a> {
    text: &'a str,
    regions: Vec<Region>,
    /// Open brackets: the bracket, and the region of a brace.
    open: Vec<(u8, Option<usize>)>,
    /// Heads without a body yet: the number of open brackets, and the region.
    heads: Vec<(usize, usize)>,
    /// The last tokens, the newest last.
    last: Vec<Mark>,
}

impl Builder<'_> {
    fn add(&mut self, mark: &Mark) {
        match mark {
            Mark::Word(place) => self.word(place),
            Mark::Other(b'{', at) => self.open_brace(*at),
            Mark::Other(bracket @ (b'(' | b'['), _) => self.open.push((*bracket, None)),
            Mark::Other(b'}', at) => self.close(b'{', *at),
            Mark::Other(b')', at) => self.close(b'(', *at),
            Mark::Other(b']', at) => self.close(b'[', *at),
            Mark::Other(b';', at) => self.drop_heads(self.open.len(), *at),
            Mark::Other(..) | Mark::Value => {}
        }
        if self.last.len() == 4 {
            self.last.remove(0);
        }
        self.last.push(mark.clone());
    }

    fn word(&mut self, place: &Range<usize>) {
        let member = matches!(self.last.last(), Some(Mark::Other(b'.', _)));
        let next = self.text[place.end..].trim_start().bytes().next();
        let names = next.is_some_and(super::lexer::is_word);
        let kind = match &self.text[place.clone()] {
            "class" if !member && (names || next == Some(b'{')) => Kind::ClassHead,
            "function" if !member && (names || matches!(next, Some(b'(' | b'*'))) => Kind::FunctionHead,
            word => {
                self.name_head(word, place);
                return;
            }
        };
        self.drop_heads(self.open.len(), place.start);
        let name = self.assigned();
        let start = name.as_ref().map_or(place.start, |name| name.start);
        self.heads.push((self.open.len(), self.regions.len()));
        self.regions.push(Region { kind, place: start..self.text.len(), name });
    }

    /// Names the current head by the word after `class` or `function`.
    fn name_head(&mut self, word: &str, place: &Range<usize>) {
        let behind_keyword = match self.last.as_slice() {
            [.., Mark::Word(keyword), Mark::Other(b'*', _)] | [.., Mark::Word(keyword)] => &self.text[keyword.clone()],
            _ => return,
        };
        let is_name = match behind_keyword {
            "class" => !["extends", "implements"].contains(&word),
            "function" => true,
            _ => false,
        };
        if let Some(&(_, head)) = self.heads.last().filter(|(depth, _)| is_name && *depth == self.open.len()) {
            self.regions[head].name = Some(place.clone());
        }
    }

    /// Name of the target that an anonymous class or function is assigned to: `NAME = class`, `NAME: class`, and `NAME:
    /// TYPE = class`.
    fn assigned(&self) -> Option<Range<usize>> {
        match self.last.as_slice() {
            [Mark::Word(name), Mark::Other(b':', _), Mark::Word(_), Mark::Other(b'=', _)]
            | [.., Mark::Word(name), Mark::Other(b'=' | b':', _)] => Some(name.clone()),
            _ => None,
        }
    }

    fn open_brace(&mut self, at: usize) {
        let head = self.heads.pop_if(|(depth, _)| *depth == self.open.len());
        let (kind, name) = match head {
            None => (Kind::Braces, None),
            Some((_, head)) => {
                let head = &mut self.regions[head];
                head.place.end = at;
                let kind = if head.kind == Kind::ClassHead { Kind::ClassBody } else { Kind::Braces };
                (kind, head.name.clone())
            }
        };
        self.open.push((b'{', Some(self.regions.len())));
        self.regions.push(Region { kind, place: at..self.text.len(), name });
    }

    /// Closes the innermost such bracket, and unclosed ones in it.
    fn close(&mut self, bracket: u8, at: usize) {
        let Some(depth) = self.open.iter().rposition(|&(open, _)| open == bracket) else { return };
        // Only a brace closes others: a surplus bracket is a mistake of the lexer.
        if bracket != b'{' && depth + 1 < self.open.len() {
            return;
        }
        self.drop_heads(depth + 1, at);
        for (_, region) in self.open.drain(depth..) {
            if let Some(region) = region {
                self.regions[region].place.end = at;
            }
        }
    }

    /// Ends heads inside this many brackets without a body.
    fn drop_heads(&mut self, depth: usize, at: usize) {
        while let Some((_, head)) = self.heads.pop_if(|(inside, _)| *inside >= depth) {
            self.regions[head].place.end = at;
        }
    }

    fn finish(mut self) -> Vec<Region> {
        self.drop_heads(0, self.text.len());
        self.regions
    }
}
