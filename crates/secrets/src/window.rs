//! Searches texts that come in pieces, in windows of bounded length.
//!
//! A text of up to [`WINDOW`] and [`OVERLAP`] bytes is searched as a whole. Of a longer one each window has the end of
//! the one before again: [`LEAD`] bytes for word boundaries, and secrets of up to [`OVERLAP`] bytes that begin there.

use crate::matching::{Marks, Matcher};

/// Bytes that a window has for itself.
const WINDOW: usize = 1 << 20;

/// Bytes that the next window has again: longer secrets may be missed across windows.
const OVERLAP: usize = 32 << 10;

/// Bytes before a window that it has again.
const LEAD: usize = 64;

/// Text that is searched as it comes.
pub(crate) struct Window<'m> {
    matcher: &'m Matcher,
    marks: Marks,
    text: Vec<u8>,
    /// Bytes at the beginning of `text` in which no secret begins that is not known.
    lead: usize,
}

impl<'m> Window<'m> {
    pub(crate) fn new(matcher: &'m Matcher) -> Self {
        Self { matcher, marks: Marks::default(), text: Vec::new(), lead: 0 }
    }

    /// The end of the text so far; `add` appends to it.
    pub(crate) fn grow(&mut self, add: impl FnOnce(&mut Vec<u8>), found: &mut impl FnMut(u16, &[u8])) {
        add(&mut self.text);
        while self.text.len() > self.lead + WINDOW + OVERLAP {
            let end = self.lead + WINDOW;
            self.search(self.lead + WINDOW + OVERLAP, end, found);
            self.text.drain(..end - LEAD);
            self.lead = LEAD;
        }
    }

    /// The text is complete.
    pub(crate) fn end(&mut self, found: &mut impl FnMut(u16, &[u8])) {
        if !self.text.is_empty() {
            self.search(self.text.len(), self.text.len(), found);
        }
        self.text.clear();
        self.lead = 0;
    }

    /// Searches the text up to `limit` for secrets that begin before `end`.
    fn search(&mut self, limit: usize, end: usize, found: &mut impl FnMut(u16, &[u8])) {
        let text = &self.text[..limit];
        for one in self.matcher.find(text, &mut self.marks) {
            if (self.lead..end).contains(&one.secret.start) {
                found(one.rule, &text[one.secret.clone()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::builtin;

    #[test]
    fn texts_in_any_pieces_have_each_secret_once() {
        let matcher = Matcher::new(builtin().unwrap()).unwrap();
        let token = |at: usize| format!("ghp_{at:0>6}ABCDEFGHIJKLMNOPQRSTUVWXYZabcd");
        let mut text = Vec::new();
        for at in 0..500 {
            text.extend(token(at).bytes().chain(std::iter::repeat_n(b' ', 7919)));
        }
        for piece in [1 << 16, 9999, text.len()] {
            let mut window = Window::new(&matcher);
            let mut secrets = Vec::new();
            let mut found = |_: u16, secret: &[u8]| secrets.push(String::from_utf8(secret.to_vec()).unwrap());
            text.chunks(piece).for_each(|piece| window.grow(|text| text.extend_from_slice(piece), &mut found));
            window.end(&mut found);
            assert_eq!(secrets, (0..500).map(token).collect::<Vec<_>>(), "pieces of {piece}");
        }
    }
}
