//! Ranges that garbage collections moved, read from their table piece by piece.
//!
//! Rows are ordered by collection, then by address before the move. So only the start of each collection and one piece
//! of [`ROWS`] rows are held, however long the table is. Callers visit collections in sequence, forwards or backwards,
//! so each piece is read once. An address before a collection is found by binary search, one after it by scanning the
//! collection's ranges.

use heaplake_kit::StageError;
use heaplake_lake::reader::{Reader, value};
use std::ops::Range;
use std::path::Path;

/// Rows per piece: 6 MB.
const ROWS: u64 = 1 << 18;

/// A moved range of addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    from: u64,
    to: u64,
    bytes: u64,
}

/// Loads a number of rows from a start row; fewer at the end.
type Load<'a> = Box<dyn Fn(u64, u64) -> Result<Vec<Moved>, StageError> + 'a>;

/// Moved ranges of all collections.
pub(crate) struct Moves<'a> {
    load: Load<'a>,
    /// First row of each collection, and the total.
    starts: Vec<u64>,
    /// Rows per piece.
    size: u64,
    /// Number of the loaded piece.
    held: Option<u64>,
    piece: Vec<Moved>,
}

/// Opens the table of a run; `numbers` are its collections in order.
pub(crate) fn open<'a>(path: &'a Path, numbers: &[u32]) -> Result<Moves<'a>, StageError> {
    let mut batches = Reader::open(path)?.columns(&["gc"])?;
    let mut starts = vec![0];
    let mut row = 0;
    while let Some(batch) = batches.batch()? {
        for gc in batch.u32s("gc")? {
            // Rows of unknown collections go to the last one.
            while starts.len() < numbers.len() && Some(numbers[starts.len() - 1]) != gc {
                starts.push(row);
            }
            row += 1;
        }
    }
    starts.resize(numbers.len() + 1, row);
    let load = Box::new(move |first, most| rows(path, first, most));
    Ok(Moves { load, starts, size: ROWS, held: None, piece: Vec::new() })
}

/// Reads at most `most` rows from row `first`.
fn rows(path: &Path, first: u64, most: u64) -> Result<Vec<Moved>, StageError> {
    let mut batches = Reader::open(path)?.from_row(first, most).columns(&["from", "to", "bytes"])?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.batch()? {
        let (from, to, bytes) = (batch.u64s("from")?, batch.u64s("to")?, batch.sizes("bytes")?);
        for row in 0..batch.len() {
            let [from, to, bytes] = [from, to, &bytes].map(|column| value(column, row).unwrap_or(0));
            rows.push(Moved { from, to, bytes });
        }
    }
    Ok(rows)
}

impl Moves<'_> {
    /// Maps an address before a collection to the one after it.
    pub(crate) fn after(&mut self, gc: usize, address: u64) -> Result<u64, StageError> {
        for piece in self.pieces(gc) {
            let ranges = self.ranges(gc, piece)?;
            let behind = ranges.partition_point(|range| range.from <= address);
            if let Some(range) = ranges[..behind].last().filter(|range| address - range.from < range.bytes) {
                return Ok(range.to.wrapping_add(address - range.from));
            }
        }
        Ok(address)
    }

    /// Maps an address after a collection to the one before it.
    pub(crate) fn before(&mut self, gc: usize, address: u64) -> Result<u64, StageError> {
        let inside = |range: &&Moved| address.checked_sub(range.to).is_some_and(|inside| inside < range.bytes);
        for piece in self.pieces(gc).rev() {
            if let Some(range) = self.ranges(gc, piece)?.iter().find(inside) {
                return Ok(range.from.wrapping_add(address - range.to));
            }
        }
        Ok(address)
    }

    /// Pieces that contain rows of a collection.
    fn pieces(&self, gc: usize) -> Range<u64> {
        let (start, end) = (self.starts[gc], self.starts[gc + 1]);
        if start == end { 0..0 } else { start / self.size..(end - 1) / self.size + 1 }
    }

    /// Rows of a collection within a piece.
    fn ranges(&mut self, gc: usize, number: u64) -> Result<&[Moved], StageError> {
        let first = number * self.size;
        if self.held != Some(number) {
            self.held = None;
            self.piece = Vec::new();
            self.piece = (self.load)(first, self.size)?;
            self.held = Some(number);
        }
        let within = |row: u64| (row.saturating_sub(first) as usize).min(self.piece.len());
        Ok(&self.piece[within(self.starts[gc])..within(self.starts[gc + 1])])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares random tables in small pieces with a scan of all rows.
    #[test]
    fn addresses_are_followed_as_if_all_rows_were_held() {
        let mut chance = 1_u64;
        let mut below = |end: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (chance >> 33) % end
        };
        for _ in 0..200 {
            // Each collection moves some of ten pieces of its own address range to the next range.
            let mut collections: Vec<Vec<Moved>> = Vec::new();
            for gc in 0..below(6) {
                let pieces = (0..10).filter(|_| below(2) == 0).collect::<Vec<u64>>();
                let moved = pieces.into_iter().map(|piece| {
                    let from = 1000 * gc + 100 * piece;
                    Moved { from, to: 1000 * (gc + 1) + 100 * (9 - piece), bytes: 1 + below(99) }
                });
                collections.push(moved.collect());
            }
            let mut starts = vec![0];
            for moved in &collections {
                starts.push(starts.last().unwrap() + moved.len() as u64);
            }
            let all = collections.concat();
            let load = |first: u64, most: u64| {
                let rows = all.iter().skip(first as usize).take(most as usize);
                Ok(rows.copied().collect())
            };
            let mut moves = Moves { load: Box::new(load), starts, size: 1 + below(7), held: None, piece: Vec::new() };
            for (gc, moved) in collections.iter().enumerate() {
                for address in (0..7000).step_by(17) {
                    let after = moved.iter().find(|range| (range.from..range.from + range.bytes).contains(&address));
                    let after = after.map_or(address, |range| range.to + (address - range.from));
                    let before = moved.iter().find(|range| (range.to..range.to + range.bytes).contains(&address));
                    let before = before.map_or(address, |range| range.from + (address - range.to));
                    assert_eq!(moves.after(gc, address).unwrap(), after);
                    assert_eq!(moves.before(gc, address).unwrap(), before);
                }
            }
        }
    }
}
