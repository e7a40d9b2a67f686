//! The lines of a profiler log: heaplake's own format, which any agent can write, described in `docs/profiler-log.md`.
//!
//! The stages that read logs interpret the lines; this module splits their fields and does the work common to all
//! readers: the first line has the version, lines with `#` are comments, `# end` is the last line of a complete log,
//! and an incomplete last line is refused, since its rest may look like another line.

use crate::bytes::Bytes;
use heaplake_kit::StageError;

/// Beginning of a log.
pub const MAGIC: &[u8] = b"# clrprof ";

/// The only version.
pub const VERSION: &str = "1";

/// Last line of a complete log.
const END: &[u8] = b"# end";

/// Text found for a line without end.
const CUT: &str = "the end of the log within it";

/// Maximum bytes of a line.
const LONGEST: usize = 16 << 20;

/// Maximum bytes of a line shown in errors.
const SHOWN: usize = 60;

/// The expected form of an invalid line.
pub type Bad = &'static str;

/// Failure of processing a line.
#[derive(Debug)]
pub enum Failure {
    /// The line is invalid.
    Line(Bad),
    /// The consumer failed.
    Stage(StageError),
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

impl From<Bad> for Failure {
    fn from(bad: Bad) -> Self {
        Self::Line(bad)
    }
}

/// Reads a log and passes each line but the first to `event`: its letter, fields and offset. Returns true if the log is
/// complete.
///
/// # Errors
/// [`StageError::Input`] for another version, an empty or incomplete line, or one rejected by `event`.
pub fn read(
    bytes: &mut Bytes<'_>,
    mut event: impl FnMut(u8, &mut Fields<'_>, u64) -> Result<(), Failure>,
) -> Result<bool, StageError> {
    begin(bytes)?;
    let mut complete = false;
    loop {
        bytes.check()?;
        let start = bytes.offset();
        let Some((line, ended)) = bytes.line(LONGEST)? else { return Ok(complete) };
        complete = line.starts_with(END);
        if !ended && !complete {
            return Err(bytes.error(start, "a line", CUT));
        }
        let done = match line.split_first() {
            Some((&letter, rest)) => event(letter, &mut Fields(rest), start),
            None => Err("an event".into()),
        };
        match done {
            Ok(()) => {}
            Err(Failure::Stage(error)) => return Err(error),
            Err(Failure::Line(expected)) => {
                let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).into_owned();
                return Err(bytes.error(start, expected, format!("{text:?}")));
            }
        }
    }
}

/// Checks the first line.
fn begin(bytes: &mut Bytes<'_>) -> Result<(), StageError> {
    let (version, ended) = match bytes.line(LONGEST)? {
        Some((line, ended)) => {
            let rest = line.strip_prefix(MAGIC).unwrap_or_default();
            (rest.split(|&byte| byte == b' ').next().unwrap_or_default().to_vec(), ended)
        }
        None => (Vec::new(), false),
    };
    if version != VERSION.as_bytes() {
        let found = String::from_utf8_lossy(&version).into_owned();
        return Err(bytes.error(0, "a profiler log of version 1", format!("version {found:?}")));
    }
    if ended { Ok(()) } else { Err(bytes.error(0, "a line", CUT)) }
}

/// The fields of a line after its letter, each preceded by a space. Methods fail with `line`, the expected form.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// True if no field is left.
    pub fn is_done(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    fn next(&mut self, line: Bad) -> Result<&'a [u8], Bad> {
        let rest = self.0.strip_prefix(b" ").ok_or(line)?;
        let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
        let (field, rest) = rest.split_at(end);
        self.0 = rest;
        Ok(field)
    }

    /// Parses the next field as a hexadecimal number.
    #[inline]
    pub fn hex(&mut self, line: Bad) -> Result<u64, Bad> {
        let field = self.next(line)?;
        if field.is_empty() || field.len() > 16 {
            return Err(line);
        }
        field.iter().try_fold(0, |number, &byte| {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                b'A'..=b'F' => byte - b'A' + 10,
                _ => return Err(line),
            };
            Ok(number << 4 | u64::from(digit))
        })
    }

    /// Parses the next field as a decimal number.
    #[inline]
    pub fn decimal(&mut self, line: Bad) -> Result<u64, Bad> {
        number(self.next(line)?, line)
    }

    /// Parses the next field as a 32-bit decimal number.
    pub fn small(&mut self, line: Bad) -> Result<u32, Bad> {
        u32::try_from(self.decimal(line)?).map_err(|_| line)
    }

    /// Parses the next field as a generation.
    pub fn generation(&mut self, line: Bad) -> Result<u8, Bad> {
        u8::try_from(self.decimal(line)?).ok().filter(|&generation| generation < 5).ok_or(line)
    }

    /// Parses the next field as one digit per generation, from 0 on.
    pub fn flags(&mut self, line: Bad) -> Result<u32, Bad> {
        let field = self.next(line)?;
        if field.is_empty() || field.len() > 5 {
            return Err(line);
        }
        field.iter().zip(0..).try_fold(0, |mask, (&byte, generation)| match byte {
            b'0' => Ok(mask),
            b'1' => Ok(mask | 1 << generation),
            _ => Err(line),
        })
    }

    /// Removes and parses the last field as a number; `None` if no field is left.
    pub fn last(&mut self, line: Bad) -> Result<Option<u64>, Bad> {
        let Some(space) = memchr::memrchr(b' ', self.0) else {
            return if self.0.is_empty() { Ok(None) } else { Err(line) };
        };
        let field = &self.0[space + 1..];
        self.0 = &self.0[..space];
        number(field, line).map(Some)
    }

    /// Returns the rest of the line.
    pub fn rest(&mut self, line: Bad) -> Result<&'a [u8], Bad> {
        self.0.strip_prefix(b" ").ok_or(line)
    }

    /// Fails if a field is left.
    pub fn end(&self, line: Bad) -> Result<(), Bad> {
        if self.0.is_empty() { Ok(()) } else { Err(line) }
    }
}

#[inline]
fn number(field: &[u8], line: Bad) -> Result<u64, Bad> {
    if field.is_empty() || field.len() > 20 {
        return Err(line);
    }
    field.iter().try_fold(0_u64, |number, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(line);
        }
        number.checked_mul(10).and_then(|number| number.checked_add(u64::from(digit))).ok_or(line)
    })
}
