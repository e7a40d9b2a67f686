//! V8's names for the two edges to a weak map's value, one from the map's table and one from the key.
//!
//! `7 / part of key (Key @11) -> value (Value @13) pair in WeakMap (table @9)`: both edges have the same text except
//! for the leading number.

/// Contents of such a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ephemeron<'a> {
    /// Id of the weak map's table.
    pub table: u64,
    /// The text that both edges share.
    pub shared: &'a [u8],
}

/// Parses the name of an ephemeron edge. As in DevTools, names with a line break do not match.
pub fn parse(name: &[u8]) -> Option<Ephemeron<'_>> {
    let (_, shared) = digits(name)?;
    let rest = shared.strip_prefix(b" / part of key (")?;
    let rest = rest.strip_suffix(b")")?;
    let (rest, table) = digits_behind(rest)?;
    let pair = rest.strip_suffix(b") pair in WeakMap (table @")?;
    let has_break = pair.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
        || pair.windows(3).any(|three| three == [0xe2, 0x80, 0xa8] || three == [0xe2, 0x80, 0xa9]);
    // Key and value may contain anything, so any separator between two numbered names is accepted.
    const SEPARATOR: &[u8] = b") -> value (";
    let splits = (0..pair.len()).filter(|&at| pair[at..].starts_with(SEPARATOR));
    let numbered = |name: &[u8]| digits_behind(name).is_some_and(|(name, _)| name.ends_with(b" @"));
    // After a separator, the name of the value ends as the whole does, if it is long enough.
    let (value, _) = digits_behind(pair)?;
    let named = value.len().checked_sub(2).filter(|_| value.ends_with(b" @"))?;
    let mut splits = splits.filter(|&at| at + SEPARATOR.len() <= named && numbered(&pair[..at]));
    let table = std::str::from_utf8(table).ok()?.parse().ok()?;
    (!has_break && splits.next().is_some()).then_some(Ephemeron { table, shared })
}

/// Splits off the leading digits; `None` without any.
fn digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (length > 0).then(|| text.split_at(length))
}

/// Splits off the trailing digits; `None` without any.
fn digits_behind(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    (length > 0).then(|| text.split_at(text.len() - length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn understands_v8s_names() {
        let name = b"7 / part of key (Key @11) -> value (Va (l) @ue @13) pair in WeakMap (table @9)";
        assert_eq!(parse(name), Some(Ephemeron { table: 9, shared: &name[1..] }));
        let odd = b"1 / part of key (a) -> value (b @1) -> value ( @2) pair in WeakMap (table @3)";
        assert_eq!(parse(odd).map(|ephemeron| ephemeron.table), Some(3));
    }

    #[test]
    fn refuses_everything_else() {
        for name in [
            "",
            "7",
            " / part of key (K @1) -> value (V @2) pair in WeakMap (table @9)",
            "7 / part of key (K @1) -> value (V @2) pair in WeakMap (table @)",
            "7 / part of key (K 1) -> value (V @2) pair in WeakMap (table @9)",
            "7 / part of key (K @1) -> value (V 2) pair in WeakMap (table @9)",
            "7 / part of key (K @1) -> value (V @2) pair in WeakMap (table @9) ",
            "7 / part of key (K\n @1) -> value (V @2) pair in WeakMap (table @9)",
            "7 / part of key (K\u{2028} @1) -> value (V @2) pair in WeakMap (table @9)",
        ] {
            assert_eq!(parse(name.as_bytes()), None, "{name:?}");
        }
    }
}
