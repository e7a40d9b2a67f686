//! Kinds of secrets, and their patterns.

use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::Serialize;

/// A kind of secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A mail address.
    Mail,
    /// A number of a payment card with a valid check digit.
    CardNumber,
    /// A JSON Web Token.
    Jwt,
    /// An access key of AWS.
    AwsKey,
    /// A private key in PEM.
    PrivateKey,
    /// A bearer token of a header.
    BearerToken,
    /// A password in a URL.
    PasswordInUrl,
    /// A token of a service, by its prefix.
    ServiceToken,
}

impl Kind {
    /// Name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail addresses",
            Self::CardNumber => "card numbers",
            Self::Jwt => "JSON Web Tokens",
            Self::AwsKey => "AWS access keys",
            Self::PrivateKey => "private keys",
            Self::BearerToken => "bearer tokens",
            Self::PasswordInUrl => "passwords in URLs",
            Self::ServiceToken => "tokens of services",
        }
    }
}

/// Patterns, in the syntax of the crate `regex`. A match is shorter than [`MOST`].
const PATTERNS: [(Kind, &str); 8] = [
    (
        Kind::Mail,
        r"(?i-u)[a-z0-9][a-z0-9._%+-]{0,63}[a-z0-9_+-]@[a-z0-9][a-z0-9-]{1,62}(?:\.[a-z0-9-]{2,62}){0,4}\.[a-z]{2,24}",
    ),
    (Kind::CardNumber, r"(?-u)[2-6](?:[ -]?[0-9]){12,18}"),
    (Kind::Jwt, r"(?-u)eyJ[A-Za-z0-9_-]{8,1024}\.eyJ[A-Za-z0-9_-]{4,2048}\.[A-Za-z0-9_-]{8,512}"),
    (Kind::AwsKey, r"(?-u)\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    (Kind::PrivateKey, r"(?-u)-----BEGIN (?:[A-Z]{2,12} ){0,2}PRIVATE KEY-----"),
    (Kind::BearerToken, r"(?i-u)\bbearer [a-z0-9._~+/-]{16,512}"),
    (Kind::PasswordInUrl, r#"(?i-u)\b[a-z][a-z0-9+.-]{1,15}://[^\s:/@"'<>\x00]{1,64}:[^\s/@"'<>\x00]{1,64}@[a-z0-9]"#),
    (
        Kind::ServiceToken,
        r"(?-u)\b(?:gh[pousr]_[A-Za-z0-9]{30,64}|github_pat_[A-Za-z0-9_]{30,90}|glpat-[A-Za-z0-9_-]{20,40}|xox[abprs]-[A-Za-z0-9-]{10,120}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,64}|AIza[A-Za-z0-9_-]{35}|npm_[A-Za-z0-9]{36})",
    ),
];

/// Length limit of a match, bytes.
pub(super) const MOST: usize = 4 << 10;

/// The compiled patterns.
pub(super) struct Patterns {
    all: Vec<(Kind, Regex)>,
}

impl Patterns {
    /// Compiles the patterns; leaves out any that the library refuses, which a test excludes.
    pub(super) fn new() -> Self {
        let compiled = |&(kind, pattern): &(Kind, &str)| Regex::new(pattern).ok().map(|regex| (kind, regex));
        Self { all: PATTERNS.iter().filter_map(compiled).collect() }
    }

    /// Calls `found` with each secret in a text: kind, start and end.
    pub(super) fn find(&self, text: &[u8], mut found: impl FnMut(Kind, usize, usize)) {
        for (kind, regex) in &self.all {
            for at in regex.find_iter(text).filter(|at| is_real(*kind, text, at.start(), at.end())) {
                found(*kind, at.start(), at.end());
            }
        }
    }
}

/// Endings of files of code: in dumps of Java, their names follow ids, which may end like the name of a mail.
const CODE: [&[u8]; 7] = [b".java", b".class", b".kt", b".scala", b".groovy", b".clj", b".js"];

/// Checks what a pattern cannot.
fn is_real(kind: Kind, text: &[u8], start: usize, end: usize) -> bool {
    match kind {
        Kind::CardNumber => {}
        Kind::Mail => return !CODE.iter().any(|ending| text[start..end].ends_with(ending)),
        _ => return true,
    }
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let before = start.checked_sub(1).map(|at| text[at]);
    let is_apart = !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    is_apart && !is_digit(text.get(end)) && is_card(&text[start..end])
}

/// Whether digits with separators are a card's number: by issuer, length and check digit (Luhn).
fn is_card(number: &[u8]) -> bool {
    let digits: Vec<u32> =
        number.iter().filter(|byte| byte.is_ascii_digit()).map(|byte| u32::from(byte - b'0')).collect();
    let begin = digits.iter().take(4).fold(0, |begin, digit| begin * 10 + digit);
    let lengths: &[usize] = match begin {
        4000..=4999 => &[13, 16, 19],
        5100..=5599 | 2221..=2720 => &[16],
        3400..=3499 | 3700..=3799 => &[15],
        3528..=3589 => &[16],
        3000..=3059 | 3600..=3699 | 3800..=3999 => &[14],
        6011 | 6440..=6599 => &[16],
        _ => &[],
    };
    let doubled = |(at, &digit): (usize, &u32)| if at % 2 == 0 { digit } else { digit * 2 / 10 + digit * 2 % 10 };
    let sum: u32 = digits.iter().rev().enumerate().map(doubled).sum();
    lengths.contains(&digits.len()) && sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != digits[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let mut kinds = Vec::new();
        Patterns::new().find(text.as_bytes(), |kind, _, _| kinds.push(kind));
        kinds
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(Patterns::new().all.len(), PATTERNS.len());
    }

    #[test]
    fn secrets_are_found() {
        for (text, kind) in [
            ("write to alice.b+x@mail.example.co.uk now", Kind::Mail),
            ("4111 1111 1111 1111", Kind::CardNumber),
            ("card=378282246310005;", Kind::CardNumber),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dGhpc2lzYXNpZ25hdHVyZQ", Kind::Jwt),
            ("key AKIAIOSFODNN7EXAMPLE.", Kind::AwsKey),
            ("-----BEGIN RSA PRIVATE KEY-----\nMII", Kind::PrivateKey),
            ("Authorization: Bearer abcdef0123456789abcdef", Kind::BearerToken),
            ("postgres://app:s3cr3t@db:5432/x", Kind::PasswordInUrl),
            ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", Kind::ServiceToken),
        ] {
            assert_eq!(kinds(text), [kind], "{text}");
        }
    }

    #[test]
    fn other_texts_are_not() {
        for text in [
            "react@18.2.0",
            "@scope/package",
            "7Ck@HotSpotDiagnostic.java",
            "4111111111111112",
            "0000000000000000",
            "1,4111,1111,1111,1111",
            "id41111111111111111",
            "https://example.com/a@b",
            "bearer of news",
            "kXqTbZrWmNpLsDfGhJkQ",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }
}
