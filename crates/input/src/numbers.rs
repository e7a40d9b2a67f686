//! Parses comma-separated integers, about thirteen at a time ([`decimals`]). Long numbers (more than sixteen digits),
//! the tail of the text, and errors are handled digit by digit.

use heaplake_kit::decimals::{self, skip_space};

/// A syntax error, and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Offset in the text.
    pub at: usize,
    /// The expected content.
    pub expected: &'static str,
}

/// The range of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// No negative numbers.
    #[default]
    Unsigned,
    /// For programs that write unsigned 32-bit numbers as signed: -2^31 to -1 are accepted and become 2^64 - n, with
    /// the intended lower 32 bits.
    Signed,
}

impl Sign {
    /// Formats a number as in the text.
    #[must_use]
    pub fn show(self, number: u64) -> String {
        match self {
            Self::Signed if number >= LEAST_NEGATIVE => format!("-{}", number.wrapping_neg()),
            _ => number.to_string(),
        }
    }
}

/// -2^31 in the representation of [`Sign::Signed`].
pub const LEAST_NEGATIVE: u64 = (1u64 << 31).wrapping_neg();

const NUMBER: &str = "an unsigned integer below 2^64";
const INTEGER: &str = "an integer from -2^31 to 2^64 - 2^31";
const COMMA: &str = "a comma";

/// Appends the numbers of `text` to `out`: one or more, comma-separated, optionally surrounded by white space.
///
/// # Errors
/// [`Bad`] at the first invalid byte, or at the start of a number that is too large. Preceding numbers are in `out`.
pub fn tokenize(text: &[u8], sign: Sign, out: &mut Vec<u64>) -> Result<(), Bad> {
    let mut at = 0;
    loop {
        at = decimals::take(text, at, out);
        at = skip_space(text, at);
        let (number, end) = if sign == Sign::Signed { signed(text, at)? } else { slow(text, at)? };
        at = skip_space(text, end);
        if !matches!(text.get(at), None | Some(b',')) {
            return Err(Bad { at, expected: COMMA });
        }
        out.push(number);
        if at == text.len() {
            return Ok(());
        }
        at += 1;
    }
}

/// Parses one number digit by digit; returns its end, too.
fn slow(text: &[u8], start: usize) -> Result<(u64, usize), Bad> {
    let bad = Bad { at: start, expected: NUMBER };
    let mut number = 0u64;
    let mut at = start;
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        number = number.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit))).ok_or(bad)?;
        at += 1;
    }
    // Fractions and exponents are other kinds of numbers.
    if at == start || matches!(text.get(at), Some(b'.' | b'e' | b'E')) { Err(bad) } else { Ok((number, at)) }
}

/// Parses a number of [`Sign::Signed`]; returns its end, too. Unsigned numbers in the range of negative ones are
/// rejected.
fn signed(text: &[u8], start: usize) -> Result<(u64, usize), Bad> {
    let bad = Bad { at: start, expected: INTEGER };
    if text.get(start) != Some(&b'-') {
        let (number, end) = slow(text, start)?;
        return if number < LEAST_NEGATIVE { Ok((number, end)) } else { Err(bad) };
    }
    let (number, end) = slow(text, start + 1).map_err(|_| bad)?;
    let number = number.wrapping_neg();
    if number >= LEAST_NEGATIVE { Ok((number, end)) } else { Err(bad) }
}

/// Offset of the number with this index in a text accepted by [`tokenize`].
pub fn offset_of(text: &[u8], index: usize) -> usize {
    let start = match index {
        0 => 0,
        _ => memchr::memchr_iter(b',', text).nth(index - 1).map_or(text.len(), |comma| comma + 1),
    };
    skip_space(text, start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(text: &str) -> Result<Vec<u64>, Bad> {
        let mut out = Vec::new();
        tokenize(text.as_bytes(), Sign::Unsigned, &mut out).map(|()| out)
    }

    #[test]
    fn signs_where_they_are_allowed() {
        let signed = |text: &str| {
            let mut out = Vec::new();
            tokenize(text.as_bytes(), Sign::Signed, &mut out).map(|()| out)
        };
        let many = "7,".repeat(100);
        let expected = [vec![7; 100], vec![(-6i64) as u64, 3, i64::from(i32::MIN) as u64]].concat();
        assert_eq!(signed(&format!("{many}-6, 3,-2147483648")), Ok(expected.clone()));
        assert_eq!(expected[100] as u32, 4_294_967_290);
        assert_eq!((Sign::Signed.show(expected[100]), Sign::Unsigned.show(5)), ("-6".to_owned(), "5".to_owned()));
        for text in ["-", "-0", "--1", "-2147483649", "- 1", "-x", "1-2", "18446744073709551610"] {
            assert!(signed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn takes_what_json_writes() {
        assert_eq!(numbers("7"), Ok(vec![7]));
        assert_eq!(numbers("1,22,333\n,4444 , 55555\t,\r\n666666"), Ok(vec![1, 22, 333, 4444, 55555, 666_666]));
        assert_eq!(numbers("18446744073709551615,0"), Ok(vec![u64::MAX, 0]));
    }

    #[test]
    fn refuses_the_rest_where_it_stands() {
        for (text, at) in [
            ("", 0),
            ("-1", 0),
            ("1,-2,3,4,5,6,7,8,9", 2),
            ("1,,2", 2),
            ("1,2,", 4),
            ("1 2", 2),
            ("1.5", 0),
            ("3,1e9,3,3,3,3,3", 2),
            ("18446744073709551616", 0),
            ("1,2,x", 4),
            ("12345678a,1,1,1", 8),
            ("1,2\n3,4", 4),
        ] {
            // Alone, and inside windows.
            let before = "1,22,333\n,".repeat(20);
            for (before, after) in [("", ""), (&before[..], ""), ("", &",7".repeat(60)), (&before, &",7".repeat(60))] {
                let text = [before, text, after].concat();
                assert_eq!(numbers(&text).map_err(|bad| bad.at), Err(before.len() + at), "{text:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn equals_the_standard_parser(
            values in prop::collection::vec((any::<u64>(), 0u32..64, 0usize..5), 1..200),
        ) {
            let spaces = [",", "\n,", " , ", ",\r\n\t", ",\n"];
            let expected: Vec<u64> = values.iter().map(|(value, shift, _)| value >> shift).collect();
            let mut text = String::new();
            for (i, (value, (_, _, space))) in expected.iter().zip(&values).enumerate() {
                text += if i == 0 { "" } else { spaces[*space] };
                text += &value.to_string();
            }
            prop_assert_eq!(numbers(&text), Ok(expected.clone()));
            for (i, value) in expected.iter().enumerate() {
                prop_assert!(text[offset_of(text.as_bytes(), i)..].starts_with(&value.to_string()));
            }
        }
    }
}
