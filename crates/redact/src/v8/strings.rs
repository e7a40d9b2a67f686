//! Masks of strings: texts are masked, names stay unless they look like data.
//!
//! [`Strings`] stands before a table of strings: it receives the strings of the file and passes their masks on. Behind
//! the last one come the masks of the texts that are names, too, at the entries that [`Uses::entry_of_text`] tells.
//!
//! Resident memory: 4 KiB for a name, and 48 bytes per string that is a name and a text, whose mask follows the table.
//! Cost: one digest per text and masked name; names are looked at for data by their shape.

use super::uses::{Use, Uses};
use crate::key::{Digest, Hashing, Purpose};
use crate::mask::{self, Shape};
use crate::options::{Options, Texts};
use crate::shapes::{self, Verdict};
use crate::summary::{Masked, Summary};
use heaplake_input::json::StringSink;
use heaplake_kit::{Budget, BudgetVec, StageError};
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

/// Kinds of masked strings.
#[derive(Clone, Copy)]
enum Kind {
    Texts,
    Numbers,
    Unused,
    Names,
    Parts,
}

/// Their names in the summary.
const KINDS: [&str; 5] = ["texts", "numbers", "texts without a use", "names that look like data", "parts of names"];

/// Whether a name stays, whatever it looks like.
pub type Keep<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// Masks strings, and passes them to `S`.
pub struct Strings<'a, S> {
    uses: &'a Uses,
    options: &'a Options,
    keep: Keep<'a>,
    out: S,
    /// Number of the current string.
    string: u64,
    /// Its beginning and its length.
    held: Vec<u8>,
    bytes: u64,
    /// Digest and shape of its beginning, if it is longer than a name.
    long: Option<(Hashing, Shape)>,
    /// Texts of strings that are names, too.
    split: BudgetVec<Entry>,
    counts: [Masked; KINDS.len()],
}

/// An entry behind the table.
#[derive(Clone, Copy)]
enum Entry {
    /// The mask of a text.
    Mask(Shape, Digest),
    /// A text that stays.
    Fixed(&'static [u8]),
}

impl<'a, S: StringSink> Strings<'a, S> {
    /// Starts before the first string. Names that `keep` accepts stay.
    pub fn new(uses: &'a Uses, (options, keep): (&'a Options, Keep<'a>), out: S, budget: &Budget) -> Self {
        Self {
            uses,
            options,
            keep,
            out,
            string: 0,
            held: Vec::new(),
            bytes: 0,
            long: None,
            split: budget.growing("texts that are names"),
            counts: [Masked::default(); KINDS.len()],
        }
    }

    /// Passes on the entries of the texts that are names, too, and adds the counts to a summary. Returns the table and
    /// the number of strings of the file.
    ///
    /// # Errors
    /// Those of the table.
    pub fn finish(mut self, summary: &mut Summary) -> Result<(S, u64), StageError> {
        for at in 0..self.split.len() {
            match self.split[at] {
                Entry::Mask(shape, digest) => self.put_text(shape, digest)?,
                Entry::Fixed(text) => self.out.piece(text)?,
            }
            self.out.end()?;
        }
        let counts = KINDS.into_iter().zip(self.counts).filter(|(_, masked)| masked.count > 0);
        summary.masked.extend(counts);
        Ok((self.out, self.string))
    }

    fn count(&mut self, kind: Kind, bytes: u64) {
        let masked = &mut self.counts[kind as usize];
        masked.count += 1;
        masked.bytes += bytes;
    }

    fn is_fixed(&self, words: &[&[u8]]) -> bool {
        self.long.is_none() && words.contains(&self.held.as_slice())
    }

    /// Returns the current text if it is one that stays. A zero is: analyses must know that it may be negative.
    fn fixed_text(&self) -> Option<&'static [u8]> {
        let zero = (self.options.texts == Texts::Hash).then_some(ZERO);
        FIXED_TEXTS.into_iter().chain(zero).find(|text| self.is_fixed(&[text]))
    }

    /// Returns shape and digest of the current string.
    fn look(&self) -> (Shape, Digest) {
        if let Some((hashing, shape)) = &self.long {
            return (*shape, hashing.finish());
        }
        let mut shape = Shape::default();
        shape.add(&self.held);
        (shape, self.options.key.of(Purpose::Text, &self.held))
    }

    fn text(&mut self, kind: Kind) -> Result<(), StageError> {
        if let Some(text) = self.fixed_text() {
            return self.out.piece(text);
        }
        self.count(kind, self.bytes);
        let (shape, digest) = self.look();
        self.put_text(shape, digest)
    }

    fn name(&mut self, of: Use) -> Result<(), StageError> {
        let is_number = of.is_value && is_number(&self.held);
        let verdict = match self.long {
            Some(_) => Verdict::Whole,
            None if is_number => Verdict::Whole,
            None => shapes::judge(&self.held),
        };
        match verdict {
            Verdict::Keep => self.out.piece(&self.held),
            _ if self.long.is_none() && !is_number && (self.keep)(&self.held) => self.out.piece(&self.held),
            Verdict::Whole => {
                self.count(Kind::Names, self.bytes);
                let (shape, digest) = self.look();
                put_mask(&shape, Some(digest), &mut self.out)
            }
            Verdict::Parts(parts) => {
                self.count(Kind::Parts, parts.iter().map(|part| part.len() as u64).sum());
                self.parts(&parts)
            }
        }
    }

    /// Masks parts of a name.
    fn parts(&mut self, parts: &[Range<usize>]) -> Result<(), StageError> {
        let mut end = 0;
        for part in parts {
            self.out.piece(&self.held[end..part.start])?;
            let mut shape = Shape::default();
            shape.add(&self.held[part.clone()]);
            let digest = self.options.key.of(Purpose::Text, &self.held[part.clone()]);
            put_mask(&shape, Some(digest), &mut self.out)?;
            end = part.end;
        }
        self.out.piece(&self.held[end..])
    }

    /// Writes the mask of a text.
    fn put_text(&mut self, shape: Shape, digest: Digest) -> Result<(), StageError> {
        match self.options.texts {
            Texts::Hash => put_mask(&shape.at_least(LEAST), Some(digest), &mut self.out),
            Texts::None => put_mask(&shape, None, &mut self.out),
        }
    }

    /// Writes the current string, and notes its text if that needs another entry.
    fn write(&mut self) -> Result<(), StageError> {
        let of = self.uses.of(self.string);
        if of.is_split() {
            let entry = match self.fixed_text() {
                Some(text) => Entry::Fixed(text),
                None => {
                    self.count(Kind::Texts, self.bytes);
                    let (shape, digest) = self.look();
                    Entry::Mask(shape, digest)
                }
            };
            self.split.push(entry)?;
        }
        match of {
            Use { is_value: true, is_text: false, .. } if self.is_fixed(&FIXED_VALUES) => self.out.piece(&self.held),
            Use { is_name: true, .. } => self.name(of),
            Use { is_text: true, .. } => self.text(Kind::Texts),
            Use { is_value: true, .. } => self.text(Kind::Numbers),
            _ => self.text(Kind::Unused),
        }
    }
}

impl<S: StringSink> StringSink for Strings<'_, S> {
    fn piece(&mut self, bytes: &[u8]) -> Result<(), StageError> {
        self.bytes += bytes.len() as u64;
        if self.long.is_none() {
            if self.held.len() + bytes.len() <= MOST_NAME {
                self.held.extend_from_slice(bytes);
                return Ok(());
            }
            let mut long = (self.options.key.digest(Purpose::Text), Shape::default());
            long.0.add(&self.held);
            long.1.add(&self.held);
            self.long = Some(long);
        }
        if let Some((hashing, shape)) = &mut self.long {
            hashing.add(bytes);
            shape.add(bytes);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), StageError> {
        self.write()?;
        self.out.end()?;
        self.string += 1;
        self.held.clear();
        self.bytes = 0;
        self.long = None;
        Ok(())
    }
}

fn put_mask(shape: &Shape, digest: Option<Digest>, out: &mut impl StringSink) -> Result<(), StageError> {
    mask::text(shape, digest, |bytes| out.piece(bytes))
}

/// True for the text of a number.
fn is_number(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_known() {
        assert!(["1", "-2.5e9", "NaN", "0"].iter().all(|text| is_number(text.as_bytes())));
        assert!(["", "map", "1 / a"].iter().all(|text| !is_number(text.as_bytes())));
    }
}
