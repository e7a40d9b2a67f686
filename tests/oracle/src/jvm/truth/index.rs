//! A dump with its nodes in order and its names indexed.

use super::spelling::{in_java, modified_utf8};
use crate::jvm::model::{Class, Dump, Object, ObjectData, Primitive, RootKind, Value};
use std::collections::{BTreeMap, HashMap};

/// Identity of a class; names are not unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClassId {
    /// A class of the dump, by its address.
    Dumped(u64),
    /// The class of primitive arrays if the dump has none.
    Primitive(Primitive),
    /// The class of classes, or of the boot loader, if the dump has none.
    Missing(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'a> {
    Root,
    /// The placeholder of the boot loader.
    BootLoader,
    Class(&'a Class),
    Object(&'a Object),
}

impl Node<'_> {
    pub(super) fn address(&self) -> Option<u64> {
        match self {
            Self::Root => None,
            Self::BootLoader => Some(0),
            Self::Class(class) => Some(class.address),
            Self::Object(object) => Some(object.address),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
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

/// A dump with its nodes in order and its names indexed.
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
    pub(super) fn new(dump: &'a Dump) -> Self {
        let mut nodes = vec![Node::Root, Node::BootLoader];
        nodes.extend(dump.classes.iter().map(Node::Class));
        nodes.extend(dump.objects.iter().map(Node::Object));
        nodes.sort_by_key(Node::address);
        let place: HashMap<u64, usize> =
            nodes.iter().enumerate().filter_map(|(v, node)| Some((node.address()?, v))).collect();
        assert_eq!(place.len(), nodes.len() - 1, "addresses are unique");
        let texts: HashMap<u64, &[u8]> = dump.strings.iter().map(|(id, text)| (*id, text.as_slice())).collect();
        let name = |id| texts.get(&id).map(|text| in_java(&modified_utf8(text)));
        let names: HashMap<u64, String> =
            dump.loaded.iter().filter_map(|class| Some((class.class, name(class.name)?))).collect();
        let dumped = dump.classes.iter().filter_map(|class| Some((names.get(&class.address)?.clone(), class.address)));
        // The first of several counts, since collecting an iterator into a map keeps the last.
        let by_name = dumped.rev().collect();
        let threads =
            threads(dump, |address| place.get(&address).is_some_and(|&v| matches!(nodes[v], Node::Object(_))));
        Self { dump, nodes, place, texts, names, by_name, threads }
    }

    /// The node at an address; `None` for null and for addresses not in the dump.
    pub(super) fn target(&self, address: u64) -> Option<usize> {
        (address != 0).then(|| self.place.get(&address).copied()).flatten()
    }

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

    /// A class and its superclasses, upwards.
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

    /// An instance's value of the field `name` declared in the class `declared_in`.
    pub(super) fn field(&self, object: &Object, declared_in: &str, name: &str) -> Option<Value> {
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

/// The thread objects of the dump, by the threads' numbers. `is_object` says whether an address has an object.
fn threads(dump: &Dump, is_object: impl Fn(u64) -> bool) -> BTreeMap<u32, u64> {
    let threads = dump.roots.iter().filter_map(|root| match root.kind {
        RootKind::Thread(serial, _) if is_object(root.object) => Some((serial, root.object)),
        _ => None,
    });
    threads.collect()
}
