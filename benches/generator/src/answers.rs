//! The planted answers: the results of a correct analysis of the file.
//!
//! All of them are sums of closed formulas over the blocks' parameters, one block after the other. No graph is built,
//! so memory does not grow with the file and the answers depend on no analysis.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::rng::mix;

/// Distance of the root, from which heap analysis counts on for nodes that no user root reaches.
pub(crate) const BEYOND: u64 = 100_000_000;

/// Checkpoints kept per kind of structure.
const CHECKPOINTS_PER_KIND: usize = 50;

/// Planted answers for one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Position of the node in the file.
    pub ordinal: u64,
    /// Shallow size after the adjustment for owned nodes.
    #[serde(rename = "shallow_bytes")]
    pub shallow: u64,
    #[serde(rename = "retained_bytes")]
    pub retained: u64,
    /// Distance from the user roots; `None` where no path exists.
    pub distance: Option<u64>,
    /// Immediate dominator's ordinal; the root is its own.
    pub dominator: u64,
}

/// Sums over all structures of one kind.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Kind {
    /// Structures of the kind in the file.
    pub structures: u64,
    pub nodes: u64,
    pub edges: u64,
    /// Shallow bytes of the head nodes.
    pub head_shallow_bytes: u64,
    /// Retained bytes of the head nodes.
    pub head_retained_bytes: u64,
    /// Distance of every head node of the kind.
    pub head_distance: Option<u64>,
    /// Some head nodes (at most fifty), each with its own numbers.
    pub heads: Vec<Fact>,
}

/// A row of the class table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ClassRow {
    /// Nodes of the class with a shallow size above 0.
    pub count: u64,
    pub shallow_bytes: u64,
    /// Their retained bytes, nested instances counted once.
    pub retained_bytes: u64,
    /// Minimum distance; `None` where some instance cannot be reached from the user roots.
    pub distance: Option<u64>,
}

/// Planted sets of identical instances of one class.
#[derive(Debug, Default, Serialize)]
pub struct Duplicates {
    pub class_key: String,
    /// Description of the sets.
    pub about: String,
    pub sets: u64,
    pub members_per_set: u64,
    /// Cost of all members but one: each set's private bytes times (members - 1), summed.
    pub additional_bytes: u64,
    /// False where the sets lie inside the members of a bigger planted set.
    pub outermost: bool,
}

#[derive(Debug, Default, Serialize)]
struct Totals {
    node_count: u64,
    edge_count: u64,
    string_count: u64,
    location_count: u64,
    self_bytes: u64,
}

#[derive(Debug, Default, Serialize)]
struct TraceTree {
    depth: u64,
    nodes: u64,
    function_infos: u64,
}

/// Sum of the blocks' answers; [`Answers::to_json`] writes it.
#[derive(Debug, Default)]
pub struct Answers {
    totals: Totals,
    kinds: BTreeMap<&'static str, Kind>,
    classes: BTreeMap<String, (ClassRow, bool)>,
    duplicates: BTreeMap<&'static str, Duplicates>,
    checkpoints: BTreeMap<&'static str, (u64, Vec<Fact>)>,
    in_registry: u64,
    in_documents: u64,
    loose: u64,
    prototypes: (u64, u64, u64),
    plain: BTreeMap<String, Plain>,
    trace: Option<TraceTree>,
    kind: &'static str,
}

/// Plain objects with one property list; readers must infer their class.
#[derive(Debug, Default)]
struct Plain {
    row: ClassRow,
    /// Objects with exactly this list.
    exact: u64,
}

impl Answers {
    /// Sets the kind of the next metadata.
    pub fn begin(&mut self, kind: &'static str, nodes: u64, edges: u64) {
        self.kind = kind;
        let sums = self.kinds.entry(kind).or_default();
        sums.nodes += nodes;
        sums.edges += edges;
    }

    /// Adds the head node of a structure that hangs from its shard.
    pub fn head(&mut self, fact: Fact) {
        self.in_registry += fact.retained;
        self.count_head(fact);
    }

    /// Adds the head node of an attached document.
    pub fn document(&mut self, fact: Fact) {
        self.in_documents += fact.retained;
        self.count_head(fact);
    }

    fn count_head(&mut self, fact: Fact) {
        self.checkpoint(fact);
        let sums = self.kinds.entry(self.kind).or_default();
        sums.structures += 1;
        sums.head_shallow_bytes += fact.shallow;
        sums.head_retained_bytes += fact.retained;
        sums.head_distance = fact.distance;
        if sums.heads.len() < CHECKPOINTS_PER_KIND {
            sums.heads.push(fact);
        }
    }

    /// Adds bytes that only the shard itself retains, besides the heads.
    pub fn held(&mut self, bytes: u64) {
        self.in_registry += bytes;
    }

    /// Adds bytes that only the root retains, since all references are weak or from one another.
    pub fn loose(&mut self, bytes: u64) {
        self.loose += bytes;
    }

    /// Offers a node as a checkpoint; a fair and repeatable sample per kind is kept.
    pub fn checkpoint(&mut self, fact: Fact) {
        let (seen, kept) = self.checkpoints.entry(self.kind).or_default();
        *seen += 1;
        if kept.len() < CHECKPOINTS_PER_KIND {
            kept.push(fact);
            return;
        }
        let place = mix(fact.ordinal, *seen) % *seen;
        if let Some(old) = kept.get_mut(place as usize) {
            *old = fact;
        }
    }

    /// Adds nodes to a class; `retained` must omit nodes inside another node of the class.
    pub fn class(&mut self, key: &str, count: u64, shallow: u64, retained: u64, distance: u64) {
        let row = ClassRow { count, shallow_bytes: shallow, retained_bytes: retained, distance: Some(distance) };
        self.add(key, row);
    }

    /// Adds nodes that cannot be reached from the user roots.
    pub fn class_unset(&mut self, key: &str, count: u64, shallow: u64, retained: u64) {
        let row = ClassRow { count, shallow_bytes: shallow, retained_bytes: retained, distance: None };
        self.add(key, row);
    }

    /// Adds one node that dominates nodes of its own class; those were added before with `inside` retained bytes.
    pub fn class_inside(&mut self, key: &str, shallow: u64, retained: u64, inside: u64, distance: u64) {
        self.class(key, 1, shallow, retained, distance);
        if let Some((sum, _)) = self.classes.get_mut(key) {
            sum.retained_bytes -= inside;
        }
    }

    fn add(&mut self, key: &str, row: ClassRow) {
        if row.count == 0 {
            return;
        }
        self.totals.self_bytes += row.shallow_bytes;
        if !self.classes.contains_key(key) {
            self.classes.insert(key.to_owned(), (ClassRow::default(), false));
        }
        if let Some((sum, unset)) = self.classes.get_mut(key) {
            *unset |= row.distance.is_none();
            let least = sum.distance.into_iter().chain(row.distance).min();
            sum.count += row.count;
            sum.shallow_bytes += row.shallow_bytes;
            sum.retained_bytes += row.retained_bytes;
            sum.distance = if *unset { None } else { least };
        }
    }

    /// Adds plain objects with one property list; `extra` of them have one more property, each a unique one.
    pub fn plain(&mut self, interface: &str, row: ClassRow, extra: u64) {
        if !self.plain.contains_key(interface) {
            self.plain.insert(interface.to_owned(), Plain::default());
        }
        if let Some(plain) = self.plain.get_mut(interface) {
            plain.exact += row.count - extra;
            plain.row.count += row.count;
            plain.row.shallow_bytes += row.shallow_bytes;
            plain.row.retained_bytes += row.retained_bytes;
            plain.row.distance = plain.row.distance.into_iter().chain(row.distance).min();
        }
    }

    /// Adds the prototypes, plain objects with the constructor as their only property.
    pub fn prototypes(&mut self, count: u64, size: u64, distance: u64) {
        self.prototypes = (count, size, distance);
        self.resolve_plain();
    }

    /// Decides which property lists become classes: at least two objects have exactly the list, and at least one plain
    /// object in a thousand.
    fn resolve_plain(&mut self) {
        let plain = std::mem::take(&mut self.plain);
        let (count, size, distance) = self.prototypes;
        let objects = count + plain.values().map(|p| p.row.count).sum::<u64>();
        let popular = |exact: u64| exact >= 2 && exact * 1000 >= objects;
        let key = if popular(count) { ",{constructor}" } else { ",Object" };
        self.class(key, count, count * size, count * size, distance);
        for (interface, p) in plain {
            assert!(popular(p.exact), "the plan gives every planted interface enough objects");
            self.add(&format!(",{interface}"), p.row);
        }
    }

    /// Adds planted sets of identical instances.
    pub fn duplicates(&mut self, id: &'static str, set: Duplicates) {
        let sum = self.duplicates.entry(id).or_default();
        let (sets, bytes) = (sum.sets + set.sets, sum.additional_bytes + set.additional_bytes);
        *sum = Duplicates { sets, additional_bytes: bytes, ..set };
    }

    /// Adds members to the one set that spans the whole file.
    pub fn one_set(&mut self, id: &'static str, members: u64, size: u64, set: Duplicates) {
        let sum = self.duplicates.entry(id).or_default();
        let members = sum.members_per_set + members;
        *sum = Duplicates { sets: 1, members_per_set: members, additional_bytes: (members - 1) * size, ..set };
    }

    /// Adds the global object, which retains everything except loose bytes, documents and (`beyond`) nodes that only
    /// the GC roots retain. Returns its retained bytes. Every other class must have been added before.
    pub fn window(&mut self, key: &str, size: u64, beyond: u64) -> u64 {
        let retained = self.total_bytes() + size - beyond - self.loose - self.in_documents;
        self.class(key, 1, size, retained, 1);
        retained
    }

    /// Bytes that the registry retains.
    pub fn in_registry(&self) -> u64 {
        self.in_registry
    }

    /// Bytes that the documents retain.
    pub fn in_documents(&self) -> u64 {
        self.in_documents
    }

    pub fn total_bytes(&self) -> u64 {
        self.totals.self_bytes
    }

    pub fn classes(&self) -> impl Iterator<Item = (&str, ClassRow)> {
        self.classes.iter().map(|(key, (row, _))| (key.as_str(), *row))
    }

    /// The sampled nodes, by position in the file.
    pub fn checkpoints(&self) -> Vec<Fact> {
        let mut all: Vec<Fact> = self.checkpoints.values().flat_map(|(_, kept)| kept).copied().collect();
        all.sort_by_key(|fact| fact.ordinal);
        all.dedup_by_key(|fact| fact.ordinal);
        all
    }

    /// Sets the lengths of the file's arrays.
    pub fn set_counts(&mut self, nodes: u64, edges: u64, strings: u64, locations: u64) {
        self.totals.node_count = nodes;
        self.totals.edge_count = edges;
        self.totals.string_count = strings;
        self.totals.location_count = locations;
    }

    /// Sets the depth of the trace tree; every level has one node.
    pub fn set_trace(&mut self, depth: u64, function_infos: u64) {
        self.trace = Some(TraceTree { depth, nodes: depth, function_infos });
    }

    /// The answers file, as JSON.
    pub fn to_json(&self) -> String {
        let classes: BTreeMap<&str, ClassRow> = self.classes().collect();
        let kinds: BTreeMap<_, _> = self.kinds.iter().filter(|(_, kind)| kind.structures > 0).collect();
        let value = serde_json::json!({
            "format": "heaplake planted answers 1",
            "totals": self.totals,
            "trace_tree": self.trace,
            "kinds": kinds,
            "classes": classes,
            "duplicates": self.duplicates,
            "checkpoints": self.checkpoints(),
        });
        format!("{value:#}\n")
    }
}
