//! Scanning of names, without regular expressions: the rules run for every class and every edge of a chain.

use std::ops::Range;

/// Edit around a marker.
pub(crate) struct Edit<'a> {
    /// Bytes to remove before the marker.
    pub back: usize,
    /// Replacement for these, the marker, and `forward`.
    pub put: &'a str,
    /// Bytes to remove after the marker.
    pub forward: usize,
}

/// Edits a text at each occurrence of a marker. `edit` gets the text before and after the marker; `None` leaves the
/// occurrence unchanged. Returns `None` if nothing changes.
pub(crate) fn rewrite<'a>(
    text: &'a str,
    marker: &str,
    edit: impl Fn(&'a str, &'a str) -> Option<Edit<'a>>,
) -> Option<String> {
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

/// Edit that keeps the marker and removes the next bytes.
pub(crate) fn drop_behind(marker: &'static str, forward: usize) -> Option<Edit<'static>> {
    (forward > 0).then_some(Edit { back: 0, put: marker, forward })
}

/// Replaces each marker by `put`, and removes the number behind it, unless the identifier continues after that.
pub(crate) fn drop_number<'a>(text: &'a str, marker: &str, put: &'a str) -> Option<String> {
    rewrite(text, marker, |_, after| {
        let number = digits(after);
        (number > 0 && !goes_on(&after[number..])).then_some(Edit { back: 0, put, forward: number })
    })
}

/// Number of leading digits.
pub(crate) fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Number of leading hexadecimal digits.
pub(crate) fn hex(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_hexdigit).count()
}

/// Number of leading letters and digits.
pub(crate) fn word(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_alphanumeric).count()
}

/// Whether a text continues an identifier.
pub(crate) fn goes_on(text: &str) -> bool {
    text.starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '$')
}

/// Whether a text ends in an identifier.
pub(crate) fn ends_in_identifier(text: &str) -> bool {
    text.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == '$')
}

/// Length up to and including the bracket that closes the one before the text; brackets nest.
pub(crate) fn until_closed(text: &str, open: char, close: char) -> Option<usize> {
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
pub(crate) fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(u8::is_ascii_alphanumeric)?;
        let end = start + bytes[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        at = end;
        Some(start..end)
    })
}
