//! Lifetimes of objects, by type and generation.

use crate::track::Object;
use heaplake_kit::{Budget, BudgetVec, StageError};
use heaplake_schemas::object_lifetimes::{ALIVE, GENERATIONS, LifetimeRow};

/// Objects of one type reclaimed in one generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ages {
    count: u64,
    bytes: u64,
    /// Ages in collections, summed.
    gcs: u64,
    most_gcs: u32,
    /// Ages in ticks, summed.
    ticks: u128,
}

/// Lifetimes of all types.
pub struct Lifetimes {
    /// Position plus 1 of each type's ages by generation; 0 for none. Most types have one or two.
    types: BudgetVec<[u32; GENERATIONS.len()]>,
    ages: BudgetVec<Ages>,
}

/// A moment in the trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Garbage collections so far, including the current one.
    pub gcs: u32,
    /// Ticks of the trace.
    pub time: u64,
}

impl Lifetimes {
    /// Returns empty counts.
    pub fn new(budget: &Budget) -> Self {
        const WHO: &str = "the lifetimes of objects";
        Self { types: budget.growing(WHO), ages: budget.growing(WHO) }
    }

    /// Counts an object reclaimed in a generation, or alive at the end ([`ALIVE`]).
    #[inline]
    pub fn add(&mut self, object: &Object, generation: usize, at: Moment) -> Result<(), StageError> {
        self.add_together(object, 1, generation, at)
    }

    /// Counts `count` objects that one represents.
    #[inline]
    pub fn add_together(
        &mut self,
        object: &Object,
        count: u64,
        generation: usize,
        at: Moment,
    ) -> Result<(), StageError> {
        let index = object.type_id as usize;
        while index >= self.types.len() {
            self.types.push(Default::default())?;
        }
        let place = &mut self.types[index][generation.min(ALIVE)];
        if *place == 0 {
            self.ages.push(Ages::default())?;
            *place =
                u32::try_from(self.ages.len()).map_err(|_| StageError::Overflow("the number of types that died"))?;
        }
        let ages = &mut self.ages[*place as usize - 1];
        let age = at.gcs.saturating_sub(object.born);
        ages.count = ages.count.saturating_add(count);
        ages.bytes = ages.bytes.saturating_add(object.bytes.saturating_mul(count));
        ages.gcs = ages.gcs.saturating_add(u64::from(age).saturating_mul(count));
        ages.most_gcs = ages.most_gcs.max(age);
        let ticks = u128::from(at.time.saturating_sub(object.born_at)).saturating_mul(count.into());
        ages.ticks = ages.ticks.saturating_add(ticks);
        Ok(())
    }

    /// Returns count and bytes of the live objects of a type; valid at the end.
    pub fn alive(&self, type_id: u32) -> (u64, u64) {
        let place = self.types.get(type_id as usize).map_or(0, |places| places[ALIVE]);
        self.of(place).map_or((0, 0), |ages| (ages.count, ages.bytes))
    }

    fn of(&self, place: u32) -> Option<&Ages> {
        self.ages.get((place as usize).checked_sub(1)?)
    }

    /// Returns the rows of the table, in its order. `frequency` is ticks per second, if the trace has times.
    pub fn rows(&self, frequency: Option<f64>) -> impl Iterator<Item = LifetimeRow> {
        self.types.iter().zip(0..).flat_map(move |(places, type_id)| {
            let known = places.iter().zip(0..).filter_map(|(&place, generation)| Some((self.of(place)?, generation)));
            known.map(move |(ages, generation)| LifetimeRow {
                type_id,
                generation,
                count: ages.count,
                bytes: ages.bytes,
                mean_age_gcs: ages.gcs as f64 / ages.count as f64,
                mean_age_seconds: frequency
                    .map_or(f64::NAN, |frequency| ages.ticks as f64 / ages.count as f64 / frequency),
                max_age_gcs: ages.most_gcs,
                padding: 0,
            })
        })
    }
}
