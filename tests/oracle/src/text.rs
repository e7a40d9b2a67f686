//! JavaScript's strings: UTF-16, not necessarily well-formed.

use std::fmt;

/// A JavaScript string: any sequence of 16-bit units, lone surrogates included.
///
/// Equality and order are those of the units, hence exact. [`fmt::Display`] replaces lone surrogates and is for people
/// only.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OracleString(pub Vec<u16>);

impl OracleString {
    pub fn units(&self) -> &[u16] {
        &self.0
    }

    /// Whether the string begins with `prefix`.
    pub fn starts_with(&self, prefix: &str) -> bool {
        self.0.starts_with(&units(prefix))
    }

    pub fn push_str(&mut self, text: &str) {
        self.0.extend(text.encode_utf16());
    }

    pub fn push(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// The string as UTF-8, or `None` if it has a lone surrogate.
    pub fn to_utf8(&self) -> Option<String> {
        String::from_utf16(&self.0).ok()
    }

    /// The string as WTF-8: UTF-8 that encodes a lone surrogate in three bytes. Different strings have different WTF-8.
    pub fn to_wtf8(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for unit in char::decode_utf16(self.0.iter().copied()) {
            match unit {
                Ok(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(lone) => {
                    let unit = lone.unpaired_surrogate();
                    bytes.push(0xe0 | (unit >> 12) as u8);
                    bytes.push(0x80 | (unit >> 6 & 0x3f) as u8);
                    bytes.push(0x80 | (unit & 0x3f) as u8);
                }
            }
        }
        bytes
    }

    /// The string of this WTF-8.
    pub fn from_wtf8(bytes: &[u8]) -> Self {
        let (mut units, mut lone) = (Vec::new(), Vec::new());
        for chunk in bytes.utf8_chunks() {
            units.extend(chunk.valid().encode_utf16());
            lone.extend(chunk.invalid().iter().map(|&byte| u16::from(byte)));
            if let [first, second, third] = lone[..] {
                units.push((first & 0x0f) << 12 | (second & 0x3f) << 6 | third & 0x3f);
                lone.clear();
            }
        }
        Self(units)
    }

    /// The inside of the string as JavaScript's `JSON.stringify` writes it: lone surrogates as escapes, other letters
    /// unchanged.
    pub fn escaped(&self) -> String {
        let mut json = String::new();
        for c in char::decode_utf16(self.0.iter().copied()) {
            match c {
                Ok(c @ ('"' | '\\')) => json.extend(['\\', c]),
                Ok('\u{8}') => json.push_str("\\b"),
                Ok('\u{c}') => json.push_str("\\f"),
                Ok('\n') => json.push_str("\\n"),
                Ok('\r') => json.push_str("\\r"),
                Ok('\t') => json.push_str("\\t"),
                Ok(control @ ..'\u{20}') => json.push_str(&format!("\\u{:04x}", control as u32)),
                Ok(c) => json.push(c),
                Err(lone) => json.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
            }
        }
        json
    }

    /// The number that JavaScript's `parseInt(text, 10)` reads at the beginning of the string, or `None` for NaN.
    pub fn leading_integer(&self) -> Option<f64> {
        let text = self.to_string();
        let text = text.trim_start_matches(is_js_space);
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = digits.find(|c: char| !c.is_ascii_digit());
        let magnitude: f64 = digits[..end.unwrap_or(digits.len())].parse().ok()?;
        Some(if text.starts_with('-') { -magnitude } else { magnitude })
    }
}

/// White space in JavaScript's sense; Unicode's differs in two characters.
fn is_js_space(c: char) -> bool {
    c == '\u{feff}' || c.is_whitespace() && c != '\u{85}'
}

/// The 16-bit units of a text.
pub(crate) fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

impl From<&str> for OracleString {
    fn from(text: &str) -> Self {
        Self(units(text))
    }
}

impl PartialEq<str> for OracleString {
    fn eq(&self, other: &str) -> bool {
        self.0.iter().copied().eq(other.encode_utf16())
    }
}

impl PartialEq<&str> for OracleString {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl fmt::Display for OracleString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf16_lossy(&self.0))
    }
}

impl fmt::Debug for OracleString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for unit in char::decode_utf16(self.0.iter().copied()) {
            match unit {
                Ok(c) => write!(f, "{}", c.escape_debug())?,
                Err(lone) => write!(f, "\\u{:04x}", lone.unpaired_surrogate())?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_integers_like_javascript() {
        let parse = |text| OracleString::from(text).leading_integer();
        assert_eq!(parse("12abc"), Some(12.0));
        assert_eq!(parse(" \u{feff}-7"), Some(-7.0));
        assert_eq!(parse("4.9"), Some(4.0));
        assert_eq!(parse("\u{85}1"), None);
        assert_eq!(parse("- 1"), None);
        assert_eq!(parse("Infinity"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn wtf8_keeps_lone_surrogates_apart() {
        let high = OracleString(vec![0xd800]);
        let low = OracleString(vec![0xdc00]);
        let pair = OracleString(vec![0xd83d, 0xde00]);
        assert_eq!(high.to_wtf8(), [0xed, 0xa0, 0x80]);
        assert_eq!(low.to_wtf8(), [0xed, 0xb0, 0x80]);
        assert_eq!(pair.to_wtf8(), "😀".as_bytes());
        for string in [&high, &low, &pair, &OracleString(vec![0x61, 0xd800, 0xd801, 0xe9])] {
            assert_eq!(OracleString::from_wtf8(&string.to_wtf8()), *string);
        }
        assert_eq!(high.to_string(), low.to_string(), "display replaces them");
        assert_ne!(high, low);
    }
}
