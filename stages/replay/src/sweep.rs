//! Objects, and their fate in a garbage collection: stay, move or die.

use heaplake_kit::StageError;

/// An object that is not known to be dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Allocation time, in ticks of the trace.
    pub born_at: u64,
    /// Collections before its allocation.
    pub born: u32,
    /// Its type.
    pub type_id: u32,
    /// Its cell for deaths by site; `u32::MAX` until known.
    pub cell: u32,
    /// Number of address changes.
    pub moves: u32,
    /// Its number among all allocations.
    pub serial: u64,
}

/// A condemned range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condemned {
    /// First address.
    pub start: u64,
    /// Exclusive end.
    pub end: u64,
    /// Generation of the objects in it.
    pub generation: u8,
}

/// A range of surviving objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survival {
    /// Address before.
    pub from: u64,
    /// Bytes.
    pub length: u64,
    /// Address after; equal if they stay.
    pub to: u64,
}

/// Effects of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Surviving objects.
    pub survived: u64,
    /// Objects whose address changed.
    pub moved: u64,
    /// Their sizes, bytes.
    pub moved_bytes: u64,
    /// Objects that died.
    pub dead: u64,
    /// Their sizes, bytes.
    pub dead_bytes: u64,
    /// Objects removed because another one was moved onto them.
    pub overrun: u64,
    /// Survivors with numbers below [`Pass::older`].
    pub older: u64,
}

/// Input of a garbage collection.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// Condemned ranges, sorted and disjoint.
    pub condemned: &'a [Condemned],
    /// Survivors, likewise.
    pub survivals: &'a [Survival],
    /// Objects from this number on are ignored: they are younger than the report.
    pub before: u64,
    /// Objects below this number existed when the collection began.
    pub older: u64,
    /// Whether an object survives only if all its bytes do: otherwise another object covers it.
    pub whole: bool,
}

impl<'a> Pass<'a> {
    /// Returns the pass of a collection that stops the program.
    pub fn stopped(condemned: &'a [Condemned], survivals: &'a [Survival]) -> Self {
        Self { condemned, survivals, before: u64::MAX, older: 0, whole: false }
    }
}

/// A garbage collection's pass over the pages, in order of address.
pub(crate) struct Sweep<'a> {
    /// Its ranges shrink to those that do not end before the next object.
    pass: Pass<'a>,
    /// Effects so far.
    pub done: Collected,
}

/// Fate of an object.
enum Fate {
    Stays,
    Moves(u64),
    /// With its generation.
    Dies(u8),
}

impl<'a> Sweep<'a> {
    /// Starts a pass.
    pub(crate) fn new(pass: Pass<'a>) -> Self {
        Self { pass, done: Collected::default() }
    }

    /// Removes from a page the objects that die and those that move; the latter go to `arrivals`, which has the
    /// capacity.
    pub(crate) fn page(
        &mut self,
        page: &mut Vec<Object>,
        arrivals: &mut Vec<Object>,
        died: &mut impl FnMut(&Object, u8) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let mut result = Ok(());
        page.retain_mut(|object| match self.fate(object) {
            Fate::Stays => true,
            Fate::Moves(address) => {
                arrivals.push(Object { address, moves: object.moves.saturating_add(1), ..*object });
                false
            }
            Fate::Dies(generation) => {
                if result.is_ok() {
                    result = died(object, generation);
                }
                false
            }
        });
        result
    }

    #[inline]
    fn fate(&mut self, object: &Object) -> Fate {
        let &Object { address, bytes, serial, .. } = object;
        let Pass { condemned, survivals, before, older, whole } = &mut self.pass;
        while let [range, rest @ ..] = condemned
            && range.end <= address
        {
            *condemned = rest;
        }
        let Some(place) = condemned.first().filter(|range| range.start <= address && serial < *before) else {
            return Fate::Stays;
        };
        while let [range, rest @ ..] = survivals
            && range.from + range.length <= address
        {
            *survivals = rest;
        }
        let found = survivals.first().filter(|range| range.from <= address);
        let Some(found) = found.filter(|range| !*whole || range.from + range.length - address >= bytes) else {
            self.done.dead += 1;
            self.done.dead_bytes = self.done.dead_bytes.wrapping_add(bytes);
            return Fate::Dies(place.generation);
        };
        self.done.survived += 1;
        self.done.older += u64::from(serial < *older);
        if found.from == found.to {
            return Fate::Stays;
        }
        self.done.moved += 1;
        self.done.moved_bytes = self.done.moved_bytes.wrapping_add(bytes);
        Fate::Moves(found.to + (address - found.from))
    }
}
