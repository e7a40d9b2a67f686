//! Arrays of numbers, cut into chunks of whole rows.
//!
//! Rows are found by counting commas, many at a time, without parsing the numbers between them. So cutting is cheap,
//! and one thread can cut for many, each of which parses one chunk at a time. A chunk takes its block along instead
//! of copying it; only the row that a block's end cut in two is copied.
//!
//! The cuts depend on the text alone, and so do all results and errors.

use crate::json::{Scanner, quote};
use crate::numbers::{self, Sign};
use heaplake_kit::StageError;
use std::iter;

/// Most bytes of a row that straddles blocks, white space included: so many, and [`MOST_NUMBER`] for each number.
const MOST_ROW: usize = 64 << 10;
/// See [`MOST_ROW`].
const MOST_NUMBER: usize = 32;

/// Bytes of text whose numbers are taken at once: with eight bytes for each they are about what a first-level cache
/// holds.
pub(crate) const PIECE: usize = 16 << 10;

/// A number of an array that its consumer does not accept.
#[derive(Debug)]
pub struct BadNumber {
    /// Index in the slice that the consumer was given.
    pub index: usize,
    /// What should be there.
    pub expected: String,
}

/// Why a chunk is not what its array promises.
#[derive(Debug)]
pub(crate) enum Flaw {
    /// What stands there.
    Text {
        /// Offset in the input.
        offset: u64,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// What became of its numbers.
    Stage(StageError),
}

impl From<StageError> for Flaw {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

impl Flaw {
    /// The flaw as an error of the scanner's input.
    pub fn within(self, scanner: &Scanner<'_>) -> StageError {
        match self {
            Self::Text { offset, expected, found } => scanner.error_at(offset, &expected, found),
            Self::Stage(error) => error,
        }
    }
}

/// Whole rows of an array: their text, and where it stands.
#[derive(Default)]
pub(crate) struct Chunk {
    /// What earlier blocks held of the first row, up to the first comma of this one; empty when a row began with the
    /// block.
    head: Vec<u8>,
    /// The block.
    block: Vec<u8>,
    /// Where in the block the text goes on: behind the head, and that is at a comma.
    from: usize,
    /// Where in the block the text ends.
    to: usize,
    /// Offset of the text in the input.
    start: u64,
    /// Number of the first row.
    first_row: u64,
    /// Offset of the array's closing bracket, in its last chunk.
    close: Option<u64>,
    sign: Sign,
}

/// Where in the input rows stand that a consumer is given.
pub struct Place<'a> {
    chunk: &'a Chunk,
    /// Numbers of the chunk before them.
    before: usize,
    width: usize,
}

impl Place<'_> {
    /// The number with this index in the slice, for people: its offset in the input, and how it stands there with the
    /// number of its row. It costs a look through the text.
    #[must_use]
    pub fn of(&self, index: usize, number: u64) -> (u64, String) {
        self.chunk.place(self.before + index, number, self.width)
    }
}

impl Chunk {
    /// Hands the numbers to `rows`, whole rows, many at a time. Gives the number of rows. `numbers` is a reusable
    /// buffer. Rows before a flaw are handed on.
    pub fn parse(
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

    /// The text in two parts, without the comma between them, each with its place.
    fn texts(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let head = (!self.head.is_empty()).then_some((0, &self.head[..]));
        let body = match &head {
            None => Some((0, &self.block[self.from..self.to])),
            Some(_) if self.from == self.to => None,
            Some((_, head)) => Some((head.len() + 1, &self.block[self.from + 1..self.to])),
        };
        head.into_iter().chain(body)
    }

    /// Where the chunk's number with this index stands, and what is found there.
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

    /// What stands at this place of the text, in the array that is.
    fn quote(&self, at: usize) -> String {
        let end = if self.close.is_some() { self.to } else { self.block.len() };
        let rest: Vec<u8> = self.head.iter().chain(&self.block[self.from..end]).skip(at).take(16).copied().collect();
        if rest.is_empty() { "nothing".to_owned() } else { quote(&rest) }
    }
}

/// Parts of a text, cut at commas, of about [`PIECE`] bytes.
fn pieces(text: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut next = Some(0);
    iter::from_fn(move || {
        let start = next?;
        let rest = &text[start..];
        let comma = match rest.split_at_checked(PIECE) {
            // A piece without commas has much white space and goes on up to the next one.
            Some((piece, more)) => {
                memchr::memrchr(b',', piece).or_else(|| memchr::memchr(b',', more).map(|comma| PIECE + comma))
            }
            None => None,
        };
        next = comma.map(|comma| start + comma + 1);
        Some(start..comma.map_or(text.len(), |comma| start + comma))
    })
}

/// Cuts an array, from behind its opening bracket on.
pub(crate) struct Cutter {
    width: usize,
    /// What earlier blocks hold of the current row.
    carry: Vec<u8>,
    /// Commas in it.
    commas: usize,
    /// Number of the current row.
    row: u64,
    ended: bool,
    sign: Sign,
}

impl Cutter {
    /// For rows of `width` numbers of this kind.
    pub fn new(width: usize, sign: Sign) -> Self {
        Self { width, carry: Vec::new(), commas: 0, row: 0, ended: false, sign }
    }

    /// Puts the next rows into `chunk`; false when the array's end is consumed.
    pub fn next(&mut self, scanner: &mut Scanner<'_>, chunk: &mut Chunk) -> Result<bool, StageError> {
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
            scanner.consume(length);
            self.check_carry(scanner)?;
        }
        Ok(false)
    }

    /// All rows that end in the current block, the carried one and those of the block having `commas` commas.
    fn rows(&mut self, scanner: &mut Scanner<'_>, commas: usize, chunk: &mut Chunk) -> Result<(), StageError> {
        chunk.start = scanner.offset() - self.carry.len() as u64;
        let rest = scanner.rest()?;
        let open = commas % self.width;
        // There are at least that many in this block, for the carried row ends in it.
        let cut = memchr::memrchr_iter(b',', rest).nth(open).unwrap_or(rest.len());
        let first = self.fill_head(rest, chunk);
        self.carry.extend_from_slice(&rest[cut + 1..]);
        let position = scanner.exchange(&mut chunk.block)?;
        (chunk.from, chunk.to) = (position + first, position + cut);
        (chunk.first_row, chunk.close) = (self.row, None);
        self.row += (commas / self.width) as u64;
        self.commas = open;
        Ok(())
    }

    /// What is left of the array, which ends `close` bytes on. The block is copied, for it goes on behind the array.
    fn last(&mut self, scanner: &mut Scanner<'_>, close: usize, chunk: &mut Chunk) -> Result<(), StageError> {
        let offset = scanner.offset();
        chunk.start = offset - self.carry.len() as u64;
        let rest = &scanner.rest()?[..close];
        let first = self.fill_head(rest, chunk);
        chunk.block.clear();
        chunk.block.extend_from_slice(rest);
        (chunk.from, chunk.to) = (first, close);
        (chunk.first_row, chunk.close) = (self.row, Some(offset + close as u64));
        self.ended = true;
        scanner.consume(close + 1);
        Ok(())
    }

    /// Completes what is carried, up to the first comma of `rest`, and moves it to the chunk's head. Gives where the
    /// text goes on.
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

    /// A row must end at some time.
    fn check_carry(&self, scanner: &Scanner<'_>) -> Result<(), StageError> {
        let most = MOST_ROW + MOST_NUMBER * self.width;
        if self.carry.len() <= most {
            return Ok(());
        }
        let start = scanner.offset() - self.carry.len() as u64;
        Err(scanner.error_at(start, &format!("{} numbers within {most} bytes", self.width), quote(&self.carry)))
    }

    /// The input ends within the array, if its last row is not wrong already.
    fn truncated(&self, scanner: &Scanner<'_>) -> StageError {
        let numbers = &self.carry[..memchr::memrchr(b',', &self.carry).unwrap_or(0)];
        match numbers::tokenize(numbers, self.sign, &mut Vec::new()) {
            Err(bad) if !numbers.is_empty() => {
                let offset = scanner.offset() - (self.carry.len() - bad.at) as u64;
                scanner.error_at(offset, bad.expected, quote(&self.carry[bad.at..]))
            }
            _ => scanner.error("the end of the array (])"),
        }
    }
}
