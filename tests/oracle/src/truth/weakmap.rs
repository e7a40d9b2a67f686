//! The names of the edges by which V8 describes the entries of weak maps.
//!
//! Key and table together retain a WeakMap's value. V8 writes one edge from each of them to the value, both `internal`,
//! with names that differ in the leading number only: `7 / part of key (K @11) -> value (V @13) pair in WeakMap (table
//! @17)`.

use crate::text::{OracleString, units};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ephemeron {
    /// The name without the leading number: the same for both edges of an entry.
    pub entry: Vec<u16>,
    /// Id of the table's node, as JavaScript's number.
    pub table: f64,
}

/// Parses a name, or returns `None` if it is not of this form.
///
/// The names of key and value may be anything on one line, even texts that look like the rest of the form; the leading
/// number, both ids and the table's id must have at least one digit.
pub(super) fn parse(name: &OracleString) -> Option<Ephemeron> {
    let entry = &name.units()[leading_digits(name.units())?..];
    let rest = entry.strip_prefix(&units(" / part of key (")[..])?;
    let rest = rest.strip_suffix(&units(")")[..])?;
    let (rest, table) = rest.split_at(rest.len() - trailing_digits(rest)?);
    let pair = rest.strip_suffix(&units(") pair in WeakMap (table @")[..])?;
    is_pair(pair).then(|| Ephemeron { entry: entry.to_vec(), table: number(table) })
}

/// Whether the text is `… @1) -> value (… @2` for at least one way to cut it in two.
fn is_pair(text: &[u16]) -> bool {
    let middle = units(") -> value (");
    (0..text.len())
        .filter(|&at| text[at..].starts_with(&middle))
        .any(|at| is_named_id(&text[..at]) && is_named_id(&text[at + middle.len()..]))
}

/// Whether the text is a name on one line, ` @` and a number.
fn is_named_id(text: &[u16]) -> bool {
    let Some(digits) = trailing_digits(text) else { return false };
    let name = text[..text.len() - digits].strip_suffix(&units(" @")[..]);
    name.is_some_and(|name| !name.iter().any(|&unit| is_line_end(unit)))
}

/// The four characters that end a line in JavaScript, which `.` does not match.
fn is_line_end(unit: u16) -> bool {
    [0x0a, 0x0d, 0x2028, 0x2029].contains(&unit)
}

fn is_digit(unit: &u16) -> bool {
    (0x30..=0x39).contains(unit)
}

fn leading_digits(text: &[u16]) -> Option<usize> {
    let count = text.iter().take_while(|unit| is_digit(unit)).count();
    (count > 0).then_some(count)
}

fn trailing_digits(text: &[u16]) -> Option<usize> {
    let count = text.iter().rev().take_while(|unit| is_digit(unit)).count();
    (count > 0).then_some(count)
}

fn number(digits: &[u16]) -> f64 {
    String::from_utf16_lossy(digits).parse().expect("digits make a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> Option<f64> {
        parse(&name.into()).map(|ephemeron| ephemeron.table)
    }

    #[test]
    fn reads_the_form() {
        let name = "7 / part of key (K @11) -> value (V @13) pair in WeakMap (table @17)";
        let read = parse(&name.into()).expect("this is the form");
        assert_eq!(read.table, 17.0);
        assert_eq!(read.entry, units(&name[1..]));
    }

    #[test]
    fn names_may_hold_parts_of_the_form() {
        assert_eq!(
            table(
                "1 / part of key (a @1) -> value (b @2) -> value (c) @3) \
                 pair in WeakMap (table @4) -> value ( @5) pair in WeakMap (table @6)"
            ),
            Some(6.0)
        );
    }

    #[test]
    fn anything_else_is_an_ordinary_name() {
        for name in [
            "",
            "7",
            " / part of key (K @1) -> value (V @3) pair in WeakMap (table @7)",
            "x7 / part of key (K @1) -> value (V @3) pair in WeakMap (table @7)",
            "7 / part of key (K@1) -> value (V @3) pair in WeakMap (table @7)",
            "7 / part of key (K @) -> value (V @3) pair in WeakMap (table @7)",
            "7 / part of key (K\n @1) -> value (V @3) pair in WeakMap (table @7)",
            "7 / part of key (K @1) -> value (V\u{2028} @3) pair in WeakMap (table @7)",
            "7 / part of key (K @1) -> value (V @3) pair in WeakMap (table @)",
            "7 / part of key (K @1) -> value (V @3) pair in WeakMap (table @7))",
            "7 / part of key (K @1) -> value (V @3) pair in WeakMap (table @7)\n",
        ] {
            assert_eq!(table(name), None, "{name:?}");
        }
    }
}
