//! JSON, token by token, without a tree and without recursion: what a reader of one format needs to find its way.

use crate::blocks::Bytes;
use heaplake_kit::StageError;

/// Bytes of a text, at most.
const LONGEST: usize = 1 << 20;

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// One of `{ } [ ] , :`.
    Mark(u8),
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// `true`, `false` or `null`.
    Word,
}

/// Takes a document apart.
pub struct Json<'a, 'b> {
    bytes: &'a mut Bytes<'b>,
}

impl<'a, 'b> Json<'a, 'b> {
    /// From where the bytes are.
    pub fn new(bytes: &'a mut Bytes<'b>) -> Self {
        Self { bytes }
    }

    /// An error here.
    pub fn error(&self, expected: &str, found: impl Into<String>) -> StageError {
        self.bytes.error(self.bytes.offset(), expected, found)
    }

    /// The next token, which must be there.
    ///
    /// # Errors
    /// [`StageError::Input`].
    pub fn token(&mut self) -> Result<Token, StageError> {
        loop {
            let Some(byte) = self.bytes.byte()? else { return Err(self.error("JSON", "the end of the trace")) };
            return match byte {
                b' ' | b'\t' | b'\n' | b'\r' => continue,
                b'{' | b'}' | b'[' | b']' | b',' | b':' => Ok(Token::Mark(byte)),
                b'"' => self.text().map(Token::Text),
                b'-' | b'0'..=b'9' => self.number(byte),
                b't' | b'f' | b'n' => {
                    self.while_some(u8::is_ascii_lowercase)?;
                    Ok(Token::Word)
                }
                other => Err(self.error("JSON", format!("{:?}", char::from(other)))),
            };
        }
    }

    /// The next token, which must be this mark.
    ///
    /// # Errors
    /// [`StageError::Input`].
    pub fn mark(&mut self, mark: u8) -> Result<(), StageError> {
        match self.token()? {
            Token::Mark(found) if found == mark => Ok(()),
            other => Err(self.error(&format!("{:?}", char::from(mark)), format!("{other:?}"))),
        }
    }

    /// The next key of an object and the colon behind it; nothing at the object's end. `first` says that none came
    /// before.
    ///
    /// # Errors
    /// [`StageError::Input`].
    pub fn key(&mut self, first: &mut bool) -> Result<Option<String>, StageError> {
        let mut token = self.token()?;
        if token == Token::Mark(b'}') {
            return Ok(None);
        }
        if !std::mem::take(first) {
            if token != Token::Mark(b',') {
                return Err(self.error("',' or '}'", format!("{token:?}")));
            }
            token = self.token()?;
        }
        let Token::Text(key) = token else { return Err(self.error("a key", format!("{token:?}"))) };
        self.mark(b':')?;
        Ok(Some(key))
    }

    /// The next element of an array, where that is no array or object; nothing at the array's end. `first` says that
    /// none came before.
    ///
    /// # Errors
    /// [`StageError::Input`].
    pub fn element(&mut self, first: &mut bool) -> Result<Option<Token>, StageError> {
        let mut token = self.token()?;
        if token == Token::Mark(b']') {
            return Ok(None);
        }
        if !std::mem::take(first) {
            if token != Token::Mark(b',') {
                return Err(self.error("',' or ']'", format!("{token:?}")));
            }
            token = self.token()?;
        }
        match token {
            Token::Mark(mark) => Err(self.error("a number or a text", format!("{:?}", char::from(mark)))),
            token => Ok(Some(token)),
        }
    }

    /// Passes over a value. What is inside is not looked at, but for where it ends.
    ///
    /// # Errors
    /// [`StageError::Input`].
    pub fn skip(&mut self) -> Result<(), StageError> {
        match self.token()? {
            Token::Mark(b'{' | b'[') => {}
            Token::Mark(mark) => return Err(self.error("a value", char::from(mark))),
            _ => return Ok(()),
        }
        let mut depth = 1_u64;
        while depth > 0 {
            match self.bytes.byte()? {
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth -= 1,
                Some(b'"') => self.skip_text()?,
                Some(_) => {}
                None => return Err(self.error("the end of a value", "that of the trace")),
            }
        }
        Ok(())
    }

    /// Passes over the rest of a text.
    fn skip_text(&mut self) -> Result<(), StageError> {
        loop {
            match self.bytes.byte()? {
                Some(b'"') => return Ok(()),
                Some(b'\\') => {
                    self.bytes.byte()?;
                }
                Some(_) => {}
                None => return Err(self.error("the end of a text", "that of the trace")),
            }
        }
    }

    fn while_some(&mut self, wanted: impl Fn(&u8) -> bool) -> Result<Vec<u8>, StageError> {
        let mut found = Vec::new();
        while let Some(byte) = self.bytes.peek()?.filter(|byte| wanted(byte)) {
            self.bytes.byte()?;
            if found.len() < LONGEST {
                found.push(byte);
            }
        }
        Ok(found)
    }

    fn number(&mut self, first: u8) -> Result<Token, StageError> {
        let rest = self.while_some(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))?;
        let text = [&[first][..], &rest].concat();
        let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
        number.map(Token::Number).ok_or_else(|| self.error("a number", String::from_utf8_lossy(&text)))
    }

    fn text(&mut self) -> Result<String, StageError> {
        let mut text = Vec::new();
        let mut units: Vec<u16> = Vec::new();
        loop {
            let Some(byte) = self.bytes.byte()? else {
                return Err(self.error("the end of a text", "that of the trace"));
            };
            let escaped = if byte == b'\\' { self.bytes.byte()? } else { None };
            if escaped == Some(b'u') {
                let digits: [u8; 4] = self.bytes.array("four digits of a character")?;
                let unit = std::str::from_utf8(&digits).ok().and_then(|digits| u16::from_str_radix(digits, 16).ok());
                units.push(unit.ok_or_else(|| self.error("four digits of a character", "others"))?);
                if units.len() > LONGEST {
                    return Err(self.too_long());
                }
                continue;
            }
            // Two halves of a character may come as two escapes.
            let whole = char::decode_utf16(units.drain(..)).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER));
            text.extend_from_slice(whole.collect::<String>().as_bytes());
            match (byte, escaped) {
                (b'"', None) => return Ok(String::from_utf8_lossy(&text).into_owned()),
                (b'\\', Some(b'n')) => text.push(b'\n'),
                (b'\\', Some(b't')) => text.push(b'\t'),
                (b'\\', Some(b'r' | b'b' | b'f')) => text.push(b' '),
                (b'\\', Some(other)) => text.push(other),
                (other, _) => text.push(other),
            }
            if text.len() > LONGEST {
                return Err(self.too_long());
            }
        }
    }

    fn too_long(&self) -> StageError {
        self.error(&format!("a text of at most {LONGEST} bytes"), "a longer one")
    }
}
