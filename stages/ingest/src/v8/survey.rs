//! Survey of all nodes before [`super::equality`] compares any.
//!
//! A snapshot does not state an object's type in the engine. But it has V8's maps (hidden classes): each refers to the
//! map that it was derived from (`back_pointer`) or to the function that created its objects (`constructor`). That
//! function is listed in the native context, or refers to its script, or is another function of the engine. A class
//! derived from a class of the engine has the engine's function here.
//!
//! * Resident memory: a bit per node; 5 bytes per node while edges are read, paged if they do not fit.
//! * Passes over disk: nodes once; if numbers were captured, nodes and edges once more.
//! * Worst case: linear.

use super::edges::{Edge, Edges};
use super::kinds::Kinds;
use super::names;
use super::repair::NAMELESS;
use super::salvage::UNKNOWN;
use super::snapshot::Snapshot;
use heaplake_kit::array_plan::filled;
use heaplake_kit::{
    Array, ArrayPlan, Bitset, ColumnReader, Job, ReadAt, Scratch, StageError, StringTable, WriteAt, open_all,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, Column, Per};

/// [`traits`] of each node; temporary.
pub const TRAITS: Column<u8> = Column::of("equality.traits", Per::Node);

/// Bits of [`TRAITS`].
pub mod traits {
    /// Of a map or function: mask for the type of its objects, one of those below.
    pub const CREATOR: u8 = 7;
    /// Objects of the engine or the embedder.
    pub const UNKNOWN: u8 = 0;
    /// Objects with properties and elements only.
    pub const PLAIN: u8 = 1;
    /// Arrays.
    pub const ARRAY: u8 = 2;
    /// `Map`s.
    pub const MAP: u8 = 3;
    /// `Set`s.
    pub const SET: u8 = 4;
    /// Of a map: it describes the properties of its objects, so these are no dictionaries.
    pub const DESCRIBED: u8 = 8;
    /// Of an object: the file has an element for each slot of its store. Of a map: its objects are packed.
    pub const COMPLETE: u8 = 16;
    /// Of an array: the file omits some slots.
    pub const PARTIAL: u8 = 32;
    /// Of an array: the file has all keys and values, if it is the table of a `Map` or `Set`.
    pub const FULL_TABLE: u8 = 64;
    /// Of a string's map: one byte per character.
    pub const ONE_BYTE: u8 = 128;
    /// Of a string's map: two bytes per character. Shares the bit of tables, since maps are no tables.
    pub const TWO_BYTE: u8 = FULL_TABLE;
}

/// Types of the functions and maps in a native context, by the name of the edge. Errors have only properties.
const LISTED: [(&str, u8); 14] = [
    ("object_function", traits::PLAIN),
    ("error_function", traits::PLAIN),
    ("aggregate_error_function", traits::PLAIN),
    ("eval_error_function", traits::PLAIN),
    ("range_error_function", traits::PLAIN),
    ("reference_error_function", traits::PLAIN),
    ("syntax_error_function", traits::PLAIN),
    ("type_error_function", traits::PLAIN),
    ("uri_error_function", traits::PLAIN),
    ("suppressed_error_function", traits::PLAIN),
    ("array_function", traits::ARRAY),
    ("js_map_fun", traits::MAP),
    ("js_set_fun", traits::SET),
    ("js_array_packed_elements_map", traits::COMPLETE),
];

/// Names of the edges that matter.
const EDGES: [&str; 7] =
    ["elements", "shared", "back_pointer", "constructor", "descriptors", "script", "script_or_debug_info"];

/// No link.
const NONE: u32 = u32::MAX;

/// Node kinds compared by identity.
const OPAQUE: [&str; 8] = ["hidden", "code", "object shape", "native", "symbol", "closure", "synthetic", UNKNOWN];
/// Node kinds of texts.
pub const TEXT: [&str; 3] = ["string", "concatenated string", "sliced string"];

/// Result of the survey besides [`TRAITS`].
pub struct Survey {
    /// Nodes compared by identity.
    pub opaque: Bitset,
    /// Whether the file has the values of numbers.
    pub captured: bool,
    /// Bytes of a slot.
    pub slot: u64,
}

impl Survey {
    /// Visits all nodes, and writes [`TRAITS`].
    pub fn take(snapshot: &Snapshot, strings: &StringTable, job: &Job<'_>) -> Result<Self, StageError> {
        let Job { scratch, context, .. } = *job;
        let nodes = snapshot.metadata.node_count as usize;
        let mut opaque = Bitset::new(&context.budget, "nodes compared by identity", nodes)?;
        let mut plan = ArrayPlan::of(job, "equality: survey");
        let (mut found, mut link) = plan.make((filled(nodes, 0u8), filled(nodes, NONE)))?;
        let rules = Rules::new(snapshot, scratch)?;
        let (slot, captured) = rules.nodes(strings, &mut opaque, (&mut found, &mut link), job)?;
        if captured {
            let mut edges = EdgePass { rules: &rules, strings, slot, traits: &mut found, link: &mut link };
            edges.read(&opaque, job)?;
            rules.forget_sizes(&mut link, scratch)?;
            resolve(nodes, &mut found, &mut link, job)?;
        }
        drop(link);
        found.write_to(scratch, TRAITS)?;
        Ok(Self { opaque, captured, slot })
    }
}

/// Kinds and names that matter here.
struct Rules {
    opaque: Vec<bool>,
    text: Vec<bool>,
    kinds: Kinds,
    smi: StringId,
    context: StringId,
    /// Placeholder of missing names in a damaged file: nodes with it are compared by identity.
    nameless: StringId,
    /// Ids of the names in [`LISTED`] and [`EDGES`].
    listed: Vec<StringId>,
    edges: Vec<StringId>,
}

impl Rules {
    fn new(snapshot: &Snapshot, scratch: &Scratch) -> Result<Self, StageError> {
        let header = &snapshot.header;
        let of = |names: &[&str]| header.node_types.iter().map(|name| names.contains(&name.as_str())).collect();
        let own = ["smi number", "system / NativeContext"].into_iter();
        let wanted: Vec<&str> = own.chain([NAMELESS]).chain(LISTED.map(|(name, _)| name)).chain(EDGES).collect();
        let ids = names::find_all(scratch, &wanted)?;
        let (listed, edges) = ids[3..].split_at(LISTED.len());
        Ok(Self {
            opaque: of(&OPAQUE),
            text: of(&TEXT),
            kinds: Kinds::of(header),
            smi: ids[0],
            context: ids[1],
            nameless: if snapshot.metadata.partial.is_some() { ids[2] } else { StringId::NONE },
            listed: listed.to_vec(),
            edges: edges.to_vec(),
        })
    }

    /// Reads the nodes: marks those compared by identity and maps of strings with their encoding, and stores the size
    /// of each array, in units of four bytes, as its link. Returns the bytes of a slot, and whether the file has the
    /// values of numbers.
    fn nodes(
        &self,
        strings: &StringTable,
        opaque: &mut Bitset,
        (traits, link): (&mut Array<u8>, &mut Array<u32>),
        job: &Job<'_>,
    ) -> Result<(u64, bool), StageError> {
        let scratch = job.scratch;
        let (mut kinds, mut names, mut sizes) =
            open_all(scratch, (columns::NODE_KIND, columns::NODE_NAME, columns::NODE_SELF))?;
        let (mut slot, mut captured) = (8, false);
        let mut last = (StringId::NONE, false, 0);
        for node in 0..kinds.remaining() as usize {
            job.context.check_every(1 << 16, node)?;
            let (kind, name, size) = (kinds.next()?, names.next()?, sizes.next()?);
            let is_text = self.text[kind as usize];
            if !is_text && last.0 != name {
                let text = strings.get(name.index());
                last = (name, text.starts_with(b"system / "), encoding(text));
            }
            let is_nameless = name == self.nameless && !name.is_none();
            if self.opaque[kind as usize] || (!is_text && last.1) || is_nameless {
                opaque.insert(node);
                if last.2 != 0 {
                    traits.set(node, last.2)?;
                }
            } else if Some(kind) == self.kinds.array {
                link.set(node, u32::try_from(size / 4).unwrap_or(NONE - 1).min(NONE - 1))?;
            }
            // With compressed pointers objects are aligned to four bytes.
            if Some(kind) == self.kinds.array && size % 8 == 4 {
                slot = 4;
            }
            captured |= Some(kind) == self.kinds.number && name == self.smi;
        }
        Ok((slot, captured))
    }

    /// Removes the sizes of arrays from their links.
    fn forget_sizes(&self, link: &mut Array<u32>, scratch: &Scratch) -> Result<(), StageError> {
        let mut kinds = ColumnReader::open(scratch, columns::NODE_KIND)?;
        for node in 0..kinds.remaining() as usize {
            if Some(kinds.next()?) == self.kinds.array {
                link.set(node, NONE)?;
            }
        }
        Ok(())
    }
}

/// Limit of the bytes read of a map's name.
const LONGEST: usize = 1 << 10;

/// Returns the encoding of strings by the name of their map, such as `system / Map (SeqOneByteString)`.
fn encoding(name: &[u8]) -> u8 {
    let name = &name[..name.len().min(LONGEST)];
    let contains = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    match name.starts_with(b"system / Map (") && contains(b"String") {
        true if contains(b"OneByte") => traits::ONE_BYTE,
        true => traits::TWO_BYTE,
        false => 0,
    }
}

/// The pass over the edges.
struct EdgePass<'a> {
    rules: &'a Rules,
    strings: &'a StringTable,
    slot: u64,
    traits: &'a mut Array<u8>,
    /// Of a map, its parent map or constructor; of a function, its shared information; of an array, its size.
    link: &'a mut Array<u32>,
}

/// Counts of one node's edges.
#[derive(Default)]
struct Counted {
    elements: u64,
    /// Edges with positions.
    positions: u64,
    store: Option<NodeId>,
}

impl EdgePass<'_> {
    fn read(&mut self, opaque: &Bitset, job: &Job<'_>) -> Result<(), StageError> {
        let scratch = job.scratch;
        let (mut nodes, mut node_names, mut counts) =
            open_all(scratch, (columns::NODE_KIND, columns::NODE_NAME, columns::NODE_EDGE_COUNT))?;
        let mut edges = Edges::open(scratch)?;
        for node in 0..nodes.remaining() as usize {
            job.context.check_every(1 << 16, node)?;
            let (kind, name, count) = (nodes.next()?, node_names.next()?, counts.next()?);
            let is_engine = opaque.contains(node);
            let mut counted = Counted::default();
            for _ in 0..count {
                let edge = edges.next()?;
                let kind_of_edge = Some(edge.kind);
                if kind_of_edge == self.rules.kinds.element {
                    counted.elements += 1;
                    counted.positions += 1;
                } else if kind_of_edge == self.rules.kinds.hidden_edge {
                    counted.positions += 1;
                } else if kind_of_edge == self.rules.kinds.internal && is_engine {
                    self.engine(node, kind, name, edge)?;
                } else if kind_of_edge == self.rules.kinds.internal && Some(kind) == self.rules.kinds.object {
                    counted.store = counted.store.or((edge.name == self.rules.edges[0].0).then_some(edge.to));
                } else if kind_of_edge == self.rules.kinds.internal && Some(kind) == self.rules.kinds.array {
                    counted.positions += u64::from(is_position(self.strings.get(edge.name as usize)));
                }
            }
            self.judge(node, kind, is_engine, &counted)?;
        }
        Ok(())
    }

    /// Handles an edge from a node of the engine.
    fn engine(
        &mut self,
        node: usize,
        kind: u8,
        name: StringId,
        Edge { name: label, to, .. }: Edge,
    ) -> Result<(), StageError> {
        let rules = self.rules;
        let [_, shared, back, constructor, descriptors, script, script_or_debug_info] =
            [0, 1, 2, 3, 4, 5, 6].map(|at| rules.edges[at].0);
        if Some(kind) == rules.kinds.closure {
            if label == shared {
                self.link.set(node, to.0)?;
            }
        } else if Some(kind) == rules.kinds.code {
            if label == script || label == script_or_debug_info {
                self.traits.change(node, |traits| *traits |= traits::PLAIN)?;
            }
        } else if name == rules.context {
            if let Some(at) = rules.listed.iter().position(|id| id.0 == label && !id.is_none()) {
                self.traits.change(to.index(), |traits| *traits |= LISTED[at].1)?;
            }
        } else if label == back || label == constructor {
            self.link.set(node, to.0)?;
        } else if label == descriptors {
            self.traits.change(node, |traits| *traits |= traits::DESCRIBED)?;
        }
        Ok(())
    }

    /// Derives traits from all edges of a node.
    fn judge(&mut self, node: usize, kind: u8, is_engine: bool, counted: &Counted) -> Result<(), StageError> {
        let found = if is_engine {
            0
        } else if Some(kind) == self.rules.kinds.object {
            let Some(store) = counted.store.filter(|_| counted.elements > 0) else { return Ok(()) };
            let slots = self.slots(store.index())?;
            if slots == Some(counted.elements) { traits::COMPLETE } else { 0 }
        } else if Some(kind) == self.rules.kinds.array {
            // Newer versions state no sizes of arrays that all programs share.
            let slots = self.slots(node)?;
            let partial = if slots.is_none_or(|slots| counted.positions < slots) { traits::PARTIAL } else { 0 };
            let slots = slots.unwrap_or(0);
            partial | if is_full_table(slots, counted.positions) { traits::FULL_TABLE } else { 0 }
        } else {
            0
        };
        if found != 0 {
            self.traits.change(node, |traits| *traits |= found)?;
        }
        Ok(())
    }

    /// Returns the slots of an array, after its map and its length.
    fn slots(&mut self, array: usize) -> Result<Option<u64>, StageError> {
        let size = u64::from(self.link.get(array)?);
        Ok((size * 4 / self.slot).checked_sub(2))
    }
}

/// Whether a table of a `Map` or `Set` with `slots` slots, `objects` of them with objects, has neither free slots nor
/// numbers: three numbers, one per bucket, and for each of two entries per bucket key, value and link.
fn is_full_table(slots: u64, objects: u64) -> bool {
    let Some(rest) = slots.checked_sub(3).filter(|&rest| rest > 0) else { return false };
    let is = |of_bucket: u64, entries: u64| {
        rest.is_multiple_of(of_bucket) && (rest / of_bucket).is_power_of_two() && objects == rest / of_bucket * entries
    };
    is(7, 4) || is(5, 2)
}

/// Whether the name of an edge is a position.
fn is_position(name: &[u8]) -> bool {
    !name.is_empty() && name.len() <= LONGEST && name.iter().all(u8::is_ascii_digit)
}

/// Propagates the types of functions to the maps that lead to them.
fn resolve(nodes: usize, traits: &mut Array<u8>, link: &mut Array<u32>, job: &Job<'_>) -> Result<(), StageError> {
    for node in 0..nodes {
        job.context.check_every(1 << 16, node)?;
        let (creator, steps) = creator(node, traits, link)?;
        // Compresses the path, so that it is not walked again.
        let mut at = node;
        for _ in 0..steps {
            let next = link.get(at)?;
            if next == NONE {
                break;
            }
            traits.change(at, |traits| *traits |= creator)?;
            link.set(at, NONE)?;
            at = next as usize;
        }
    }
    Ok(())
}

/// Follows the links from a node; returns the type at their end and the number of steps. Links of a damaged file may
/// form a cycle; Brent's algorithm finds it within three times as many steps as there are links.
fn creator(node: usize, traits: &mut Array<u8>, link: &mut Array<u32>) -> Result<(u8, u64), StageError> {
    let (mut at, mut steps, mut anchor) = (node, 0u64, usize::MAX);
    loop {
        let (creator, next) = (traits.get(at)? & traits::CREATOR, link.get(at)?);
        if creator != traits::UNKNOWN || next == NONE || at == anchor {
            return Ok((creator, steps));
        }
        if steps.is_power_of_two() {
            anchor = at;
        }
        (at, steps) = (next as usize, steps + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_are_full() {
        // Two buckets: four entries of three slots, or of two.
        assert!(is_full_table(17, 8) && !is_full_table(17, 7) && !is_full_table(17, 4));
        assert!(is_full_table(13, 4) && !is_full_table(13, 8));
        assert!(!is_full_table(0, 0) && !is_full_table(3, 0) && !is_full_table(18, 8));
        // The number of buckets is a power of two.
        assert!(!is_full_table(3 + 21, 12));
    }

    #[test]
    fn names_that_are_positions() {
        assert!(is_position(b"0") && is_position(b"12"));
        assert!(!is_position(b"") && !is_position(b"map") && !is_position(b"4 / part of key"));
    }
}
