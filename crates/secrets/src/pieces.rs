//! Strings of several pieces: V8 keeps the result of a concatenation as a tree of its parts.
//!
//! A part with a secret is found by itself, so only matches across the border of two parts count here.
//!
//! * Resident memory: 8 bytes per reference to a piece; the texts of pieces, up to [`MOST_TEXTS`].

use crate::hits::Hits;
use crate::matching::{Marks, Matcher};
use heaplake_kit::{Budget, BudgetVec, Context, StageError};
use heaplake_lake::reader::{Reader, value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;

/// Bytes of a whole text.
const MOST_TEXT: usize = 64 << 10;

/// Bytes of the texts of all pieces.
const MOST_TEXTS: u64 = 64 << 20;

/// The pieces of all strings.
pub struct Pieces {
    /// String and piece, by string, in the order of the text.
    pairs: BudgetVec<(u32, u32)>,
    texts: FxHashMap<u32, Vec<u8>>,
    /// Whether the texts of some pieces were left out.
    pub is_cut: bool,
}

impl Pieces {
    pub(crate) fn new(budget: &Budget) -> Self {
        Self { pairs: budget.growing("pieces of strings"), texts: FxHashMap::default(), is_cut: false }
    }

    /// Adds a piece of a string, whose other pieces are added before or next.
    pub(crate) fn add(&mut self, string: u32, piece: u32) -> Result<(), StageError> {
        self.pairs.push((string, piece))
    }

    /// Reads the texts of all pieces.
    ///
    /// # Errors
    /// [`StageError`] if the table is damaged, or memory does not suffice.
    pub fn read(&mut self, nodes: &Path, context: &Context<'_>) -> Result<(), StageError> {
        self.pairs.sort_by_key(|pair| pair.0);
        let mut wanted: Vec<u32> = self.pairs.iter().map(|pair| pair.1).filter(|&at| !self.has(at)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut held = context.budget.reserve("pieces of strings", wanted.len() as u64 * 64)?;
        let mut batches = Reader::open(nodes)?.only(&wanted)?.columns(&["node", "name"])?;
        while let Some(batch) = batches.batch()? {
            let (nodes, names) = (batch.u32s("node")?, batch.texts("name")?);
            for row in 0..batch.len() {
                let Some(name) = value(names, row).filter(|name| !name.is_empty()) else { continue };
                let text = &name.as_bytes()[..name.len().min(MOST_TEXT)];
                if held.bytes() > MOST_TEXTS || held.grow(text.len() as u64).is_err() {
                    self.is_cut = true;
                    return Ok(());
                }
                self.texts.insert(nodes.value(row), text.to_vec());
            }
            context.check()?;
        }
        Ok(())
    }

    fn has(&self, string: u32) -> bool {
        self.pairs.binary_search_by_key(&string, |pair| pair.0).is_ok()
    }

    fn of(&self, string: u32) -> impl DoubleEndedIterator<Item = u32> {
        let first = self.pairs.partition_point(|pair| pair.0 < string);
        let end = self.pairs.partition_point(|pair| pair.0 <= string);
        self.pairs[first..end].iter().map(|pair| pair.1)
    }

    /// The beginning of a string of several pieces; `None` for another node.
    #[must_use]
    pub fn text(&self, string: u32) -> Option<Vec<u8>> {
        self.has(string).then(|| self.whole(string).0)
    }

    /// The beginning of a string, and the borders of its pieces.
    fn whole(&self, string: u32) -> (Vec<u8>, Vec<usize>) {
        let (mut text, mut borders) = (Vec::new(), Vec::new());
        let mut open = vec![string];
        // A damaged table may have a circle.
        let mut left = 1 << 16;
        while let Some(at) = open.pop() {
            left -= 1;
            if left == 0 || text.len() >= MOST_TEXT {
                break;
            }
            match self.texts.get(&at) {
                Some(piece) => {
                    text.extend_from_slice(piece);
                    borders.push(text.len());
                }
                None => open.extend(self.of(at).rev()),
            }
        }
        (text, borders)
    }

    /// Searches the strings that are no piece of another one, for secrets across borders.
    ///
    /// # Errors
    /// [`StageError`] if memory does not suffice, or the user interrupts.
    pub fn search(&self, matcher: &Matcher, hits: &mut Hits<'_>, context: &Context<'_>) -> Result<(), StageError> {
        let inner: FxHashSet<u32> = self.pairs.iter().map(|pair| pair.1).filter(|&at| self.has(at)).collect();
        let mut marks = Marks::default();
        let mut last = None;
        for &(string, _) in self.pairs.iter().filter(|pair| !inner.contains(&pair.0)) {
            if last.replace(string) == Some(string) {
                continue;
            }
            let (text, borders) = self.whole(string);
            for one in matcher.find(&text, &mut marks) {
                let border = borders.partition_point(|&border| border <= one.whole.start);
                if borders.get(border).is_some_and(|&border| border < one.whole.end) {
                    hits.add(string.into(), one.rule, &text[one.secret.clone()]);
                }
            }
            hits.check()?;
            context.check()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> Pieces {
        let mut pieces = Pieces::new(&Budget::new(1 << 20));
        for (string, piece) in [(1, 2), (1, 3), (3, 4), (3, 5), (9, 9)] {
            pieces.add(string, piece).unwrap();
        }
        pieces.texts =
            [(2, "one "), (4, "two "), (5, "three")].map(|(at, text)| (at, text.into())).into_iter().collect();
        pieces
    }

    #[test]
    fn a_string_is_the_sum_of_its_pieces() {
        let pieces = pieces();
        assert_eq!(pieces.text(1).unwrap(), b"one two three");
        assert_eq!(pieces.whole(1).1, [4, 8, 13]);
        assert_eq!(pieces.text(2), None);
        // A circle ends.
        assert_eq!(pieces.text(9).unwrap(), b"");
    }
}
