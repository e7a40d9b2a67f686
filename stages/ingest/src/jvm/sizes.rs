//! Shallow sizes, as Eclipse MAT computes them.
//!
//! The dump does not say how large objects are in memory. Three numbers say nearly all: the width of a pointer, that
//! of a reference (4 bytes where pointers to objects are compressed), and what addresses are multiples of.

use bytemuck::{Pod, Zeroable};
use heaplake_schemas::scratch::Column;
use serde::{Deserialize, Serialize};

/// Least and largest distance at which objects are taken to be aligned, as powers of two.
const ALIGNMENTS: (u32, u32) = (3, 8);

/// Bytes that an array without compressed references has before its elements, at least.
const LEAST_ARRAY_HEAD: u64 = 16;

/// The memory layout of a heap. All numbers are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// Width of a pointer.
    pub pointer: u64,
    /// Width of a reference to an object.
    pub reference: u64,
    /// What sizes are multiples of.
    pub alignment: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { pointer: 8, reference: 8, alignment: 8 }
    }
}

impl Sizes {
    /// The same with compressed references, where there are such.
    #[must_use]
    pub fn compressed(self) -> Self {
        Self { reference: 4, ..self }
    }

    /// Whether references may be compressed though nothing shows it so far.
    #[must_use]
    pub fn may_be_compressed(&self) -> bool {
        self.reference > 4
    }

    /// What an instance of a class without superclass takes, before it is aligned: its header.
    #[must_use]
    pub fn header(&self) -> u64 {
        self.pointer + self.reference
    }

    /// What an instance takes down to a class, before it is aligned: `above` down to the superclass, `own` for the
    /// fields of the class itself.
    #[must_use]
    pub fn level(&self, above: u64, own: u64) -> u64 {
        above.saturating_add(own).next_multiple_of(self.reference)
    }

    /// Size of an instance that takes so much down to its class; also of a class with so many bytes of static fields.
    #[must_use]
    pub fn aligned(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(self.alignment)
    }

    /// Size of an array with so many bytes of elements.
    #[inline]
    #[must_use]
    pub fn array(&self, elements: u64) -> u64 {
        // Alignments are powers of two; a division would cost more than the rest.
        let head = (self.header() + 4 + self.reference - 1) & !(self.reference - 1);
        (head + elements + self.alignment - 1) & !(self.alignment - 1)
    }
}

/// The least extent of an array of references without compressed references. If another object lies inside,
/// references are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Extent {
    /// Address of the array.
    pub start: u64,
    /// Where it would end.
    pub end: u64,
}

/// Extents of the arrays of references among which no object was seen; only where references may be compressed and it
/// did not show while the dump was read.
pub const EXTENTS: Column<Extent> = Column::new("jvm.extent");

impl Extent {
    /// Of an array of so many elements.
    #[inline]
    #[must_use]
    pub fn new(start: u64, length: u32) -> Self {
        Self { start, end: start.saturating_add(LEAST_ARRAY_HEAD + 8 * u64::from(length)) }
    }
}

/// Infers the layout from the addresses of a dump, one by one. Objects mostly lie in memory as they follow each other
/// in the dump, so that whether references are compressed mostly shows at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    /// All bits that any address has.
    bits: u64,
    /// The last array of references.
    array: Extent,
    /// Whether some object lies inside.
    overlapping: bool,
}

impl Observed {
    /// Any object.
    #[inline]
    pub fn object(&mut self, address: u64) {
        self.bits |= address;
        self.overlapping |= self.array.start < address && address < self.array.end;
    }

    /// An array of references. Gives its extent where it may be that of some object, too.
    #[inline]
    pub fn references(&mut self, address: u64, length: u32) -> Option<Extent> {
        self.object(address);
        self.array = Extent::new(address, length);
        if self.overlapping { None } else { Some(self.array) }
    }

    /// What all addresses are multiples of, as a power of two.
    #[must_use]
    pub fn unit(&self) -> u32 {
        self.bits.trailing_zeros().min(ALIGNMENTS.1)
    }

    /// The layout, of a heap with pointers of so many bytes.
    #[must_use]
    pub fn sizes(&self, pointer: u8) -> Sizes {
        let alignment = 1 << self.unit().max(ALIGNMENTS.0);
        let sizes = Sizes { pointer: pointer.into(), reference: pointer.into(), alignment };
        if self.overlapping { sizes.compressed() } else { sizes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPRESSED: Sizes = Sizes { pointer: 8, reference: 4, alignment: 8 };
    const PLAIN: Sizes = Sizes { pointer: 8, reference: 8, alignment: 8 };
    const NARROW: Sizes = Sizes { pointer: 4, reference: 4, alignment: 8 };

    /// Size of an instance with these bytes of fields, the topmost class below `java.lang.Object` first.
    fn instance(sizes: Sizes, levels: &[u64]) -> u64 {
        sizes.aligned(levels.iter().fold(sizes.header(), |above, &own| sizes.level(above, own)))
    }

    #[test]
    fn instances() {
        // Object, Integer, String (a reference, int, byte, boolean) and a class whose levels are padded one by one.
        for (levels, expected) in [
            (&[][..], [16, 16, 8]),
            (&[4], [16, 24, 16]),
            (&[10], [24, 32, 24]),
            (&[1, 1, 1], [24, 40, 24]),
            (&[8], [24, 24, 16]),
        ] {
            assert_eq!([COMPRESSED, PLAIN, NARROW].map(|sizes| instance(sizes, levels)), expected, "{levels:?}");
        }
        assert_eq!(instance(Sizes { alignment: 16, ..COMPRESSED }, &[8]), 32);
    }

    #[test]
    fn arrays() {
        for (bytes, expected) in [
            (0, [16, 24, 16]),
            (1, [24, 32, 16]),
            (8, [24, 32, 24]),
            (4 << 32, [16 + (4 << 32), 24 + (4 << 32), 16 + (4 << 32)]),
        ] {
            assert_eq!([COMPRESSED, PLAIN, NARROW].map(|sizes| sizes.array(bytes)), expected, "{bytes}");
        }
    }

    #[test]
    fn layouts_show_in_addresses() {
        let mut heap = Observed::default();
        heap.references(0x1000, 4);
        heap.object(0x1030);
        assert_eq!(heap.sizes(8), Sizes { alignment: 16, ..PLAIN });
        heap.references(0x2000, 4);
        heap.object(0x2028);
        assert_eq!(heap.sizes(8), COMPRESSED);
        assert_eq!(heap.sizes(4), NARROW);
        heap.object(0x3001);
        assert_eq!((heap.unit(), heap.sizes(8).alignment), (0, 8));
    }
}
