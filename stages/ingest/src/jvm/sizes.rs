//! Shallow sizes, as Eclipse MAT computes them or as HotSpot lays out objects.
//!
//! The dump does not say how large objects are in memory. Three numbers say nearly all that MAT's rule needs: the width
//! of a pointer, that of a reference (4 bytes where pointers to objects are compressed), and what addresses are
//! multiples of. HotSpot's rule needs a fourth one, the size of headers, which the addresses of neighbours show: an array
//! ends before the next object begins.

use bytemuck::{Pod, Zeroable};
use heaplake_schemas::options::SizeRule;
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
    /// Headers, where sizes follow HotSpot; MAT's rule where there are none.
    pub heads: Option<Heads>,
    /// What comes before the fields of pieces of stacks, whose lengths the dump has; nothing where they are to follow MAT's
    /// rule, too.
    pub stack_head: Option<u64>,
}

/// What comes before fields and elements, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heads {
    /// Before the fields of an instance.
    pub instance: u64,
    /// Before the elements of an array, unless these must be aligned further on: header and length.
    pub array: u64,
}

impl Heads {
    /// Compact headers: mark and class share eight bytes.
    pub const COMPACT: Self = Self { instance: 8, array: 12 };
    /// A word and the compressed pointer to the class.
    pub const NARROW: Self = Self { instance: 12, array: 16 };
    /// Two words.
    pub const WIDE: Self = Self { instance: 16, array: 20 };
    /// Two words, where elements begin at a multiple of eight: before JDK 23.
    pub const WIDE_ALIGNED: Self = Self { instance: 16, array: 24 };
}

impl Default for Sizes {
    fn default() -> Self {
        Self { pointer: 8, reference: 8, alignment: 8, heads: None, stack_head: None }
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
        self.heads.map_or(self.pointer + self.reference, |heads| heads.instance)
    }

    /// The same with compact headers, where the rule asks for them.
    #[must_use]
    pub fn compact(self, rule: SizeRule) -> Self {
        let stack_head = Some(Heads::COMPACT.instance);
        if rule == SizeRule::Mat { self } else { Self { heads: Some(Heads::COMPACT), stack_head, ..self } }
    }

    /// Whether headers may be compact though nothing shows it so far.
    #[must_use]
    pub fn may_be_compact(&self, rule: SizeRule) -> bool {
        rule != SizeRule::Mat && self.pointer == 8 && self.heads != Some(Heads::COMPACT)
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

    /// Size of an array with so many bytes of elements, each of this width.
    #[inline]
    #[must_use]
    pub fn array(&self, elements: u64, width: u64) -> u64 {
        // Alignments are powers of two; a division would cost more than the rest.
        let head = match self.heads {
            Some(heads) if width == 8 => (heads.array + 7) & !7,
            Some(heads) => heads.array,
            None => (self.header() + 4 + self.reference - 1) & !(self.reference - 1),
        };
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

/// Where headers and elements of some arrays of primitive values lie: where these would end without any header. Only
/// such that would be larger without compact headers, and only where headers may be compact and it did not show while
/// the dump was read.
pub const HEADS: Column<Extent> = Column::new("jvm.head");

/// How many of [`HEADS`] there are at most. In a heap with compact headers each of the first ones has a neighbour that
/// shows it, but for the last one of a page.
pub const MOST_HEADS: u64 = 1 << 16;

impl Extent {
    /// Of an array of so many elements.
    #[inline]
    #[must_use]
    pub fn new(start: u64, length: u32) -> Self {
        Self::of_bytes(start, LEAST_ARRAY_HEAD + 8 * u64::from(length))
    }

    fn of_bytes(start: u64, bytes: u64) -> Self {
        Self { start, end: start.saturating_add(bytes) }
    }

    /// Whether its elements are so many that an array with a compact header is smaller than one with another header.
    fn tells_heads(&self) -> bool {
        (1..=4).contains(&((self.end - self.start) % 8))
    }
}

/// Infers the layout from the addresses of a dump, one by one. Objects mostly lie in memory as they follow each other
/// in the dump, so that whether references are compressed mostly shows at once.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// All bits that any address has.
    bits: u64,
    /// The last array of references.
    array: Extent,
    /// Whether some object lies inside.
    overlapping: bool,
    /// The last array of primitive values, without any header.
    values: Extent,
    /// The least that such an array has besides its elements before the next object begins.
    head: u64,
}

impl Default for Observed {
    fn default() -> Self {
        Self { bits: 0, array: Extent::default(), overlapping: false, values: Extent::default(), head: u64::MAX }
    }
}

impl Observed {
    /// Any object.
    #[inline]
    pub fn object(&mut self, address: u64) {
        self.bits |= address;
        self.overlapping |= self.array.start < address && address < self.array.end;
        if self.values.start < address {
            self.head = self.head.min(address.saturating_sub(self.values.end));
        }
    }

    /// An array of primitive values with so many bytes of elements. Gives where they would lie without a header, where
    /// this may tell how large it is.
    #[inline]
    pub fn values(&mut self, address: u64, bytes: u64) -> Option<Extent> {
        self.object(address);
        self.values = Extent::of_bytes(address, bytes);
        Some(self.values).filter(|values| !self.is_compact() && values.tells_heads())
    }

    /// Whether headers are compact. If arrays leave no place even for those, addresses are not those of HotSpot.
    fn is_compact(&self) -> bool {
        (Heads::COMPACT.array..Heads::NARROW.array).contains(&self.head)
    }

    fn heads(&self) -> Heads {
        let some = [Heads::WIDE_ALIGNED, Heads::WIDE];
        match self.head {
            _ if self.is_compact() => Heads::COMPACT,
            // What is larger is no distance of neighbours.
            25.. => Heads::NARROW,
            least => some.into_iter().find(|heads| heads.array <= least).unwrap_or(Heads::NARROW),
        }
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
    pub fn sizes(&self, pointer: u8, rule: SizeRule) -> Sizes {
        let alignment = 1 << self.unit().max(ALIGNMENTS.0);
        // Of narrow pointers mark and class have four bytes each.
        let all = if pointer == 4 { Heads::COMPACT } else { self.heads() };
        let heads = match rule {
            SizeRule::Mat => None,
            SizeRule::Jvm => Some(all),
            SizeRule::Auto => Some(Heads::COMPACT).filter(|_| pointer == 8 && self.is_compact()),
        };
        let stack_head = (rule != SizeRule::Mat).then_some(all.instance);
        let sizes = Sizes { pointer: pointer.into(), reference: pointer.into(), alignment, heads, stack_head };
        if self.overlapping { sizes.compressed() } else { sizes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPRESSED: Sizes = Sizes { pointer: 8, reference: 4, alignment: 8, heads: None, stack_head: Some(12) };
    const PLAIN: Sizes = Sizes { pointer: 8, reference: 8, alignment: 8, heads: None, stack_head: Some(12) };
    const NARROW: Sizes = Sizes { pointer: 4, reference: 4, alignment: 8, heads: None, stack_head: Some(8) };

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
            assert_eq!([COMPRESSED, PLAIN, NARROW].map(|sizes| sizes.array(bytes, 1)), expected, "{bytes}");
        }
    }

    #[test]
    fn arrays_behind_headers_of_hotspot() {
        let of = |heads, width| Sizes { heads: Some(heads), ..PLAIN }.array(8, width);
        for (heads, expected) in [
            (Heads::COMPACT, [24, 24]),
            (Heads::NARROW, [24, 24]),
            (Heads::WIDE, [32, 32]),
            (Heads::WIDE_ALIGNED, [32, 32]),
        ] {
            assert_eq!([of(heads, 1), of(heads, 8)], expected, "{heads:?}");
        }
        let compact = Sizes { heads: Some(Heads::COMPACT), ..COMPRESSED };
        assert_eq!([compact.array(4, 1), compact.array(0, 8), compact.array(12, 4)], [16, 16, 24]);
    }

    #[test]
    fn headers_show_between_neighbours() {
        let mut heap = Observed::default();
        let rules =
            |heap: &Observed| [SizeRule::Auto, SizeRule::Jvm, SizeRule::Mat].map(|rule| heap.sizes(8, rule).heads);
        // 4 bytes may end at 16, 20 or 24 bytes from the beginning of the array.
        assert!(heap.values(0x1000, 4).is_some());
        heap.object(0x1020);
        assert_eq!(rules(&heap), [None, Some(Heads::NARROW), None]);
        assert!(heap.values(0x2000, 4).is_some());
        heap.object(0x2018);
        assert_eq!(rules(&heap), [None, Some(Heads::WIDE), None]);
        assert!(heap.values(0x3000, 8).is_none());
        heap.object(0x3018);
        assert_eq!(rules(&heap), [None, Some(Heads::NARROW), None]);
        heap.values(0x4000, 4);
        heap.object(0x4010);
        assert_eq!(rules(&heap), [Some(Heads::COMPACT), Some(Heads::COMPACT), None]);
        assert!(heap.values(0x5000, 4).is_none());
        // No virtual machine that we know leaves less than 12 bytes.
        heap.object(0x5008);
        assert_eq!(rules(&heap), [None, Some(Heads::NARROW), None]);
    }

    #[test]
    fn layouts_show_in_addresses() {
        let mut heap = Observed::default();
        heap.references(0x1000, 4);
        heap.object(0x1030);
        assert_eq!(heap.sizes(8, SizeRule::Auto), Sizes { alignment: 16, ..PLAIN });
        heap.references(0x2000, 4);
        heap.object(0x2028);
        assert_eq!(heap.sizes(8, SizeRule::Auto), COMPRESSED);
        assert_eq!(heap.sizes(4, SizeRule::Auto), NARROW);
        heap.object(0x3001);
        assert_eq!((heap.unit(), heap.sizes(8, SizeRule::Auto).alignment), (0, 8));
    }
}
