//! Comma-separated unsigned integers, eight digits at a time.
//!
//! Most numbers of a snapshot have one to seven digits, so eight bytes are loaded at once, the digits among them are
//! found with one carry trick and weighed with three multiplications; no branch depends on a number's length. The
//! rest (longer numbers, white space, the tail of the text) goes digit by digit.

/// What is wrong, and where in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Offset in the text.
    pub at: usize,
    /// What should be there.
    pub expected: &'static str,
}

const NUMBER: &str = "an unsigned integer below 2^64";
const COMMA: &str = "a comma";

/// Appends the numbers of `text` to `out`: one or more, separated by commas, white space allowed around each.
///
/// # Errors
/// [`Bad`] at the first byte that fits nowhere, and where a number starts that is not below 2^64.
pub fn tokenize(text: &[u8], out: &mut Vec<u64>) -> Result<(), Bad> {
    let mut at = 0;
    loop {
        // The common case first, again and again: a short number directly followed by a comma, or by a line break and
        // a comma as V8 ends its rows.
        while let Some(window) = text.get(at..at + 10) {
            let word = u64::from_le_bytes([
                window[0], window[1], window[2], window[3], window[4], window[5], window[6], window[7],
            ]);
            let digits = word ^ 0x3030_3030_3030_3030;
            // A byte's top bit is set from the first non-digit on (later ones may be set by its carry).
            let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
            let length = (others.trailing_zeros() / 8) as usize;
            if length == 0 || length == 8 {
                break;
            }
            let after = window[length];
            let skip = if after == b',' {
                1
            } else if after == b'\n' && window[length + 1] == b',' {
                2
            } else {
                break;
            };
            out.push(weigh(digits << (64 - 8 * length)));
            at += length + skip;
        }
        at = skip_space(text, at);
        let (number, end) = slow(text, at)?;
        out.push(number);
        at = skip_space(text, end);
        match text.get(at) {
            None => return Ok(()),
            Some(b',') => at += 1,
            Some(_) => return Err(Bad { at, expected: COMMA }),
        }
    }
}

/// Value of eight digits 0 to 9, the first in the lowest byte.
#[inline]
fn weigh(digits: u64) -> u64 {
    let pairs = (digits & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8;
    let quads = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(6_553_601) >> 16;
    (quads & 0x0000_ffff_0000_ffff).wrapping_mul(42_949_672_960_001) >> 32
}

fn skip_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// One number, digit by digit, and where it ends.
fn slow(text: &[u8], start: usize) -> Result<(u64, usize), Bad> {
    let bad = Bad { at: start, expected: NUMBER };
    let mut number = 0u64;
    let mut at = start;
    while let Some(digit) = text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        number = number.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit))).ok_or(bad)?;
        at += 1;
    }
    // A fraction or an exponent makes it another kind of number.
    if at == start || matches!(text.get(at), Some(b'.' | b'e' | b'E')) { Err(bad) } else { Ok((number, at)) }
}

/// Offset of the number with this index in a text that [`tokenize`] accepts.
#[must_use]
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
        tokenize(text.as_bytes(), &mut out).map(|()| out)
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
        ] {
            assert_eq!(numbers(text).map_err(|bad| bad.at), Err(at), "{text:?}");
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
