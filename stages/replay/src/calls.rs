//! Sampled objects by stack and type.

use crate::index_table::{IndexTable, hash};
use crate::sampling::scale;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::object_lifetimes::GENERATIONS;

/// No function: the root of a call tree, or a frame whose function is not known.
pub const NONE: u32 = u32::MAX;

/// Sampled objects of one type and stratum that were allocated on one stack.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Node of the stack.
    pub stack: u32,
    /// The type.
    pub type_id: u32,
    /// Their stratum in the sample of the type.
    pub stratum: u32,
    /// Events.
    pub samples: u64,
    /// Objects: one for each, unless the runtime itself takes a sample.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
}

/// Objects and bytes by generation in which they were reclaimed.
pub type Deaths = [(u64, u64); GENERATIONS.len()];

/// All cells.
pub struct Cells {
    cells: BudgetVec<Cell>,
    /// Deaths of each, those in generation 0 apart, and in their place what was lost: most objects die there, and how
    /// many follows from the others.
    deaths: BudgetVec<Deaths>,
    index: IndexTable,
}

impl Cells {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let who = "the allocating stacks of the trace";
        let (cells, deaths) = (budget.growing(who), budget.growing(who));
        Ok(Self { cells, deaths, index: IndexTable::new(budget, who)? })
    }

    /// Counts a sampled event of a stratum that represents `count` objects; returns the number of its cell.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn add(
        &mut self,
        stack: u32,
        (type_id, stratum): (u32, u32),
        count: u64,
        bytes: u64,
    ) -> Result<u32, StageError> {
        let cells = &self.cells;
        let is = |number: u32| {
            let cell = &cells[number as usize];
            cell.stack == stack && cell.type_id == type_id && cell.stratum == stratum
        };
        let number = match self.index.find(hash(u64::from(stack), u64::from(type_id)), is) {
            Some(number) => number,
            None => self.make(stack, type_id, stratum)?,
        };
        let cell = &mut self.cells[number as usize];
        cell.samples += 1;
        cell.count = cell.count.saturating_add(count);
        cell.bytes = cell.bytes.saturating_add(bytes);
        Ok(number)
    }

    #[cold]
    fn make(&mut self, stack: u32, type_id: u32, stratum: u32) -> Result<u32, StageError> {
        let number = u32::try_from(self.cells.len()).map_err(|_| StageError::Overflow("the number of stacks"))?;
        self.cells.push(Cell { stack, type_id, stratum, samples: 0, count: 0, bytes: 0 })?;
        self.deaths.push(Deaths::default())?;
        let cells = &self.cells;
        self.index.add(number, |number| {
            let cell = &cells[number as usize];
            hash(u64::from(cell.stack), u64::from(cell.type_id))
        })?;
        Ok(number)
    }

    /// Counts `count` objects, all of which were allocated there.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn add_all(&mut self, stack: u32, type_id: u32, count: u64, bytes: u64) -> Result<(), StageError> {
        let number = self.add(stack, (type_id, 1), count, bytes)?;
        let samples = &mut self.cells[number as usize].samples;
        *samples = samples.saturating_add(count.saturating_sub(1));
        Ok(())
    }

    /// Counts the death of an object of a cell.
    #[inline]
    pub fn died(&mut self, cell: u32, generation: usize, bytes: u64) {
        if generation != 0 {
            self.gone(cell, generation, 1, bytes);
        }
    }

    /// Counts objects of a cell that were lost: whether they died is unknown.
    pub fn lost(&mut self, cell: u32, count: u64, bytes: u64) {
        self.gone(cell, 0, count, bytes);
    }

    fn gone(&mut self, cell: u32, generation: usize, objects: u64, bytes: u64) {
        if let Some(deaths) = self.deaths.get_mut(cell as usize) {
            let (count, sum) = &mut deaths[generation];
            *count += objects;
            *sum = sum.saturating_add(bytes);
        }
    }

    /// The cells, in the order in which they first occurred.
    #[must_use]
    pub fn all(&self) -> &[Cell] {
        &self.cells
    }

    /// Where the objects of a cell died, when all that live at the end have been counted.
    #[must_use]
    pub fn deaths(&self, cell: usize) -> Deaths {
        let (Cell { samples, bytes, .. }, mut deaths) = (self.cells[cell], self.deaths[cell]);
        let others = deaths.iter().fold((0, 0_u64), |sum, other| (sum.0 + other.0, sum.1.saturating_add(other.1)));
        deaths[0] = (samples.saturating_sub(others.0), bytes.saturating_sub(others.1));
        deaths
    }
}

/// Sampled objects, and the estimate of all objects that they represent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Amount {
    /// Sampled objects.
    pub samples: u64,
    /// Their sizes, bytes.
    pub sampled_bytes: u64,
    /// All objects that they represent.
    pub count: u64,
    /// The sizes of these, bytes.
    pub bytes: u64,
}

impl Amount {
    /// Samples that are `count` objects, of a type of which `total` were allocated and `sampled` taken.
    #[must_use]
    pub fn of(samples: u64, count: u64, bytes: u64, (total, sampled): (u64, u64)) -> Self {
        let all = |part| if sampled == 0 { part } else { scale(part, total, sampled) };
        Self { samples, sampled_bytes: bytes, count: all(count), bytes: all(bytes) }
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.sampled_bytes = self.sampled_bytes.saturating_add(other.sampled_bytes);
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
