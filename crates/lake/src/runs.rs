//! Parquet's hybrid run-length / bit-packing encoding, for definition levels and dictionary keys; and plain texts.

/// Appends a number as LEB128.
pub(crate) fn varint(mut number: u64, page: &mut Vec<u8>) {
    while number > 0x7f {
        page.push(number as u8 | 0x80);
        number >>= 7;
    }
    page.push(number as u8);
}

/// Appends a number with zigzag encoding: short for small absolute values.
pub(crate) fn zigzag(number: i64, page: &mut Vec<u8>) {
    varint(((number << 1) ^ (number >> 63)) as u64, page);
}

/// Appends definition levels: one run if all rows are equal, else one bit per row from `bits`, first row lowest.
pub(crate) fn levels(rows: usize, nulls: usize, bits: impl Iterator<Item = u8>, page: &mut Vec<u8>) {
    let start = page.len();
    page.extend_from_slice(&[0; 4]);
    if nulls == 0 || nulls == rows {
        varint((rows as u64) << 1, page);
        page.push(u8::from(nulls == 0));
    } else {
        varint((rows.div_ceil(8) as u64) << 1 | 1, page);
        page.extend(bits);
    }
    let length = (page.len() - start - 4) as u32;
    page[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Returns the bits per key for a dictionary of `values`: four, or whole bytes. Tighter packing is no smaller after
/// compression, since the compressor finds fewer repeated bytes.
pub(crate) fn width(values: usize) -> usize {
    match values {
        0..=0x10 => 4,
        0x11..=0x100 => 8,
        0x101..=0x1_0000 => 16,
        0x1_0001..=0x100_0000 => 24,
        _ => 32,
    }
}

/// Appends the width and keys of `width` bits: one run if all are equal, else packed and zero-padded to a multiple of
/// eight keys.
pub(crate) fn keys(keys: &[u32], width: usize, page: &mut Vec<u8>) {
    page.push(width as u8);
    let Some(&first) = keys.first() else { return };
    if keys.iter().all(|&key| key == first) {
        varint((keys.len() as u64) << 1, page);
        page.extend_from_slice(&first.to_le_bytes()[..width.div_ceil(8)]);
        return;
    }
    varint((keys.len().div_ceil(8) as u64) << 1 | 1, page);
    let end = page.len() + keys.len().div_ceil(8) * width;
    match width {
        4 => page.extend(keys.chunks(2).map(|pair| pair[0] as u8 | (pair.get(1).copied().unwrap_or(0) as u8) << 4)),
        8 => page.extend(keys.iter().map(|&key| key as u8)),
        16 => keys.iter().for_each(|&key| page.extend_from_slice(&(key as u16).to_le_bytes())),
        24 => keys.iter().for_each(|&key| page.extend_from_slice(&key.to_le_bytes()[..3])),
        _ => keys.iter().for_each(|&key| page.extend_from_slice(&key.to_le_bytes())),
    }
    page.resize(end, 0);
}

/// Appends a length-prefixed text.
pub(crate) fn plain(text: &str, page: &mut Vec<u8>) {
    page.extend_from_slice(&(text.len() as u32).to_le_bytes());
    page.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_packed_to_groups_of_eight() {
        let packed = |width, values: &[u32]| {
            let mut page = Vec::new();
            keys(values, width, &mut page);
            page
        };
        assert_eq!(packed(4, &[1, 2, 15]), [4, 3, 0x21, 0x0f, 0, 0]);
        assert_eq!(packed(8, &[1, 2]), [8, 3, 1, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(packed(16, &[0x0102, 3]), [&[16, 3, 2, 1, 3, 0][..], &[0; 12]].concat());
        assert_eq!(packed(24, &[0x01_0203, 0]), [&[24, 3, 3, 2, 1][..], &[0; 21]].concat());
        assert_eq!(packed(32, &[0x0102_0304, 0]).len(), 2 + 32);
        assert_eq!(packed(8, &[]), [8]);
    }

    #[test]
    fn keys_that_are_alike_are_a_run() {
        for (width, key, expected) in [(4, 7, &[4, 200, 1, 7][..]), (16, 0x0102, &[16, 200, 1, 2, 1])] {
            let mut page = Vec::new();
            keys(&[key; 100], width, &mut page);
            assert_eq!(page, expected);
        }
    }

    #[test]
    fn levels_are_runs_or_bits() {
        let of = |rows, nulls, bits: &[u8]| {
            let mut page = Vec::new();
            levels(rows, nulls, bits.iter().copied(), &mut page);
            page
        };
        assert_eq!(of(3, 0, &[7]), [2, 0, 0, 0, 6, 1]);
        assert_eq!(of(100, 100, &[0; 13]), [3, 0, 0, 0, 0xc8, 1, 0]);
        assert_eq!(of(10, 2, &[0xfd, 0x02]), [3, 0, 0, 0, 5, 0xfd, 0x02]);
    }

    #[test]
    fn numbers_with_signs() {
        let of = |number| {
            let mut page = Vec::new();
            zigzag(number, &mut page);
            page
        };
        assert_eq!((of(0), of(-1), of(1), of(-65)), (vec![0], vec![1], vec![2], vec![0x81, 1]));
        assert_eq!(of(i64::MIN), [&[0xff; 9][..], &[1]].concat());
    }
}
