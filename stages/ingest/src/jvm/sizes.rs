//! Shallow sizes by the rule of Eclipse MAT or by HotSpot's object layout.
//!
//! A dump does not state sizes in memory. MAT's rule needs three numbers: the width of a pointer, the width of a
//! reference (4 bytes with compressed references) and the alignment of addresses. HotSpot's rule also needs the size of
//! headers, which follows from the addresses of neighbours, since an array ends before the next object begins.

use bytemuck::{Pod, Zeroable};
use heaplake_schemas::options::SizeRule;
use heaplake_schemas::scratch::Column;
use serde::{Deserialize, Serialize};

/// log2 of the least and the largest alignment.
const ALIGNMENTS: (u32, u32) = (3, 8);

/// Least bytes before the elements of an array with uncompressed references.
const LEAST_ARRAY_HEAD: u64 = 16;

/// The memory layout of a heap, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sizes {
    /// Width of a pointer.
    pub pointer: u64,
    /// Width of a reference to an object.
    pub reference: u64,
    /// Alignment of sizes.
    pub alignment: u64,
    /// Headers for HotSpot's sizes; `None` for MAT's rule.
    pub heads: Option<Heads>,
    /// Bytes before the fields of stack chunks, which have known lengths; `None` if they follow MAT's rule.
    pub stack_head: Option<u64>,
}

/// Bytes before fields and elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Heads {
    /// Before the fields of an instance.
    pub instance: u64,
    /// Before the elements of an array (header and length), unless these need more alignment.
    pub array: u64,
}

impl Heads {
    /// Compact headers: mark and class share 8 bytes.
    pub(crate) const COMPACT: Self = Self { instance: 8, array: 12 };
    /// A word and a compressed class pointer.
    pub(crate) const NARROW: Self = Self { instance: 12, array: 16 };
    /// Two words.
    pub(crate) const WIDE: Self = Self { instance: 16, array: 20 };
    /// Two words, with elements aligned to 8 bytes: before JDK 23.
    pub(crate) const WIDE_ALIGNED: Self = Self { instance: 16, array: 24 };
}

impl Default for Sizes {
    fn default() -> Self {
        Self { pointer: 8, reference: 8, alignment: 8, heads: None, stack_head: None }
    }
}

impl Sizes {
    /// Returns the layout with compressed references.
    #[must_use]
    pub(crate) fn compressed(self) -> Self {
        Self { reference: 4, ..self }
    }

    /// Whether references may still turn out to be compressed.
    pub(crate) fn may_be_compressed(&self) -> bool {
        self.reference > 4
    }

    /// Unaligned size of an instance of a class without a superclass: its header.
    pub(crate) fn header(&self) -> u64 {
        self.heads.map_or(self.pointer + self.reference, |heads| heads.instance)
    }

    /// Returns the layout with compact headers, unless the rule is MAT's.
    #[must_use]
    pub(crate) fn compact(self, rule: SizeRule) -> Self {
        let stack_head = Some(Heads::COMPACT.instance);
        if rule == SizeRule::Mat { self } else { Self { heads: Some(Heads::COMPACT), stack_head, ..self } }
    }

    /// Whether headers may still turn out to be compact.
    pub(crate) fn may_be_compact(&self, rule: SizeRule) -> bool {
        rule != SizeRule::Mat && self.pointer == 8 && self.heads != Some(Heads::COMPACT)
    }

    /// Unaligned size of an instance down to a class: `above` down to its superclass, `own` for its own fields.
    pub(crate) fn level(&self, above: u64, own: u64) -> u64 {
        above.saturating_add(own).next_multiple_of(self.reference)
    }

    /// Rounds the size of an instance, or of a class's static fields, up to the alignment.
    pub(crate) fn aligned(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(self.alignment)
    }

    /// Size of an array with `elements` bytes of elements, each of this width.
    #[inline]
    pub(crate) fn array(&self, elements: u64, width: u64) -> u64 {
        // Alignments are powers of two, which avoids a costly division.
        let head = match self.heads {
            Some(heads) if width == 8 => (heads.array + 7) & !7,
            Some(heads) => heads.array,
            None => (self.header() + 4 + self.reference - 1) & !(self.reference - 1),
        };
        (head + elements + self.alignment - 1) & !(self.alignment - 1)
    }
}

/// Least extent of an array of references without compressed references. Another object inside it proves that
/// references are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Extent {
    /// Address of the array.
    pub start: u64,
    /// Its end.
    pub end: u64,
}

/// Extents of arrays of references, for a later check; kept only if references may be compressed and the first pass did
/// not prove it.
pub(crate) const EXTENTS: Column<Extent> = Column::new("jvm.extent");

/// Elements of some primitive arrays, as if they had no header, for a later check; only of arrays that are larger
/// without compact headers, and only if headers may be compact and the first pass did not prove it.
pub(crate) const HEADS: Column<Extent> = Column::new("jvm.head");

/// Limit of [`HEADS`]. In a heap with compact headers the neighbour of nearly every one of the first arrays proves it,
/// except at the end of a page.
pub(crate) const MOST_HEADS: u64 = 1 << 16;

impl Extent {
    /// Returns the extent of an array of `length` elements.
    #[inline]
    pub(crate) fn new(start: u64, length: u32) -> Self {
        Self::of_bytes(start, LEAST_ARRAY_HEAD + 8 * u64::from(length))
    }

    fn of_bytes(start: u64, bytes: u64) -> Self {
        Self { start, end: start.saturating_add(bytes) }
    }

    /// Whether an array with these elements is smaller with a compact header than with any other.
    fn tells_heads(&self) -> bool {
        (1..=4).contains(&((self.end - self.start) % 8))
    }
}

/// Infers the layout from the addresses of a dump. Objects mostly lie in memory in the order of the dump, which shows
/// compressed references almost at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    /// Bitwise or of all addresses.
    bits: u64,
    /// The last array of references.
    array: Extent,
    /// Whether an object begins inside an array's extent.
    overlapping: bool,
    /// Elements of the last primitive array, as if it had no header.
    values: Extent,
    /// Least distance from the end of such elements to the next object: the size of a header, or more.
    head: u64,
}

impl Default for Observed {
    fn default() -> Self {
        Self { bits: 0, array: Extent::default(), overlapping: false, values: Extent::default(), head: u64::MAX }
    }
}

impl Observed {
    /// Adds an object.
    #[inline]
    pub(crate) fn object(&mut self, address: u64) {
        self.bits |= address;
        self.overlapping |= self.array.start < address && address < self.array.end;
        if self.values.start < address {
            self.head = self.head.min(address.saturating_sub(self.values.end));
        }
    }

    /// Adds a primitive array with `bytes` bytes of elements. Returns their extent without a header if it may show the
    /// size of headers.
    #[inline]
    pub(crate) fn values(&mut self, address: u64, bytes: u64) -> Option<Extent> {
        self.object(address);
        self.values = Extent::of_bytes(address, bytes);
        Some(self.values).filter(|values| !self.is_compact() && values.tells_heads())
    }

    /// Whether headers are compact. A distance below their size means that addresses are not HotSpot's.
    fn is_compact(&self) -> bool {
        (Heads::COMPACT.array..Heads::NARROW.array).contains(&self.head)
    }

    fn heads(&self) -> Heads {
        let some = [Heads::WIDE_ALIGNED, Heads::WIDE];
        match self.head {
            _ if self.is_compact() => Heads::COMPACT,
            // A larger distance is not one of neighbours.
            25.. => Heads::NARROW,
            least => some.into_iter().find(|heads| heads.array <= least).unwrap_or(Heads::NARROW),
        }
    }

    /// Adds an array of references. Returns its extent if it may prove that references are compressed.
    #[inline]
    pub(crate) fn references(&mut self, address: u64, length: u32) -> Option<Extent> {
        self.object(address);
        self.array = Extent::new(address, length);
        if self.overlapping { None } else { Some(self.array) }
    }

    /// log2 of the alignment of all addresses.
    pub(crate) fn unit(&self) -> u32 {
        self.bits.trailing_zeros().min(ALIGNMENTS.1)
    }

    /// Returns the layout of a heap with pointers of `pointer` bytes.
    pub(crate) fn sizes(&self, pointer: u8, rule: SizeRule) -> Sizes {
        let alignment = 1 << self.unit().max(ALIGNMENTS.0);
        // With 4-byte pointers mark and class have four bytes each.
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

    /// Size of an instance with these bytes of fields per class, from the class below `java.lang.Object` down.
    fn instance(sizes: Sizes, levels: &[u64]) -> u64 {
        sizes.aligned(levels.iter().fold(sizes.header(), |above, &own| sizes.level(above, own)))
    }

    #[test]
    fn instances() {
        // Object, Integer, String (a reference, int, byte, boolean) and a class with padding at each level.
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
        // 4 bytes may end at 16, 20 or 24 bytes from the start of the array.
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
        // No known virtual machine leaves less than 12 bytes.
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
