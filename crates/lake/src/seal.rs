//! Seals: JSON objects with an embedded checksum, which detects any changed byte.
//!
//! The first member of the object is its seal: the XXH3-64 of all bytes behind that member and its line end, as sixteen
//! digits. An object is sealed in its written form, on one line or indented.

use xxhash_rust::xxh3::xxh3_64;

/// Digits of a seal.
const DIGITS: usize = 16;

/// Text before and after the digits.
type Form = (&'static str, &'static str);
const ON_ONE_LINE: Form = ("{\"seal\":\"", "\",");
const INDENTED: Form = ("{\n  \"seal\": \"", "\",\n");

/// Result of checking a seal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seal {
    /// Intact, with this seal.
    Whole(String),
    /// Modified.
    Broken {
        /// The seal present.
        has: String,
        /// The seal of the present content.
        should: String,
    },
    /// No seal.
    Missing,
}

/// Adds a seal to an object; returns the seal, too.
pub fn sealed(object: &str) -> (String, String) {
    let (form, members) = match object.strip_prefix("{\n") {
        Some(members) => (INDENTED, members),
        None => (ON_ONE_LINE, object.strip_prefix('{').unwrap_or(object)),
    };
    let seal = digits(xxh3_64(members.as_bytes()));
    (format!("{}{seal}{}{members}", form.0, form.1), seal)
}

/// Removes the seal of an intact text; `None` for any other.
pub fn unsealed(text: &str) -> Option<String> {
    let Seal::Whole(seal) = of(text.as_bytes()) else { return None };
    let form = [INDENTED, ON_ONE_LINE].into_iter().find(|(before, _)| text.starts_with(before))?;
    let members = text.get(form.0.len() + seal.len() + form.1.len()..)?;
    Some(format!("{}{members}", if form == INDENTED { "{\n" } else { "{" }))
}

/// Checks the seal of a text.
pub fn of(text: &[u8]) -> Seal {
    for (before, after) in [ON_ONE_LINE, INDENTED] {
        let Some(rest) = text.strip_prefix(before.as_bytes()) else { continue };
        let (has, rest) = rest.split_at_checked(DIGITS).unwrap_or((rest, b""));
        let has = String::from_utf8_lossy(has).into_owned();
        let should = digits(xxh3_64(rest.strip_prefix(after.as_bytes()).unwrap_or_default()));
        let whole = rest.starts_with(after.as_bytes()) && has == should;
        return if whole { Seal::Whole(has) } else { Seal::Broken { has, should } };
    }
    Seal::Missing
}

/// Formats a checksum.
pub fn digits(checksum: u64) -> String {
    format!("{checksum:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_breaks_with_any_byte() {
        let document: std::collections::BTreeMap<String, f64> =
            (1..9).map(|n| (format!("key {n}"), 0.1 * f64::from(n))).collect();
        for object in [serde_json::to_string(&document).unwrap(), serde_json::to_string_pretty(&document).unwrap()] {
            let (text, seal) = sealed(&object);
            assert_eq!(of(text.as_bytes()), Seal::Whole(seal));
            assert_eq!(unsealed(&text).as_deref(), Some(object.as_str()));
            assert_eq!(unsealed(&object), None);
            assert_eq!(of(object.as_bytes()), Seal::Missing);
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read.as_object().unwrap().len(), 9);
            for at in 0..text.len() {
                let mut changed = text.clone().into_bytes();
                changed[at] ^= 1;
                assert!(!matches!(of(&changed), Seal::Whole(_)), "{at}");
                assert!(!matches!(of(&text.as_bytes()[..at]), Seal::Whole(_)), "{at}");
            }
        }
    }
}
