//! The attributes that silence lints.

use crate::sources::Source;

/// The one lint that may be allowed, and where: the modules that map files are named there one by one.
const ALLOWED: (&str, &str) = ("crates/kit/src/lib.rs", "unsafe_code");

/// Every `allow` outside tests and every `expect` without a reason.
pub(crate) fn silenced(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(|source| attributes(source).filter_map(|it| diagnostic(source, it))).collect()
}

fn diagnostic(source: &Source, (at, attribute): (usize, &str)) -> Option<String> {
    let place = format!("{}:{}", source.path, source.line(at));
    let silences = |how: &str| attribute.starts_with(how) || attribute.contains(&format!(" {how}"));
    if silences("expect(") && !attribute.contains("reason =") {
        return Some(format!("{place}: `expect` without a reason; add `reason = \"...\"` or mend what the lint says"));
    }
    let allowed = (source.path.as_str(), attribute.trim_start_matches("allow(").trim_end_matches(')')) == ALLOWED;
    let refused = silences("allow(") && !allowed && !is_test(&source.path);
    refused.then(|| format!("{place}: `{attribute}`; mend what the lint says, or `expect` it with a reason"))
}

/// The content and position of every `#[...]` and `#![...]` of `source`.
fn attributes(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let code = source.code.as_str();
    code.match_indices('#').filter_map(move |(at, _)| {
        let inside = code[at + 1..].trim_start_matches('!').strip_prefix('[')?;
        let mut depth = 1;
        let end = inside.bytes().position(|byte| {
            depth += i32::from(byte == b'[') - i32::from(byte == b']');
            depth == 0
        })?;
        Some((at, inside[..end].trim()))
    })
}

/// Whether the file is a test: below a folder `tests`, and not the source of a crate there.
fn is_test(path: &str) -> bool {
    let mut folders = path.split('/').rev();
    folders.find(|folder| ["src", "tests"].contains(folder)) == Some("tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        silenced(&[Source::new(path, text)]).len()
    }

    #[test]
    fn an_allow_is_refused_and_an_expect_needs_a_reason() {
        assert_eq!(found("a/src/lib.rs", "#![allow(dead_code)]\n#[expect(\n    dead_code\n)]"), 2);
        assert_eq!(found("a/src/lib.rs", "#[cfg_attr(unix, allow(dead_code))]"), 1);
        assert_eq!(found("a/src/lib.rs", "#[expect(dead_code, reason = \"a\")] // #[allow(dead_code)]"), 0);
        assert_eq!(found("a/tests/b.rs", "#![allow(dead_code)]"), 0);
        assert_eq!(found("tests/oracle/src/b.rs", "#![allow(dead_code)]"), 1);
        assert_eq!(found("crates/kit/src/lib.rs", "#[allow(unsafe_code)]\nmod a;"), 0);
    }
}
