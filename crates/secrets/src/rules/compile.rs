//! Compiles regular expressions within bounds.
//!
//! Matching is linear in the text whatever the expression; only the size of a compiled expression can explode. Each is
//! compiled with the least of some limits that suffices, which is then charged to the sum of all.

use regex::Error;
use regex::bytes::{Regex, RegexBuilder};

/// Limits of an expression, bytes.
const LIMITS: [usize; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];

/// Limit of all expressions, bytes.
const TOTAL: usize = 128 << 20;

/// Limit of the cache of an expression's automaton, bytes.
const CACHE: usize = 1 << 20;

/// Compiles expressions.
pub(super) struct Compiler {
    left: usize,
}

impl Compiler {
    pub(super) fn new() -> Self {
        Self { left: TOTAL }
    }

    /// Compiles an expression of RE2's syntax: classes such as `\w` are those of ASCII, as in Go.
    ///
    /// # Errors
    /// Why it cannot be compiled, on one line.
    pub(super) fn compile(&mut self, pattern: &str) -> Result<Regex, String> {
        match self.with(pattern, false) {
            // Texts beyond ASCII in classes need Unicode.
            Err(Error::Syntax(_)) => self.with(pattern, true).map_err(|error| self.reason(&error)),
            result => result.map_err(|error| self.reason(&error)),
        }
    }

    fn with(&mut self, pattern: &str, unicode: bool) -> Result<Regex, Error> {
        let left = self.left;
        let mut result = Err(Error::CompiledTooBig(left));
        for limit in LIMITS.into_iter().filter(|&limit| limit <= left) {
            result = RegexBuilder::new(pattern).unicode(unicode).size_limit(limit).dfa_size_limit(CACHE).build();
            match &result {
                Ok(_) => self.left -= limit,
                Err(Error::CompiledTooBig(_)) => continue,
                Err(_) => {}
            }
            break;
        }
        result
    }

    fn reason(&self, error: &Error) -> String {
        match error {
            Error::CompiledTooBig(_) if self.left < LIMITS[LIMITS.len() - 1] => {
                format!("all expressions together need more than {} MiB", TOTAL >> 20)
            }
            Error::CompiledTooBig(_) => format!("it needs more than {} MiB", LIMITS[LIMITS.len() - 1] >> 20),
            error => {
                let text = error.to_string();
                let reason = text.rsplit_once("error: ").map_or(text.as_str(), |(_, reason)| reason);
                reason.replace(['\n', '\r'], " ").trim().to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_bounded_alone_and_together() {
        let mut compiler = Compiler::new();
        assert!(compiler.compile(r"(?i)\bkey-[\w]{3}").unwrap().is_match(b"a KEY-abc"));
        assert!(!compiler.compile(r"^\w$").unwrap().is_match("\u{e4}".as_bytes()));
        assert!(compiler.compile("[ä-ü]").unwrap().is_match("ö".as_bytes()));
        assert_eq!(compiler.compile("a(").unwrap_err(), "unclosed group");
        let bomb = "((a{100}){100}){100}";
        assert_eq!(compiler.compile(bomb).unwrap_err(), "it needs more than 4 MiB");
        let large = "(?:a{200}){250}";
        let error = (0..2000).find_map(|_| compiler.compile(large).err()).unwrap();
        assert_eq!(error, "all expressions together need more than 128 MiB");
    }
}
