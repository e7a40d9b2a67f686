//! Marks that other tools leave in a dump whose contents they removed.
//!
//! | tool | mark |
//! |---|---|
//! | heap-dump-tool | all arrays of bytes and characters hold one value, by default `*` |
//! | SapMachine | they hold zeros, or zeros behind their first elements |
//! | hprof-analyzer | a record 0xde |

use super::walk::{BYTE, CHAR};

/// Number of arrays that prove a mark. In an ordinary heap, some text among the first arrays differs.
const LEAST: u64 = 100;

/// Least bytes of an array that counts, and of one whose tail counts.
const LEAST_BYTES: usize = 4;
const LEAST_TAIL: usize = 16;

/// Tag of hprof-analyzer's record.
const ANALYZER: u8 = 0xde;

/// Observations on the arrays so far.
#[derive(Debug, Default)]
pub(super) struct Marks {
    arrays: u64,
    /// Number of arrays with other contents than one value.
    mixed: u64,
    /// Values of uniform byte and character arrays; whether they differ.
    values: [Option<u16>; 2],
    differ: bool,
    /// Number of long arrays, and of those with zeros in their second half but not in the first.
    long: u64,
    zero_tails: u64,
    analyzer: u64,
    unknown: u64,
}

impl Marks {
    /// Adds a record with an unknown tag.
    pub(super) fn record(&mut self, tag: u8) {
        *(if tag == ANALYZER { &mut self.analyzer } else { &mut self.unknown }) += 1;
    }

    /// Adds an array of `bytes` bytes at the start of `ahead`. Ignores one that extends beyond `ahead`.
    #[inline]
    pub(super) fn array(&mut self, element: u8, ahead: &[u8], bytes: u64) {
        // The answer is known to be no.
        if self.mixed > self.zero_tails + LEAST || (element != BYTE && element != CHAR) {
            return;
        }
        let elements = usize::try_from(bytes).ok().and_then(|bytes| ahead.get(..bytes));
        if let Some(elements) = elements.filter(|elements| elements.len() >= LEAST_BYTES) {
            self.see(element, elements);
        }
    }

    fn see(&mut self, element: u8, elements: &[u8]) {
        let width = if element == CHAR { 2 } else { 1 };
        let first = &elements[..width];
        let value = first.iter().fold(0, |value, &byte| value << 8 | u16::from(byte));
        let is_uniform = elements.chunks_exact(width).all(|other| other == first);
        self.arrays += 1;
        if is_uniform {
            self.differ |= *self.values[width - 1].get_or_insert(value) != value;
        } else {
            self.mixed += 1;
        }
        if elements.len() >= LEAST_TAIL {
            let (head, tail) = elements.split_at(elements.len() / 2);
            self.long += 1;
            self.zero_tails += u64::from(!is_uniform && head[0] | head[1] != 0 && tail.iter().all(|&byte| byte == 0));
        }
    }

    /// Whether all arrays hold one value.
    pub(super) fn is_uniform(&self) -> bool {
        self.arrays >= LEAST && self.mixed == 0 && !self.differ
    }

    /// Returns the remarks.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let value = self.values.iter().flatten().next().copied().unwrap_or(1);
        if self.is_uniform() {
            let (shown, by) = match u8::try_from(value).ok().filter(u8::is_ascii_graphic) {
                Some(b'*') => ("'*'".to_owned(), ", as heap-dump-tool writes"),
                Some(shown) => (format!("{:?}", char::from(shown)), ""),
                None if value == 0 => ("0".to_owned(), ", as SapMachine writes"),
                None => (value.to_string(), ""),
            };
            remarks.push(format!(
                "the texts were redacted before: each of {} arrays of bytes or characters holds {shown} only{by}",
                self.arrays
            ));
        } else if self.long >= LEAST && self.zero_tails * 100 >= self.long * 95 {
            remarks.push(format!(
                "the texts were redacted before: {} of {} arrays of bytes or characters end with zeros, as SapMachine writes",
                self.zero_tails, self.long
            ));
        }
        if self.analyzer > 0 {
            remarks.push("the dump was redacted before: it has the record 0xde of hprof-analyzer".to_owned());
        }
        if self.unknown > 0 {
            remarks.push(format!("{} records with unknown tags are filled with zeros", self.unknown));
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arrays: &[(u8, &[u8])]) -> Vec<String> {
        let mut marks = Marks::default();
        (0..150).flat_map(|_| arrays).for_each(|(element, bytes)| marks.array(*element, bytes, bytes.len() as u64));
        marks.remarks()
    }

    #[test]
    fn tools_are_known_by_their_marks() {
        assert!(of(&[(BYTE, b"*****"), (CHAR, b"\0*\0*")])[0].contains("heap-dump-tool"));
        assert!(of(&[(BYTE, &[0; 9])])[0].contains("SapMachine"));
        assert!(of(&[(BYTE, b"abcdefgh\0\0\0\0\0\0\0\0\0\0")])[0].contains("end with zeros"));
        assert_eq!(of(&[(BYTE, b"hello"), (BYTE, b"****")]), Vec::<String>::new());
        assert_eq!(of(&[(10, &[0; 9])]), Vec::<String>::new());
        let mut marks = Marks::default();
        marks.record(0xde);
        marks.record(0xdf);
        let remarks = marks.remarks();
        assert!(remarks[0].contains("hprof-analyzer") && remarks[1].contains("1 records"), "{remarks:?}");
    }
}
