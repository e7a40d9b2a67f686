//! Shallow sizes: MAT's, from the layout of fields; with compact headers HotSpot's.

use super::super::model::{Class, ObjectData, Primitive, Type};
use super::index::{ClassId, Index, Node};

/// Offset of an array's elements with references of four bytes: two words of header and a length.
const ARRAY_HEADER: u64 = 16;

/// Parameters of a dump's sizes.
pub(super) struct Sizes {
    pointer: u64,
    /// Bytes of a reference in a field or an array.
    reference: u64,
    /// Alignment of every size.
    alignment: u64,
    /// Whether headers have eight bytes.
    compact: bool,
}

/// Fields that HotSpot adds to classes, with references as 0.
const ADDED: [(&str, &[u64]); 3] = [
    ("java.lang.Class", &[8, 8, 4, 4, 0, 0, 0, 0]),
    ("java.lang.ClassLoader", &[8]),
    ("java.lang.Thread", &[8, 4, 2, 1]),
];

impl Sizes {
    pub(super) fn new(index: &Index<'_>) -> Self {
        let pointer = index.dump.id_size as u64;
        let reference = if pointer == 8 && arrays_would_overlap(index) { 4 } else { pointer };
        Self { pointer, reference, alignment: alignment(index), compact: pointer == 8 && headers_would_overlap(index) }
    }

    pub(super) fn shallow(&self, index: &Index<'_>, node: &Node<'_>) -> u64 {
        match node {
            Node::Root => 0,
            Node::BootLoader => match index.named("java.lang.ClassLoader") {
                Some(class) => self.instance(index, class),
                None => 0,
            },
            Node::Class(class) => self.class(index, class),
            Node::Object(object) => match &object.data {
                ObjectData::Instance(class, _) => self.instance(index, *class),
                ObjectData::ObjectArray(_, elements) => self.array(elements.len() as u64, self.reference),
                ObjectData::PrimitiveArray(kind, values) => self.array(values.len(), kind.size()),
            },
        }
    }

    fn size_of(&self, kind: Type) -> u64 {
        match kind {
            Type::Object => self.reference,
            Type::Primitive(primitive) => primitive.size(),
        }
    }

    /// The header, which is all of the topmost class, whatever fields it declares; then the fields of each class from
    /// the top down, each level rounded up to a whole reference.
    fn instance(&self, index: &Index<'_>, class: u64) -> u64 {
        if self.compact {
            return self.placed(index, class).next_multiple_of(8).next_multiple_of(self.alignment);
        }
        let mut levels: Vec<&Class> = index.chain(class).collect();
        levels.reverse();
        let mut size = self.pointer + self.reference;
        for level in levels.into_iter().skip(1) {
            size += level.fields.iter().map(|&(_, kind)| self.size_of(kind)).sum::<u64>();
            size = size.next_multiple_of(self.reference);
        }
        size.next_multiple_of(self.alignment)
    }

    /// End of the last field. Each field takes the smallest hole that it fits, the last of equally small ones.
    fn placed(&self, index: &Index<'_>, class: u64) -> u64 {
        let mut levels: Vec<&Class> = index.chain(class).collect();
        levels.reverse();
        let mut taken = vec![true; 8];
        for level in levels {
            let name = index.class_name(ClassId::Dumped(level.address));
            let added = ADDED.iter().filter(|(class, _)| *class == name && level.loader == 0);
            let own = level.fields.iter().map(|&(_, kind)| (kind == Type::Object, self.size_of(kind)));
            let added = added.flat_map(|(_, widths)| *widths).map(|&width| match width {
                0 => (true, self.reference),
                width => (false, width),
            });
            let mut fields: Vec<(bool, u64)> = own.chain(added).collect();
            fields.sort_by_key(|&(is_reference, width)| (is_reference, u64::MAX - width));
            for (_, width) in fields {
                let at = hole(&taken, width as usize).unwrap_or_else(|| taken.len().next_multiple_of(width as usize));
                taken.resize(taken.len().max(at + width as usize), false);
                taken[at..at + width as usize].fill(true);
            }
        }
        taken.len() as u64
    }

    fn array(&self, length: u64, element: u64) -> u64 {
        if self.compact {
            return (12u64.next_multiple_of(element.max(4)) + length * element).next_multiple_of(self.alignment);
        }
        let header = (self.pointer + self.reference + 4).next_multiple_of(self.reference);
        (header + length * element).next_multiple_of(self.alignment)
    }

    /// Size of a class: the sum of its static fields.
    fn class(&self, index: &Index<'_>, class: &Class) -> u64 {
        if self.compact {
            let wide = class.statics.iter().any(|field| match field.value.type_of() {
                Type::Object => false,
                Type::Primitive(kind) => matches!(kind, Primitive::Long | Primitive::Double),
            });
            let (references, others): (Vec<u64>, Vec<u64>) = {
                let sizes =
                    class.statics.iter().map(|field| (field.value.type_of(), self.size_of(field.value.type_of())));
                let (references, others): (Vec<_>, Vec<_>) = sizes.partition(|(kind, _)| *kind == Type::Object);
                (references.iter().map(|(_, size)| *size).collect(), others.iter().map(|(_, size)| *size).collect())
            };
            let mirror = index.named("java.lang.Class").map_or(8, |class| self.placed(index, class));
            let end = mirror.next_multiple_of(8) + references.iter().sum::<u64>();
            let end = if wide { end.next_multiple_of(8) } else { end };
            return (end + others.iter().sum::<u64>()).next_multiple_of(8).next_multiple_of(self.alignment);
        }
        let fields: u64 = class.statics.iter().map(|field| self.size_of(field.value.type_of())).sum();
        fields.next_multiple_of(self.alignment)
    }
}

/// Whether an object lies where an array's elements would be if each had eight bytes.
fn arrays_would_overlap(index: &Index<'_>) -> bool {
    let mut addresses: Vec<u64> = index.nodes.iter().filter_map(Node::address).collect();
    addresses.sort_unstable();
    index.dump.objects.iter().any(|object| match &object.data {
        ObjectData::ObjectArray(_, elements) => {
            let end = object.address.saturating_add(ARRAY_HEADER + 8 * elements.len() as u64);
            let next = addresses.partition_point(|&address| address <= object.address);
            addresses.get(next).is_some_and(|&next| next < end)
        }
        _ => false,
    })
}

/// Where a field fits between others: in the smallest hole, the last of equally small ones, at its first fitting
/// offset.
fn hole(taken: &[bool], width: usize) -> Option<usize> {
    let mut best: Option<(usize, usize)> = None;
    let mut start = 0;
    while start < taken.len() {
        let end = start + taken[start..].iter().take_while(|&&byte| !byte).count();
        let at = start.next_multiple_of(width);
        if end > start && at + width <= end && best.is_none_or(|(size, _)| end - start <= size) {
            best = Some((end - start, at));
        }
        start = end + 1;
    }
    best.map(|(_, at)| at)
}

/// Whether an array of primitives would reach into an object if its header had twelve bytes rather than eight.
fn headers_would_overlap(index: &Index<'_>) -> bool {
    index.dump.objects.iter().any(|object| match &object.data {
        ObjectData::PrimitiveArray(kind, values) => {
            let end = object.address.saturating_add(ARRAY_HEADER + kind.size() * values.len());
            index.nodes.iter().filter_map(Node::address).any(|other| object.address < other && other < end)
        }
        _ => false,
    })
}

/// The greatest power of two from 8 to 256 that divides all addresses; 8 if there is none.
fn alignment(index: &Index<'_>) -> u64 {
    let bits = index.nodes.iter().filter_map(Node::address).fold(256, |bits, address| bits | address);
    (1 << bits.trailing_zeros()).max(8)
}
