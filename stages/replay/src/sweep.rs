//! Objects, and what a garbage collection makes of each: it stays, moves or dies.

use heaplake_kit::StageError;

/// An object that is alive, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Where it is.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// When it was allocated, in ticks of the trace.
    pub born_at: u64,
    /// Number of collections before its allocation.
    pub born: u32,
    /// Its type.
    pub type_id: u32,
    /// Where its deaths are counted by site; `u32::MAX` until it is known.
    pub cell: u32,
    /// How often its address changed.
    pub moves: u32,
    /// Its number among all allocations.
    pub serial: u64,
}

/// A range of addresses that a collection condemns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condemned {
    /// First address.
    pub start: u64,
    /// Address behind the last.
    pub end: u64,
    /// Generation of the objects in it.
    pub generation: u8,
}

/// A range of objects that survive a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survival {
    /// Address before.
    pub from: u64,
    /// Bytes.
    pub length: u64,
    /// Address after; the same where they stay.
    pub to: u64,
}

/// What a collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Objects that live on.
    pub survived: u64,
    /// Objects whose address changed.
    pub moved: u64,
    /// Their sizes, bytes.
    pub moved_bytes: u64,
    /// Objects that died.
    pub dead: u64,
    /// Their sizes, bytes.
    pub dead_bytes: u64,
    /// Objects that another one was moved onto: they are taken out.
    pub overrun: u64,
    /// Of those that live on, objects whose number is less than that of [`Pass::older`].
    pub older: u64,
}

/// What a garbage collection does.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// Condemned ranges, in order, apart from each other.
    pub condemned: &'a [Condemned],
    /// What survives of them, likewise.
    pub survivals: &'a [Survival],
    /// Objects whose number is this or greater are left alone: they are younger than what was reported.
    pub before: u64,
    /// Objects with lesser numbers were there when the collection began.
    pub older: u64,
    /// Whether an object survives only if all its bytes do: where it does not, another one lies there.
    pub whole: bool,
}

impl<'a> Pass<'a> {
    /// A collection that stops the program.
    #[must_use]
    pub fn stopped(condemned: &'a [Condemned], survivals: &'a [Survival]) -> Self {
        Self { condemned, survivals, before: u64::MAX, older: 0, whole: false }
    }
}

/// The pass of a garbage collection over the pages, in order of address.
pub struct Sweep<'a> {
    /// Its ranges are those that do not end before the objects that come.
    pass: Pass<'a>,
    /// What it did so far.
    pub done: Collected,
}

/// What becomes of an object.
enum Fate {
    Stays,
    Moves(u64),
    /// With the generation that it was in.
    Dies(u8),
}

impl<'a> Sweep<'a> {
    /// Before the first object.
    #[must_use]
    pub fn new(pass: Pass<'a>) -> Self {
        Self { pass, done: Collected::default() }
    }

    /// Removes from a page the objects that die and those that move; the latter go to `arrivals`, which has the
    /// capacity.
    ///
    /// # Errors
    /// Those of `died`.
    pub fn page(
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
