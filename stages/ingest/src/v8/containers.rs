//! Stage `containers`: the containers of a V8 heap, and the entries of its weak maps.
//!
//! * Computes: the number of entries and the spare bytes of the backing store of each `Map`, `Set` and array, and of
//!   each object in dictionary mode or with elements. The file has no lengths, but it has the sizes of stores, with
//!   V8's known layouts, and the position of each object in a store. Small integers and holes are not in the file,
//!   unless numbers were captured: a container without visible entries is omitted, and numbers among objects are not
//!   counted. Also: table, key and value of each entry of a weak map.
//! * Resident memory: 14.2 bytes per node (offsets, kinds, names, sizes) and 5 per edge (kinds, names), and 16 per
//!   entry of a weak map ([`super::weak_entries`]), paged if they do not fit.
//! * Passes over disk: kinds and sizes of nodes twice, edges once; those of stores again, near the first time.
//! * Worst case: linear in the edges, and in those of stores for each container that they belong to.
//! * Fails when: the budget is too small.
//! * Determinism: one thread, order of the nodes.
//! * Reference: V8, `OrderedHashMap`, `OrderedHashSet`, `NameDictionary` and `NumberDictionary` for the layouts of
//!   stores.

use super::edges::{Edge, Edges};
use super::kinds::Kinds;
use super::names;
use super::snapshot::{DOCUMENT, Snapshot};
use super::weak_entries::WeakEntries;
use heaplake_kit::access::{column, document, per_edge, per_node, texts};
use heaplake_kit::array_plan::{lookup, offsets};
use heaplake_kit::{
    ArrayPlan, ColumnWriter, Job, Lookup, Offsets, ReadAt, Scratch, Stage, StageError, Stats, StringTable, open_all,
};
use heaplake_schemas::containers::{ContainerRow, flags};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, EdgeKind, STRING_HASH, STRINGS};

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "containers",
    version: 2,
    when: |setting| setting.findings(),
    reads: &[
        document(DOCUMENT),
        texts(STRINGS),
        column(STRING_HASH),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_ID),
        column(columns::NODE_SELF),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_NAME),
        column(columns::EDGE_TO),
        column(columns::PAIRED_EDGE),
        column(columns::PAIRED_PAIR),
    ],
    writes: &[column(columns::CONTAINER_ROW), column(columns::WEAK_ENTRY_ROW)],
    arrays: &[&[
        Offsets::SIZE,
        per_node::<u8>(),
        per_node::<StringId>(),
        per_node::<u64>(),
        per_edge::<u8>(),
        per_edge::<u32>(),
    ]],
    fixed: 8 << 20,
    shares: true,
    passes: "nodes twice, edges once",
    run,
    ..Stage::NEW
};

/// Slots of a store before its elements: its map and its length.
const HEAD: u64 = 2;
/// Slots of the table of a `Map` or `Set` before its buckets.
const TABLE_HEAD: u64 = 3;
/// Entries per bucket.
const LOAD: u64 = 2;
/// Slots of a dictionary before its entries, and slots per entry.
const DICTIONARY_HEADS: std::ops::RangeInclusive<u64> = 4..=7;
const DICTIONARY_ENTRY: u64 = 3;
/// Least slots of a store examined as a dictionary: smaller ones may be arrays of properties.
const LEAST_DICTIONARY: u64 = 30;
/// A sparse array has at most one in this many slots in use.
const SPARSE: u64 = 4;
/// Least slots of a sparse array.
const LEAST_SPARSE: u64 = 16;

/// Kind of a container's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Slots of an entry: key, value and link, or value and link.
    Table(u64),
    Elements,
    Properties,
}

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = &Snapshot::load(scratch)?;
    let nodes = snapshot.metadata.node_count;
    context.progress.begin(STAGE.name, nodes);
    let mut plan = ArrayPlan::of(job, STAGE.name);
    let mut finder = Finder::open(snapshot, &mut plan, scratch)?;
    let mut entries = WeakEntries::open(&mut plan, scratch)?;
    let mut rows = ColumnWriter::create(scratch, columns::CONTAINER_ROW)?;
    let (mut kinds, mut counts) = open_all(scratch, (columns::NODE_KIND, columns::NODE_EDGE_COUNT))?;
    let mut edges = Edges::open(scratch)?;
    for node in 0..nodes as u32 {
        let count = u64::from(counts.next()?);
        let mut seen = (Some(kinds.next()?) == finder.kinds.object).then(Seen::default);
        if seen.is_some() || entries.next < edges.position + count {
            for _ in 0..count {
                let is_entry = edges.position == entries.next;
                let edge = edges.next()?;
                if let Some(seen) = &mut seen {
                    finder.see(seen, edge)?;
                }
                if is_entry {
                    entries.meet(node, edge.to, edge.name, &finder.strings)?;
                }
            }
        } else {
            edges.skip(count)?;
        }
        if let Some(row) = seen.map(|seen| finder.judge(node, &seen)).transpose()?.flatten() {
            rows.push(row)?;
        }
        context.step_every(1 << 16, node)?;
    }
    let found = rows.finish()?;
    entries.write(scratch)?;
    Ok(Stats { rows: found, spilled_bytes: plan.spilled_bytes() })
}

/// Results of the pass over an object's edges.
#[derive(Default)]
struct Seen {
    store: Option<(Shape, NodeId)>,
    /// Number of elements, and one more than the last index.
    elements: u64,
    length: u64,
}

struct Finder {
    offsets: Offsets,
    kind_of: Lookup<u8>,
    names: Lookup<StringId>,
    sizes: Lookup<u64>,
    edge_kinds: Lookup<u8>,
    edge_names: Lookup<u32>,
    strings: StringTable,
    meanings: Vec<EdgeKind>,
    /// Bytes of a slot.
    slot: u64,
    /// Whether the file lacks numbers.
    unsure: bool,
    kinds: Kinds,
    map: StringId,
    set: StringId,
    js_array: StringId,
    table: u32,
    elements: u32,
    properties: u32,
}

impl Finder {
    fn open(snapshot: &Snapshot, plan: &mut ArrayPlan<'_>, scratch: &Scratch) -> Result<Self, StageError> {
        let header = &snapshot.header;
        let [map, set, js_array, table, elements, properties, smi] =
            names::find(scratch, ["Map", "Set", "Array", "table", "elements", "properties", "smi number"])?;
        let (slot, captured) = survey(snapshot, smi, scratch)?;
        let (offsets, kind_of, names, sizes, edge_kinds, edge_names) = plan.make((
            offsets(columns::NODE_EDGE_COUNT, columns::EDGE_TO),
            lookup(columns::NODE_KIND),
            lookup(columns::NODE_NAME),
            lookup(columns::NODE_SELF),
            lookup(columns::EDGE_KIND),
            lookup(columns::EDGE_NAME),
        ))?;
        Ok(Self {
            offsets,
            kind_of,
            names,
            sizes,
            edge_kinds,
            edge_names,
            strings: StringTable::open(scratch, STRINGS)?,
            meanings: snapshot.metadata.edge_kinds.clone(),
            slot,
            unsure: !captured,
            kinds: Kinds::of(header),
            map,
            set,
            js_array,
            table: table.0,
            elements: elements.0,
            properties: properties.0,
        })
    }

    #[inline]
    fn see(&mut self, seen: &mut Seen, edge: Edge) -> Result<(), StageError> {
        if Some(edge.kind) == self.kinds.element {
            seen.elements += 1;
            seen.length = seen.length.max(u64::from(edge.name) + 1);
        } else if Some(edge.kind) == self.kinds.internal {
            let shape = match edge.name {
                name if name == self.table => Shape::Table(0),
                name if name == self.elements => Shape::Elements,
                name if name == self.properties => Shape::Properties,
                _ => return Ok(()),
            };
            // An object with both elements and other properties counts for its elements.
            if !matches!(seen.store, Some((Shape::Elements | Shape::Table(_), _)))
                && Some(self.kind_of.get(edge.to.index())?) == self.kinds.array
            {
                seen.store = Some((shape, edge.to));
            }
        }
        Ok(())
    }

    fn judge(&mut self, node: u32, seen: &Seen) -> Result<Option<ContainerRow>, StageError> {
        let name = self.names.get(node as usize)?;
        let Some((shape, store)) = seen.store else {
            return Ok(Self::storeless(node, seen).filter(|_| name == self.js_array));
        };
        let size = self.sizes.get(store.index())?;
        let Some(slots) = (size / self.slot).checked_sub(HEAD).filter(|&slots| slots > 0) else { return Ok(None) };
        let found = match shape {
            Shape::Table(_) if name == self.map => self.table(slots, 3, store)?,
            Shape::Table(_) if name == self.set => self.table(slots, 2, store)?,
            Shape::Table(_) => None,
            Shape::Elements => elements(slots, seen.elements, seen.length, name == self.js_array),
            Shape::Properties => self.dictionary(slots, store)?,
        };
        let unsure = if self.unsure && shape != Shape::Properties { flags::UNSURE } else { 0 };
        Ok(found.filter(|found| found.entries > 0).map(|found| ContainerRow {
            node,
            store: store.0,
            entries: u32::try_from(found.entries).unwrap_or(u32::MAX),
            flags: unsure | if found.sparse { flags::SPARSE } else { 0 },
            spare_bytes: found.spare.saturating_mul(self.slot),
        }))
    }

    /// Returns the row of an array without a separate store node, as in JavaScriptCore: its bytes are unknown.
    fn storeless(node: u32, seen: &Seen) -> Option<ContainerRow> {
        let entries = u32::try_from(seen.elements).unwrap_or(u32::MAX);
        (entries > 0).then_some(ContainerRow {
            node,
            store: NodeId::NONE.0,
            entries,
            flags: flags::UNSURE,
            spare_bytes: 0,
        })
    }

    /// Examines the table of a `Map` or `Set` with entries of `entry` slots.
    fn table(&mut self, slots: u64, entry: u64, store: NodeId) -> Result<Option<Entries>, StageError> {
        let of_bucket = 1 + LOAD * entry;
        let Some(buckets) = slots.checked_sub(TABLE_HEAD).map(|slots| slots / of_bucket) else { return Ok(None) };
        if buckets * of_bucket + TABLE_HEAD != slots {
            return Ok(None);
        }
        let first = TABLE_HEAD + buckets;
        let (mut entries, mut last) = (0u64, u64::MAX);
        self.each_position(store, |position| {
            if let Some(number) = position.checked_sub(first).map(|position| position / entry)
                && number != last
            {
                (entries, last) = (entries + 1, number);
            }
        })?;
        let needed = entries.div_ceil(LOAD).next_power_of_two().max(2);
        Ok(Some(Entries { entries, spare: buckets.saturating_sub(needed) * of_bucket, sparse: false }))
    }

    /// Examines the store of an object as a dictionary, if it is one.
    fn dictionary(&mut self, slots: u64, store: NodeId) -> Result<Option<Entries>, StageError> {
        let room = |head: u64| slots.checked_sub(head).filter(|slots| slots.is_multiple_of(DICTIONARY_ENTRY));
        let mut rooms = DICTIONARY_HEADS.filter_map(room).map(|slots| slots / DICTIONARY_ENTRY);
        let Some(room) = rooms.find(|room| room.is_power_of_two()).filter(|_| slots >= LEAST_DICTIONARY) else {
            return Ok(None);
        };
        // A key and its value are adjacent.
        let (mut entries, mut last) = (0u64, u64::MAX);
        self.each_position(store, |position| {
            if last.checked_add(1) != Some(position) {
                entries += 1;
                last = position;
            } else {
                last = u64::MAX;
            }
        })?;
        let needed = (entries + entries / 2).next_power_of_two().max(4);
        Ok(Some(Entries { entries, spare: room.saturating_sub(needed) * DICTIONARY_ENTRY, sparse: false }))
    }

    /// Calls `each` with the positions of objects in a store, in the order of the file.
    fn each_position(&mut self, store: NodeId, mut each: impl FnMut(u64)) -> Result<(), StageError> {
        for at in self.offsets.range(store.index())? {
            let (kind, name) = (self.edge_kinds.get(at)?, self.edge_names.get(at)?);
            let position = match self.meanings.get(usize::from(kind)) {
                _ if Some(kind) == self.kinds.element => Some(u64::from(name)),
                Some(meaning) if Some(kind) == self.kinds.internal && !meaning.indexed => {
                    number(self.strings.get(name as usize))
                }
                _ => None,
            };
            if let Some(position) = position {
                each(position);
            }
        }
        Ok(())
    }
}

/// Visible entries of a container, its spare slots, and whether these lie between entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entries {
    entries: u64,
    spare: u64,
    sparse: bool,
}

/// Examines elements of an array or another object: `seen` of them below the index `length`.
fn elements(slots: u64, seen: u64, length: u64, is_array: bool) -> Option<Entries> {
    // Indices beyond the store mean a dictionary.
    if length > slots {
        return Some(Entries { entries: seen, spare: slots.saturating_sub(seen), sparse: true });
    }
    let sparse = length >= LEAST_SPARSE && seen.saturating_mul(SPARSE) <= length;
    let spare = if sparse { slots - seen } else { slots - length };
    (sparse || is_array).then_some(Entries { entries: if sparse { seen } else { length }, spare, sparse })
}

/// Returns the bytes of a slot, and whether the file has numbers.
fn survey(snapshot: &Snapshot, smi: StringId, scratch: &Scratch) -> Result<(u64, bool), StageError> {
    let Kinds { array, number, .. } = Kinds::of(&snapshot.header);
    let (mut kinds, mut sizes, mut names) =
        open_all(scratch, (columns::NODE_KIND, columns::NODE_SELF, columns::NODE_NAME))?;
    let (mut slot, mut captured) = (8, false);
    for _ in 0..snapshot.metadata.node_count {
        let (kind, size, name) = (Some(kinds.next()?), sizes.next()?, names.next()?);
        // With compressed pointers objects are aligned to four bytes.
        if kind == array && size % 8 == 4 {
            slot = 4;
        }
        captured |= kind == number && name == smi;
    }
    Ok((slot, captured))
}

/// Parses a decimal number.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 10 {
        return None;
    }
    text.iter().try_fold(0u64, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_by_what_is_seen_of_them() {
        let of = |slots, seen, length| elements(slots, seen, length, true);
        let found = |entries, spare, sparse| Some(Entries { entries, spare, sparse });
        // Full, then grown for more, then with few holes.
        assert_eq!(of(4, 4, 4), found(4, 0, false));
        assert_eq!(of(17, 1, 1), found(1, 16, false));
        assert_eq!(of(100, 60, 80), found(80, 20, false));
        // Far apart in an array, and in a dictionary.
        assert_eq!(of(1000, 1, 501), found(1, 999, true));
        assert_eq!(of(16, 1, 5001), found(1, 15, true));
        // Possibly only numbers.
        assert_eq!(of(100, 0, 0), found(0, 100, false));
        // No array, but an object with some elements.
        assert_eq!(elements(17, 1, 1, false), None);
    }

    #[test]
    fn numbers_in_names() {
        assert_eq!(number(b"17"), Some(17));
        for text in ["", "map", "1x", "-1", "99999999999"] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}
