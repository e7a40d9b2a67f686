//! Containers of the Java library, with their entries and the spare bytes of their arrays; and buffers with memory
//! outside the heap.
//!
//! Fields of both are read while objects are linked ([`Containers`], [`ContainerWriter`]); the sizes of arrays are
//! known only after all objects ([`settle`]).

use super::big_endian::{id, u32_at};
use super::direct_buffers::DirectBuffers;
use super::layouts::{Position, Types};
use super::sizes::Sizes;
use super::value;
use crate::index::Find;
use heaplake_kit::access::{Size, per_node};
use heaplake_kit::array_plan::lookup;
use heaplake_kit::{ArrayPlan, BudgetVec, ColumnReader, ColumnWriter, Job, ReadAt, Scratch, StageError, StringTable};
use heaplake_schemas::containers::ContainerRow;
use heaplake_schemas::direct_buffers::{DIRECT_BUFFER, DirectBuffer};
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, STRINGS};

/// The columns that [`settle`] reads at random, for the array plan.
pub(crate) const ARRAYS: &[Size] = &[per_node::<u64>(), per_node::<u32>()];

/// Containers without spare bytes, which [`settle`] computes; the flags encode [`Kind::need`].
const FOUND: Column<ContainerRow> = Column::new("jvm.container");

/// Rule for the number of slots that some entries need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// One slot per entry.
    List,
    /// A power of two, filled to three quarters.
    Hash,
    /// Any number, filled to three quarters.
    OldHash,
    /// Two slots per element of a power of two, filled to two thirds.
    Identity,
}

const NEEDS: [Need; 4] = [Need::List, Need::Hash, Need::OldHash, Need::Identity];

impl Need {
    fn slots(self, entries: u64) -> u64 {
        match (self, entries) {
            (_, 0) => 0,
            (Self::List, _) => entries,
            (Self::Hash, _) => (entries.saturating_mul(4).div_ceil(3)).next_power_of_two(),
            (Self::OldHash, _) => entries.saturating_mul(4).div_ceil(3),
            (Self::Identity, _) => 2 * (entries.saturating_mul(3).div_ceil(2)).next_power_of_two(),
        }
    }
}

/// A class of the library; its subclasses are containers of the same kind.
struct Known {
    class: &'static str,
    /// The field of its array.
    array: &'static str,
    /// The field of its number of entries, if it has one, and the field's type.
    entries: Option<(&'static str, u8)>,
    need: Need,
}

const fn known(class: &'static str, array: &'static str, entries: &'static str, need: Need) -> Known {
    Known { class, array, entries: Some((entries, value::INT)), need }
}

const KNOWN: [Known; 11] = [
    known("java.util.ArrayList", "elementData", "size", Need::List),
    known("java.util.Vector", "elementData", "elementCount", Need::List),
    Known { class: "java.util.ArrayDeque", array: "elements", entries: None, need: Need::List },
    known("java.util.PriorityQueue", "queue", "size", Need::List),
    known("java.util.concurrent.PriorityBlockingQueue", "queue", "size", Need::List),
    known("java.util.concurrent.ArrayBlockingQueue", "items", "count", Need::List),
    known("java.util.HashMap", "table", "size", Need::Hash),
    known("java.util.WeakHashMap", "table", "size", Need::Hash),
    Known {
        class: "java.util.concurrent.ConcurrentHashMap",
        array: "table",
        // Entries that other threads added may be counted elsewhere.
        entries: Some(("baseCount", value::LONG)),
        need: Need::Hash,
    },
    known("java.util.Hashtable", "table", "count", Need::OldHash),
    known("java.util.IdentityHashMap", "table", "size", Need::Identity),
];

/// A class of containers.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Bytes of an instance of the class itself in the dump; a subclass stores its own fields before them.
    body: u32,
    /// Offset of its array.
    array: u32,
    /// Offset and width of its number of entries.
    entries: Option<(u32, usize)>,
    need: Need,
}

/// Marks a class that is no container, and a class of buffers.
const NONE: u8 = u8::MAX;
const BUFFER: u8 = NONE - 1;

/// The classes of containers and of buffers.
pub(crate) struct Containers {
    kinds: Vec<Kind>,
    buffers: Option<DirectBuffers>,
    /// Kind of each class.
    of: BudgetVec<u8>,
}

impl Containers {
    /// Finds the classes.
    pub(crate) fn find(types: &Types, job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let strings = StringTable::open(scratch, STRINGS)?;
        let mut of = context.budget.filled("classes of containers", types.descriptors.len(), NONE)?;
        let mut kinds = Vec::new();
        for Known { class, array, entries, need } in KNOWN {
            let Some(class) = types.named(class, &strings) else { continue };
            let field = |name: &str, kind: u8| types.own_field(class, name, kind, &strings).map(|(_, at)| (at, kind));
            let Some((array, _)) = field(array, value::OBJECT) else { continue };
            let entries = match entries {
                Some((name, kind)) => match field(name, kind) {
                    Some((at, kind)) => Some((at, value::width(kind, types.id_bytes).unwrap_or(0))),
                    // The fields differ from those of the known library.
                    None => continue,
                },
                None => None,
            };
            let below = types.extending(&[class], context)?;
            (0..below.len()).filter(|&class| below[class]).for_each(|class| of[class] = kinds.len() as u8);
            kinds.push(Kind { body: types.layout(class).body, array, entries, need });
        }
        let buffers = DirectBuffers::find(types, &strings);
        if let Some(buffers) = &buffers {
            let below = types.extending(&[buffers.class], context)?;
            (0..below.len()).filter(|&class| below[class]).for_each(|class| of[class] = BUFFER);
        }
        Ok(Self { kinds, buffers, of })
    }
}

/// Writes containers and buffers in the order of the dump.
pub(crate) struct ContainerWriter {
    containers: ColumnWriter<ContainerRow>,
    buffers: ColumnWriter<DirectBuffer>,
}

impl ContainerWriter {
    /// Creates the columns.
    pub(crate) fn create(scratch: &Scratch) -> Result<Self, StageError> {
        let containers = ColumnWriter::create(scratch, FOUND)?;
        Ok(Self { containers, buffers: ColumnWriter::create(scratch, DIRECT_BUFFER)? })
    }

    /// Adds an instance with its body, if its class is a container or a buffer.
    #[inline]
    pub(crate) fn instance<const ID: usize>(
        &mut self,
        containers: &Containers,
        class: Position,
        node: NodeId,
        body: &[u8],
        index: &mut impl Find,
    ) -> Result<(), StageError> {
        match containers.of[class] {
            NONE => Ok(()),
            BUFFER => {
                let row = containers.buffers.as_ref().and_then(|buffers| buffers.row::<ID>(node, body));
                row.map_or(Ok(()), |row| self.buffers.push(row))
            }
            kind => self.found::<ID>(&containers.kinds[usize::from(kind)], node, body, index),
        }
    }

    fn found<const ID: usize>(
        &mut self,
        kind: &Kind,
        node: NodeId,
        body: &[u8],
        index: &mut impl Find,
    ) -> Result<(), StageError> {
        // Only a damaged dump has instances shorter than their fields.
        let Some(body) = body.len().checked_sub(kind.body as usize).map(|own| &body[own..]) else { return Ok(()) };
        let address = id::<ID>(body, kind.array as usize);
        let store = if address == 0 { None } else { index.find(address)? };
        let entries = match kind.entries {
            Some((at, 8)) => {
                let (high, low) = (u32_at(body, at as usize), u32_at(body, at as usize + 4));
                if high == 0 { low } else { u32::MAX }
            }
            Some((at, _)) => u32_at(body, at as usize),
            None => 0,
        };
        // No container has a negative number of entries.
        let entries = if entries > i32::MAX as u32 { 0 } else { entries };
        let flags = NEEDS.iter().position(|&need| need == kind.need).unwrap_or(0) as u32;
        self.containers.push(ContainerRow {
            node: node.0,
            store: store.map_or(u32::MAX, |store| store.0),
            entries,
            flags,
            spare_bytes: 0,
        })
    }

    /// Completes the columns.
    pub(crate) fn finish(self) -> Result<(), StageError> {
        self.buffers.finish()?;
        self.containers.finish().map(drop)
    }
}

/// Computes the spare bytes of each container's array; returns the bytes spilled. Reads the arrays' sizes at random;
/// most are near.
pub(crate) fn settle(sizes: &Sizes, job: &Job<'_>) -> Result<u64, StageError> {
    let Job { scratch, context, .. } = *job;
    let mut found = ColumnReader::open(scratch, FOUND)?;
    let mut rows = ColumnWriter::create(scratch, columns::CONTAINER_ROW)?;
    let mut plan = ArrayPlan::of(job, "arrays of containers");
    let (mut shallow, mut edges) = plan.make((lookup(columns::NODE_SHALLOW), lookup(columns::NODE_EDGE_COUNT)))?;
    while let Some(mut row) = found.pop()? {
        let need = NEEDS[row.flags as usize % NEEDS.len()];
        row.flags = 0;
        if (row.store as usize) < shallow.count() {
            let size = shallow.get(row.store as usize)?;
            // One edge of an array leads to its class.
            row.entries = row.entries.max(edges.get(row.store as usize)?.saturating_sub(1));
            row.spare_bytes = size.saturating_sub(
                sizes.array(need.slots(row.entries.into()).saturating_mul(sizes.reference), sizes.reference),
            );
            if row.entries == 0 {
                row.spare_bytes = size;
            }
        }
        rows.push(row)?;
        context.check_every(1 << 16, rows.len())?;
    }
    rows.finish()?;
    scratch.discard(FOUND);
    Ok(plan.spilled_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_entries_need() {
        let of = |need: Need| [0, 1, 2, 3, 12, 13, 1000].map(|entries| need.slots(entries));
        assert_eq!(of(Need::List), [0, 1, 2, 3, 12, 13, 1000]);
        assert_eq!(of(Need::Hash), [0, 2, 4, 4, 16, 32, 2048]);
        assert_eq!(of(Need::OldHash), [0, 2, 3, 4, 16, 18, 1334]);
        assert_eq!(of(Need::Identity), [0, 4, 8, 16, 64, 64, 4096]);
    }
}
