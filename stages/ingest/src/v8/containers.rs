//! Stage `containers`: the collections of a V8 heap, and the entries of its weak maps.
//!
//! * Computes: for each `Map`, `Set` and array, and each object that is used as a dictionary or has elements, how many
//!   entries it has and how much of its store they do not need. The file has no lengths, but it has the sizes of stores,
//!   which V8 lays out in a known way, and for each object in a store the position where it lies. Small integers and
//!   holes are not in the file, unless numbers were captured: a collection of which nothing is seen is left out, and one
//!   of objects and numbers counts as one of its objects. Also: table, key and value of each entry of a weak map.
//! * Reads: `node.{kind,name,id,self,edge_count}`, `edge.{kind,name,to}`, `paired.*`, strings at random.
//! * Writes: `container.row`, `weak_entry.row`.
//! * Resident memory: 17 bytes per node (offsets, kinds, names, sizes) and 5 per edge (kinds, names), where the budget
//!   allows, paged where not; 16 bytes per edge of a weak map's entry.
//! * Passes over disk: kinds and sizes of nodes twice, edges once; those of stores again, near the first time.
//! * Worst case: linear in the edges, and in those of stores for each collection that they belong to.
//! * Fails when: the budget is too small.
//! * Determinism: one thread, order of the nodes.
//! * Reference: V8, `OrderedHashMap`, `OrderedHashSet`, `NameDictionary` and `NumberDictionary` for how stores are laid
//!   out.

use super::{Snapshot, ephemerons, names};
use bytemuck::Zeroable;
use heaplake_kit::array::column_bytes;
use heaplake_kit::{
    ArrayPlan, Budget, BudgetVec, ColumnMap, ColumnReader, ColumnWriter, Context, Lookup, Offsets, ReadAt, Scratch,
    StageError, StageInfo, Stats, StringTable,
};
use heaplake_schemas::containers::{ContainerRow, WeakEntryRow, flags};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, EdgeKind, STRINGS};

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "containers",
    version: 1,
    bytes_per_node: 17,
    bytes_per_edge: 5,
    least_bits_per_node: 0,
    least_fixed: 8 << 20,
    scratch_per_node: 2,
    scratch_per_edge: 0,
    passes: "nodes twice, edges once",
};

/// Slots of a store before its elements: its map and its length.
const HEAD: u64 = 2;
/// Slots that a table of a `Map` or `Set` has before its buckets.
const TABLE_HEAD: u64 = 3;
/// Entries for each of its buckets.
const LOAD: u64 = 2;
/// Slots that a dictionary may have before its entries, and those of an entry.
const DICTIONARY_HEADS: std::ops::RangeInclusive<u64> = 4..=7;
const DICTIONARY_ENTRY: u64 = 3;
/// Slots of a store from which on an object's properties are looked at: below, they may lie in an array.
const LEAST_DICTIONARY: u64 = 30;
/// One of so many slots is seen, at most, in a sparse array.
const SPARSE: u64 = 4;
/// Slots from which on an array may be sparse.
const LEAST_SPARSE: u64 = 16;

/// What a collection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Slots of an entry: key, value and link, or value and link.
    Table(u64),
    Elements,
    Properties,
}

/// Finds them.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let snapshot = &Snapshot::load(scratch)?;
    let nodes = snapshot.facts.node_count;
    context.progress.begin(STAGE.name, nodes);
    let mut pairs = Pairs::open(&context.budget, scratch)?;
    let edge_bytes = [column_bytes(scratch, columns::EDGE_KIND), column_bytes(scratch, columns::EDGE_NAME)];
    let sizes = [Offsets::bytes(nodes), nodes, nodes * 4, nodes * 8, edge_bytes[0], edge_bytes[1]];
    let mut room = ArrayPlan::plan(&context.budget, scratch, STAGE.name, &sizes);
    let offsets = Offsets::load(&mut room, &context.budget, scratch, columns::NODE_EDGE_COUNT)?;
    let mut finder = Finder::open(snapshot, offsets, &mut room, scratch)?;
    let mut rows = ColumnWriter::create(scratch, columns::CONTAINER_ROW)?;
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut counts = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
    let mut edges = (
        ColumnReader::open(scratch, columns::EDGE_KIND)?,
        ColumnReader::open(scratch, columns::EDGE_NAME)?,
        ColumnReader::open(scratch, columns::EDGE_TO)?,
    );
    let mut position = 0u64;
    for node in 0..nodes as u32 {
        let count = u64::from(counts.next()?);
        let mut seen = (Some(kinds.next()?) == finder.object).then(Seen::default);
        if seen.is_some() || pairs.next < position + count {
            for position in position..position + count {
                let edge = Edge { kind: edges.0.next()?, name: edges.1.next()?, to: edges.2.next()? };
                if let Some(seen) = &mut seen {
                    finder.see(seen, edge)?;
                }
                pairs.see(position, node, edge)?;
            }
        } else {
            edges.0.skip(count)?;
            edges.1.skip(count)?;
            edges.2.skip(count)?;
        }
        position += count;
        if let Some(row) = seen.map(|seen| finder.judge(node, &seen)).transpose()?.flatten() {
            rows.push(row)?;
        }
        if node.is_multiple_of(1 << 16) && node > 0 {
            context.step(1 << 16)?;
        }
    }
    let found = rows.finish()?;
    pairs.write(&finder.strings, scratch)?;
    context.progress.end();
    Ok(Stats { rows: found, spilled_bytes: room.spilled_bytes() })
}

#[derive(Clone, Copy)]
struct Edge {
    kind: u8,
    name: u32,
    to: NodeId,
}

/// What is seen of an object on the way through its edges.
#[derive(Default)]
struct Seen {
    store: Option<(Shape, NodeId)>,
    /// Elements, and one more than the last one's index.
    elements: u64,
    length: u64,
}

struct Finder {
    offsets: Offsets,
    kinds: Lookup<u8>,
    names: Lookup<StringId>,
    sizes: Lookup<u64>,
    edge_kinds: Lookup<u8>,
    edge_names: Lookup<u32>,
    strings: StringTable,
    meanings: Vec<EdgeKind>,
    /// Bytes of a slot.
    slot: u64,
    /// Whether numbers are not in the file.
    unsure: bool,
    object: Option<u8>,
    array: Option<u8>,
    element: Option<u8>,
    internal: Option<u8>,
    map: StringId,
    set: StringId,
    js_array: StringId,
    table: u32,
    elements: u32,
    properties: u32,
}

impl Finder {
    fn open(
        snapshot: &Snapshot,
        offsets: Offsets,
        room: &mut ArrayPlan,
        scratch: &Scratch,
    ) -> Result<Self, StageError> {
        let header = &snapshot.header;
        let ids = names::find(scratch, &["Map", "Set", "Array", "table", "elements", "properties", "smi number"])?;
        let (slot, captured) = survey(snapshot, ids[6], scratch)?;
        Ok(Self {
            offsets,
            kinds: room.lookup(columns::NODE_KIND)?,
            names: room.lookup(columns::NODE_NAME)?,
            sizes: room.lookup(columns::NODE_SELF)?,
            edge_kinds: room.lookup(columns::EDGE_KIND)?,
            edge_names: room.lookup(columns::EDGE_NAME)?,
            strings: StringTable::open(scratch, STRINGS)?,
            meanings: snapshot.facts.edge_kinds.clone(),
            slot,
            unsure: !captured,
            object: header.node_type("object"),
            array: header.node_type("array"),
            element: header.edge_type("element"),
            internal: header.edge_type("internal"),
            map: ids[0],
            set: ids[1],
            js_array: ids[2],
            table: ids[3].0,
            elements: ids[4].0,
            properties: ids[5].0,
        })
    }

    #[inline]
    fn see(&mut self, seen: &mut Seen, edge: Edge) -> Result<(), StageError> {
        if Some(edge.kind) == self.element {
            seen.elements += 1;
            seen.length = seen.length.max(u64::from(edge.name) + 1);
        } else if Some(edge.kind) == self.internal {
            let shape = match edge.name {
                name if name == self.table => Shape::Table(0),
                name if name == self.elements => Shape::Elements,
                name if name == self.properties => Shape::Properties,
                _ => return Ok(()),
            };
            // An object with both elements and other properties counts for its elements.
            if !matches!(seen.store, Some((Shape::Elements | Shape::Table(_), _)))
                && Some(self.kinds.get(edge.to.index())?) == self.array
            {
                seen.store = Some((shape, edge.to));
            }
        }
        Ok(())
    }

    fn judge(&mut self, node: u32, seen: &Seen) -> Result<Option<ContainerRow>, StageError> {
        let Some((shape, store)) = seen.store else { return Ok(None) };
        let size = self.sizes.get(store.index())?;
        let Some(slots) = (size / self.slot).checked_sub(HEAD).filter(|&slots| slots > 0) else { return Ok(None) };
        let name = self.names.get(node as usize)?;
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

    /// The table of a `Map` or `Set`, whose entries have so many slots.
    fn table(&mut self, slots: u64, entry: u64, store: NodeId) -> Result<Option<Found>, StageError> {
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
        Ok(Some(Found { entries, spare: buckets.saturating_sub(needed) * of_bucket, sparse: false }))
    }

    /// The dictionary of an object, if it is one.
    fn dictionary(&mut self, slots: u64, store: NodeId) -> Result<Option<Found>, StageError> {
        let room = |head: u64| slots.checked_sub(head).filter(|slots| slots.is_multiple_of(DICTIONARY_ENTRY));
        let mut rooms = DICTIONARY_HEADS.filter_map(room).map(|slots| slots / DICTIONARY_ENTRY);
        let Some(room) = rooms.find(|room| room.is_power_of_two()).filter(|_| slots >= LEAST_DICTIONARY) else {
            return Ok(None);
        };
        // A key and its value lie side by side.
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
        Ok(Some(Found { entries, spare: room.saturating_sub(needed) * DICTIONARY_ENTRY, sparse: false }))
    }

    /// Shows the positions in a store at which objects lie, in the order of the file.
    fn each_position(&mut self, store: NodeId, mut each: impl FnMut(u64)) -> Result<(), StageError> {
        for at in self.offsets.range(store.index())? {
            let (kind, name) = (self.edge_kinds.get(at)?, self.edge_names.get(at)?);
            let position = match self.meanings.get(usize::from(kind)) {
                _ if Some(kind) == self.element => Some(u64::from(name)),
                Some(meaning) if Some(kind) == self.internal && !meaning.indexed => {
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

/// What was found of a collection: entries that are seen, slots that they do not need, and whether those lie in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    entries: u64,
    spare: u64,
    sparse: bool,
}

/// The elements of an array, or of another object that has such: so many of them are seen, below an index.
fn elements(slots: u64, seen: u64, length: u64, is_array: bool) -> Option<Found> {
    // Indices beyond the store lie in a dictionary.
    if length > slots {
        return Some(Found { entries: seen, spare: slots.saturating_sub(seen), sparse: true });
    }
    let sparse = length >= LEAST_SPARSE && seen.saturating_mul(SPARSE) <= length;
    let spare = if sparse { slots - seen } else { slots - length };
    (sparse || is_array).then_some(Found { entries: if sparse { seen } else { length }, spare, sparse })
}

/// Bytes of a slot, and whether numbers are in the file.
fn survey(snapshot: &Snapshot, smi: StringId, scratch: &Scratch) -> Result<(u64, bool), StageError> {
    let (array, number) = (snapshot.header.node_type("array"), snapshot.header.node_type("number"));
    let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut sizes = ColumnReader::open(scratch, columns::NODE_SELF)?;
    let mut names = ColumnReader::open(scratch, columns::NODE_NAME)?;
    let (mut slot, mut captured) = (8, false);
    for _ in 0..snapshot.facts.node_count {
        let (kind, size, name) = (Some(kinds.next()?), sizes.next()?, names.next()?);
        // Where pointers are compressed, objects are aligned to four bytes.
        if kind == array && size % 8 == 4 {
            slot = 4;
        }
        captured |= kind == number && name == smi;
    }
    Ok((slot, captured))
}

/// The number that a text is.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 10 {
        return None;
    }
    text.iter().try_fold(0u64, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0')))
}

/// The edges to values of weak maps, of which two make an entry.
struct Pairs {
    positions: ColumnReader<u64>,
    pairs: ColumnReader<u32>,
    next: u64,
    /// Those that were met, and how many these are.
    found: BudgetVec<PairEdge>,
    count: usize,
}

/// One of them, by pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Zeroable)]
struct PairEdge {
    pair: u32,
    from: u32,
    to: u32,
    name: u32,
}

impl Pairs {
    fn open(budget: &Budget, scratch: &Scratch) -> Result<Self, StageError> {
        let positions = ColumnReader::open(scratch, columns::PAIRED_EDGE)?;
        let mut pairs = Self {
            found: budget.zeroed("containers: entries of weak maps", positions.remaining() as usize)?,
            positions,
            pairs: ColumnReader::open(scratch, columns::PAIRED_PAIR)?,
            next: u64::MAX,
            count: 0,
        };
        pairs.advance()?;
        Ok(pairs)
    }

    fn advance(&mut self) -> Result<(), StageError> {
        self.next = if self.positions.remaining() > 0 { self.positions.next()? } else { u64::MAX };
        Ok(())
    }

    #[inline]
    fn see(&mut self, position: u64, from: u32, edge: Edge) -> Result<(), StageError> {
        if position == self.next {
            self.found[self.count] = PairEdge { pair: self.pairs.next()?, from, to: edge.to.0, name: edge.name };
            self.count += 1;
            self.advance()?;
        }
        Ok(())
    }

    /// Writes the entries of which both edges are there, by table, key and value.
    fn write(mut self, strings: &StringTable, scratch: &Scratch) -> Result<(), StageError> {
        let found = &mut self.found[..self.count];
        found.sort_unstable();
        let ids = ColumnMap::open(scratch, columns::NODE_ID, None)?;
        let table = |edge: &PairEdge| {
            let table = ephemerons::parse(strings.get(edge.name as usize)).map(|ephemeron| ephemeron.table);
            table == Some(ids[edge.from as usize])
        };
        let mut column = ColumnWriter::create(scratch, columns::WEAK_ENTRY_ROW)?;
        for pair in found.chunk_by(|a, b| a.pair == b.pair) {
            if let [one, other] = pair
                && one.to == other.to
                && table(one) != table(other)
            {
                let (map, key) = if table(one) { (one, other) } else { (other, one) };
                column.push(WeakEntryRow { table: map.from, key: key.from, value: map.to })?;
            }
        }
        column.finish().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_by_what_is_seen_of_them() {
        let of = |slots, seen, length| elements(slots, seen, length, true);
        let found = |entries, spare, sparse| Some(Found { entries, spare, sparse });
        // Full, then grown for more, then with few holes.
        assert_eq!(of(4, 4, 4), found(4, 0, false));
        assert_eq!(of(17, 1, 1), found(1, 16, false));
        assert_eq!(of(100, 60, 80), found(80, 20, false));
        // Far apart in an array, and in a dictionary.
        assert_eq!(of(1000, 1, 501), found(1, 999, true));
        assert_eq!(of(16, 1, 5001), found(1, 15, true));
        // Nothing but numbers, perhaps.
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
