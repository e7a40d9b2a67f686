//! Splits the text of a filter into tokens.

use super::error::Wrong;

/// Maximum length of a filter, bytes.
const MOST_BYTES: usize = 64 << 10;

/// Units of bytes, and their factors. Their case does not matter.
pub(crate) const UNITS: [(&str, i128); 9] = [
    ("B", 1),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Maximum absolute value of a number: more than any column has.
const LARGEST: i128 = 1 << 64;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A keyword or the name of a term.
    Word(String),
    /// A text in quotes.
    Text(String),
    /// A number, in bytes if it has a unit.
    Number(i128),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of the filter.
    End,
}

impl Token {
    /// The token as an error names it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Word(word) => format!("{word:?}"),
            Self::Text(text) => format!("the text {text:?}"),
            Self::Number(number) => format!("the number {number}"),
            Self::Sign(sign) => format!("{sign:?}"),
            Self::End => "the end".to_owned(),
        }
    }

    /// Whether it is a word, in any case.
    pub(crate) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own.eq_ignore_ascii_case(word))
    }
}

/// Signs; a sign comes before its prefixes.
const SIGNS: [&str; 14] = ["!=", "<>", "<=", ">=", "==", "!~", "=", "<", ">", "~", "(", ")", ",", "*"];

/// Splits a text; the result ends with [`Token::End`]. Each token has its column, from 1.
pub(crate) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Wrong> {
    if text.len() > MOST_BYTES {
        return Err(Wrong::new(1, format!("expected at most {MOST_BYTES} bytes, found {}", text.len())));
    }
    let characters: Vec<char> = text.chars().collect();
    let mut lexer = Lexer { characters, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip(char::is_whitespace);
        let column = lexer.at + 1;
        let token = lexer.next()?;
        let is_end = token == Token::End;
        tokens.push((column, token));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer {
    characters: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn skip(&mut self, is: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&is) {
            self.at += 1;
        }
    }

    fn take(&mut self, is: impl Fn(char) -> bool) -> String {
        let from = self.at;
        self.skip(is);
        self.characters[from..self.at].iter().collect()
    }

    fn next(&mut self) -> Result<Token, Wrong> {
        let Some(first) = self.peek() else { return Ok(Token::End) };
        match first {
            '"' | '\'' => self.text(first),
            '0'..='9' | '-' | '@' => self.number(),
            '.' => {
                self.at += 1;
                Ok(Token::Sign("."))
            }
            _ if is_word(first) => Ok(Token::Word(self.take(is_word))),
            _ => self.sign(first),
        }
    }

    fn sign(&mut self, first: char) -> Result<Token, Wrong> {
        let rest = &self.characters[self.at..];
        let fits = |sign: &&&str| rest.len() >= sign.len() && sign.chars().eq(rest[..sign.len()].iter().copied());
        let Some(sign) = SIGNS.iter().find(fits) else {
            let instead = match first {
                '&' => "; write and",
                '|' => "; write or",
                '!' => "; write not",
                _ => "",
            };
            let problem = format!("expected a term, an operator or a value, found {first:?}{instead}");
            return Err(Wrong::new(self.at + 1, problem));
        };
        self.at += sign.len();
        Ok(Token::Sign(match *sign {
            "<>" => "!=",
            "==" => "=",
            sign => sign,
        }))
    }

    /// A text in quotes. A backslash makes the quote, and itself, a character; before others it is one.
    fn text(&mut self, quote: char) -> Result<Token, Wrong> {
        let start = self.at + 1;
        let mut text = String::new();
        self.at += 1;
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '\\' if self.peek().is_some_and(|next| next == quote || next == '\\') => {
                    text.extend(self.peek());
                    self.at += 1;
                }
                _ if c == quote => return Ok(Token::Text(text)),
                _ => text.push(c),
            }
        }
        Err(Wrong::new(start, format!("expected a closing {quote}, found the end")))
    }

    /// `12`, `-1`, `1_000`, `1.5MiB`, `1.5 MiB`, `0x1f`, `@123`.
    fn number(&mut self) -> Result<Token, Wrong> {
        let start = self.at + 1;
        let is_negative = self.peek() == Some('-');
        if is_negative || self.peek() == Some('@') {
            self.at += 1;
        }
        let mut word = self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if !word.contains(|c: char| c.is_ascii_alphabetic()) {
            word += &self.unit();
        }
        let number = number(&word).map_err(|problem| Wrong::new(start, problem))?;
        Ok(Token::Number(if is_negative { -number } else { number }))
    }

    /// A unit that follows after spaces; empty if another word does.
    fn unit(&mut self) -> String {
        let before = self.at;
        self.skip(|c| c == ' ');
        let word = self.take(is_word);
        if UNITS.iter().any(|(name, _)| name.eq_ignore_ascii_case(&word)) {
            return word;
        }
        self.at = before;
        String::new()
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Value of a number with an optional unit.
fn number(word: &str) -> Result<i128, String> {
    let bad = || format!("expected a number such as 12, 1_000, 1.5MiB or 0x1f, found {word:?}");
    if let Some(digits) = word.strip_prefix("0x").or(word.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).map(i128::from).map_err(|_| bad());
    }
    let end = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
    let (digits, unit) = word.split_at(end);
    let digits = digits.replace('_', "");
    let factor = match unit {
        "" => 1,
        unit => {
            let found = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
            let units = || UNITS.map(|(name, _)| name).join(", ");
            found.ok_or_else(|| format!("expected a unit ({}), found {unit:?}", units()))?.1
        }
    };
    let (whole, part) = digits.split_once('.').unwrap_or((&digits, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // Longer numbers would overflow below.
    if whole.is_empty() || !is_digits(whole) || !is_digits(part) || whole.len() > 20 || part.len() > 9 {
        return Err(bad());
    }
    let scale = 10i128.pow(part.len() as u32);
    let [whole, part] = [whole, if part.is_empty() { "0" } else { part }].map(|text| text.parse::<i128>().unwrap_or(0));
    let scaled = (whole * scale + part) * factor;
    if scaled % scale != 0 {
        return Err(format!("expected a whole number of bytes, found {word:?}"));
    }
    let number = scaled / scale;
    if number > LARGEST { Err(format!("expected at most {LARGEST}, found {word:?}")) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Token, Wrong> {
        let all = tokens(text)?;
        assert_eq!(all.len(), 2, "{text}: {all:?}");
        Ok(all[0].1.clone())
    }

    #[test]
    fn numbers_have_units() {
        for (text, number) in [
            ("12", 12),
            ("1_000_000", 1_000_000),
            ("-1", -1),
            ("1MB", 1_000_000),
            ("1 MB", 1_000_000),
            ("1.5 MiB", 3 << 19),
            ("2kB", 2000),
            ("2KB", 2000),
            ("2kib", 2048),
            ("0.5kB", 500),
            ("0x1f", 31),
            ("@0x1f", 31),
            ("@77", 77),
            ("18446744073709551615", u64::MAX.into()),
        ] {
            assert_eq!(one(text), Ok(Token::Number(number)), "{text}");
        }
        for text in ["1.5", "1XB", "1e5", "0x", "--1", "1..2", "0.0000000001GB", "99999999999999999999999", "-", "@"] {
            assert!(tokens(text).is_err(), "{text}");
        }
        let two = tokens("1 Bat").unwrap();
        assert_eq!(two[1], (3, Token::Word("Bat".to_owned())));
    }

    #[test]
    fn texts_keep_backslashes_of_expressions() {
        assert_eq!(one(r#""^com\.shop\d""#), Ok(Token::Text(r"^com\.shop\d".to_owned())));
        assert_eq!(one(r#""a\"b\\c'""#), Ok(Token::Text(r#"a"b\c'"#.to_owned())));
        assert_eq!(one(r"'a\'b'"), Ok(Token::Text("a'b".to_owned())));
        assert_eq!(tokens("class = \"x").unwrap_err().column, 9);
        assert!(tokens("a && b").unwrap_err().problem.contains("write and"));
    }
}
