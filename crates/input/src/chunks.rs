//! Cuts arrays of numbers into chunks of whole rows.
//!
//! Rows are found by counting commas, many at a time, without parsing numbers. So cutting is cheap, and one thread can
//! cut for many that parse. A chunk takes over its block without a copy; only the row that spans two blocks is copied.
//!
//! The cuts depend on the text alone, and so do all results and errors.

use crate::bytes::{Bytes, quote};
use crate::numbers::{self, Sign};
use heaplake_kit::StageError;
use std::iter;

/// Maximum bytes of a row that spans blocks, including white space: this, plus [`MOST_NUMBER`] per number.
const MOST_ROW: usize = 64 << 10;
/// See [`MOST_ROW`].
const MOST_NUMBER: usize = 32;

/// Bytes of text parsed at once: with eight bytes per number they about fill an L1 cache.
pub(crate) const PIECE: usize = 16 << 10;

/// A number rejected by the consumer of its array.
#[derive(Debug)]
pub struct BadNumber {
    /// Index in the slice passed to the consumer.
    pub index: usize,
    /// The expected content.
    pub expected: String,
}

/// Error of a chunk.
#[derive(Debug)]
pub(crate) enum Flaw {
    /// An error in the text.
    Text {
        /// Offset in the input.
        offset: u64,
        /// The expected content.
        expected: String,
        /// The actual content.
        found: String,
    },
    /// An error of the consumer.
    Stage(StageError),
}

impl From<StageError> for Flaw {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

impl Flaw {
    /// Converts it into an error of the scanner's input.
    pub(crate) fn within(self, scanner: &Bytes<'_>) -> StageError {
        match self {
            Self::Text { offset, expected, found } => scanner.error(offset, &expected, found),
            Self::Stage(error) => error,
        }
    }
}

/// Whole rows of an array: text and location.
#[derive(Default)]
pub(crate) struct Chunk {
    /// The part of the first row from earlier blocks, up to the first comma of this one; empty if a row begins with the
    /// block.
    head: Vec<u8>,
    /// The block.
    block: Vec<u8>,
    /// Position in the block where the text continues after the head: a comma.
    from: usize,
    /// End of the text in the block.
    to: usize,
    /// Offset of the text in the input.
    start: u64,
    /// Number of the first row.
    first_row: u64,
    /// Offset of the array's closing bracket, in its last chunk.
    close: Option<u64>,
    sign: Sign,
}

/// Location in the input of rows passed to a consumer.
pub struct Place<'a> {
    chunk: &'a Chunk,
    /// Number of preceding numbers in the chunk.
    before: usize,
    width: usize,
}

impl Place<'_> {
    /// Returns the offset of the number with this index in the slice, and its text with the row number. Cost: a scan of
    /// the text.
    pub fn of(&self, index: usize, number: u64) -> (u64, String) {
        self.chunk.place(self.before + index, number, self.width)
    }
}

impl Chunk {
    /// Passes the numbers to `rows`, whole rows in bulk, including those before an error; returns the number of rows.
    /// `numbers` is a reusable buffer.
    pub(crate) fn parse(
        &self,
        width: usize,
        numbers: &mut Vec<u64>,
        mut rows: impl FnMut(&[u64], &Place<'_>) -> Result<Result<(), BadNumber>, StageError>,
    ) -> Result<u64, Flaw> {
        numbers.clear();
        let mut taken = 0;
        for (at, text) in self.texts() {
            for piece in pieces(text) {
                let bad = numbers::tokenize(&text[piece.clone()], self.sign, numbers).err();
                let whole = numbers.len() / width * width;
                let place = Place { chunk: self, before: taken, width };
                if let Err(BadNumber { index, expected }) = rows(&numbers[..whole], &place)? {
                    let (offset, found) = place.of(index, numbers[index]);
                    return Err(Flaw::Text { offset, expected, found });
                }
                if let Some(bad) = bad {
                    let at = at + piece.start + bad.at;
                    let (offset, expected) = (self.start + at as u64, bad.expected.to_owned());
                    return Err(Flaw::Text { offset, expected, found: self.quote(at) });
                }
                taken += whole;
                numbers.drain(..whole);
            }
        }
        let count = (taken / width) as u64;
        match (self.close, numbers.len()) {
            (Some(offset), rest @ 1..) => {
                let found = format!("{rest} numbers too many after row {}", self.first_row + count);
                Err(Flaw::Text { offset, expected: format!("rows of {width} numbers"), found })
            }
            _ => Ok(count),
        }
    }

    /// Returns the text in two parts, without the comma between them, with their positions.
    fn texts(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let head = (!self.head.is_empty()).then_some((0, &self.head[..]));
        let body = match &head {
            None => Some((0, &self.block[self.from..self.to])),
            Some(_) if self.from == self.to => None,
            Some((_, head)) => Some((head.len() + 1, &self.block[self.from + 1..self.to])),
        };
        head.into_iter().chain(body)
    }

    /// Returns the offset and the text of a number of the chunk.
    fn place(&self, index: usize, number: u64, width: usize) -> (u64, String) {
        let mut before = 0;
        let mut offset = self.start;
        for (at, text) in self.texts() {
            let count = memchr::memchr_iter(b',', text).count() + 1;
            if index < before + count {
                offset += (at + numbers::offset_of(text, index - before)) as u64;
                break;
            }
            before += count;
        }
        let row = self.first_row + (index / width) as u64;
        (offset, format!("{} (row {row})", self.sign.show(number)))
    }

    /// Quotes the array's text at a position.
    fn quote(&self, at: usize) -> String {
        let end = if self.close.is_some() { self.to } else { self.block.len() };
        let rest: Vec<u8> = self.head.iter().chain(&self.block[self.from..end]).skip(at).take(16).copied().collect();
        if rest.is_empty() { "nothing".to_owned() } else { quote(&rest) }
    }
}

/// Splits a text at commas into parts of about [`PIECE`] bytes.
fn pieces(text: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut next = Some(0);
    iter::from_fn(move || {
        let start = next?;
        let rest = &text[start..];
        let comma = match rest.split_at_checked(PIECE) {
            // A piece without commas has much white space; extend it to the next one.
            Some((piece, more)) => {
                memchr::memrchr(b',', piece).or_else(|| memchr::memchr(b',', more).map(|comma| PIECE + comma))
            }
            None => None,
        };
        next = comma.map(|comma| start + comma + 1);
        Some(start..comma.map_or(text.len(), |comma| start + comma))
    })
}

/// Cuts an array, starting after its opening bracket.
pub(crate) struct Cutter {
    width: usize,
    /// The part of the current row from earlier blocks.
    carry: Vec<u8>,
    /// Number of commas in it.
    commas: usize,
    /// Number of the current row.
    row: u64,
    ended: bool,
    sign: Sign,
}

impl Cutter {
    /// Creates a cutter for rows of `width` numbers of this kind.
    pub(crate) fn new(width: usize, sign: Sign) -> Self {
        Self { width, carry: Vec::new(), commas: 0, row: 0, ended: false, sign }
    }

    /// Fills `chunk` with the next rows; false after the end of the array.
    pub(crate) fn next(&mut self, scanner: &mut Bytes<'_>, chunk: &mut Chunk) -> Result<bool, StageError> {
        chunk.sign = self.sign;
        while !self.ended {
            let rest = scanner.rest()?;
            if rest.is_empty() {
                return Err(self.truncated(scanner));
            }
            if let Some(close) = memchr::memchr(b']', rest) {
                self.last(scanner, close, chunk)?;
                return Ok(true);
            }
            let commas = self.commas + memchr::memchr_iter(b',', rest).count();
            if commas >= self.width {
                self.rows(scanner, commas, chunk)?;
                return Ok(true);
            }
            self.commas = commas;
            self.carry.extend_from_slice(rest);
            let length = rest.len();
            scanner.advance(length);
            self.check_carry(scanner)?;
        }
        Ok(false)
    }

    /// Takes all rows that end in the current block: the carried one and those of the block, with `commas` commas in
    /// total.
    fn rows(&mut self, scanner: &mut Bytes<'_>, commas: usize, chunk: &mut Chunk) -> Result<(), StageError> {
        chunk.start = scanner.offset() - self.carry.len() as u64;
        let rest = scanner.rest()?;
        let open = commas % self.width;
        // The block has at least that many commas, since the carried row ends in it.
        let cut = memchr::memrchr_iter(b',', rest).nth(open).unwrap_or(rest.len());
        let first = self.fill_head(rest, chunk);
        self.carry.extend_from_slice(&rest[cut + 1..]);
        let position = scanner.exchange(&mut chunk.block);
        (chunk.from, chunk.to) = (position + first, position + cut);
        (chunk.first_row, chunk.close) = (self.row, None);
        self.row += (commas / self.width) as u64;
        self.commas = open;
        Ok(())
    }

    /// Takes the rest of the array, which ends in `close` bytes. Copies the block, which continues after the array.
    fn last(&mut self, scanner: &mut Bytes<'_>, close: usize, chunk: &mut Chunk) -> Result<(), StageError> {
        let offset = scanner.offset();
        chunk.start = offset - self.carry.len() as u64;
        let rest = &scanner.rest()?[..close];
        let first = self.fill_head(rest, chunk);
        chunk.block.clear();
        chunk.block.extend_from_slice(rest);
        (chunk.from, chunk.to) = (first, close);
        (chunk.first_row, chunk.close) = (self.row, Some(offset + close as u64));
        self.ended = true;
        scanner.advance(close + 1);
        Ok(())
    }

    /// Completes the carried row up to the first comma of `rest` and moves it to the chunk's head. Returns where the
    /// text continues.
    fn fill_head(&mut self, rest: &[u8], chunk: &mut Chunk) -> usize {
        chunk.head.clear();
        if self.carry.is_empty() {
            return 0;
        }
        let first = memchr::memchr(b',', rest).unwrap_or(rest.len());
        self.carry.extend_from_slice(&rest[..first]);
        std::mem::swap(&mut self.carry, &mut chunk.head);
        first
    }

    /// Limits the length of a row.
    fn check_carry(&self, scanner: &Bytes<'_>) -> Result<(), StageError> {
        let most = MOST_ROW + MOST_NUMBER * self.width;
        if self.carry.len() <= most {
            return Ok(());
        }
        let start = scanner.offset() - self.carry.len() as u64;
        Err(scanner.error(start, format!("{} numbers within {most} bytes", self.width), quote(&self.carry)))
    }

    /// Error at the end of the input, or in the incomplete last row.
    fn truncated(&self, scanner: &Bytes<'_>) -> StageError {
        let numbers = &self.carry[..memchr::memrchr(b',', &self.carry).unwrap_or(0)];
        match numbers::tokenize(numbers, self.sign, &mut Vec::new()) {
            Err(bad) if !numbers.is_empty() => {
                let offset = scanner.offset() - (self.carry.len() - bad.at) as u64;
                scanner.error(offset, bad.expected, quote(&self.carry[bad.at..]))
            }
            _ => scanner.unexpected("the end of the array (])"),
        }
    }
}
