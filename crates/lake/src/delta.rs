//! Parquet's `DELTA_BINARY_PACKED`: differences of neighbours in blocks of four miniblocks, each with the bit width of
//! its largest difference.
//!
//! The library's encoder is called per value; this one processes a block at a time, in loops that the compiler can
//! vectorize. The bytes are equal.

use crate::runs::{varint, zigzag};

/// Miniblocks per block.
const PARTS: usize = 4;

macro_rules! encoder {
    ($(#[$doc:meta])* $encode:ident, $signed:ty, $unsigned:ty, $part:expr) => {
        $(#[$doc])*
        pub(crate) fn $encode(values: &[$signed], page: &mut Vec<u8>) {
            const PART: usize = $part;
            const BLOCK: usize = PART * PARTS;
            varint(BLOCK as u64, page);
            varint(PARTS as u64, page);
            varint(values.len() as u64, page);
            zigzag(values.first().copied().unwrap_or(0).into(), page);
            let mut deltas = [0; BLOCK];
            for start in (1..values.len()).step_by(BLOCK) {
                let end = values.len().min(start + BLOCK);
                let deltas = &mut deltas[..end - start];
                for ((delta, &value), &before) in deltas.iter_mut().zip(&values[start..end]).zip(&values[start - 1..end - 1]) {
                    *delta = value.wrapping_sub(before);
                }
                let least = deltas.iter().fold(<$signed>::MAX, |least, &delta| least.min(delta));
                zigzag(least.into(), page);
                let widths = page.len();
                page.extend_from_slice(&[0; PARTS]);
                for (part, deltas) in deltas.chunks(PART).enumerate() {
                    let mut offsets = [0; PART];
                    let mut all = 0;
                    for (offset, &delta) in offsets.iter_mut().zip(deltas) {
                        *offset = delta.wrapping_sub(least) as $unsigned;
                        all |= *offset;
                    }
                    let width = <$unsigned>::BITS - all.leading_zeros();
                    page[widths + part] = width as u8;
                    pack(&offsets.map(u64::from), width, page);
                }
            }
        }
    };
}

encoder!(
    /// Appends 32-bit numbers.
    narrow, i32, u32, 32
);
encoder!(
    /// Appends 64-bit numbers.
    wide, i64, u64, 64
);

/// Dispatches to packing with a compile-time width: constant shifts.
macro_rules! by_width {
    ($width:expr, $offsets:expr, $page:expr; $($known:literal)*) => {
        match $width {
            0 => {}
            $($known => tight::<$known>($offsets, $page),)*
            width => loose($offsets, width, $page),
        }
    };
}

/// Appends the lowest `width` bits of each number; their count is a multiple of 32.
fn pack(offsets: &[u64], width: u32, page: &mut Vec<u8>) {
    by_width!(width, offsets, page; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

fn tight<const WIDTH: usize>(offsets: &[u64], page: &mut Vec<u8>) {
    for offsets in offsets.as_chunks::<32>().0 {
        let mut words = [0_u32; WIDTH];
        let (mut held, mut bits, mut at) = (0, 0, 0);
        for &offset in offsets {
            held |= offset << bits;
            bits += WIDTH;
            if bits >= 32 {
                words[at] = held as u32;
                (held, bits, at) = (held >> 32, bits - 32, at + 1);
            }
        }
        page.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
}

/// Packs any width; a multiple of 64 numbers fills whole words.
fn loose(offsets: &[u64], width: u32, page: &mut Vec<u8>) {
    let (mut held, mut bits) = (0_u128, 0);
    for &offset in offsets {
        held |= u128::from(offset) << bits;
        bits += width;
        if bits >= 64 {
            page.extend_from_slice(&(held as u64).to_le_bytes());
            (held, bits) = (held >> 64, bits - 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Decodes bytes as the Parquet specification says.
    struct Bytes<'a>(&'a [u8]);

    impl Bytes<'_> {
        fn varint(&mut self) -> u64 {
            let length = self.0.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
            let (number, rest) = self.0.split_at(length);
            self.0 = rest;
            number.iter().rev().fold(0, |all, byte| all << 7 | u64::from(byte & 0x7f))
        }

        fn zigzag(&mut self) -> i64 {
            let number = self.varint();
            (number >> 1) as i64 ^ -((number & 1) as i64)
        }

        fn decoded(&mut self) -> Vec<i64> {
            let (block, parts, count) = (self.varint() as usize, self.varint() as usize, self.varint() as usize);
            let mut values = vec![self.zigzag()];
            while values.len() < count {
                let least = self.zigzag();
                let (widths, rest) = self.0.split_at(parts);
                self.0 = rest;
                for &width in widths.iter().take_while(|_| values.len() < count).collect::<Vec<_>>() {
                    let (packed, rest) = self.0.split_at(block / parts * usize::from(width) / 8);
                    self.0 = rest;
                    for nth in 0..block / parts {
                        let bit = |bit: usize| u64::from(packed[bit / 8] >> (bit % 8) & 1);
                        let from = nth * usize::from(width);
                        let offset = (0..usize::from(width)).fold(0, |all, at| all | bit(from + at) << at);
                        values.push(values.last().unwrap().wrapping_add(least).wrapping_add(offset as i64));
                    }
                }
            }
            values.truncate(count);
            values
        }
    }

    fn decoded(page: &[u8]) -> Vec<i64> {
        let mut bytes = Bytes(page);
        let values = bytes.decoded();
        assert!(bytes.0.is_empty(), "nothing follows");
        values
    }

    fn check(values: &[i64]) {
        let mut page = Vec::new();
        wide(values, &mut page);
        assert_eq!(decoded(&page), values);
        let narrowed: Vec<i32> = values.iter().map(|&value| value as i32).collect();
        page.clear();
        narrow(&narrowed, &mut page);
        let read: Vec<i32> = decoded(&page).into_iter().map(|value| value as i32).collect();
        assert_eq!(read, narrowed);
    }

    #[test]
    fn numbers_of_every_width_and_count() {
        for width in 0..=64 {
            let most = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let values: Vec<i64> =
                (0..300_u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & most) as i64).collect();
            check(&values);
        }
        (0..600).for_each(|count| check(&(0..count).collect::<Vec<i64>>()));
        check(&[i64::MIN, i64::MAX, 0, -1, i64::MIN, i64::MIN, i64::MAX]);
        check(&[i32::MIN.into(), i32::MAX.into(), 0, -1, i32::MIN.into()]);
    }

    proptest! {
        #[test]
        fn any_numbers(values in prop::collection::vec(any::<i64>(), 0..700), shift in 0..64_u32) {
            check(&values.into_iter().map(|value| value >> shift).collect::<Vec<_>>());
        }
    }
}
