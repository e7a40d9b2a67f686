//! Objects by stack and type: how many were allocated, how many of them were sampled, and where they died.
//!
//! Each allocation is counted, and a trace that allocates many types on many stacks has more cells than fit in a cache.
//! So allocations come in batches of [`BATCH`]: first all their places in the table are read, then all their cells,
//! so that the processor waits for many of them at once and not for one after the other.

use crate::index_table::{IndexTable, hash};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::object_lifetimes::GENERATIONS;

/// No function: the root of a call tree, or a frame whose function is not known.
pub const NONE: u32 = u32::MAX;

/// Allocations that are counted together.
pub const BATCH: usize = 64;

/// Objects of one type that were allocated on one stack.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Node of the stack.
    pub stack: u32,
    /// The type.
    pub type_id: u32,
    /// Objects: one for each event, unless the runtime itself takes a sample.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
}

/// What few events change, apart from what each of them does.
#[derive(Clone, Copy, Debug, Default)]
struct Details {
    /// Events of which size and stack were taken.
    samples: u64,
    /// Their sizes, bytes.
    sampled_bytes: u64,
    /// Objects beyond one for each event.
    more: u64,
    /// One more than the position of the last of its [`Death`]s; 0 for none.
    deaths: u32,
}

/// Objects of a cell that were reclaimed in one generation.
#[derive(Clone, Copy, Debug)]
struct Death {
    /// One more than the position of the one before; 0 for none.
    before: u32,
    generation: u32,
    count: u64,
    bytes: u64,
}

/// Objects and bytes by generation in which they were reclaimed.
pub type Deaths = [(u64, u64); GENERATIONS.len()];

/// All cells.
pub struct Cells {
    cells: BudgetVec<Cell>,
    details: BudgetVec<Details>,
    /// Deaths of each, those in generation 0 apart, and in their place what was lost: most objects die there, and how
    /// many follows from the others.
    deaths: BudgetVec<Death>,
    index: IndexTable,
}

impl Cells {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(budget: &Budget) -> Result<Self, StageError> {
        let who = "the allocating stacks of the trace";
        let (cells, details, deaths) = (budget.growing(who), budget.growing(who), budget.growing(who));
        Ok(Self { cells, details, deaths, index: IndexTable::new(budget, who)? })
    }

    /// The numbers of the cells of at most [`BATCH`] stacks and types.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn numbers(&mut self, of: impl Iterator<Item = (u32, u32)> + Clone) -> Result<[u32; BATCH], StageError> {
        let mut numbers = [NONE; BATCH];
        for (number, (stack, type_id)) in numbers.iter_mut().zip(of.clone()) {
            *number = self.index.guess(hash(u64::from(stack), u64::from(type_id))).unwrap_or(NONE);
        }
        let cells = &self.cells;
        for (number, key) in numbers.iter_mut().zip(of.clone()) {
            let is = cells.get(*number as usize).is_some_and(|cell| (cell.stack, cell.type_id) == key);
            *number = if is { *number } else { NONE };
        }
        for (number, (stack, type_id)) in numbers.iter_mut().zip(of) {
            if *number == NONE {
                *number = self.number(stack, type_id)?;
            }
        }
        Ok(numbers)
    }

    /// The number of the cell of a stack and type.
    fn number(&mut self, stack: u32, type_id: u32) -> Result<u32, StageError> {
        let cells = &self.cells;
        let is = |number: u32| {
            let cell = &cells[number as usize];
            cell.stack == stack && cell.type_id == type_id
        };
        match self.index.find(hash(u64::from(stack), u64::from(type_id)), is) {
            Some(number) => Ok(number),
            None => self.make(stack, type_id),
        }
    }

    #[cold]
    fn make(&mut self, stack: u32, type_id: u32) -> Result<u32, StageError> {
        let number = u32::try_from(self.cells.len()).map_err(|_| StageError::Overflow("the number of stacks"))?;
        self.cells.push(Cell { stack, type_id, count: 0, bytes: 0 })?;
        self.details.push(Details::default())?;
        let cells = &self.cells;
        self.index.add(number, |number| {
            let cell = &cells[number as usize];
            hash(u64::from(cell.stack), u64::from(cell.type_id))
        })?;
        Ok(number)
    }

    /// Counts an event of a cell that represents `count` objects.
    #[inline]
    pub fn count(&mut self, number: u32, count: u64, bytes: u64) {
        let cell = &mut self.cells[number as usize];
        cell.count = cell.count.saturating_add(count);
        cell.bytes = cell.bytes.saturating_add(bytes);
        if count != 1 {
            let more = &mut self.details[number as usize].more;
            *more = more.saturating_add(count.saturating_sub(1));
        }
    }

    /// Counts an event of a cell of which size and stack are taken.
    #[inline]
    pub fn take(&mut self, number: u32, bytes: u64) {
        self.take_all(number, 1, bytes);
    }

    fn take_all(&mut self, number: u32, samples: u64, bytes: u64) {
        let details = &mut self.details[number as usize];
        details.samples = details.samples.saturating_add(samples);
        details.sampled_bytes = details.sampled_bytes.saturating_add(bytes);
    }

    /// Counts `count` objects, all of which were allocated there and taken.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn add_all(&mut self, stack: u32, type_id: u32, count: u64, bytes: u64) -> Result<(), StageError> {
        let number = self.number(stack, type_id)?;
        let cell = &mut self.cells[number as usize];
        cell.count = cell.count.saturating_add(count);
        cell.bytes = cell.bytes.saturating_add(bytes);
        self.take_all(number, count.max(1), bytes);
        Ok(())
    }

    /// Counts the death of an object of a cell.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn died(&mut self, cell: u32, generation: usize, bytes: u64) -> Result<(), StageError> {
        if generation == 0 { Ok(()) } else { self.gone(cell, generation, 1, bytes) }
    }

    /// Counts objects of a cell that were lost: whether they died is unknown.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn lost(&mut self, cell: u32, count: u64, bytes: u64) -> Result<(), StageError> {
        self.gone(cell, 0, count, bytes)
    }

    fn gone(&mut self, cell: u32, generation: usize, objects: u64, bytes: u64) -> Result<(), StageError> {
        let Some(details) = self.details.get_mut(cell as usize) else { return Ok(()) };
        let generation = generation as u32;
        let mut at = details.deaths;
        while at > 0 && self.deaths[at as usize - 1].generation != generation {
            at = self.deaths[at as usize - 1].before;
        }
        if at == 0 {
            self.deaths.push(Death { before: details.deaths, generation, count: 0, bytes: 0 })?;
            at = u32::try_from(self.deaths.len()).map_err(|_| StageError::Overflow("the number of deaths"))?;
            details.deaths = at;
        }
        let death = &mut self.deaths[at as usize - 1];
        death.count = death.count.saturating_add(objects);
        death.bytes = death.bytes.saturating_add(bytes);
        Ok(())
    }

    /// The cells, in the order in which they first occurred.
    #[must_use]
    pub fn all(&self) -> &[Cell] {
        &self.cells
    }

    /// What a cell has.
    #[must_use]
    pub fn amount(&self, number: usize) -> Amount {
        let (Cell { count, bytes, .. }, details) = (self.cells[number], &self.details[number]);
        Amount { samples: details.samples, sampled_bytes: details.sampled_bytes, count, bytes }
    }

    /// How many objects of a cell died in a generation, and their bytes; see [`Self::deaths`].
    #[must_use]
    pub fn deaths_in(&self, number: usize, generation: usize) -> (u64, u64) {
        if generation > 0 && self.details[number].deaths == 0 { (0, 0) } else { self.deaths(number)[generation] }
    }

    /// Where the objects of a cell died, when all that live at the end have been counted. Of a sample that the runtime
    /// took, each event counts as one.
    #[must_use]
    pub fn deaths(&self, number: usize) -> Deaths {
        let (cell, details) = (&self.cells[number], &self.details[number]);
        let mut deaths = Deaths::default();
        let (mut count, mut bytes, mut at) = (cell.count.saturating_sub(details.more), cell.bytes, details.deaths);
        while let Some(death) = (at as usize).checked_sub(1).map(|at| &self.deaths[at]) {
            (count, bytes) = (count.saturating_sub(death.count), bytes.saturating_sub(death.bytes));
            deaths[death.generation as usize] = (death.count, death.bytes);
            at = death.before;
        }
        // What was lost had its place here; it is neither dead nor alive.
        deaths[0] = (count, bytes);
        deaths
    }
}

/// Objects that were allocated, and those of them that were sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Amount {
    /// Sampled objects.
    pub samples: u64,
    /// Their sizes, bytes.
    pub sampled_bytes: u64,
    /// All objects.
    pub count: u64,
    /// Their sizes, bytes.
    pub bytes: u64,
}

impl Amount {
    /// Whether it counts anything.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.samples > 0 || self.count > 0
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.sampled_bytes = self.sampled_bytes.saturating_add(other.sampled_bytes);
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
