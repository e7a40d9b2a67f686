//! What owners sum to, and the rows that become of it.

use super::rules::Code;
use heaplake_kit::{Budget, BudgetVec, ColumnWriter, Scratch, StageError, StringWriter};
use heaplake_schemas::owners::{self, OwnerRow};
use heaplake_schemas::replay::ABSENT;
use heaplake_schemas::scratch::{self as columns, OWNER_NAMES};
use std::cmp::Reverse;

/// What an owner sums to.
#[derive(Clone, Copy)]
struct Tally {
    row: OwnerRow,
    /// Bytes of what nothing reaches, each for itself.
    apart: u64,
    owner: u32,
}

/// The owners of a run, and two rows beside theirs.
pub struct Tallies {
    /// For nobody, for garbage, then by owner.
    all: BudgetVec<Tally>,
}

/// Places of the rows that are not those of owners, and of the first owner.
const NOBODY: usize = 0;
const GARBAGE: usize = 1;
const OWNERS: usize = 2;

impl Tallies {
    /// Without owners.
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let mut tallies = Self { all: budget.growing("owners: rows") };
        tallies.grow(0)?;
        Ok(tallies)
    }

    /// Makes rows for so many owners.
    #[inline]
    pub fn grow(&mut self, owners: usize) -> Result<(), StageError> {
        while self.all.len() < owners + OWNERS {
            let row = OwnerRow {
                count: 0,
                shallow_bytes: 0,
                retained_bytes: 0,
                freed_bytes: ABSENT,
                allocated_bytes: ABSENT,
            };
            let owner = self.all.len() as u32;
            self.all.push(Tally { row, apart: 0, owner })?;
        }
        Ok(())
    }

    /// The row of an owner.
    pub fn owner(&mut self, owner: u32) -> &mut OwnerRow {
        &mut self.all[owner as usize + OWNERS].row
    }

    /// Bytes of an owner's objects that nothing reaches, each for itself.
    pub fn apart(&mut self, owner: u32) -> &mut u64 {
        &mut self.all[owner as usize + OWNERS].apart
    }

    /// The row of garbage.
    pub fn garbage(&mut self) -> &mut OwnerRow {
        &mut self.all[GARBAGE].row
    }

    /// The row of an owner, or of nobody.
    #[inline]
    pub fn of(&mut self, code: Code) -> &mut OwnerRow {
        match code.owner() {
            Some(owner) => self.owner(owner),
            None => &mut self.all[NOBODY].row,
        }
    }

    /// From here on it is known what the functions of each owner allocated.
    pub fn count_allocations(&mut self) {
        self.all.iter_mut().for_each(|tally| tally.row.allocated_bytes = 0);
        self.garbage().allocated_bytes = ABSENT;
    }

    /// Writes the rows of owners that have anything, by retained size, largest first, equals by name; how many there
    /// are.
    pub fn write(mut self, names: &[String], scratch: &Scratch) -> Result<u64, StageError> {
        let name = |tally: &Tally| match tally.owner as usize {
            NOBODY => owners::NONE,
            GARBAGE => owners::UNREACHABLE,
            owner => &names[owner - OWNERS],
        };
        let allocated = |row: &OwnerRow| !matches!(row.allocated_bytes, 0 | ABSENT);
        self.all.retain_mut(|_, tally| {
            let row = &tally.row;
            // Nodes without a size are objects too, where they count.
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
        rows.finish()
    }
}

/// Adds bytes to a sum.
#[inline]
pub fn add(sum: &mut u64, bytes: u64) -> Result<(), StageError> {
    let Some(total) = sum.checked_add(bytes) else { return Err(StageError::Overflow("the size of an owner")) };
    *sum = total;
    Ok(())
}
