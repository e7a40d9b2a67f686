//! Scanning of names, without regular expressions: rules of runtimes run for every class and every edge of a chain.

use std::ops::Range;

/// What an edit does around a marker that it found.
pub struct Edit<'a> {
    /// Bytes before the marker that go.
    pub back: usize,
    /// What stands in place of these, the marker, and `forward`.
    pub put: &'a str,
    /// Bytes behind the marker that go.
    pub forward: usize,
}

/// Edits a text at each place where a marker stands. The edit sees what is before the marker and what is behind it;
/// none leaves the place as it is. Nothing if no place changes.
pub fn rewrite<'a>(text: &'a str, marker: &str, edit: impl Fn(&'a str, &'a str) -> Option<Edit<'a>>) -> Option<String> {
    let mut changed: Option<String> = None;
    let (mut done, mut from) = (0, 0);
    while let Some(at) = text[from..].find(marker).map(|at| at + from) {
        let end = at + marker.len();
        from = end;
        if let Some(Edit { back, put, forward }) = edit(&text[done..at], &text[end..]) {
            let out = changed.get_or_insert_default();
            out.push_str(&text[done..at - back]);
            out.push_str(put);
            done = end + forward;
            from = done;
        }
    }
    let mut out = changed?;
    out.push_str(&text[done..]);
    (out != text).then_some(out)
}

/// An edit that leaves the marker and takes what follows.
pub fn drop_behind(marker: &'static str, forward: usize) -> Option<Edit<'static>> {
    (forward > 0).then_some(Edit { back: 0, put: marker, forward })
}

/// How many digits a text begins with.
pub fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// How many hexadecimal digits a text begins with.
pub fn hex(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_hexdigit).count()
}

/// How many letters and digits a text begins with.
pub fn word(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_alphanumeric).count()
}

/// Whether a text goes on as the same identifier.
pub fn goes_on(text: &str) -> bool {
    text.starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '$')
}

/// Whether a text ends in an identifier.
pub fn ends_in_identifier(text: &str) -> bool {
    text.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == '$')
}

/// How long the part is that a bracket closes which stands before the text, with that bracket; brackets nest.
pub fn until_closed(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0usize;
    for (at, letter) in text.char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close {
            if depth == 0 {
                return Some(at + close.len_utf8());
            }
            depth -= 1;
        }
    }
    None
}

/// The words of a text: runs of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(u8::is_ascii_alphanumeric)?;
        let end = start + bytes[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        at = end;
        Some(start..end)
    })
}
