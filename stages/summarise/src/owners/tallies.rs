//! Sums of owners, and their rows.

use super::rules::Code;
use heaplake_kit::{Budget, BudgetVec, ColumnWriter, Scratch, StageError, StringWriter};
use heaplake_schemas::owners::{self, OwnerRow};
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::scratch::{self as columns, OWNER_NAMES};
use std::cmp::Reverse;

#[derive(Clone, Copy)]
struct Tally {
    row: OwnerRow,
    /// Bytes of unreached nodes.
    apart: u64,
    /// Its place.
    place: u32,
}

/// The owners of a run, and two further rows.
pub(super) struct Tallies {
    /// For nobody, for garbage, then by owner.
    all: BudgetVec<Tally>,
}

/// Places of the further rows, and of the first owner.
const NOBODY: usize = 0;
pub(super) const GARBAGE: usize = 1;
const OWNERS: usize = 2;

/// Place of an owner, or of nobody.
#[inline]
pub(super) fn place(code: Code) -> usize {
    code.owner().map_or(NOBODY, |owner| owner as usize + OWNERS)
}

impl Tallies {
    /// Returns rows without owners.
    pub(super) fn new(budget: &Budget) -> Result<Self, StageError> {
        let mut tallies = Self { all: budget.growing("owners: rows") };
        tallies.grow(0)?;
        Ok(tallies)
    }

    /// Adds rows for new owners, up to `owners`.
    #[inline]
    pub(super) fn grow(&mut self, owners: usize) -> Result<(), StageError> {
        while self.all.len() < owners + OWNERS {
            let row = OwnerRow {
                count: 0,
                shallow_bytes: 0,
                retained_bytes: 0,
                freed_bytes: ABSENT,
                allocated_bytes: ABSENT,
            };
            let place = self.all.len() as u32;
            self.all.push(Tally { row, apart: 0, place })?;
        }
        Ok(())
    }

    pub(super) fn owner(&mut self, owner: u32) -> &mut OwnerRow {
        &mut self.all[owner as usize + OWNERS].row
    }

    /// Bytes of an owner's unreached nodes.
    pub(super) fn apart(&mut self, owner: u32) -> &mut u64 {
        &mut self.all[owner as usize + OWNERS].apart
    }

    pub(super) fn garbage(&mut self) -> &mut OwnerRow {
        &mut self.all[GARBAGE].row
    }

    /// The row of an owner, or of nobody.
    #[inline]
    pub(super) fn of(&mut self, code: Code) -> &mut OwnerRow {
        &mut self.all[place(code)].row
    }

    /// Marks allocations as known: they count from 0.
    pub(super) fn count_allocations(&mut self) {
        self.all.iter_mut().for_each(|tally| tally.row.allocated_bytes = 0);
        self.garbage().allocated_bytes = ABSENT;
    }

    /// Writes the non-empty rows, by retained size, largest first, equals by name, and the row of each place; returns their
    /// number.
    pub(super) fn write(mut self, names: &[String], scratch: &Scratch) -> Result<u64, StageError> {
        let name = |tally: &Tally| match tally.place as usize {
            NOBODY => owners::NONE,
            GARBAGE => owners::UNREACHABLE,
            owner => &names[owner - OWNERS],
        };
        let places = self.all.len();
        let allocated = |row: &OwnerRow| !matches!(row.allocated_bytes, 0 | ABSENT);
        self.all.retain_mut(|_, tally| {
            let row = &tally.row;
            // Objects without a size count as well.
            row.count > 0 || row.retained_bytes > 0 || allocated(row)
        });
        self.all.sort_unstable_by(|a, b| {
            (Reverse(a.row.retained_bytes), name(a)).cmp(&(Reverse(b.row.retained_bytes), name(b)))
        });
        let mut rows = ColumnWriter::create(scratch, columns::OWNER_ROW)?;
        let mut texts = StringWriter::create(scratch, OWNER_NAMES)?;
        for tally in self.all.iter() {
            rows.push(tally.row)?;
            texts.push(name(tally).as_bytes())?;
        }
        texts.finish()?;
        let mut row_at = vec![u32::MAX; places];
        self.all.iter().enumerate().for_each(|(row, tally)| row_at[tally.place as usize] = row as u32);
        ColumnWriter::write_all(scratch, columns::OWNER_ROW_AT, &row_at)?;
        rows.finish()
    }
}

#[inline]
pub(super) fn add(sum: &mut u64, bytes: u64) -> Result<(), StageError> {
    let Some(total) = sum.checked_add(bytes) else { return Err(StageError::Overflow("the size of an owner")) };
    *sum = total;
    Ok(())
}
