//! The functions of the sources and their lengths.

use crate::code;
use crate::sources::Source;

pub(crate) struct Function {
    /// Its file and line.
    pub place: String,
    pub name: String,
    /// Its lines, from `fn` to its closing brace.
    pub lines: usize,
}

/// Every function of `sources`, those of tests too.
pub(crate) fn of(sources: &[Source]) -> Vec<Function> {
    let mut functions = Vec::new();
    for source in sources {
        let code = code::blanked(&source.text);
        for (at, _) in code::words(&code).filter(|&(_, word)| word == "fn") {
            let signature = code[at + 2..].trim_start().trim_start_matches('$');
            let name = &signature[..code::word_length(signature)];
            let Some(body) = body(&code, at).filter(|_| !name.is_empty()) else { continue };
            let (first, last) = (source.line(at), source.line(code::block_end(&code, body) - 1));
            let place = format!("{}:{first}", source.path);
            functions.push(Function { place, name: name.into(), lines: last - first + 1 });
        }
    }
    functions
}

/// The functions of more than `most` lines.
pub(crate) fn long(functions: &[Function], most: usize) -> Vec<String> {
    let say = |it: &Function| {
        format!("{}: `{}` has {} lines, over {most}; name its steps as functions", it.place, it.name, it.lines)
    };
    functions.iter().filter(|it| it.lines > most).map(say).collect()
}

/// The functions longer than `most` lines if they are more than one in ten; else none.
pub(crate) fn mostly_long(functions: &[Function], most: usize) -> Vec<String> {
    let mut by_length: Vec<_> = functions.iter().collect();
    by_length.sort_by(|a, b| (b.lines, &a.place).cmp(&(a.lines, &b.place)));
    let long = by_length.iter().filter(|it| it.lines > most).count();
    let excess = long.saturating_sub(functions.len() / 10);
    let say = |it: &&Function| {
        format!("{}: `{}` has {} lines; shorten {excess} functions to {most} lines", it.place, it.name, it.lines)
    };
    if excess == 0 { Vec::new() } else { by_length.iter().take(excess + 20).map(say).collect() }
}

/// The opening brace of the function at `at`; `None` for a declaration.
fn body(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(at) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.checked_sub(1)?,
            b'{' if depth == 0 => return Some(at),
            b';' | b'}' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_counted_from_fn_to_its_last_brace() {
        let text =
            "pub const fn a<T>(b: [u8; 2]) -> T\nwhere\n    T: Fn(),\n{\n    if c { \"}\" }\n}\nfn d();\nfn e() {}\n";
        let functions = of(&[Source::new("a.rs", text)]);
        let seen: Vec<_> = functions.iter().map(|it| (it.place.as_str(), it.name.as_str(), it.lines)).collect();
        assert_eq!(seen, [("a.rs:1", "a", 6), ("a.rs:8", "e", 1)]);
        assert_eq!(long(&functions, 5).len(), 1);
        assert_eq!(mostly_long(&functions, 5).len(), 2);
        assert!(mostly_long(&functions, 6).is_empty());
    }
}
