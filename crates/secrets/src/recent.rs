//! A cache of names that do not matter: most nodes and edges share few names.

use crate::hits::Tagger;

/// Entries of the cache.
const RECENT: usize = 1 << 16;

/// Names that were looked at lately and matter to nobody.
pub(crate) struct Recent(Vec<u64>, Tagger);

impl Recent {
    pub(crate) fn new() -> Self {
        Self(vec![0; RECENT], Tagger::default())
    }

    /// The place of a text, and its mark; `None` if it is known not to matter.
    pub(crate) fn place(&self, text: &str) -> Option<(usize, u64)> {
        let mark = self.1.tag(text.as_bytes()) | 1;
        let place = (mark >> 32) as usize % RECENT;
        (self.0[place] != mark).then_some((place, mark))
    }

    /// Notes that a text does not matter, at its place with its mark.
    pub(crate) fn set(&mut self, place: usize, mark: u64) {
        self.0[place] = mark;
    }
}
