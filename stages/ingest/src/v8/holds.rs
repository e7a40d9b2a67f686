//! Stage `holds`: which edges keep their target alive, and what the graph stages need to know of the others.
//!
//! * Computes: the holding ("essential") edges; for every edge whether distances follow it; in-degrees; the nodes that
//!   nothing holds; where distances start.
//! * Reads: `node.{kind,name,id,edge_count}`, `edge.{kind,name,to}`, the names of weak-map entries.
//! * Writes: `edge.flags`, `paired.*`, `holds.{degree,to,orphan}`, `node.retainer_count`, `distance.seed`.
//! * Resident memory: 4 bytes per node (in-degrees) where the budget allows, paged where not, and 2 bits; with pages,
//!   [`super::pages`] before that; some 64 bytes per weak-map entry name.
//! * Passes over disk: one over nodes and edges.
//! * Worst case: linear.
//! * Fails when: the budget is too small.
//! * Determinism: one thread, input order.
//! * Reference: Chrome DevTools, "essential edges", and its filter for distances. Dropped are weak edges, self edges,
//!   the edge from a weak map's table to a value (the key's edge stays), and from any node but the root: shortcuts, and
//!   edges from what no page owns to what a page owns.

use super::header::Header;
use super::read::{EPHEMERON_SHARED, EPHEMERON_STRING, EPHEMERON_TABLE};
use super::{Snapshot, names, pages};
use heaplake_kit::{
    Bitset, ColumnMap, ColumnReader, ColumnWriter, Context, Room, Scratch, StageError, StageInfo, Stats, Store,
    StringTable,
};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::scratch::{self as columns, DistanceSeed, STRINGS, edge_flags};
use rustc_hash::FxHashMap;

/// What the plan knows of this stage.
pub const STAGE: StageInfo = StageInfo {
    name: "holds",
    version: 1,
    bytes_per_node: 4,
    bytes_per_edge: 0,
    least_bits_per_node: 2,
    least_fixed: 8 << 20,
    scratch_per_node: 8,
    scratch_per_edge: 5,
    passes: "nodes and edges once",
};

/// Distance of the root, and so the least of everything that only the runtime itself holds.
const SYSTEM_DISTANCE: i32 = 100_000_000;

/// Sorts the edges out.
///
/// # Errors
/// [`StageError::Io`], [`StageError::Budget`], [`StageError::Cancelled`].
pub fn run(scratch: &Scratch, context: &Context<'_>) -> Result<Stats, StageError> {
    let mut snapshot = Snapshot::load(scratch)?;
    let (header, facts) = (&snapshot.header, &mut snapshot.facts);
    context.progress.begin(STAGE.name, facts.edge_count);
    let ids = names::find(
        scratch,
        &["(Document DOM trees)", "system / NativeContext", "sloppy_function_map", "(map descriptors)"],
    )?;
    let (document_trees, native_context, sloppy_map, map_descriptors) = (ids[0], ids[1], ids[2], ids[3]);
    facts.distance_seeds = distance_seeds(header, document_trees, scratch)?;
    let page_owned = pages::owned(header, document_trees, scratch, context)?;
    let ephemerons = Ephemerons::load(scratch, context)?;
    let table = StringTable::open(scratch, STRINGS)?;

    let node_type = |name| header.node_type(name).map_or(u16::MAX, u16::from);
    let (hidden, array) = (node_type("hidden"), node_type("array"));
    let edge_type = |name| header.edge_type(name).map_or(u16::MAX, u16::from);
    let (weak, shortcut, internal) = (edge_type("weak"), edge_type("shortcut"), edge_type("internal"));
    let indexed: Vec<bool> = facts.edge_kinds.iter().map(|kind| kind.indexed).collect();

    let mut node_kind = ColumnReader::open(scratch, columns::NODE_KIND)?;
    let mut node_name = ColumnReader::open(scratch, columns::NODE_NAME)?;
    let mut node_id = ColumnReader::open(scratch, columns::NODE_ID)?;
    let mut edge_count = ColumnReader::open(scratch, columns::NODE_EDGE_COUNT)?;
    let mut edge_kind = ColumnReader::open(scratch, columns::EDGE_KIND)?;
    let mut edge_name = ColumnReader::open(scratch, columns::EDGE_NAME)?;
    let mut edge_to = ColumnReader::open(scratch, columns::EDGE_TO)?;
    let mut flags = ColumnWriter::create(scratch, columns::EDGE_FLAGS)?;
    let mut degrees = ColumnWriter::create(scratch, columns::HOLDS_DEGREE)?;
    let mut holds = ColumnWriter::create(scratch, columns::HOLDS_TO)?;
    let mut paired_edge = ColumnWriter::create(scratch, columns::PAIRED_EDGE)?;
    let mut paired_pair = ColumnWriter::create(scratch, columns::PAIRED_PAIR)?;
    let nodes = facts.node_count as usize;
    let mut held = Bitset::new(&context.budget, "held nodes", nodes)?;
    let mut room = Room::plan(&context.budget, scratch, STAGE.name, &[nodes as u64 * 4]);
    let mut retainers = room.array::<u32>(nodes, 0)?;

    let mut reported = 0;
    for node in 0..nodes {
        let (kind, name, id) = (u16::from(node_kind.next()?), node_name.next()?, node_id.next()?);
        let is_root = node as u64 == header.root;
        // Edges into a page count only from inside it, or from the root.
        let guarded = page_owned.as_ref().filter(|owned| !is_root && !owned.contains(node));
        let is_native_context = kind == hidden && name == native_context;
        let is_map_descriptors = kind == array && name == map_descriptors;
        let degree_before = holds.len();
        for _ in 0..edge_count.next()? {
            let (kind, name, to) = (u16::from(edge_kind.next()?), edge_name.next()?, edge_to.next()?);
            let ephemeron = if kind == internal { ephemerons.get(name) } else { None };
            let mut flag = 0;
            if kind != weak {
                let dropped = to.index() == node
                    || ephemeron.is_some_and(|(table, _)| table == id)
                    || (kind == shortcut && !is_root)
                    || guarded.is_some_and(|owned| owned.contains(to.index()));
                if !dropped {
                    flag |= edge_flags::HOLDS;
                    holds.push(to)?;
                    held.insert(to.index());
                }
                if is_map_descriptors {
                    let index = if indexed[kind as usize] {
                        Some(i64::from(name))
                    } else {
                        leading_integer(table.get(name as usize))
                    };
                    // Every third entry is a descriptor, which may belong to another map.
                    if index.is_none_or(|index| index < 2 || index % 3 != 1) {
                        flag |= edge_flags::FOLLOWED;
                    }
                } else if !(is_native_context && !indexed[kind as usize] && StringId(name) == sloppy_map) {
                    flag |= edge_flags::FOLLOWED;
                    if let Some((_, pair)) = ephemeron {
                        flag |= edge_flags::PAIRED;
                        paired_edge.push(flags.len())?;
                        paired_pair.push(pair)?;
                    }
                }
            }
            retainers.change(to.index(), |count| *count += 1)?;
            flags.push(flag)?;
        }
        degrees.push((holds.len() - degree_before) as u32)?;
        if flags.len() - reported >= 1 << 18 {
            context.step(flags.len() - reported)?;
            reported = flags.len();
        }
    }
    facts.holding_edge_count = holds.finish()?;
    flags.finish()?;
    degrees.finish()?;
    paired_edge.finish()?;
    paired_pair.finish()?;
    write_orphans(header, &held, nodes, scratch)?;
    retainers.write_to(scratch, columns::NODE_RETAINER_COUNT)?;
    facts.root_count = pages::RootEdges::open(header, scratch)?.count();
    let edges = facts.edge_count;
    snapshot.save(scratch)?;
    context.progress.end();
    Ok(Stats { rows: edges, spilled_bytes: room.spilled_bytes() })
}

/// Nodes that no holding edge enters.
fn write_orphans(header: &Header, held: &Bitset, nodes: usize, scratch: &Scratch) -> Result<(), StageError> {
    let mut orphans = ColumnWriter::create(scratch, columns::HOLDS_ORPHAN)?;
    for node in (0..nodes).filter(|&node| !held.contains(node) && node as u64 != header.root) {
        orphans.push(NodeId(node as u32))?;
    }
    orphans.finish().map(drop)
}

/// The user's roots (the root's targets that are no synthetic nodes, and the document trees) at distance 1, then the
/// root itself far away, or at 0 when there is no user root.
fn distance_seeds(
    header: &Header,
    document_trees: StringId,
    scratch: &Scratch,
) -> Result<Vec<DistanceSeed>, StageError> {
    let kind = ColumnMap::open(scratch, columns::NODE_KIND, None)?;
    let name = ColumnMap::open(scratch, columns::NODE_NAME, None)?;
    let synthetic = header.node_type("synthetic");
    let mut seeds = ColumnWriter::create(scratch, columns::DISTANCE_SEED)?;
    let mut edges = pages::RootEdges::open(header, scratch)?;
    while let Some((_, to)) = edges.next()? {
        if Some(kind[to.index()]) != synthetic || name[to.index()] == document_trees {
            seeds.push(to)?;
        }
    }
    let count = seeds.len();
    seeds.push(NodeId(header.root as u32))?;
    seeds.finish()?;
    let distance = if count == 0 { 0 } else { SYSTEM_DISTANCE };
    Ok(vec![DistanceSeed { distance: 1, count }, DistanceSeed { distance, count: 1 }])
}

/// The integer that JavaScript's `parseInt` finds at the start of a text.
fn leading_integer(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let (sign, text) = match text.first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    let value =
        digits.clone().fold(0i64, |value, digit| value.saturating_mul(10).saturating_add((digit - b'0').into()));
    (digits.count() > 0).then_some(sign * value)
}

/// Names of weak-map edges: table and number of the pair, by string.
struct Ephemerons {
    by_name: FxHashMap<u32, (u64, u32)>,
    _reservation: heaplake_kit::Reservation,
}

impl Ephemerons {
    fn load(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        let mut names = ColumnReader::open(scratch, EPHEMERON_STRING)?;
        let mut tables = ColumnReader::open(scratch, EPHEMERON_TABLE)?;
        let mut shared = ColumnReader::open(scratch, EPHEMERON_SHARED)?;
        let count = names.remaining();
        let reservation = context.budget.reserve("weak-map entries", count * 64)?;
        let mut pairs: FxHashMap<u64, u32> = FxHashMap::default();
        let mut by_name = FxHashMap::default();
        by_name.reserve(count as usize);
        for _ in 0..count {
            let next = pairs.len() as u32;
            let pair = *pairs.entry(shared.next()?).or_insert(next);
            by_name.insert(names.next()?.0, (tables.next()?, pair));
        }
        Ok(Self { by_name, _reservation: reservation })
    }

    #[inline]
    fn get(&self, name: u32) -> Option<(u64, u32)> {
        if self.by_name.is_empty() { None } else { self.by_name.get(&name).copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::leading_integer;

    #[test]
    fn parses_integers_as_javascript_does() {
        for (text, value) in [("7 / x", Some(7)), (" -3", Some(-3)), ("12abc", Some(12)), ("x1", None), ("", None)] {
            assert_eq!(leading_integer(text.as_bytes()), value, "{text:?}");
        }
    }
}
