//! Allowlists: matches of a rule that are no secrets.

use regex::bytes::Regex;

/// The part of a text that the expressions of an allowlist look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The secret.
    #[default]
    Secret,
    /// The whole match.
    Match,
    /// The line of the text.
    Line,
}

/// An allowlist.
#[derive(Clone, Debug, Default)]
pub struct Allowlist {
    /// Whether all of its conditions must hold, not one.
    pub all: bool,
    /// The part that `regexes` look at.
    pub target: Target,
    /// Expressions.
    pub regexes: Vec<Regex>,
    /// Words inside the secret, in any case; lower case.
    pub stopwords: Vec<String>,
    /// Whether it has conditions about paths or commits, which no string of a heap meets.
    pub is_about_files: bool,
}

/// A match to judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matched<'a> {
    pub secret: &'a [u8],
    pub whole: &'a [u8],
    pub line: &'a [u8],
}

impl Allowlist {
    /// Whether a match is no secret.
    pub(crate) fn allows(&self, matched: Matched<'_>) -> bool {
        let text = match self.target {
            Target::Secret => matched.secret,
            Target::Match => matched.whole,
            Target::Line => matched.line,
        };
        let by_regex = || self.regexes.iter().any(|regex| regex.is_match(text));
        let by_word = || {
            let lower = matched.secret.to_ascii_lowercase();
            self.stopwords.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
        };
        if self.all {
            let has_any = !self.regexes.is_empty() || !self.stopwords.is_empty();
            return has_any
                && !self.is_about_files
                && (self.regexes.is_empty() || by_regex())
                && (self.stopwords.is_empty() || by_word());
        }
        by_regex() || by_word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(all: bool, regex: &str, word: &str) -> Allowlist {
        Allowlist {
            all,
            regexes: vec![Regex::new(regex).unwrap()],
            stopwords: vec![word.to_owned()],
            ..Allowlist::default()
        }
    }

    #[test]
    fn conditions_are_alternatives_unless_all_must_hold() {
        let of = |secret: &'static [u8]| Matched { secret, whole: b"key=secret", line: b"the line" };
        assert!(list(false, "^a", "word").allows(of(b"abc")) && list(false, "^a", "word").allows(of(b"xWORDx")));
        assert!(!list(false, "^a", "word").allows(of(b"xyz")));
        assert!(!list(true, "^a", "word").allows(of(b"abc")) && list(true, "^a", "word").allows(of(b"a-word")));
        let of_files = Allowlist { is_about_files: true, ..list(true, "^a", "word") };
        assert!(!of_files.allows(of(b"a-word")) && !Allowlist { all: true, ..Allowlist::default() }.allows(of(b"a")));
        let line = Allowlist { target: Target::Line, ..list(false, "the line", "none") };
        let whole = Allowlist { target: Target::Match, ..list(false, "^key=", "none") };
        assert!(line.allows(of(b"abc")) && whole.allows(of(b"abc")));
    }
}
