//! The code of a source without comments, the insides of strings and characters, and tests. These become spaces, so
//! that every byte keeps its position and line.

use std::ops::Range;

/// `text` without comments and without the insides of strings and characters.
pub(crate) fn blanked(text: &str) -> String {
    let mut code = text.as_bytes().to_vec();
    let mut at = 0;
    while at < code.len() {
        let range = not_code(text.as_bytes(), at);
        at = range.end.max(at + 1);
        blank(&mut code, range);
    }
    code.iter().map(|&byte| if byte.is_ascii() { char::from(byte) } else { ' ' }).collect()
}

pub(crate) fn without_tests(code: &str) -> String {
    let mut bytes = code.as_bytes().to_vec();
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]") {
        let start = from + found;
        let end = code[start..].find(['{', ';']).map_or(code.len(), |end| start + end);
        from = end;
        if words(&code[start..end]).any(|(_, word)| word == "mod") {
            from = if code[end..].starts_with('{') { block_end(code, end) } else { end };
            blank(&mut bytes, start..from);
        }
    }
    bytes.into_iter().map(char::from).collect()
}

/// The end of the block that starts with the brace at `open`.
pub(crate) fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Every word (name, keyword, number) of `code` and its position.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(|c: char| is_of_word(c as u8))?;
        at = start + word_length(&code[start..]);
        Some((start, &code[start..at]))
    })
}

pub(crate) fn word_length(code: &str) -> usize {
    code.bytes().take_while(|&byte| is_of_word(byte)).count()
}

pub(crate) fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1
}

fn is_of_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

fn blank(code: &mut [u8], range: Range<usize>) {
    for byte in &mut code[range] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// The comment, string or character at `at`; empty for other code.
fn not_code(text: &[u8], at: usize) -> Range<usize> {
    let rest = &text[at..];
    let end = match rest[0] {
        b'/' if rest.starts_with(b"//") => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
        b'/' if rest.starts_with(b"/*") => comment_length(rest),
        b'"' => text_length(rest, b'"'),
        b'r' if at == 0 || !is_of_word(text[at - 1]) || text[at - 1] == b'b' => raw_length(rest),
        b'\'' if is_character(rest) => text_length(rest, b'\''),
        _ => 0,
    };
    at..(at + end).min(text.len())
}

fn comment_length(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        match &rest[at..(at + 2).min(rest.len())] {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a string or character between two `quote`s.
fn text_length(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of `r#"a text"#`; 0 if `rest` is not one.
fn raw_length(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let end = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let inside = &rest[hashes + 2..];
    let length = inside.windows(end.len()).position(|window| window == end).unwrap_or(inside.len());
    hashes + 2 + length + end.len()
}

/// Whether `'...` is a character, not a lifetime.
fn is_character(rest: &[u8]) -> bool {
    let characters = String::from_utf8_lossy(&rest[1..rest.len().min(9)]).into_owned();
    characters.starts_with('\\') || characters.chars().nth(1) == Some('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_become_spaces() {
        let text = "a /* b /* c */ d */ e // f\n\"g\\\"h\" r#\"i\"j\"# 'k' '\\'' &'l m 'é'";
        let code = blanked(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "e", "&'l", "m"]);
        assert_eq!(line(text, code.find('m').unwrap()), 2);
    }

    #[test]
    fn modules_of_tests_become_spaces() {
        let code = without_tests("fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}");
        assert_eq!(words(&code).map(|(_, word)| word).collect::<Vec<_>>(), ["fn", "a", "fn", "c"]);
    }
}
