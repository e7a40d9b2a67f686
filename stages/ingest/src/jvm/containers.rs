//! Collections of the Java library: how many entries each has, and how much of its array they do not need.
//!
//! While objects are linked, the fields of collections are at hand ([`Containers`], [`Writer`]); the sizes of their arrays
//! are known when all objects are ([`settle`]).

use super::classes::{Classes, Position};
use super::records::{id, u32_at, value};
use super::sizes::Sizes;
use crate::index::{Index, Word};
use heaplake_kit::array::column_bytes;
use heaplake_kit::{
    ArrayPlan, BudgetVec, ColumnReader, ColumnWriter, Context, ReadAt, Scratch, StageError, StringTable,
};
use heaplake_schemas::containers::ContainerRow;
use heaplake_schemas::ids::NodeId;
use heaplake_schemas::scratch::{self as columns, Column, STRINGS};

/// Collections whose arrays were not looked at yet: the spare bytes are those of none, the flags say what [`Kind::need`]
/// is.
const FOUND: Column<ContainerRow> = Column::new("jvm.container");

/// How many slots so many entries need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// As many.
    List,
    /// A power of two, filled to three quarters.
    Hash,
    /// Any number, filled to three quarters.
    OldHash,
    /// Two for each of a power of two of entries, filled to two thirds.
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

/// A class of the library. What extends it is a collection of the same kind.
struct Known {
    class: &'static str,
    /// The field of its array.
    array: &'static str,
    /// That of its number of entries, where that is in one, and its type.
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
        // What other threads have added may be counted elsewhere.
        entries: Some(("baseCount", value::LONG)),
        need: Need::Hash,
    },
    known("java.util.Hashtable", "table", "count", Need::OldHash),
    known("java.util.IdentityHashMap", "table", "size", Need::Identity),
];

/// A class of collections.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Bytes of an instance of the class itself in the dump; what extends it has its own fields before them.
    body: u32,
    /// Where its array lies there.
    array: u32,
    /// Where its number of entries lies there, and how many bytes that has.
    entries: Option<(u32, usize)>,
    need: Need,
}

/// A class that is no collection.
const NONE: u8 = u8::MAX;

/// Which classes are collections.
pub struct Containers {
    kinds: Vec<Kind>,
    /// By class.
    of: BudgetVec<u8>,
}

impl Containers {
    /// Finds them.
    ///
    /// # Errors
    /// [`StageError::Io`], [`StageError::Budget`].
    pub fn find(
        classes: &Classes,
        id_bytes: usize,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<Self, StageError> {
        let strings = StringTable::open(scratch, STRINGS)?;
        let mut of = context.budget.filled("classes of collections", classes.classes.len(), NONE)?;
        let mut kinds = Vec::new();
        for Known { class, array, entries, need } in KNOWN {
            let Some(class) = classes.named(class, &strings) else { continue };
            let field = |name: &str, kind: u8| {
                classes.own_field(class, name, kind, id_bytes, &strings).map(|(_, at)| (at, kind))
            };
            let Some((array, _)) = field(array, value::OBJECT) else { continue };
            let entries = match entries {
                Some((name, kind)) => match field(name, kind) {
                    Some((at, kind)) => Some((at, value::width(kind, id_bytes).unwrap_or(0))),
                    // Another library than the one that is known here.
                    None => continue,
                },
                None => None,
            };
            let below = classes.extending(&[class], context)?;
            (0..below.len()).filter(|&class| below[class]).for_each(|class| of[class] = kinds.len() as u8);
            kinds.push(Kind { body: classes.layout(class).body, array, entries, need });
        }
        Ok(Self { kinds, of })
    }

    #[inline]
    fn kind(&self, class: Position) -> Option<&Kind> {
        self.kinds.get(usize::from(self.of[class]))
    }
}

/// Takes collections down as they come.
pub struct Writer(ColumnWriter<ContainerRow>);

impl Writer {
    /// None yet.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn create(scratch: &Scratch) -> Result<Self, StageError> {
        ColumnWriter::create(scratch, FOUND).map(Self)
    }

    /// An instance of a class, which may be no collection, with its fields as they lie in the dump.
    ///
    /// # Errors
    /// [`StageError::Io`].
    #[inline]
    pub fn instance<const ID: usize>(
        &mut self,
        containers: &Containers,
        class: Position,
        node: NodeId,
        body: &[u8],
        index: &mut Index<impl ReadAt<Word>, impl ReadAt<u32>>,
    ) -> Result<(), StageError> {
        match containers.kind(class) {
            Some(kind) => self.found::<ID>(kind, node, body, index),
            None => Ok(()),
        }
    }

    fn found<const ID: usize>(
        &mut self,
        kind: &Kind,
        node: NodeId,
        body: &[u8],
        index: &mut Index<impl ReadAt<Word>, impl ReadAt<u32>>,
    ) -> Result<(), StageError> {
        // Only a damaged dump has instances that are too short for their fields.
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
        // Numbers below zero are what no collection has.
        let entries = if entries > i32::MAX as u32 { 0 } else { entries };
        let flags = NEEDS.iter().position(|&need| need == kind.need).unwrap_or(0) as u32;
        self.0.push(ContainerRow {
            node: node.0,
            store: store.map_or(u32::MAX, |store| store.0),
            entries,
            flags,
            spare_bytes: 0,
        })
    }

    /// Ends the column.
    ///
    /// # Errors
    /// [`StageError::Io`].
    pub fn finish(self) -> Result<(), StageError> {
        self.0.finish().map(drop)
    }
}

/// Says of all collections how much of their arrays is spare. Reads the arrays' sizes at random; most lie near.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Cancelled`].
pub fn settle(sizes: &Sizes, scratch: &Scratch, context: &Context<'_>) -> Result<(), StageError> {
    let mut found = ColumnReader::open(scratch, FOUND)?;
    let mut rows = ColumnWriter::create(scratch, columns::CONTAINER_ROW)?;
    let sizes_of = [column_bytes(scratch, columns::NODE_SHALLOW), column_bytes(scratch, columns::NODE_EDGE_COUNT)];
    let mut room = ArrayPlan::plan(&context.budget, scratch, "arrays of collections", &sizes_of);
    let mut shallow = room.lookup(columns::NODE_SHALLOW)?;
    let mut edges = room.lookup(columns::NODE_EDGE_COUNT)?;
    while found.remaining() > 0 {
        let mut row = found.next()?;
        let need = NEEDS[row.flags as usize % NEEDS.len()];
        row.flags = 0;
        if (row.store as usize) < shallow.count() {
            let size = shallow.get(row.store as usize)?;
            // One edge of an array leads to its class.
            row.entries = row.entries.max(edges.get(row.store as usize)?.saturating_sub(1));
            row.spare_bytes =
                size.saturating_sub(sizes.array(need.slots(row.entries.into()).saturating_mul(sizes.reference)));
            if row.entries == 0 {
                row.spare_bytes = size;
            }
        }
        rows.push(row)?;
        if rows.len().is_multiple_of(1 << 16) {
            context.check()?;
        }
    }
    rows.finish()?;
    scratch.discard(FOUND);
    Ok(())
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
