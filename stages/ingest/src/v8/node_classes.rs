//! Stage `node classes`: the class of every node.
//!
//! * Computes: the class of every node. Names follow the node's type; names of DOM elements are cut at the first space;
//!   plain objects get the [`super::interfaces`] that fit them. Objects with a source location form one class per
//!   location and name, all other nodes one class per name. Numbers that are specific to a process are in the keys of
//!   classes, not in their names: `system / Context / scope @41491`. Names are compared by content throughout; the
//!   class table of DevTools loses rows if a node's own name equals a synthetic one.
//! * Resident memory: about 60 bytes per class; fixed tables for interfaces.
//! * Passes over disk: two over the nodes and the edges of plain objects (three with very many shapes).
//! * Worst case: linear, with a thousand byte additions per property of an object that shares its properties with many
//!   interfaces.
//! * Fails when: the budget is too small for the classes.
//! * Determinism: one thread, input order; classes are numbered by first occurrence.
//! * Reference: Chrome DevTools, class names, inferred interfaces, class keys.

use super::interfaces::{Census, Definition, Interfaces, Properties};
use super::kinds::Kinds;
use super::locations::Locations;
use super::names;
use super::snapshot::{DOCUMENT, Snapshot, TAG_STRING};
use heaplake_kit::access::{column, document, per_node, texts};
use heaplake_kit::{
    BudgetVec, ColumnReader, ColumnWriter, Context, Job, Reservation, Scratch, Stage, StageError, Stats, StringTable,
    StringWriter, open_all,
};
use heaplake_schemas::ids::{ClassId, StringId};
use heaplake_schemas::scratch::{self as columns, CLASS_KEYS, STRING_HASH, STRINGS};
use rustc_hash::FxHashMap;

/// Declaration of the stage.
pub const STAGE: Stage = Stage {
    name: "node classes",
    version: 2,
    reads: &[
        document(DOCUMENT),
        column(TAG_STRING),
        column(columns::NODE_KIND),
        column(columns::NODE_NAME),
        column(columns::NODE_EDGE_COUNT),
        column(columns::EDGE_KIND),
        column(columns::EDGE_NAME),
        column(columns::LOCATION_NODE),
        column(columns::LOCATION_SCRIPT),
        column(columns::LOCATION_LINE),
        column(columns::LOCATION_COLUMN),
    ],
    writes: &[column(columns::NODE_CLASS), column(columns::CLASS_NAME), texts(CLASS_KEYS)],
    appends: &[texts(STRINGS), column(STRING_HASH)],
    arrays: &[&[per_node::<u8>()]],
    fixed: 16 << 20,
    passes: "nodes twice, edges of plain objects twice",
    run,
    ..Stage::NEW
};

/// Nodes between checks for cancellation: the names of one node's properties may need as many page faults.
const STRIDE: u64 = 1 << 12;

/// Bytes of a class in the maps below.
const CLASS_BYTES: u64 = 64;

fn run(job: &Job<'_>) -> Result<Stats, StageError> {
    let Job { scratch, context, .. } = *job;
    let snapshot = &Snapshot::load(scratch)?;
    let nodes = snapshot.metadata.node_count;
    context.progress.begin(STAGE.name, 2 * nodes);
    let plain = Plain::find(snapshot, scratch)?;
    let definitions = census(snapshot, &plain, scratch, context)?;
    let namer = Namer::new(snapshot, definitions, scratch)?;
    let classes = assign(snapshot, &plain, namer, scratch, context)?;
    Ok(Stats { rows: classes, spilled_bytes: 0 })
}

/// How to recognise a plain object: by type and name.
struct Plain {
    kinds: Kinds,
    name: StringId,
    proto: StringId,
    /// The root's ordinal. DevTools starts at the root, which may come last; no object before it has an interface.
    first: u64,
}

impl Plain {
    fn find(snapshot: &Snapshot, scratch: &Scratch) -> Result<Self, StageError> {
        let [name, proto] = names::find(scratch, ["Object", "__proto__"])?;
        let header = &snapshot.header;
        Ok(Self { kinds: Kinds::of(header), name, proto, first: header.root })
    }

    #[inline]
    fn is(&self, node: u64, kind: u8, name: StringId) -> bool {
        Some(kind) == self.kinds.object && name == self.name && node >= self.first
    }
}

/// Counts the shapes of plain objects; returns names and properties of the interfaces.
fn census(
    snapshot: &Snapshot,
    plain: &Plain,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<Vec<Definition>, StageError> {
    let strings = StringTable::open(scratch, STRINGS)?;
    let mut census = Census::new(&strings, plain.proto);
    let _tables = context.budget.reserve("interfaces", Census::BYTES)?;
    loop {
        let (mut kinds, mut names, mut counts) =
            open_all(scratch, (columns::NODE_KIND, columns::NODE_NAME, columns::NODE_EDGE_COUNT))?;
        let mut properties = Properties::open(scratch, plain.kinds.property)?;
        let (mut edge, mut list) = (0, Vec::new());
        for node in 0..snapshot.metadata.node_count {
            let (kind, name, count) = (kinds.next()?, names.next()?, counts.next()?);
            if plain.is(node, kind, name) {
                properties.read(edge, count, &mut list)?;
                census.count(&list);
            }
            edge += u64::from(count);
            context.step_every(STRIDE, node)?;
        }
        if !census.needs_second_pass() {
            return Ok(census.finish());
        }
    }
}

/// Finds the class name of a node.
struct Namer {
    /// Fixed class name of each node type; none if the node's own name counts.
    fixed: Vec<StringId>,
    /// Names of DOM elements, and their class names.
    tags: FxHashMap<StringId, StringId>,
    interfaces: Interfaces,
}

impl Namer {
    fn new(snapshot: &Snapshot, definitions: Vec<Definition>, scratch: &Scratch) -> Result<Self, StageError> {
        let types = &snapshot.header.node_types;
        let mut wanted: Vec<Vec<u8>> = types.iter().map(|name| fixed_name(name).into_bytes()).collect();
        let strings = StringTable::open(scratch, STRINGS)?;
        let mut tag_reader = ColumnReader::open(scratch, TAG_STRING)?;
        let mut tags = Vec::new();
        while let Some(tag) = tag_reader.pop()? {
            tags.push(tag);
            wanted.push(cut_tag(strings.get(tag.index())));
        }
        wanted.extend(definitions.iter().map(|(name, _)| name.clone()));
        drop(strings);
        let ids = names::intern(scratch, &wanted)?;
        let (fixed, rest) = ids.split_at(types.len());
        let (cut, interfaces) = rest.split_at(tags.len());
        let own_name = |name: &String| matches!(name.as_str(), "object" | "native");
        Ok(Self {
            fixed: types
                .iter()
                .zip(fixed)
                .map(|(name, &id)| if own_name(name) { StringId::NONE } else { id })
                .collect(),
            tags: tags.into_iter().zip(cut.iter().copied()).collect(),
            interfaces: Interfaces::new(
                interfaces.iter().copied().zip(definitions.into_iter().map(|(_, properties)| properties)),
            ),
        })
    }

    #[inline]
    fn name(&self, kind: u8, name: StringId) -> StringId {
        let fixed = self.fixed[kind as usize];
        if fixed.is_none() { self.tags.get(&name).copied().unwrap_or(name) } else { fixed }
    }
}

/// Returns the class name of a node type with a fixed one.
fn fixed_name(node_type: &str) -> String {
    match node_type {
        "hidden" => "(system)".to_owned(),
        "code" => "(compiled code)".to_owned(),
        "closure" => "Function".to_owned(),
        "regexp" => "RegExp".to_owned(),
        other => format!("({other})"),
    }
}

/// Cuts `<div id="a">` to `<div>`, and `Detached <div id="a">` to `Detached <div>`.
fn cut_tag(name: &[u8]) -> Vec<u8> {
    let start = if name.starts_with(b"<") { 0 } else { "Detached <".len() };
    let tag = name.get(start..).unwrap_or_default();
    match tag.iter().position(|&byte| byte == b' ') {
        Some(space) => [&name[..start + space], b">"].concat(),
        None => name.to_vec(),
    }
}

/// A class: its name, and its source location if that matters.
type Key = (StringId, Option<[u32; 3]>);

struct Classes {
    by_name: FxHashMap<StringId, ClassId>,
    by_place: FxHashMap<Key, ClassId>,
    keys: BudgetVec<Key>,
    maps: Reservation,
}

impl Classes {
    #[inline]
    fn get(&mut self, key: Key) -> Result<ClassId, StageError> {
        let known = if key.1.is_none() { self.by_name.get(&key.0) } else { self.by_place.get(&key) };
        if let Some(&known) = known {
            return Ok(known);
        }
        let new = ClassId(self.keys.len() as u32);
        if self.keys.len().is_multiple_of(1024) {
            self.maps.grow(1024 * CLASS_BYTES)?;
        }
        self.keys.push(key)?;
        if key.1.is_none() {
            self.by_name.insert(key.0, new);
        } else {
            self.by_place.insert(key, new);
        }
        Ok(new)
    }
}

/// Assigns a class to every node; returns the number of classes.
fn assign(
    snapshot: &Snapshot,
    plain: &Plain,
    mut namer: Namer,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<u64, StageError> {
    let _tables = context.budget.reserve("interfaces", Interfaces::BYTES)?;
    let (mut kinds, mut names, mut counts) =
        open_all(scratch, (columns::NODE_KIND, columns::NODE_NAME, columns::NODE_EDGE_COUNT))?;
    let mut properties = Properties::open(scratch, plain.kinds.property)?;
    let mut locations = Locations::open(scratch)?;
    let mut column = ColumnWriter::create(scratch, columns::NODE_CLASS)?;
    let mut classes = Classes {
        by_name: FxHashMap::default(),
        by_place: FxHashMap::default(),
        keys: context.budget.growing("class keys"),
        maps: context.budget.reserve("class maps", 0)?,
    };
    let (mut edge, mut list) = (0, Vec::new());
    for node in 0..snapshot.metadata.node_count {
        let (kind, own_name, count) = (kinds.next()?, names.next()?, counts.next()?);
        let mut name = namer.name(kind, own_name);
        if plain.is(node, kind, own_name) {
            properties.read(edge, count, &mut list)?;
            name = namer.interfaces.best(&mut list).unwrap_or(own_name);
        }
        edge += u64::from(count);
        let place = locations.at(node)?.filter(|_| Some(kind) == plain.kinds.object);
        column.push(classes.get((name, place))?)?;
        context.step_every(STRIDE, node)?;
    }
    column.finish()?;
    write(&classes.keys, scratch)
}

/// Strips the id at the end of the name of a V8 internal, which is specific to the process.
fn without_id(name: &[u8]) -> Option<&[u8]> {
    let at = name.iter().rposition(|&byte| !byte.is_ascii_digit())?;
    let named = name[..=at].strip_suffix(b" @").filter(|_| at + 1 < name.len())?;
    named.starts_with(b"system / ").then_some(named)
}

/// Returns string ids of the stripped names, by content; there are few, whatever the input.
fn shown_names(keys: &[Key], scratch: &Scratch) -> Result<FxHashMap<Vec<u8>, StringId>, StageError> {
    let mut shown: FxHashMap<Vec<u8>, StringId> = FxHashMap::default();
    let strings = StringTable::open(scratch, STRINGS)?;
    for name in keys.iter().filter_map(|&(name, _)| without_id(strings.get(name.index()))) {
        if !shown.contains_key(name) {
            shown.insert(name.to_vec(), StringId::NONE);
        }
    }
    drop(strings);
    let mut wanted: Vec<Vec<u8>> = shown.into_keys().collect();
    wanted.sort_unstable();
    let ids = names::intern(scratch, &wanted)?;
    Ok(wanted.into_iter().zip(ids).collect())
}

/// Writes class names and keys.
fn write(keys: &[Key], scratch: &Scratch) -> Result<u64, StageError> {
    let shown = shown_names(keys, scratch)?;
    let strings = StringTable::open(scratch, STRINGS)?;
    let mut names = ColumnWriter::create(scratch, columns::CLASS_NAME)?;
    let mut texts = StringWriter::create(scratch, CLASS_KEYS)?;
    for &(name, place) in keys {
        names.push(without_id(strings.get(name.index())).map_or(name, |shown_name| shown[shown_name]))?;
        if let Some([script, line, column]) = place {
            texts.extend(format!("{script},{line},{column}").as_bytes())?;
        }
        texts.extend(b",")?;
        texts.push(strings.get(name.index()))?;
    }
    texts.finish()?;
    names.finish()
}

#[cfg(test)]
mod tests {
    use super::{cut_tag, without_id};

    #[test]
    fn parts_of_v8_lose_their_ids() {
        for (name, class) in [
            ("system / Context / scope @41491", Some("system / Context / scope")),
            ("system / Context", None),
            ("system / Context / scope @", None),
            ("system / Context / scope @12a", None),
            ("odd @12", None),
            ("12", None),
            ("", None),
        ] {
            assert_eq!(without_id(name.as_bytes()), class.map(str::as_bytes), "{name}");
        }
    }

    #[test]
    fn tags_lose_their_attributes() {
        for (name, class) in [
            ("<div id=\"a b\">", "<div>"),
            ("<div>", "<div>"),
            ("Detached <div id=x>", "Detached <div>"),
            ("Detached <div>", "Detached <div>"),
        ] {
            assert_eq!(cut_tag(name.as_bytes()), class.as_bytes());
        }
    }
}
