//! Bit-packing of integers, for files of columns per node or edge.
//!
//! A block has [`BLOCK`] bytes of elements, a page of an array. Its miniblocks of 128 elements are packed
//! independently: a header byte, the base (an element), and the low bits of 128 numbers, as many bits as the largest
//! needs. The numbers are offsets from the least element (*frame of reference*) or differences between neighbours
//! (*delta*), whichever takes fewer bits. Neighbours in a heap are similar, so a column of 32-bit numbers takes 2 to 20
//! bits per element.
//!
//! Before packing, a constant is added with wraparound, which places sentinels such as `u32::MAX` next to small
//! numbers.
//!
//! Worst case: 5 bytes per 512 more than the elements. Reference: Lemire and Boytsov, "Decoding billions of integers
//! per second through vectorization", Software: Practice and Experience 45(1), 2015; miniblocks are packed by the crate
//! `bitpacking`, which follows it.

use bitpacking::{BitPacker, BitPacker4x};
use bytemuck::Pod;

/// Bytes of elements per block.
pub(crate) const BLOCK: usize = 4 << 10;
/// Elements per miniblock.
const MINI: usize = BitPacker4x::BLOCK_LEN;
/// Sentinels are the last few numbers of the range.
const MARKS: u8 = 16;

/// High bits of the header byte: encoding of a miniblock. The low bits are the bits per element.
mod scheme {
    pub(super) const REFERENCE: u8 = 0;
    pub(super) const DELTA: u8 = 1 << 6;
    /// Unpacked elements.
    pub(super) const PLAIN: u8 = 2 << 6;
    pub(super) const BITS: u8 = (1 << 6) - 1;
}

/// Bytes per packable element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    One,
    Four,
    Eight,
}

impl Width {
    /// Returns the width of a type; `None` if it cannot be packed.
    pub(crate) const fn of<T>() -> Option<Self> {
        match (size_of::<T>(), align_of::<T>()) {
            (1, 1) => Some(Self::One),
            (4, 4) => Some(Self::Four),
            (8, 8) => Some(Self::Eight),
            _ => None,
        }
    }

    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// Appends a packed block: whole aligned elements, at least one, at most [`BLOCK`] bytes.
    pub(crate) fn pack(self, elements: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::One => pack::<u8>(elements, out),
            Self::Four => pack::<u32>(bytemuck::cast_slice(elements), out),
            Self::Eight => pack::<u64>(bytemuck::cast_slice(elements), out),
        }
    }

    /// Fills `elements` (aligned) from a packed block; `None` if it is damaged.
    pub(crate) fn unpack(self, block: &[u8], elements: &mut [u8]) -> Option<()> {
        match self {
            Self::One => unpack::<u8>(block, elements),
            Self::Four => unpack::<u32>(block, bytemuck::cast_slice_mut(elements)),
            Self::Eight => unpack::<u64>(block, bytemuck::cast_slice_mut(elements)),
        }
    }
}

/// Packable elements.
trait Word: Pod {
    /// Encodes 128 elements: returns header byte and base, fills the numbers.
    fn reduce(elements: &[Self; MINI], numbers: &mut [u32; MINI]) -> (u8, Self);

    /// Decodes 128 elements.
    fn restore(scheme: u8, base: Self, numbers: &[u32; MINI], elements: &mut [Self; MINI]);
}

fn pack<W: Word>(elements: &[W], out: &mut Vec<u8>) {
    let packer = BitPacker4x::new();
    let mut numbers = [0; MINI];
    let (whole, rest) = elements.as_chunks::<MINI>();
    let mut filled = [W::zeroed(); MINI];
    let last = rest.last().map(|&last| {
        filled = [last; MINI];
        filled[..rest.len()].copy_from_slice(rest);
        &filled
    });
    for mini in whole.iter().chain(last) {
        let (head, base) = W::reduce(mini, &mut numbers);
        out.push(head);
        if head & !scheme::BITS == scheme::PLAIN {
            out.extend_from_slice(bytemuck::cast_slice(mini));
            continue;
        }
        out.extend_from_slice(bytemuck::bytes_of(&base));
        let (start, bits) = (out.len(), head & scheme::BITS);
        out.resize(start + BitPacker4x::compressed_block_size(bits), 0);
        packer.compress(&numbers, &mut out[start..], bits);
    }
}

fn unpack<W: Word>(mut block: &[u8], elements: &mut [W]) -> Option<()> {
    let packer = BitPacker4x::new();
    let (whole, rest) = elements.as_chunks_mut::<MINI>();
    for mini in whole {
        block = unpack_mini(&packer, block, mini)?;
    }
    if !rest.is_empty() {
        let mut mini = [W::zeroed(); MINI];
        block = unpack_mini(&packer, block, &mut mini)?;
        rest.copy_from_slice(&mini[..rest.len()]);
    }
    block.is_empty().then_some(())
}

/// Unpacks one miniblock; returns the rest of the block.
#[inline]
fn unpack_mini<'b, W: Word>(packer: &BitPacker4x, block: &'b [u8], elements: &mut [W; MINI]) -> Option<&'b [u8]> {
    let (&head, block) = block.split_first()?;
    if head & !scheme::BITS == scheme::PLAIN {
        let (plain, block) = block.split_at_checked(size_of_val(elements))?;
        bytemuck::cast_slice_mut(elements).copy_from_slice(plain);
        return Some(block);
    }
    let (base, block) = block.split_at_checked(size_of::<W>())?;
    let bits = head & scheme::BITS;
    if bits > 32 {
        return None;
    }
    let (packed, block) = block.split_at_checked(BitPacker4x::compressed_block_size(bits))?;
    let mut numbers = [0; MINI];
    packer.decompress(packed, &mut numbers, bits);
    W::restore(head & !scheme::BITS, bytemuck::pod_read_unaligned(base), &numbers, elements);
    Some(block)
}

/// Returns the bits that a number needs.
fn bits(most: u32) -> u8 {
    (32 - most.leading_zeros()) as u8
}

impl Word for u8 {
    fn reduce(elements: &[Self; MINI], numbers: &mut [u32; MINI]) -> (u8, Self) {
        let (mut least, mut most) = (Self::MAX, 0);
        for element in elements {
            let element = element.wrapping_add(MARKS);
            (least, most) = (least.min(element), most.max(element));
        }
        for (number, element) in numbers.iter_mut().zip(elements) {
            *number = (element.wrapping_add(MARKS) - least).into();
        }
        (scheme::REFERENCE | bits((most - least).into()), least)
    }

    fn restore(_scheme: u8, base: Self, numbers: &[u32; MINI], elements: &mut [Self; MINI]) {
        for (element, &number) in elements.iter_mut().zip(numbers) {
            *element = base.wrapping_add(number as u8).wrapping_sub(MARKS);
        }
    }
}

/// `u32` and `u64` differ only in width.
macro_rules! word {
    ($word:ident, $signed:ident) => {
        impl Word for $word {
            fn reduce(elements: &[Self; MINI], numbers: &mut [u32; MINI]) -> (u8, Self) {
                // Zigzag encoding of the difference to the preceding element.
                let folded = |at: usize| {
                    let difference = elements[at].wrapping_sub(elements[at - 1]) as $signed;
                    ((difference << 1) ^ (difference >> ($signed::BITS - 1))) as $word
                };
                let (mut least, mut most, mut deltas) = (Self::MAX, 0, 0);
                for &element in elements {
                    let element = element.wrapping_add(MARKS.into());
                    (least, most) = (least.min(element), most.max(element));
                }
                for at in 1..MINI {
                    deltas |= folded(at);
                }
                let span = most - least;
                if u32::try_from(span.min(deltas)).is_err() {
                    return (scheme::PLAIN, 0);
                }
                if deltas < span && deltas.leading_zeros() > span.leading_zeros() {
                    numbers[0] = 0;
                    for at in 1..MINI {
                        numbers[at] = folded(at) as u32;
                    }
                    return (scheme::DELTA | bits(deltas as u32), elements[0]);
                }
                for (number, element) in numbers.iter_mut().zip(elements) {
                    *number = (element.wrapping_add(MARKS.into()) - least) as u32;
                }
                (scheme::REFERENCE | bits(span as u32), least)
            }

            fn restore(scheme: u8, base: Self, numbers: &[u32; MINI], elements: &mut [Self; MINI]) {
                if scheme == scheme::DELTA {
                    let mut element = base;
                    for (at, &number) in elements.iter_mut().zip(numbers) {
                        let number = Self::from(number);
                        element = element.wrapping_add((number >> 1) ^ (number & 1).wrapping_neg());
                        *at = element;
                    }
                } else {
                    let base = base.wrapping_sub(MARKS.into());
                    for (element, &number) in elements.iter_mut().zip(numbers) {
                        *element = base.wrapping_add(number.into());
                    }
                }
            }
        }
    };
}

word!(u32, i32);
word!(u64, i64);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip<T: Pod + PartialEq + std::fmt::Debug>(elements: &[T]) -> usize {
        let width = Width::of::<T>().unwrap();
        let mut packed = vec![7];
        width.pack(bytemuck::cast_slice(elements), &mut packed);
        let mut back = vec![T::zeroed(); elements.len()];
        width.unpack(&packed[1..], bytemuck::cast_slice_mut(&mut back)).unwrap();
        assert_eq!(back, elements);
        packed.len() - 1
    }

    #[test]
    fn what_neighbours_share_takes_no_space() {
        let numbers: Vec<u32> = (0..1024).map(|at| 70_000 + at % 16).collect();
        assert_eq!(round_trip(&numbers), 8 * (5 + 4 * 16));
        let ascending: Vec<u32> = (0..1024).map(|at| 1_000_000_000 + at * 500).collect();
        assert_eq!(round_trip(&ascending), 8 * (5 + 10 * 16));
        assert_eq!(round_trip(&[u32::MAX; 1024]), 8 * 5);
        // Sentinels among small numbers.
        let marked: Vec<u32> = (0..1024).map(|at| if at % 3 == 0 { u32::MAX } else { at * 7919 % 200 }).collect();
        assert_eq!(round_trip(&marked), 8 * (5 + 8 * 16));
        let addresses: Vec<u64> = (0..512).map(|at| 0x7f00_0000_0000 + at * 24).collect();
        assert_eq!(round_trip(&addresses), 4 * (9 + 6 * 16));
        assert_eq!(round_trip(&[0u64, u64::MAX / 2, 1, u64::MAX]), 1 + 128 * 8);
        assert_eq!(round_trip(&[3u8; 4096]), 32 * 2);
    }

    #[test]
    fn damaged_blocks_are_refused() {
        let numbers: Vec<u32> = (0..300).map(|at| at * at).collect();
        let mut packed = Vec::new();
        Width::Four.pack(bytemuck::cast_slice(&numbers), &mut packed);
        let mut back = vec![0u32; numbers.len()];
        let mut unpack = |block: &[u8]| Width::Four.unpack(block, bytemuck::cast_slice_mut(&mut back));
        assert!(unpack(&packed).is_some());
        for length in 0..packed.len() {
            assert!(unpack(&packed[..length]).is_none());
        }
        for head in 0..=u8::MAX {
            let mut damaged = packed.clone();
            damaged[0] = head;
            // Never a panic.
            let _ = unpack(&damaged);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn all_numbers_come_back(
            base in any::<u64>(),
            shift in 0u32..64,
            numbers in prop::collection::vec(any::<u64>(), 1..512),
            signed in any::<bool>(),
        ) {
            let number = |&number: &u64| {
                let part = number >> shift;
                base.wrapping_add(if signed { part.wrapping_sub(u64::MAX >> shift >> 1) } else { part })
            };
            let eight: Vec<u64> = numbers.iter().map(number).collect();
            round_trip(&eight);
            round_trip(&eight.iter().map(|&number| number as u32).collect::<Vec<_>>());
            round_trip(&eight.iter().map(|&number| number as u8).collect::<Vec<_>>());
        }
    }
}
