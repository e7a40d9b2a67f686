//! The paths (`crate::a::B`, `use super::{c, d}`) in a source.

use crate::code;

/// One path; a `use` of several is several.
pub(crate) struct Path {
    /// Position of its first byte.
    pub at: usize,
    /// Its words; `*` for everything.
    pub words: Vec<String>,
    /// Its name in this source.
    pub name: String,
    /// Whether it belongs to a `pub use`, which others may use in turn.
    pub exported: bool,
}

/// Every path in `code` of more than one word.
pub(crate) fn of(code: &str) -> Vec<Path> {
    let mut paths = Vec::new();
    let mut reached = 0;
    for (at, word) in code::words(code) {
        if at < reached || code[..at].ends_with("::") {
            continue;
        }
        let used = word == "use";
        let start = if used { at + 3 } else { at };
        let mut tree = Tree { code, at: start, paths: Vec::new() };
        tree.read(&[]);
        let exported = used && is_public(&code[..at]);
        let tree_end = tree.at;
        paths.extend(tree.paths.into_iter().filter(|it| it.words.len() > 1).map(|it| Path { exported, ..it }));
        reached = tree_end.max(at + 1);
    }
    paths
}

/// Whether `before` ends with `pub` or `pub(...)`.
fn is_public(before: &str) -> bool {
    let before = before.trim_end();
    let scope = before.rfind("pub(").map(|at| &before[at..]);
    before.ends_with("pub") || scope.is_some_and(|scope| scope.find(')') == Some(scope.len() - 1))
}

struct Tree<'a> {
    code: &'a str,
    at: usize,
    paths: Vec<Path>,
}

impl Tree<'_> {
    /// Reads `a::b`, `a::{b, c as d}`, `a::*` after the words `before`.
    fn read(&mut self, before: &[String]) {
        self.skip_spaces();
        let at = self.at;
        let rest = &self.code[at..];
        let length = code::word_length(rest);
        if rest.starts_with('{') && !before.is_empty() {
            self.read_branches(before);
        } else if rest.starts_with('*') && !before.is_empty() {
            self.at += 1;
            self.push(at, &[before, &["*".to_owned()]].concat(), "*");
        } else if length > 0 {
            self.at += length;
            let words = [before, &[rest[..length].to_owned()]].concat();
            if self.takes("::") { self.read(&words) } else { self.push_named(at, &words) }
        } else if !before.is_empty() {
            // Not followed by a name, as in `a::b::<C>`.
            self.push_named(at, before);
        }
    }

    fn read_branches(&mut self, before: &[String]) {
        self.at += 1;
        loop {
            self.read(before);
            self.skip_spaces();
            if !self.takes(",") {
                break;
            }
        }
        self.takes("}");
    }

    /// Pushes the path `words`, named by its last word or by `as`.
    fn push_named(&mut self, at: usize, words: &[String]) {
        let code = self.code;
        let Some(alias) = code[self.at..].trim_start().strip_prefix("as ") else {
            return self.push(at, words, &words[words.len() - 1]);
        };
        let name = &alias[..code::word_length(alias)];
        self.at = code.len() - alias.len() + name.len();
        self.push(at, words, name);
    }

    fn push(&mut self, at: usize, words: &[String], name: &str) {
        let (words, name) = (words.to_vec(), name.to_owned());
        self.paths.push(Path { at, words, name, exported: false });
    }

    fn takes(&mut self, expected: &str) -> bool {
        let found = self.code[self.at..].starts_with(expected);
        self.at += if found { expected.len() } else { 0 };
        found
    }

    fn skip_spaces(&mut self) {
        self.at = self.code.len() - self.code[self.at..].trim_start().len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_branch_of_a_use_is_a_path() {
        let code = "pub(crate) use a::{b, c::{self, d as e}, f::*};\nlet g = crate::h::<i::J>(k.l, m as n);";
        let seen: Vec<_> = of(code).iter().map(|it| (it.words.join("::"), it.name.clone(), it.exported)).collect();
        let expected = [
            ("a::b", "b", true),
            ("a::c::self", "self", true),
            ("a::c::d", "e", true),
            ("a::f::*", "*", true),
            ("crate::h", "h", false),
            ("i::J", "J", false),
        ];
        assert_eq!(seen, expected.map(|(words, name, exported)| (words.to_owned(), name.to_owned(), exported)));
    }
}
