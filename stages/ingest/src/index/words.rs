//! Bitmap words of the index: the occupied places and the ordinals of their objects.

use super::places::Places;
use bytemuck::{Pod, Zeroable};
use heaplake_kit::array::Fault;
use heaplake_kit::{ColumnReader, Context, Job, ReadAt, Scratch, StageError, WriteAt};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch as columns;

/// log2 of the ordinals per bit of [`Mixed`].
const STRIDE: u32 = 10;

/// A group of 64 places.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Word {
    /// Occupied places.
    pub(super) bits: u64,
    /// Ordinal of the object at the lowest occupied place.
    first: u32,
    /// Start of the word's list of ordinals; [`IN_ORDER`] if its ordinals are consecutive.
    list: u32,
}

const IN_ORDER: u32 = u32::MAX;

/// Two objects have one address; holds the ordinal of the second.
pub(crate) struct Twice(pub NodeId);

impl Word {
    /// No objects.
    pub(super) const EMPTY: Self = Self { bits: 0, first: 0, list: IN_ORDER };

    /// Returns the object at a place.
    #[inline]
    pub(super) fn object(self, bit: u32, lists: &mut impl ReadAt<u32>) -> Result<Option<NodeId>, Fault> {
        let mask = 1 << bit;
        if self.bits & mask == 0 {
            return Ok(None);
        }
        let before = (self.bits & (mask - 1)).count_ones();
        let node =
            if self.list == IN_ORDER { self.first + before } else { lists.get((self.list + before) as usize)? };
        Ok(Some(NodeId(node)))
    }
}

/// Set of the stretches of ordinals that hold objects of words with a list.
pub(super) struct Mixed(Vec<u64>);

impl Mixed {
    fn new(nodes: u64) -> Self {
        // One bit per 1,024 objects: at most 512 KiB.
        Self(vec![0; (nodes >> STRIDE) as usize / 64 + 1])
    }

    fn add(&mut self, ordinal: u32) {
        let stretch = (ordinal >> STRIDE) as usize;
        self.0[stretch / 64] |= 1 << (stretch % 64);
    }

    fn contains(&self, ordinal: u32) -> bool {
        let stretch = (ordinal >> STRIDE) as usize;
        self.0[stretch / 64] >> (stretch % 64) & 1 == 1
    }
}

/// Sets the bits, and marks the words that need a list.
pub(super) fn fill(
    places: &Places,
    mut words: impl WriteAt<Word>,
    from: u32,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<Result<Mixed, Twice>, StageError> {
    let mut addresses = ColumnReader::open(scratch, columns::NODE_ID)?;
    let nodes = addresses.remaining();
    addresses.skip(u64::from(from))?;
    let mut mixed = Mixed::new(nodes);
    let mut last = (usize::MAX, 0);
    for ordinal in from..nodes as u32 {
        let address = addresses.next()?;
        let Some((at, bit)) = places.place(address) else { return Ok(Err(Twice(NodeId(ordinal)))) };
        let follows = last.0 == at && bit > last.1;
        let before = words.change(at, |word| {
            let before = *word;
            word.bits |= 1 << bit;
            if before.bits == 0 {
                word.first = ordinal;
            } else if !follows {
                word.list = 0;
            }
            before
        })?;
        if before.bits >> bit & 1 == 1 {
            return Ok(Err(Twice(NodeId(ordinal))));
        }
        if before.bits != 0 && (!follows || before.list != IN_ORDER) {
            mixed.add(ordinal);
            if before.list == IN_ORDER {
                mixed.add(before.first);
                mixed.add(before.first + before.bits.count_ones() - 1);
            }
        }
        last = (at, bit);
        context.check_every(1 << 16, ordinal)?;
    }
    Ok(Ok(mixed))
}

/// Assigns a part of the lists to every marked word; returns the total length.
pub(super) fn assign_lists(mut words: impl WriteAt<Word>, context: &Context<'_>) -> Result<usize, StageError> {
    let mut listed = 0;
    for at in 0..words.count() {
        let word = words.get(at)?;
        if word.list != IN_ORDER {
            words.set(at, Word { list: listed as u32, ..word })?;
            listed += word.bits.count_ones() as usize;
        }
        context.check_every(1 << 16, at)?;
    }
    Ok(listed)
}

/// Fills the lists of the marked words.
pub(super) fn fill_lists(
    places: &Places,
    mut words: impl ReadAt<Word>,
    mut lists: impl WriteAt<u32>,
    mixed: &Mixed,
    from: u32,
    job: &Job<'_>,
) -> Result<(), StageError> {
    let mut addresses = ColumnReader::open(job.scratch, columns::NODE_ID)?;
    let nodes = addresses.remaining() as u32;
    let mut ordinal = from;
    let mut skipped = u64::from(from);
    while ordinal < nodes {
        let end = ((ordinal >> STRIDE) + 1).checked_shl(STRIDE).unwrap_or(nodes).min(nodes);
        if !mixed.contains(ordinal) {
            skipped += u64::from(end - ordinal);
            ordinal = end;
            continue;
        }
        addresses.skip(std::mem::take(&mut skipped))?;
        while ordinal < end {
            if let Some((at, bit)) = places.place(addresses.next()?) {
                let word = words.get(at)?;
                if word.list != IN_ORDER {
                    let before = (word.bits & ((1 << bit) - 1)).count_ones();
                    lists.set((word.list + before) as usize, ordinal)?;
                }
            }
            ordinal += 1;
        }
        job.context.check()?;
    }
    Ok(())
}
