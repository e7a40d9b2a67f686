//! What Eclipse MAT says about a dump, and what the tables of heaplake add to that.
//!
//! One file per group of rules: [`layout`] (shallow sizes), [`edges`], [`names`], [`threads`], [`rows`]. Checked against
//! MAT itself on real dumps: the example `check_mat` does that.

pub mod edges;
pub mod layout;
pub mod names;
pub mod rows;
pub mod threads;

use super::model::{Class, Dump, Object, ObjectData, Primitive};
use crate::graph::{Arc, dominators_by_deletion, reachable};
use std::collections::{BTreeMap, HashMap};

pub use rows::ClassRow;
pub use threads::ThreadTruth;

/// Whether weak, soft and phantom references hold what they refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Referents {
    /// They do, as in MAT.
    Hold,
    /// They do not, as in VisualVM.
    Skip,
}

/// Everything that is to be known about a dump.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// The root first, then everything by address: MAT's stand-in for the boot loader at 0, classes, objects.
    pub nodes: Vec<NodeTruth>,
    /// Class rows: those of which an object is reachable.
    pub classes: BTreeMap<ClassId, ClassRow>,
    /// Threads by their nodes.
    pub threads: Vec<ThreadTruth>,
}

/// What is to be known about one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTruth {
    /// Where it lies; none for the root.
    pub address: Option<u64>,
    /// `root`, `instance`, `object array`, `primitive array` or `class`.
    pub kind: &'static str,
    /// Its class; none for the root.
    pub class: Option<ClassId>,
    /// Name of its class, as in Java.
    pub class_name: String,
    /// Text of a string.
    pub name: Option<String>,
    /// Size by the layout of fields.
    pub shallow: u64,
    /// What would go with it; 0 where the root does not reach it.
    pub retained: u64,
    /// The immediate dominator, as an index into the nodes; none where the root does not reach it.
    pub dominator: Option<usize>,
    /// Steps from the root.
    pub distance: Option<u32>,
    /// Targets of its edges and whether they hold them, repetitions kept, ascending.
    pub edges: Vec<(usize, bool)>,
}

/// What tells classes apart: names do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClassId {
    /// A class of the dump, by its address.
    Dumped(u64),
    /// The class of primitive arrays where the dump has none.
    Primitive(Primitive),
    /// The class of classes, or of the boot loader, where the dump has none.
    Missing(&'static str),
}

/// Works out everything, dominators by deletion.
#[must_use]
pub fn truth(dump: &Dump, referents: Referents) -> Truth {
    truth_with(dump, referents, dominators_by_deletion)
}

/// Works out everything with another way to find dominators, for dumps that are too big for deleting nodes.
#[must_use]
pub fn truth_with(
    dump: &Dump,
    referents: Referents,
    dominators: impl Fn(usize, &[Arc], u32) -> Vec<Option<u32>>,
) -> Truth {
    let index = Index::new(dump);
    let sizes = layout::Sizes::new(&index);
    let texts = names::texts(&index);
    let mut nodes: Vec<NodeTruth> = index
        .nodes
        .iter()
        .map(|node| NodeTruth {
            address: node.address(),
            kind: node.kind(),
            class: index.class_of(node),
            class_name: index.class_of(node).map_or(String::new(), |class| index.class_name(class)),
            name: node.address().and_then(|address| texts.get(&address).cloned()),
            shallow: sizes.shallow(&index, node),
            retained: 0,
            dominator: None,
            distance: None,
            edges: sorted(edges::edges(&index, node, referents)),
        })
        .collect();
    let arcs: Vec<Arc> = (0..nodes.len() as u32)
        .flat_map(|from| nodes[from as usize].edges.iter().map(move |&(to, holds)| (from, to as u32, holds)))
        .filter_map(|(from, to, holds)| holds.then_some((from, to)))
        .collect();
    let dominator = dominators(nodes.len(), &arcs, 0);
    let distance = crate::graph::distances(nodes.len(), &arcs, 0);
    let retained = retained(&dominator, &arcs, &nodes);
    for (v, node) in nodes.iter_mut().enumerate() {
        node.dominator = dominator[v].map(|dominator| dominator as usize);
        node.distance = distance[v];
        node.retained = retained[v];
    }
    Truth { classes: rows::class_rows(&nodes), threads: threads::threads(&index, &nodes), nodes }
}

fn sorted(mut targets: Vec<(usize, bool)>) -> Vec<(usize, bool)> {
    targets.sort_unstable();
    targets
}

/// Sums over the nodes that each dominates, itself included.
fn retained(dominator: &[Option<u32>], arcs: &[Arc], nodes: &[NodeTruth]) -> Vec<u64> {
    let reached = reachable(nodes.len(), arcs, 0, None);
    let mut sums = vec![0; nodes.len()];
    for v in (0..nodes.len()).filter(|&v| reached[v]) {
        let mut above = v;
        loop {
            sums[above] += nodes[v].shallow;
            let next = dominator[above].expect("reachable nodes have dominators") as usize;
            if next == above {
                break;
            }
            above = next;
        }
    }
    sums
}

/// One node, before anything is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    Root,
    /// The stand-in for the boot loader.
    BootLoader,
    Class(&'a Class),
    Object(&'a Object),
}

impl Node<'_> {
    fn address(&self) -> Option<u64> {
        match self {
            Self::Root => None,
            Self::BootLoader => Some(0),
            Self::Class(class) => Some(class.address),
            Self::Object(object) => Some(object.address),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::BootLoader => "instance",
            Self::Class(_) => "class",
            Self::Object(object) => match object.data {
                ObjectData::Instance(..) => "instance",
                ObjectData::ObjectArray(..) => "object array",
                ObjectData::PrimitiveArray(..) => "primitive array",
            },
        }
    }
}

/// A dump with its nodes in order and its names at hand.
pub(super) struct Index<'a> {
    pub(super) dump: &'a Dump,
    pub(super) nodes: Vec<Node<'a>>,
    place: HashMap<u64, usize>,
    texts: HashMap<u64, &'a [u8]>,
    names: HashMap<u64, String>,
    by_name: HashMap<String, u64>,
    /// The thread objects, by the threads' numbers.
    pub(super) threads: BTreeMap<u32, u64>,
}

impl<'a> Index<'a> {
    fn new(dump: &'a Dump) -> Self {
        let mut nodes = vec![Node::Root, Node::BootLoader];
        nodes.extend(dump.classes.iter().map(Node::Class));
        nodes.extend(dump.objects.iter().map(Node::Object));
        nodes.sort_by_key(Node::address);
        let place: HashMap<u64, usize> =
            nodes.iter().enumerate().filter_map(|(v, node)| Some((node.address()?, v))).collect();
        assert_eq!(place.len(), nodes.len() - 1, "addresses are unique");
        let texts: HashMap<u64, &[u8]> = dump.strings.iter().map(|(id, text)| (*id, text.as_slice())).collect();
        let name = |id| texts.get(&id).map(|text| names::in_java(&names::modified_utf8(text)));
        let names: HashMap<u64, String> =
            dump.loaded.iter().filter_map(|class| Some((class.class, name(class.name)?))).collect();
        let dumped = dump.classes.iter().filter_map(|class| Some((names.get(&class.address)?.clone(), class.address)));
        // Of several the first counts, and the collection of an iterator keeps the last.
        let by_name = dumped.rev().collect();
        let threads =
            edges::threads(dump, |address| place.get(&address).is_some_and(|&v| matches!(nodes[v], Node::Object(_))));
        Self { dump, nodes, place, texts, names, by_name, threads }
    }

    /// The node at an address that a reference names; none for null and for what the dump does not have.
    pub(super) fn target(&self, address: u64) -> Option<usize> {
        (address != 0).then(|| self.place.get(&address).copied()).flatten()
    }

    /// A text of the dump.
    pub(super) fn text(&self, id: u64) -> Option<&'a [u8]> {
        self.texts.get(&id).copied()
    }

    pub(super) fn boot_loader(&self) -> usize {
        self.place[&0]
    }

    pub(super) fn class(&self, address: u64) -> Option<&'a Class> {
        match self.nodes[self.target(address)?] {
            Node::Class(class) => Some(class),
            _ => None,
        }
    }

    pub(super) fn named(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).copied()
    }

    pub(super) fn object(&self, address: u64) -> Option<&'a Object> {
        match self.nodes[self.target(address)?] {
            Node::Object(object) => Some(object),
            _ => None,
        }
    }

    /// A class and those above it, upwards.
    pub(super) fn chain(&self, address: u64) -> impl Iterator<Item = &'a Class> {
        std::iter::successors(self.class(address), |class| self.class(class.parent))
    }

    pub(super) fn class_of(&self, node: &Node<'_>) -> Option<ClassId> {
        let known = |name| self.named(name).map_or(ClassId::Missing(name), ClassId::Dumped);
        match node {
            Node::Root => None,
            Node::BootLoader => Some(known("java.lang.ClassLoader")),
            Node::Class(_) => Some(known("java.lang.Class")),
            Node::Object(object) => Some(match object.data {
                ObjectData::Instance(class, _) | ObjectData::ObjectArray(class, _) => ClassId::Dumped(class),
                ObjectData::PrimitiveArray(kind, _) => {
                    self.named(&format!("{}[]", kind.name())).map_or(ClassId::Primitive(kind), ClassId::Dumped)
                }
            }),
        }
    }

    pub(super) fn class_name(&self, class: ClassId) -> String {
        match class {
            ClassId::Dumped(address) => self.names.get(&address).cloned().unwrap_or_default(),
            ClassId::Primitive(kind) => format!("{}[]", kind.name()),
            ClassId::Missing(name) => name.to_owned(),
        }
    }

    /// The value of the field of an instance that the class of one name declares under another.
    pub(super) fn field(&self, object: &Object, declared_in: &str, name: &str) -> Option<super::model::Value> {
        let ObjectData::Instance(class, values) = &object.data else { return None };
        let mut at = 0;
        for level in self.chain(*class) {
            for &(field, _) in &level.fields {
                let here = self.names.get(&level.address).is_some_and(|class| class == declared_in);
                if here && self.text(field) == Some(name.as_bytes()) {
                    return values.get(at).copied();
                }
                at += 1;
            }
        }
        None
    }
}
