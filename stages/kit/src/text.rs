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

/// At most `most` characters, on one line; what is left out is left out of the middle, so both ends stay whole.
#[must_use]
pub fn middle(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return shorten(text, most);
    }
    let kept = most.max(1) - 1;
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let (first, last) = (text.chars().take(head), text.chars().skip(length - tail));
    first.map(clean).chain(['…']).chain(last.map(clean)).collect()
}

/// A word of a command line as a shell takes it: in single quotes, unless it needs none.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=".contains(c);
    // A leading = or ~ means something to some shells, a leading dash to the command.
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
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
        assert_eq!([middle("abcdef", 6), middle("abcdefg", 6), middle("a\nbcdefg", 4)], ["abcdef", "abc…fg", "a …g"]);
        assert_eq!([middle("abc", 1), middle("abc", 0)], ["…", "…"]);
    }

    #[test]
    fn words_come_through_a_shell() {
        let plain = ["lake/release=2.4.0/snapshot=leaking-0809dd95", "@1400563", "a_b,c:d+e%"];
        assert_eq!(plain.map(quoted), plain);
        for word in ["", "a b", "it's", "$HOME", "a*", "~/x", "=ls", "a\\b", "ä;b", "a\nb", "\"x\"", "`x`", "!1"] {
            let script = format!("printf %s {}", quoted(word));
            let said = std::process::Command::new("sh").arg("-c").arg(script).output();
            assert_eq!(said.map(|output| output.stdout).unwrap_or_default(), word.as_bytes(), "{word:?}");
        }
    }
}
