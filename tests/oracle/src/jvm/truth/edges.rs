//! Edges of a dump's nodes.

use super::super::model::{Class, Object, ObjectData, RootKind, Value};
use super::index::{ClassId, Index, Node};
use std::collections::BTreeSet;

/// Whether weak, soft and phantom references are essential edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Referents {
    /// Essential, as in MAT.
    Hold,
    /// Not essential, as in VisualVM.
    Skip,
}

/// Superclass of instances with a referent edge that shortest paths avoid.
const REFERENCE: &str = "java.lang.ref.Reference";

/// Superclasses of instances with a possibly weak referent edge.
const WEAK: [&str; 3] =
    ["java.lang.ref.SoftReference", "java.lang.ref.WeakReference", "java.lang.ref.PhantomReference"];

/// Targets of a node's edges, and whether the edges are essential.
pub(super) fn edges(index: &Index<'_>, node: &Node<'_>, referents: Referents) -> Vec<(usize, bool)> {
    let of_class = match index.class_of(node) {
        Some(ClassId::Dumped(class)) => index.target(class),
        _ => None,
    };
    let mut held: Vec<usize> = of_class.into_iter().collect();
    match node {
        Node::Root => held.extend(roots(index)),
        Node::BootLoader => {}
        Node::Class(class) => held.extend(of_a_class(index, class)),
        Node::Object(object) => {
            held.extend(of_an_object(index, object, referents));
            held.extend(locals(index, object));
        }
    }
    let weak = match node {
        Node::Object(object) => weakly(index, object, referents),
        _ => None,
    };
    held.into_iter().map(|to| (to, true)).chain(weak.map(|to| (to, false))).collect()
}

/// Superclass, loader, static fields.
fn of_a_class(index: &Index<'_>, class: &Class) -> Vec<usize> {
    let loader = if class.loader == 0 { Some(index.boot_loader()) } else { index.target(class.loader) };
    let statics = class.statics.iter().map(|field| field.value);
    index.target(class.parent).into_iter().chain(loader).chain(targets(index, statics)).collect()
}

fn of_an_object(index: &Index<'_>, object: &Object, referents: Referents) -> Vec<usize> {
    match &object.data {
        ObjectData::Instance(class, values) => {
            let skipped = skipped(index, *class, referents);
            let held = values.iter().enumerate().filter(|(at, _)| Some(*at) != skipped);
            targets(index, held.map(|(_, &value)| value)).collect()
        }
        ObjectData::ObjectArray(_, elements) => {
            targets(index, elements.iter().map(|&element| Value::Object(element))).collect()
        }
        ObjectData::PrimitiveArray(..) => Vec::new(),
    }
}

/// The target of an instance's weak edge.
fn weakly(index: &Index<'_>, object: &Object, referents: Referents) -> Option<usize> {
    let ObjectData::Instance(class, values) = &object.data else { return None };
    let referent = values.get(skipped(index, *class, referents)?)?;
    targets(index, std::iter::once(*referent)).next()
}

/// The referent of a weak, soft, phantom or final reference, if its edge is essential.
pub(super) fn referent_of(index: &Index<'_>, node: &Node<'_>, referents: Referents) -> Option<usize> {
    let Node::Object(object) = node else { return None };
    let ObjectData::Instance(class, values) = &object.data else { return None };
    if skipped(index, *class, referents).is_some() {
        return None;
    }
    let referent = values.get(referent(index, *class, &[REFERENCE])?)?;
    targets(index, std::iter::once(*referent)).next()
}

/// Position of an instance's weak reference among its values, if there is one.
fn skipped(index: &Index<'_>, class: u64, referents: Referents) -> Option<usize> {
    match referents {
        Referents::Hold => None,
        Referents::Skip => referent(index, class, &WEAK),
    }
}

fn targets(index: &Index<'_>, values: impl Iterator<Item = Value>) -> impl Iterator<Item = usize> {
    values.filter_map(|value| match value {
        Value::Object(address) => index.target(address),
        Value::Primitive(..) => None,
    })
}

/// Position of the `referent` among the values of an instance of one of these classes or their subclasses.
fn referent(index: &Index<'_>, class: u64, below: &[&str]) -> Option<usize> {
    let name = |class: &Class| index.class_name(ClassId::Dumped(class.address));
    if !index.chain(class).any(|class| below.contains(&name(class).as_str())) {
        return None;
    }
    let fields = index.chain(class).flat_map(|class| class.fields.iter().map(move |&(field, _)| (class, field)));
    let mut fields = fields.enumerate();
    fields
        .find(|(_, (class, field))| name(class) == REFERENCE && index.text(*field) == Some(b"referent"))
        .map(|(at, _)| at)
}

/// The thread that a root belongs to, if any.
pub(super) fn thread_of(kind: RootKind) -> Option<u32> {
    match kind {
        RootKind::JniLocal(thread, _)
        | RootKind::JavaFrame(thread, _)
        | RootKind::NativeStack(thread)
        | RootKind::ThreadBlock(thread) => Some(thread),
        _ => None,
    }
}

/// Targets of a thread's stack, to which the thread has essential edges.
fn locals(index: &Index<'_>, object: &Object) -> Vec<usize> {
    let own: Vec<u32> =
        index.threads.iter().filter(|(_, address)| **address == object.address).map(|(&n, _)| n).collect();
    if own.is_empty() {
        return Vec::new();
    }
    let own = index.dump.roots.iter().filter(|root| thread_of(root.kind).is_some_and(|thread| own.contains(&thread)));
    own.filter_map(|root| index.target(root.object)).collect()
}

/// Targets of the root: one edge per kind of root that an object is, and the boot loader's classes where the dump has
/// no sticky classes.
fn roots(index: &Index<'_>) -> Vec<usize> {
    let roots = &index.dump.roots;
    let has_thread = |kind| thread_of(kind).is_some_and(|thread| index.threads.contains_key(&thread));
    let own = roots.iter().filter(|root| !has_thread(root.kind));
    let own: BTreeSet<(usize, u8)> =
        own.filter_map(|root| Some((index.target(root.object)?, root.kind.tag()))).collect();
    let of_boot_loader = index.dump.classes.iter().filter(|class| class.loader == 0);
    let sticky = roots.iter().any(|root| root.kind == RootKind::StickyClass);
    let classes = of_boot_loader.filter(|_| !sticky).filter_map(|class| index.target(class.address));
    own.into_iter().map(|(object, _)| object).chain(classes).collect()
}
