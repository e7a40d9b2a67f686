//! Numbers and names formatted for people.

/// Formats bytes in the largest unit that gives at least 1.
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

/// Formats a number with thousands separators.
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

/// True for invisible characters and display controls: control characters, writing direction marks,
/// zero-width spaces, line separators.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Escapes [invisible characters](is_unseen), so that untrusted text stays on one line of a terminal.
pub fn visible(text: &str) -> String {
    escaped(text, |_| false)
}

/// As [`visible`], but keeps line ends.
pub fn visible_lines(text: &str) -> String {
    escaped(text, |c| c == '\n')
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if stays(c) || !is_unseen(c) => out.push(c),
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// Replaces line ends and tabs by spaces; escapes the other invisible characters.
fn flat(text: &str) -> String {
    visible(&text.replace(['\n', '\r', '\t'], " "))
}

/// Truncates to `most` characters, on one line, escaped as by [`visible`].
pub fn shorten(text: &str, most: usize) -> String {
    let text = flat(text);
    if text.chars().count() <= most { text } else { text.chars().take(most - 1).chain(['…']).collect() }
}

/// As [`shorten`], but omits the middle and keeps both ends.
pub fn middle(text: &str, most: usize) -> String {
    let text = flat(text);
    let length = text.chars().count();
    if length <= most {
        return text;
    }
    let kept = most.max(1) - 1;
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(length - tail)).collect()
}

/// Quotes a word for a shell: in single quotes, if needed.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=".contains(c);
    // Some shells expand a leading = or ~; commands parse a leading dash.
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Formats the options of `heaplake duplicates` for a class, quoted for a shell. A name with invisible characters
/// cannot be pasted and becomes a pattern.
pub fn class_option(name: &str) -> String {
    const SPECIAL: [char; 4] = ['*', '?', '[', ']'];
    if !name.contains(is_unseen) {
        return format!("--class {}", quoted(name));
    }
    let pattern = name.chars().map(|c| if is_unseen(c) || SPECIAL.contains(&c) { '?' } else { c });
    format!("--duplicates-of {}", quoted(&pattern.collect::<String>()))
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
    fn any_class_is_an_option() {
        assert_eq!(class_option("java.util.HashMap"), "--class java.util.HashMap");
        assert_eq!(class_option("it's $HOME"), "--class 'it'\\''s $HOME'");
        assert_eq!(class_option("int[]"), "--class 'int[]'");
        assert_eq!(class_option("a[\nb"), "--duplicates-of 'a??b'");
        assert_eq!(class_option(""), "--class ''");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!([shorten("ab\ncd", 9), shorten("abcdef", 4)], ["ab cd", "abc…"]);
        assert_eq!([middle("abcdef", 6), middle("abcdefg", 6), middle("a\nbcdefg", 4)], ["abcdef", "abc…fg", "a …g"]);
        assert_eq!([middle("abc", 1), middle("abc", 0)], ["…", "…"]);
    }

    #[test]
    fn what_is_unseen_is_shown() {
        assert_eq!(visible("a\u{1b}[2Jb\nc\u{202e}"), r"a\u{1b}[2Jb\nc\u{202e}");
        assert_eq!(visible_lines("a\r\nb\u{200b}"), "a\\r\nb\\u{200b}");
        assert_eq!(shorten("a\u{1b}", 9), r"a\u{1b}");
        assert_eq!(visible("größer → 日本 👍 \\n"), "größer → 日本 👍 \\n");
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
