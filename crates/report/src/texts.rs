//! Texts of the page: deduplicated, readable, and bounded in total size.
//!
//! Names come from the snapshot and are untrusted. Characters that are invisible or change the display of others
//! (controls, bidirectional marks, line separators) are escaped; long texts are cut, with a note.

use heaplake_kit::text::is_unseen;
use rustc_hash::FxHashMap;

/// Maximum bytes of a text until [`ROOM`] is exhausted.
const LONG: usize = 160;
/// Maximum bytes of a text afterwards.
const SHORT: usize = 24;
/// Total bytes of texts, as written, after which texts are cut short.
const ROOM: usize = 640 << 10;

/// Distinct texts of the page, referred to by index.
#[derive(Default)]
pub struct Texts {
    list: Vec<String>,
    positions: FxHashMap<String, u32>,
    taken: usize,
}

impl Texts {
    /// Returns the index of a text.
    pub fn add(&mut self, text: &str) -> u32 {
        self.add_within(text, LONG)
    }

    /// Returns the index of a text of at most `most` bytes, for texts by heaplake or worth more room.
    pub fn add_within(&mut self, text: &str, most: usize) -> u32 {
        let text = readable(text, if self.taken < ROOM { most } else { SHORT });
        if let Some(&position) = self.positions.get(&text) {
            return position;
        }
        let position = self.list.len() as u32;
        self.taken += written(&text) + 3;
        self.list.push(text.clone());
        self.positions.insert(text, position);
        position
    }

    /// Texts by index.
    #[must_use]
    pub fn into_list(self) -> Vec<String> {
        self.list
    }
}

/// Bytes of a text in the page.
fn written(text: &str) -> usize {
    text.bytes().map(|byte| if matches!(byte, b'<' | b'>' | b'&') { 6 } else { 1 }).sum()
}

/// Formats a text on one line with invisible characters escaped, cut to `most` bytes with a note.
pub fn readable(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most));
    for (at, c) in text.char_indices() {
        let before = out.len();
        if is_unseen(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        if out.len() > most {
            out.truncate(before);
            let left = text.len() - at;
            out += &format!("… ({left} bytes more)");
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_shown() {
        assert_eq!(readable("a\u{202e}b\nc\u{2028}", 100), r"a\u{202e}b\u{a}c\u{2028}");
        assert_eq!(readable("</script>", 100), "</script>");
    }

    #[test]
    fn a_megabyte_is_cut_with_a_mark() {
        let long = "ä".repeat(1 << 19);
        assert_eq!(readable(&long, 5), "ää… (1048572 bytes more)");
        assert_eq!(readable("abcde", 5), "abcde");
    }

    #[test]
    fn texts_are_kept_once_and_within_bounds() {
        let mut texts = Texts::default();
        assert_eq!((texts.add("a"), texts.add("b"), texts.add("a")), (0, 1, 0));
        for i in 0..20_000 {
            texts.add(&format!("{i}{}", "<".repeat(10_000)));
        }
        let bytes: usize = texts.into_list().iter().map(|text| written(text)).sum();
        // 20,000 worst-case texts: their short forms dominate.
        assert!(bytes < ROOM + 20_000 * 220, "{bytes}");
    }
}
