//! Builds snapshots from drafts.

use super::vocabulary::{CASTS, COLLIDING_CASTS, EDGE_KINDS, EDGE_NAMES, ENTRY_NAMES, RECORDS};
use super::{Draft, Link, NodeDraft, Options, Shape};
use crate::model::{Fields, Location, Snapshot};
use crate::text::OracleString;

impl Draft {
    /// Builds the snapshot, without parts that the shape excludes.
    pub fn build(&self, shape: &Shape) -> Snapshot {
        let options = Options {
            root_last: self.options.root_last && shape.root_last,
            colliding_names: self.options.colliding_names && shape.collisions,
            repeated_strings: self.options.repeated_strings && shape.collisions,
            ..self.options
        };
        let mut builder = Builder { snapshot: Snapshot::new(), options };
        builder.add_root();
        for node in &self.nodes {
            builder.add_node(*node);
        }
        for link in &self.links {
            builder.add_link(*link);
        }
        builder.finish()
    }
}

struct Builder {
    snapshot: Snapshot,
    options: Options,
}

impl Builder {
    fn add_root(&mut self) {
        let kind = if self.options.odd_root { "object" } else { "synthetic" };
        self.snapshot.add_node(kind, "", 0);
        self.scramble_id(0);
    }

    fn add_node(&mut self, draft: NodeDraft) {
        let extra = if self.options.colliding_names { COLLIDING_CASTS } else { &[] };
        let cast = usize::from(draft.cast) % (CASTS.len() + 3 * extra.len());
        let &(kind, name) = CASTS.get(cast).unwrap_or_else(|| &extra[(cast - CASTS.len()) % extra.len()]);
        let ordinal = self.snapshot.add_node(kind, name, u64::from(draft.size));
        self.scramble_id(ordinal);
        let node = &mut self.snapshot.nodes[ordinal];
        // Without a field the file cannot express a value.
        node.detachedness = if self.options.no_detachedness { 0 } else { (draft.state % 3) as u8 };
        node.native_size = if self.options.native_size { u64::from(draft.native) } else { 0 };
        node.trace_node_id = if self.options.trace_node_id { u64::from(draft.trace) } else { 0 };
        self.add_locations(ordinal, u64::from(draft.place));
    }

    /// Few distinct locations, so that nodes share them; sometimes two for one node.
    fn add_locations(&mut self, node: usize, place: u64) {
        let location = Location { node, script_id: place % 2, line: place / 2 % 2, column: 3 };
        if place != 0 {
            self.snapshot.locations.push(location);
        }
        if place % 5 == 4 {
            self.snapshot.locations.push(Location { column: 4, ..location });
        }
    }

    /// Ids stay unique but lose their order.
    fn scramble_id(&mut self, ordinal: usize) {
        self.snapshot.nodes[ordinal].id = 1 + 2 * (ordinal as u64 ^ u64::from(self.options.id_order));
    }

    fn add_link(&mut self, link: Link) {
        let node = |number: u16| usize::from(number) % self.snapshot.nodes.len();
        match link {
            Link::Any { from, to, kind, label } => {
                self.add_edge(node(from), node(to), choose(EDGE_KINDS, kind), label);
            }
            Link::FromRoot { to, kind } => {
                let kind = choose(&["shortcut", "element", "element", "property", "weak"], kind);
                self.add_edge(0, node(to), kind, to);
            }
            Link::Entry { table, key, value, names, flaw } => {
                self.add_entry([node(table), node(key), node(value)], names, flaw);
            }
            Link::Record { object, record, to } => {
                self.add_record(object, choose(RECORDS, record), node(to));
            }
        }
    }

    fn add_edge(&mut self, from: usize, to: usize, kind: &str, label: u16) {
        if kind == "element" || kind == "hidden" {
            self.snapshot.add_numbered_edge(from, kind, u64::from(label % 12), to);
        } else {
            self.snapshot.add_edge(from, kind, choose(EDGE_NAMES, label), to);
        }
    }

    /// Two edges as V8 writes them for a weak map's entry, unless the flaw spoils one.
    fn add_entry(&mut self, [table, key, value]: [usize; 3], names: u16, flaw: u16) {
        let id = |node: usize| self.snapshot.nodes[node].id;
        let entry = format!(
            " / part of key ({} @{}) -> value ({} @{}) pair in WeakMap (table @{})",
            choose(ENTRY_NAMES, names),
            id(key),
            choose(ENTRY_NAMES, names / 5),
            id(value),
            id(if flaw % 8 == 1 { key } else { table }),
        );
        let kind = if flaw % 8 == 2 { "property" } else { "internal" };
        let mut edges = vec![(table, format!("1{entry}")), (key, format!("20{entry}"))];
        match flaw % 8 {
            3 => edges.truncate(1),
            4 => edges.swap(0, 1),
            5 => drop(edges.remove(0)),
            _ => {}
        }
        for (from, name) in edges {
            self.snapshot.add_edge(from, kind, name.as_str(), value);
        }
    }

    /// Gives properties to a plain object, if there is one, else to any node. Three times of four to one without edges,
    /// if possible, since only whole property lists make interfaces.
    fn add_record(&mut self, object: u16, properties: &[&str], to: usize) {
        let is_plain = |&v: &usize| *self.snapshot.node_name(v) == "Object";
        let mut plain: Vec<usize> = (0..self.snapshot.nodes.len()).filter(is_plain).collect();
        let is_empty = |v: &usize| self.snapshot.nodes[*v].edges.is_empty();
        if !object.is_multiple_of(4) && plain.iter().any(is_empty) {
            plain.retain(is_empty);
        }
        let object = match plain.len() {
            0 => usize::from(object) % self.snapshot.nodes.len(),
            count => plain[usize::from(object) % count],
        };
        for name in properties {
            self.snapshot.add_edge(object, "property", *name, to);
        }
    }

    fn finish(mut self) -> Snapshot {
        self.snapshot.fields = Fields {
            trace_node_id: self.options.trace_node_id,
            detachedness: !self.options.no_detachedness,
            native_size: self.options.native_size,
        };
        if self.options.no_user_roots {
            self.drop_user_roots();
        }
        if self.options.repeated_strings {
            self.repeat_strings();
        }
        self.snapshot.strings.push(OracleString(vec![0xd800, 0x61]));
        if self.options.root_last {
            self.move_root_last();
        }
        self.snapshot
    }

    fn drop_user_roots(&mut self) {
        let mut edges = std::mem::take(&mut self.snapshot.nodes[0].edges);
        edges.retain(|edge| {
            let name = self.snapshot.node_name(edge.to);
            self.snapshot.node_type(edge.to) == "synthetic" && *name != "(Document DOM trees)"
        });
        self.snapshot.nodes[0].edges = edges;
    }

    /// Gives every other node and edge its own copy of its name.
    fn repeat_strings(&mut self) {
        let Snapshot { nodes, strings, edge_types, .. } = &mut self.snapshot;
        let first_copy = strings.len();
        strings.extend_from_within(..);
        for node in nodes.iter_mut().step_by(2) {
            node.name += first_copy;
        }
        for edge in nodes.iter_mut().flat_map(|node| &mut node.edges).step_by(2) {
            if !["element", "hidden"].contains(&edge_types[edge.kind].as_str()) {
                edge.name_or_index += first_copy as u64;
            }
        }
    }

    fn move_root_last(&mut self) {
        let Snapshot { nodes, locations, root_index, .. } = &mut self.snapshot;
        let last = nodes.len() - 1;
        nodes.rotate_left(1);
        let moved = |node: usize| if node == 0 { last } else { node - 1 };
        for edge in nodes.iter_mut().flat_map(|node| &mut node.edges) {
            edge.to = moved(edge.to);
        }
        for location in locations {
            location.node = moved(location.node);
        }
        *root_index = Some(last);
    }
}

fn choose<T: Copy>(items: &[T], number: u16) -> T {
    items[usize::from(number) % items.len()]
}
