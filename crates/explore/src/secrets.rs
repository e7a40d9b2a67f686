//! The secrets of a server.
//!
//! Cookies of a host are sent to all of its ports, also to servers of other users. So the cookie opens the files of the
//! page, which hold no data, and another secret opens the answers: the token of the URL, which the page keeps where
//! browsers separate ports and sends as a header.

use std::fmt::Write;
use std::io;

/// Bytes of a secret.
const BYTES: usize = 16;

/// Secrets of one server, new for each.
#[derive(Clone, Debug)]
pub struct Secrets {
    /// Opens everything; a part of the URL.
    pub token: String,
    /// Opens the files of the page.
    pub cookie: String,
}

impl Secrets {
    /// Makes secrets from random bytes of the system.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new() -> io::Result<Self> {
        Ok(Self { token: secret()?, cookie: secret()? })
    }
}

fn secret() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let mut text = String::with_capacity(2 * BYTES);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// Compares a guess with a secret, in a time that does not depend on where they differ.
#[must_use]
pub fn equal(guess: &[u8], secret: &str) -> bool {
    guess.len() == secret.len() && guess.iter().zip(secret.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_only_equal_ones_fit() {
        let (one, other) = (Secrets::new().unwrap_or_else(|error| panic!("{error}")), Secrets::new());
        let other = other.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(one.token.len(), 2 * BYTES);
        assert!(one.token.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert!(one.token != one.cookie && one.token != other.token);
        assert!(equal(one.token.as_bytes(), &one.token));
        assert!(!equal(b"", &one.token) && !equal(&one.token.as_bytes()[1..], &one.token));
        assert!(!equal(other.token.as_bytes(), &one.token));
    }
}
