//! Arrays of numbers, parsed row by row, on one or several threads.
//!
//! The scanning thread cuts the text into chunks of whole rows ([`crate::chunks`]) and submits them to an
//! [`OrderedPool`]. The pool's threads parse and check the numbers of a chunk and build small columns, which are passed
//! on in text order.

use crate::bytes::Bytes;
use crate::chunks::{BadNumber, Chunk, Cutter, Flaw, Place};
use crate::numbers::Sign;
use crate::source::BLOCK;
use heaplake_kit::{OrderedPool, StageError};

/// Maximum useful threads: beyond that, reading the input or writing the columns, on one thread each, is the
/// bottleneck.
const MOST_THREADS: usize = 8;

/// Maximum bytes of a chunk with its columns: the block, and up to 40 bytes per row of at least five numbers of at
/// least two bytes, all with a growing array's slack.
const CHUNK_BYTES: u64 = 6 * BLOCK as u64;

impl Bytes<'_> {
    /// Parses an array of unsigned integers in rows of `width`. `rows` receives whole rows in bulk and may reject a
    /// number. Returns the number of rows.
    ///
    /// # Errors
    /// [`StageError::Input`] at the first non-number, rejected number, or incomplete last row.
    pub fn number_array(
        &mut self,
        width: usize,
        mut rows: impl FnMut(&[u64]) -> Result<Result<(), BadNumber>, StageError>,
    ) -> Result<u64, StageError> {
        let Some(mut cutter) = self.begin_array(width, Sign::Unsigned)? else { return Ok(0) };
        let (mut chunk, mut numbers) = (Chunk::default(), Vec::new());
        let mut count = 0;
        while cutter.next(self, &mut chunk)? {
            count += chunk.parse(width, &mut numbers, |numbers, _| rows(numbers)).map_err(|flaw| flaw.within(self))?;
        }
        Ok(count)
    }

    /// As [`Self::number_array`], for numbers of this kind and on all threads of the context. `read` checks rows, given
    /// their location, and appends them to columns, on any thread; `write` receives the columns in order and leaves
    /// them empty. It also gets the rows before an error. Of several errors, the first in the input is returned.
    pub fn number_columns<C: Default + Send>(
        &mut self,
        (width, sign): (usize, Sign),
        read: impl Fn(&[u64], &Place<'_>, &mut C) -> Result<(), BadNumber> + Sync,
        mut write: impl FnMut(&mut C) -> Result<(), StageError>,
    ) -> Result<u64, StageError> {
        let Some(mut cutter) = self.begin_array(width, sign)? else { return Ok(0) };
        let context = self.context();
        let pool = OrderedPool::plan(context, "read: chunks of rows", MOST_THREADS, CHUNK_BYTES)?;
        let mut count = 0;
        let result = pool.run(
            context,
            |job: &mut Job<C>| Ok(cutter.next(self, &mut job.chunk)?),
            || {
                let mut numbers = Vec::new();
                let read = &read;
                move |job: &mut Job<C>| job.parse(width, &mut numbers, read)
            },
            |job| {
                write(&mut job.columns)?;
                count += std::mem::replace(&mut job.rows, Ok(0))?;
                Ok(())
            },
        );
        result.map(|()| count).map_err(|flaw: Flaw| flaw.within(self))
    }

    /// Consumes the opening bracket of an array; `None` for an empty array, which is consumed.
    fn begin_array(&mut self, width: usize, sign: Sign) -> Result<Option<Cutter>, StageError> {
        self.expect(b'[', "an array ([)")?;
        Ok(if self.accept(b']')? { None } else { Some(Cutter::new(width, sign)) })
    }
}

/// A chunk and its columns.
struct Job<C> {
    chunk: Chunk,
    columns: C,
    rows: Result<u64, Flaw>,
}

impl<C: Default> Default for Job<C> {
    fn default() -> Self {
        Self { chunk: Chunk::default(), columns: C::default(), rows: Ok(0) }
    }
}

impl<C> Job<C> {
    fn parse(
        &mut self,
        width: usize,
        numbers: &mut Vec<u64>,
        read: impl Fn(&[u64], &Place<'_>, &mut C) -> Result<(), BadNumber>,
    ) {
        self.rows = self.chunk.parse(width, numbers, |rows, place| Ok(read(rows, place, &mut self.columns)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use heaplake_kit::stage::Silent;
    use heaplake_kit::{Budget, Context};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Largest accepted number.
    const MOST: u64 = 999_999_999_999;

    fn with_scanner<T>(text: &str, block: usize, threads: usize, run: impl FnOnce(&mut Bytes<'_>) -> T) -> T {
        let cancel = AtomicBool::new(false);
        let context = Context { budget: Budget::new(64 << 20), threads, progress: &Silent, cancel: &cancel };
        run(&mut Bytes::new(Source::of_bytes(text, block), &context).with_hint("hint").from_offset(1000))
    }

    fn take(numbers: &[u64], _: &Place<'_>, column: &mut Vec<u64>) -> Result<(), BadNumber> {
        accept(numbers, column)
    }

    fn accept(numbers: &[u64], column: &mut Vec<u64>) -> Result<(), BadNumber> {
        column.extend(numbers);
        match numbers.iter().position(|&number| number > MOST) {
            Some(index) => Err(BadNumber { index, expected: "a smaller number".to_owned() }),
            None => Ok(()),
        }
    }

    /// Parses the array at the beginning of the text; returns its numbers and the token after it.
    fn columns(text: &str, width: usize, block: usize, threads: usize) -> Result<(Vec<u64>, Option<u8>), StageError> {
        with_scanner(text, block, threads, |scanner| {
            let mut all = Vec::new();
            let rows = scanner.number_columns((width, Sign::Unsigned), take, |column| {
                assert_eq!(column.len() % width, 0);
                all.append(column);
                Ok(())
            })?;
            assert_eq!(rows * width as u64, all.len() as u64);
            Ok((all, scanner.peek_token()?))
        })
    }

    /// The same through [`Bytes::number_array`].
    fn array(text: &str, width: usize, block: usize) -> Result<(Vec<u64>, Option<u8>), StageError> {
        with_scanner(text, block, 1, |scanner| {
            let mut all = Vec::new();
            let rows = scanner.number_array(width, |rows| Ok(accept(rows, &mut all)))?;
            assert_eq!(rows * width as u64, all.len() as u64);
            Ok((all, scanner.peek_token()?))
        })
    }

    /// Generates rows as V8 writes them, or with other white space.
    fn rows(count: usize, width: usize, airy: bool) -> (Vec<u64>, String) {
        let numbers: Vec<u64> = (0..(count * width) as u64)
            .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % MOST) >> (i * 7 % 40))
            .collect();
        let mut text = " [".to_owned();
        for (i, number) in numbers.iter().enumerate() {
            let separator = match (i, airy) {
                (0, _) => "",
                (_, true) => [" ,", ",\r\n\t", ",", "  , "][i % 4],
                (_, false) if i % width == 0 => "\n,",
                (_, false) => ",",
            };
            text += separator;
            text += &number.to_string();
        }
        (numbers, text + "\n] ;")
    }

    #[test]
    fn rows_are_whole_wherever_blocks_end() {
        for width in 1..=8 {
            for (count, airy) in [(0, false), (1, true), (2, false), (13, true), (30, false)] {
                let (numbers, text) = rows(count, width, airy);
                let expected = (numbers, Some(b';'));
                for block in 1..=50 {
                    assert_eq!(array(&text, width, block).unwrap(), expected, "{width} {block}");
                    for threads in [1, 3] {
                        assert_eq!(
                            columns(&text, width, block, threads).unwrap(),
                            expected,
                            "{width} {block} {threads}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn many_chunks_keep_their_order() {
        let (numbers, text) = rows(300_000, 3, false);
        for (block, threads) in [(BLOCK, 2), (BLOCK, 8), (BLOCK, 100), (10_000, 4), (40_000, 1)] {
            assert_eq!(columns(&text, 3, block, threads).unwrap(), (numbers.clone(), Some(b';')), "{block} {threads}");
        }
    }

    /// Offset, expected text, and beginning of the text found.
    fn place(error: StageError) -> (u64, String, String) {
        match error {
            StageError::Input(error) => (error.offset - 1000, error.expected, error.found),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn flaws_are_found_where_they_are() {
        const NUMBER: &str = "an unsigned integer below 2^64";
        const END: &str = "the end of the array (])";
        for (text, expected, found) in [
            ("[1,2,3,^x4,5,6,7,8,9]", NUMBER, "\"x"),
            ("[1,2,3,^,4,5,6,7,8,9]", NUMBER, "\","),
            ("[1,2,3,4,^,5,6,7,8,9]", NUMBER, "\","),
            ("[1,2,3,4,5 ^6,7,8,9]", "a comma", "\"6"),
            ("[1,2,3\n^4,5,6]", "a comma", "\"4"),
            ("[1,2,3,4,5,^-6,-7,8,9]", NUMBER, "\"-"),
            ("[1,2,3,4,5,^1000000000000,1000000000000,x,9]", "a smaller number", "1000000000000 (row 1)"),
            ("[1,2,3,4,5,^1000000000000,x,8,9]", "a smaller number", "1000000000000 (row 1)"),
            ("[^]", "", ""),
            ("[1,2,3,^]", NUMBER, "nothing"),
            ("[1,2,3,4,5,6^]", "", ""),
            ("[1,2,3,4^]", "rows of 3 numbers", "1 numbers too many after row 1"),
            ("[1,2^]", "rows of 3 numbers", "2 numbers too many after row 0"),
            ("[1,2,3,4,5,6,7,8^", END, "the end of the input"),
            ("[1,2,3,^", END, "the end of the input"),
            ("[1,2,3,^a,", NUMBER, "\"a"),
            ("^{", "an array ([)", "\"{"),
        ] {
            let offset = text.find('^').unwrap() as u64;
            let text = text.replace('^', "");
            for block in 1..=30 {
                for threads in [1, 3] {
                    let result = columns(&text, 3, block, threads);
                    if expected.is_empty() {
                        result.unwrap();
                        continue;
                    }
                    let (at, wanted, is) = place(result.unwrap_err());
                    assert_eq!((at, &wanted[..]), (offset, expected), "{text} {block} {threads}");
                    assert!(is.starts_with(found), "{is} in {text} {block} {threads}");
                    assert_eq!(place(array(&text, 3, block).unwrap_err()).0, offset);
                }
            }
        }
    }

    /// Rows before a flaw are passed to the consumer.
    #[test]
    fn rows_before_a_flaw_are_handed_on() {
        let (numbers, whole) = rows(50_000, 4, false);
        for cut in [1, 100, 30_001, 300_000, whole.len() - 3] {
            let whole_rows = whole[..cut].matches(',').count() / 4;
            for (text, last) in [(whole[..cut].to_owned(), 0), (whole[..cut].to_owned() + ",x,1]", 1)] {
                for (block, threads) in [(1000, 1), (BLOCK, 1), (10_000, 3), (BLOCK, 8)] {
                    let mut all = Vec::new();
                    let result = with_scanner(&text, block, threads, |scanner| {
                        scanner.number_columns((4, Sign::Unsigned), take, |column| {
                            all.append(column);
                            Ok(())
                        })
                    });
                    assert!(result.is_err());
                    // A number at the end of the text may be incomplete; one before a comma is whole.
                    let most = whole_rows * 4 + 4 * last;
                    assert!(all.len() == whole_rows * 4 || all.len() == most, "{} {most}", all.len());
                    assert_eq!(all[..whole_rows * 4], numbers[..whole_rows * 4], "{cut} {block} {threads}");
                }
            }
        }
    }

    #[test]
    fn the_first_of_several_flaws_counts() {
        let (_, text) = rows(200_000, 3, false);
        let first = text[1_000_000..].find(",").unwrap() + 1_000_001;
        let second = text[1_300_000..].find(",").unwrap() + 1_300_001;
        let mut bytes = text.clone().into_bytes();
        bytes[first] = b'x';
        bytes[second] = b'y';
        bytes.truncate(2_000_000);
        let text = String::from_utf8(bytes).unwrap();
        for threads in [1, 2, 3, 8] {
            assert_eq!(place(columns(&text, 3, BLOCK / 4, threads).unwrap_err()).0, first as u64);
        }
    }

    #[test]
    fn rows_that_never_end() {
        let text = format!("[1,2,3,{}4,5,6]", " ".repeat(100_000));
        for (block, threads) in [(1000, 1), (1000, 2), (30_000, 2)] {
            let (offset, expected, _) = place(columns(&text, 3, block, threads).unwrap_err());
            assert_eq!((offset, &expected[..]), (7, "3 numbers within 65632 bytes"));
        }
        assert_eq!(columns(&text, 3, BLOCK, 2).unwrap().0.len(), 6);
    }

    #[test]
    fn sinks_and_users_can_stop_it() {
        let (_, text) = rows(100_000, 3, false);
        for threads in [1, 2, 4] {
            let mut left = 3;
            let stopped = with_scanner(&text, 10_000, threads, |scanner| {
                scanner.number_columns((3, Sign::Unsigned), take, |column| {
                    column.clear();
                    left -= 1;
                    if left == 0 { Err(StageError::Overflow("the test")) } else { Ok(()) }
                })
            });
            assert!(matches!(stopped, Err(StageError::Overflow("the test"))));

            let cancel = AtomicBool::new(false);
            let context = Context { budget: Budget::new(64 << 20), threads, progress: &Silent, cancel: &cancel };
            let mut scanner = Bytes::new(Source::of_bytes(&text[..], 10_000), &context).with_hint("hint");
            let cancelled = scanner.number_columns((3, Sign::Unsigned), take, |column| {
                column.clear();
                cancel.store(true, Ordering::Relaxed);
                Ok(())
            });
            assert!(matches!(cancelled, Err(StageError::Cancelled)));
        }
    }
}
