//! Second pass over a snapshot: writes it with masked strings.
//!
//! Numbers stay, except for those of the strings of nodes whose text has another entry. Strings in sections that this
//! build does not know are masked one by one.

use super::header::Header;
use super::json::{self, Entries};
use super::roles::Role;
use super::sections;
use super::strings::Strings;
use super::uses::Uses;
use crate::options::Options;
use crate::sink::Sink;
use crate::summary::Summary;
use heaplake_input::bytes::Bytes;
use heaplake_input::numbers::{LEAST_NEGATIVE, Sign};
use heaplake_kit::StageError;

/// Writes the snapshot; returns the remark about text behind it, which is left out.
pub(super) fn all(
    (header, uses): (&Header, &Uses),
    options: &Options,
    scanner: &mut Bytes<'_>,
    sink: &mut Sink<'_>,
    summary: &mut Summary,
) -> Result<Option<String>, StageError> {
    let mut before: &[u8] = b"{\"";
    let remark = sections::each(scanner, |key, scanner| {
        sink.put(before)?;
        before = b",\n\"";
        json::key(key, &options.key, sink)?;
        sink.put(b"\":")?;
        match key {
            b"snapshot" => {
                header.masked.iter().for_each(|&bytes| summary.add("texts in the header", bytes));
                scanner.skip_value()?;
                sink.put(&header.text)
            }
            b"nodes" => nodes(header, uses, scanner, sink),
            b"strings" => {
                sink.put(b"[")?;
                let budget = scanner.context().budget.clone();
                let none = |_: &[u8]| false;
                let mut table = Strings::new(uses, (options, &none), Entries::new(sink), &budget);
                scanner.string_array(&mut table)?;
                table.finish(summary)?;
                sink.put(b"]")
            }
            _ => other(scanner, sink, summary),
        }
    })?;
    sink.put(b"}")?;
    sink.flush()?;
    Ok(remark.map(|_| "text behind the end of the snapshot is left out".to_owned()))
}

/// Writes the nodes.
fn nodes(header: &Header, uses: &Uses, scanner: &mut Bytes<'_>, sink: &mut Sink<'_>) -> Result<(), StageError> {
    let (width, kind, name) = header.node;
    sink.put(b"[")?;
    let mut is_first = true;
    scanner.number_columns(
        (width, Sign::Signed),
        |rows, _, out: &mut Vec<u8>| {
            for row in rows.chunks_exact(width) {
                for (at, &number) in row.iter().enumerate() {
                    let is_text = at == name && header.roles.of_node(row[kind]) == Role::Text;
                    out.extend_from_slice(if at == 0 { b"\n," } else { b"," });
                    decimal(if is_text { uses.entry_of_text(number) } else { number }, out);
                }
            }
            Ok(())
        },
        |out| {
            let skipped = if std::mem::take(&mut is_first) { 2.min(out.len()) } else { 0 };
            sink.put(&out[skipped..])?;
            out.clear();
            Ok(())
        },
    )?;
    sink.put(b"]")
}

/// Appends a number in decimal digits.
#[inline]
fn decimal(number: u64, out: &mut Vec<u8>) {
    let is_negative = number >= LEAST_NEGATIVE;
    let mut left = if is_negative { number.wrapping_neg() } else { number };
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if is_negative {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Copies a value, with `x` in place of each byte of its strings.
fn other(scanner: &mut Bytes<'_>, sink: &mut Sink<'_>, summary: &mut Summary) -> Result<(), StageError> {
    let mut filter = Filter::default();
    scanner.raw_value(|piece| filter.piece(piece, sink, summary))
}

/// State of the copy of a value.
#[derive(Default)]
struct Filter {
    in_string: bool,
    is_escaped: bool,
    bytes: u64,
}

impl Filter {
    fn piece(&mut self, piece: &[u8], sink: &mut Sink<'_>, summary: &mut Summary) -> Result<(), StageError> {
        let mut rest = piece;
        while !rest.is_empty() {
            if !self.in_string {
                let end = memchr::memchr(b'"', rest).map_or(rest.len(), |quote| quote + 1);
                self.in_string = rest[end - 1] == b'"';
                sink.put(&rest[..end])?;
                rest = &rest[end..];
                continue;
            }
            let byte = rest[0];
            rest = &rest[1..];
            if byte == b'"' && !self.is_escaped {
                self.in_string = false;
                sink.put(b"\"")?;
                summary.add("texts of other sections", std::mem::take(&mut self.bytes));
            } else {
                self.is_escaped = byte == b'\\' && !self.is_escaped;
                self.bytes += 1;
                sink.put(b"x")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn numbers_are_written_as_they_were() {
        for (number, text) in [(0, "0"), (7, "7"), (1234, "1234"), (u64::MAX, "-1"), (1 << 40, "1099511627776")] {
            let mut out = Vec::new();
            decimal(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn strings_of_other_sections_are_masked_in_any_pieces() {
        let text = br#"[1,"a\"b\\",{"c":"","d":2}]"#;
        for size in 1..text.len() {
            let mut out = Vec::new();
            let mut sink = Sink::new(&mut out, Path::new("test"));
            let (mut filter, mut summary) = (Filter::default(), Summary::default());
            text.chunks(size).for_each(|piece| filter.piece(piece, &mut sink, &mut summary).unwrap());
            sink.flush().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), r#"[1,"xxxxxx",{"x":"","x":2}]"#);
        }
    }
}
