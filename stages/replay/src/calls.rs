//! Objects by stack and type: allocated, sampled, and dead by generation.
//!
//! Every allocation is counted, and traces with many types and stacks have more cells than fit in a cache. So
//! allocations come in batches of [`BATCH`]: first all their places in the table are read, then all their cells, so
//! that cache misses overlap.

use crate::index_table::{IndexTable, hash};
use bytemuck::{Pod, Zeroable};
use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::object_lifetimes::GENERATIONS;

/// Null sentinel of functions: the root of a call tree, or a frame of an unknown function.
pub(crate) const NONE: u32 = u32::MAX;

/// Allocations counted together.
pub(crate) const BATCH: usize = 64;

/// Probes of the table per allocation of a batch before it is looked up alone.
const GUESSES: usize = 2;

/// Objects of one type allocated on one stack.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Node of the stack.
    pub stack: u32,
    /// The type.
    pub type_id: u32,
    /// Events: objects, unless the runtime itself samples.
    events: u64,
    /// Their sizes, bytes.
    bytes: u64,
}

/// Events of a cell with size and stack.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    samples: u64,
    /// Their sizes, bytes.
    bytes: u64,
}

/// Objects of a cell reclaimed in one generation.
#[derive(Clone, Copy, Debug)]
struct Death {
    /// Position of the previous one plus 1; 0 for none.
    before: u32,
    generation: u32,
    count: u64,
    bytes: u64,
}

/// Objects and bytes by generation that reclaimed them.
pub(crate) type Deaths = [(u64, u64); GENERATIONS.len()];

/// All cells. The fields that an allocation changes are in one array, for one cache miss; the other arrays are sparse
/// or read in order.
pub struct Cells {
    cells: BudgetVec<Cell>,
    /// Sampled part of each cell; `None` if everything is taken.
    taken: Option<BudgetVec<Taken>>,
    /// Objects beyond one per event, modulo 2^64; up to the last cell that has any.
    more: BudgetVec<u64>,
    /// Position plus 1 of the last [`Death`] of each cell; 0 for none.
    last_death: BudgetVec<u32>,
    /// Deaths per cell. Generation 0 has the lost objects instead: most objects die there, and their number follows
    /// from the others.
    deaths: BudgetVec<Death>,
    /// Generations with any death, as bits.
    generations: u32,
    index: IndexTable,
}

impl Cells {
    /// Returns an empty set; `all` if size and stack of every event are taken.
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

    /// Returns the numbers of the cells of at most [`BATCH`] stacks and types.
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

    /// Counts an event of a cell with size and stack.
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

    /// Counts `count` objects, all allocated there and taken.
    pub fn add_all(&mut self, stack: u32, type_id: u32, count: u64, bytes: u64) -> Result<(), StageError> {
        let number = self.number(stack, type_id)?;
        self.take_all(number, count.max(1), bytes);
        self.count_all(number, (count.max(1), count), bytes)
    }

    /// Counts an object with size and stack that represents `weight` objects of its size; returns its cell.
    pub fn add_sample(&mut self, (stack, type_id): (u32, u32), weight: u64, bytes: u64) -> Result<u32, StageError> {
        let number = self.number(stack, type_id)?;
        self.take_all(number, 1, bytes);
        self.count_all(number, (weight, weight), bytes.saturating_mul(weight))?;
        Ok(number)
    }

    /// Counts the deaths of objects of a cell, all in one generation.
    pub fn died_together(
        &mut self,
        cell: u32,
        generation: usize,
        (count, bytes): (u64, u64),
    ) -> Result<(), StageError> {
        if generation == 0 { Ok(()) } else { self.gone(cell, generation, count, bytes) }
    }

    /// Counts the death of an object of a cell.
    #[inline]
    pub fn died(&mut self, cell: u32, generation: usize, bytes: u64) -> Result<(), StageError> {
        if generation == 0 { Ok(()) } else { self.gone(cell, generation, 1, bytes) }
    }

    /// Counts lost objects of a cell: whether they died is unknown.
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

    /// The cells, in order of first occurrence.
    pub fn all(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns the amounts of a cell.
    pub fn amount(&self, number: usize) -> Amount {
        let Cell { events, bytes, .. } = self.cells[number];
        let more = self.more.get(number).copied().unwrap_or(0);
        let all = Taken { samples: events, bytes };
        let taken = self.taken.as_ref().map_or(all, |taken| taken[number]);
        Amount { samples: taken.samples, sampled_bytes: taken.bytes, count: events.wrapping_add(more), bytes }
    }

    /// Whether any object may have died in a generation; for generation 0, or was lost.
    pub fn any_in(&self, generation: usize) -> bool {
        generation == 0 || self.generations >> generation & 1 == 1
    }

    /// Returns count and bytes of a cell's objects that died in a generation; see [`Self::deaths`].
    pub fn deaths_in(&self, number: usize, generation: usize) -> (u64, u64) {
        if generation == 0 {
            return self.deaths(number)[0];
        }
        let death = self.recorded(number).find(|death| death.generation as usize == generation);
        death.map_or((0, 0), |death| (death.count, death.bytes))
    }

    /// Returns a cell's deaths by generation, once the objects alive at the end are counted. In a sample of the
    /// runtime, each event counts as one.
    pub fn deaths(&self, number: usize) -> Deaths {
        let cell = &self.cells[number];
        let mut deaths = Deaths::default();
        let (mut count, mut bytes) = (cell.events, cell.bytes);
        for death in self.recorded(number) {
            (count, bytes) = (count.saturating_sub(death.count), bytes.saturating_sub(death.bytes));
            deaths[death.generation as usize] = (death.count, death.bytes);
        }
        // Its entry was that of lost objects, which are neither dead nor alive.
        deaths[0] = (count, bytes);
        deaths
    }

    /// The recorded deaths of a cell.
    fn recorded(&self, number: usize) -> impl Iterator<Item = &Death> {
        let mut at = self.last_death[number];
        std::iter::from_fn(move || {
            let death = &self.deaths[(at as usize).checked_sub(1)?];
            at = death.before;
            Some(death)
        })
    }
}

/// Allocated objects, with the sampled ones.
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
    pub fn is_there(&self) -> bool {
        self.samples > 0 || self.count > 0
    }

    /// Adds another amount.
    pub fn add(&mut self, other: &Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.sampled_bytes = self.sampled_bytes.saturating_add(other.sampled_bytes);
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}
