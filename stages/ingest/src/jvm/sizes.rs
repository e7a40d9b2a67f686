//! Shallow sizes, as Eclipse MAT computes them.
//!
//! The dump does not say how large objects are in memory. Three numbers say nearly all: the width of a pointer, that of a
//! reference (4 bytes where pointers to objects are compressed), and what addresses are multiples of.

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
    /// What an instance of a class without superclass takes, before it is aligned: its header.
    #[must_use]
    pub fn header(&self) -> u64 {
        self.pointer + self.reference
    }

    /// What an instance takes down to a class, before it is aligned: `above` down to the superclass, `own` for the fields
    /// of the class itself.
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

/// Learns the layout from the addresses of a dump, as they come by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    /// All bits that any address has.
    bits: u64,
    /// The last array of references: where it begins, and where it would end if references were not compressed.
    array: (u64, u64),
    /// Whether some object lies inside.
    overlapping: bool,
}

impl Observed {
    /// Any object.
    #[inline]
    pub fn object(&mut self, address: u64) {
        self.bits |= address;
        self.overlapping |= self.array.0 < address && address < self.array.1;
    }

    /// An array of references.
    #[inline]
    pub fn references(&mut self, address: u64, length: u32) {
        self.object(address);
        self.array = (address, address.saturating_add(LEAST_ARRAY_HEAD + 8 * u64::from(length)));
    }

    /// What all addresses are multiples of, as a power of two.
    #[must_use]
    pub fn unit(&self) -> u32 {
        self.bits.trailing_zeros().min(ALIGNMENTS.1)
    }

    /// The layout, of a heap with pointers of so many bytes.
    #[must_use]
    pub fn sizes(&self, pointer: u8) -> Sizes {
        let reference = if pointer == 8 && self.overlapping { 4 } else { pointer };
        let alignment = 1 << self.unit().max(ALIGNMENTS.0);
        Sizes { pointer: pointer.into(), reference: reference.into(), alignment }
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
