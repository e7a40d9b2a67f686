//! Numbers and names formatted for people.

/// Bytes in the largest unit of which there is at least one.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A number with thousands separators.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// At most `most` characters, on one line.
#[must_use]
pub fn shorten(text: &str, most: usize) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    if text.chars().count() <= most { clean.collect() } else { clean.take(most - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([size(0), size(1023), size(1536), size(5 << 30)], ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]);
        assert_eq!([count(7), count(1234), count(1_234_567)], ["7", "1,234", "1,234,567"]);
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!([shorten("ab\ncd", 9), shorten("abcdef", 4)], ["ab cd", "abc…"]);
    }
}
