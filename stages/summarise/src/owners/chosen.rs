//! The owners of a combined search, with a bit for each.

use super::rules::Code;
use bytemuck::Pod;
use heaplake_kit::{BudgetVec, Job, StageError};
use heaplake_schemas::scratch::Column;

/// Owners per combined search.
pub(super) const AT_ONCE: usize = 63;

/// Maximum number of owners with bits in a byte.
pub(super) const FEW: usize = 7;

/// One bit per owner, and one more.
pub(super) trait Word: Pod {
    /// Bit of nodes that wait for their edges to be followed, or before that, to be checked.
    const WAITS: u64;

    fn of(bits: u64) -> Self;

    fn bits(self) -> u64;
}

impl Word for u8 {
    const WAITS: u64 = 1 << FEW;

    #[inline]
    fn of(bits: u64) -> Self {
        bits as Self
    }

    #[inline]
    fn bits(self) -> u64 {
        self.into()
    }
}

impl Word for u64 {
    const WAITS: u64 = 1 << AT_ONCE;

    #[inline]
    fn of(bits: u64) -> Self {
        bits
    }

    #[inline]
    fn bits(self) -> u64 {
        self
    }
}

/// The chosen owners.
pub(super) struct Owners {
    pub count: usize,
    /// The bits of all chosen owners.
    pub all: u64,
    /// The bit of each owner by its number, 0 for owners that are not chosen; later owners are not chosen either.
    bits: BudgetVec<u64>,
    /// The owner of the node at each position of the preorder.
    pub at: Column<Code>,
}

/// Place of an owner that is not chosen.
pub(super) const NO_PLACE: u8 = u8::MAX;

impl Owners {
    /// Assigns bits to the chosen owners.
    pub(super) fn new(chosen: &[u32], at: Column<Code>, job: &Job<'_>) -> Result<Self, StageError> {
        let most = chosen.iter().max().map_or(0, |&most| most as usize + 1);
        let mut bits = job.context.budget.filled("owners: places", most, 0u64)?;
        chosen.iter().enumerate().for_each(|(place, &owner)| bits[owner as usize] = 1 << place);
        Ok(Self { count: chosen.len(), all: u64::MAX >> (u64::BITS as usize - chosen.len()), bits, at })
    }

    /// The bits of all owners except that of a node.
    #[inline]
    pub(super) fn others(&self, code: Code) -> u64 {
        let own = code.owner().and_then(|owner| self.bits[..].get(owner as usize));
        self.all & !own.map_or(0, |&own| own)
    }

    /// Place of the owner of a node among the chosen ones.
    pub(super) fn place(&self, code: Code) -> u8 {
        match self.all & !self.others(code) {
            0 => NO_PLACE,
            bit => bit.trailing_zeros() as u8,
        }
    }

    /// The bits of all owners except the one at a place.
    #[inline]
    pub(super) fn others_than(&self, place: u8) -> u64 {
        if place == NO_PLACE { self.all } else { self.all & !(1 << place) }
    }
}
