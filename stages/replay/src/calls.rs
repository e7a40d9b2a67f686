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

/// Places of the table at which all of them are looked for before any is looked up alone.
const GUESSES: usize = 2;

/// Objects of one type that were allocated on one stack.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Node of the stack.
    pub stack: u32,
    /// The type.
    pub type_id: u32,
    /// Events; objects, unless the runtime itself takes a sample.
    events: u64,
    /// Their sizes, bytes.
    bytes: u64,
}

/// Events of a cell of which size and stack were taken.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    samples: u64,
    /// Their sizes, bytes.
    bytes: u64,
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

/// All cells. What an allocation changes is in one array, so that it waits for one line of it; the others are for what
/// is seldom there, or read in order.
pub struct Cells {
    cells: BudgetVec<Cell>,
    /// What was taken of each; empty where everything is.
    taken: Option<BudgetVec<Taken>>,
    /// Objects beyond one for each event, modulo 2^64; of the cells up to the last that has any.
    more: BudgetVec<u64>,
    /// One more than the position of the last of each one's [`Death`]s; 0 for none.
    last_death: BudgetVec<u32>,
    /// Deaths of each, those in generation 0 apart, and in their place what was lost: most objects die there, and how
    /// many follows from the others.
    deaths: BudgetVec<Death>,
    /// Generations in which any object died, as bits.
    generations: u32,
    index: IndexTable,
}

impl Cells {
    /// None yet; `all` where size and stack of every event are taken.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn new(all: bool, budget: &Budget) -> Result<Self, StageError> {
        let who = "the allocating stacks of the trace";
        Ok(Self {
            cells: budget.growing(who),
            taken: (!all).then(|| budget.growing(who)),
            more: budget.growing(who),
            last_death: budget.growing(who),
            deaths: budget.growing(who),
            generations: 0,
            index: IndexTable::new(budget, who)?,
        })
    }

    /// The numbers of the cells of at most [`BATCH`] stacks and types.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn numbers(&mut self, of: impl Iterator<Item = (u32, u32)> + Clone) -> Result<[u32; BATCH], StageError> {
        let mut numbers = [NONE; BATCH];
        let cells = &self.cells;
        for further in 0..GUESSES {
            let mut guesses = [NONE; BATCH];
            for ((guess, number), (stack, type_id)) in guesses.iter_mut().zip(&numbers).zip(of.clone()) {
                if *number == NONE {
                    *guess = self.index.guess(hash(u64::from(stack), u64::from(type_id)), further).unwrap_or(NONE);
                }
            }
            for ((guess, number), key) in guesses.iter().zip(&mut numbers).zip(of.clone()) {
                if cells.get(*guess as usize).is_some_and(|cell| (cell.stack, cell.type_id) == key) {
                    *number = *guess;
                }
            }
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
        self.cells.push(Cell { stack, type_id, events: 0, bytes: 0 })?;
        self.last_death.push(0)?;
        self.taken.as_mut().map_or(Ok(()), |taken| taken.push(Taken::default()))?;
        let cells = &self.cells;
        self.index.add(number, |number| {
            let cell = &cells[number as usize];
            hash(u64::from(cell.stack), u64::from(cell.type_id))
        })?;
        Ok(number)
    }

    /// Counts an event of a cell that represents `count` objects.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    #[inline]
    pub fn count(&mut self, number: u32, count: u64, bytes: u64) -> Result<(), StageError> {
        self.count_all(number, (1, count), bytes)
    }

    #[inline]
    fn count_all(&mut self, number: u32, (events, count): (u64, u64), bytes: u64) -> Result<(), StageError> {
        let cell = &mut self.cells[number as usize];
        cell.events = cell.events.saturating_add(events);
        cell.bytes = cell.bytes.saturating_add(bytes);
        if count == events { Ok(()) } else { self.represent(number, count.wrapping_sub(events)) }
    }

    #[cold]
    fn represent(&mut self, number: u32, more: u64) -> Result<(), StageError> {
        while self.more.len() <= number as usize {
            self.more.push(0)?;
        }
        let sum = &mut self.more[number as usize];
        *sum = sum.wrapping_add(more);
        Ok(())
    }

    /// Counts an event of a cell of which size and stack are taken.
    #[inline]
    pub fn take(&mut self, number: u32, bytes: u64) {
        self.take_all(number, 1, bytes);
    }

    #[inline]
    fn take_all(&mut self, number: u32, samples: u64, bytes: u64) {
        let Some(taken) = &mut self.taken else { return };
        let taken = &mut taken[number as usize];
        taken.samples = taken.samples.saturating_add(samples);
        taken.bytes = taken.bytes.saturating_add(bytes);
    }

    /// Counts `count` objects, all of which were allocated there and taken.
    ///
    /// # Errors
    /// [`StageError::Budget`].
    pub fn add_all(&mut self, stack: u32, type_id: u32, count: u64, bytes: u64) -> Result<(), StageError> {
        let number = self.number(stack, type_id)?;
        self.take_all(number, count.max(1), bytes);
        self.count_all(number, (count.max(1), count), bytes)
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
        let Some(last) = self.last_death.get_mut(cell as usize) else { return Ok(()) };
        let generation = generation as u32;
        let mut at = *last;
        while at > 0 && self.deaths[at as usize - 1].generation != generation {
            at = self.deaths[at as usize - 1].before;
        }
        if at == 0 {
            self.deaths.push(Death { before: *last, generation, count: 0, bytes: 0 })?;
            at = u32::try_from(self.deaths.len()).map_err(|_| StageError::Overflow("the number of deaths"))?;
            *last = at;
            self.generations |= 1 << generation;
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
        let Cell { events, bytes, .. } = self.cells[number];
        let more = self.more.get(number).copied().unwrap_or(0);
        let all = Taken { samples: events, bytes };
        let taken = self.taken.as_ref().map_or(all, |taken| taken[number]);
        Amount { samples: taken.samples, sampled_bytes: taken.bytes, count: events.wrapping_add(more), bytes }
    }

    /// Whether objects of any cell may have died in a generation, or were lost in the case of generation 0.
    #[must_use]
    pub fn any_in(&self, generation: usize) -> bool {
        generation == 0 || self.generations >> generation & 1 == 1
    }

    /// How many objects of a cell died in a generation, and their bytes; see [`Self::deaths`].
    #[must_use]
    pub fn deaths_in(&self, number: usize, generation: usize) -> (u64, u64) {
        if generation == 0 {
            return self.deaths(number)[0];
        }
        let death = self.told(number).find(|death| death.generation as usize == generation);
        death.map_or((0, 0), |death| (death.count, death.bytes))
    }

    /// Where the objects of a cell died, when all that live at the end have been counted. Of a sample that the runtime
    /// took, each event counts as one.
    #[must_use]
    pub fn deaths(&self, number: usize) -> Deaths {
        let cell = &self.cells[number];
        let mut deaths = Deaths::default();
        let (mut count, mut bytes) = (cell.events, cell.bytes);
        for death in self.told(number) {
            (count, bytes) = (count.saturating_sub(death.count), bytes.saturating_sub(death.bytes));
            deaths[death.generation as usize] = (death.count, death.bytes);
        }
        // What was lost had its place here; it is neither dead nor alive.
        deaths[0] = (count, bytes);
        deaths
    }

    /// What is kept of the deaths of a cell.
    fn told(&self, number: usize) -> impl Iterator<Item = &Death> {
        let mut at = self.last_death[number];
        std::iter::from_fn(move || {
            let death = &self.deaths[(at as usize).checked_sub(1)?];
            at = death.before;
            Some(death)
        })
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
