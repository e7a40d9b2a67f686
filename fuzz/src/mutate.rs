//! Mutates inputs: blindly, but in ways that break readers.

use heaplake_oracle::SplitMix64;

/// Boundary values of readers.
const NUMBERS: [u64; 20] = [
    0,
    1,
    2,
    7,
    8,
    16,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// Maximum size of an input.
pub(crate) const MOST: usize = 1 << 20;

/// Maximum size of a moved or filled piece.
const PIECE: usize = 400;

/// A mutated copy of an input; pieces may come from `other`.
pub(crate) fn mutated(input: &[u8], other: &[u8], words: &[&[u8]], rng: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let most = 1 << rng.below(4);
    let changes = 1 + rng.below(most);
    for _ in 0..changes {
        change(&mut bytes, other, words, rng);
        bytes.truncate(MOST);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], words: &[&[u8]], rng: &mut SplitMix64) {
    if bytes.is_empty() {
        bytes.extend(other);
        return;
    }
    let at = rng.below(bytes.len());
    let end = (at + 1 + rng.below(PIECE)).min(bytes.len());
    match rng.below(14) {
        0 => bytes[at] ^= 1 << rng.below(8),
        1 => bytes[at] = rng.next_u64() as u8,
        2 | 3 => number(bytes, at, rng),
        4 | 5 => decimal(bytes, at, rng),
        6 => drop(bytes.drain(at..end)),
        7 => {
            let piece = bytes[at..end].to_vec();
            let to = rng.below(bytes.len());
            bytes.splice(to..to, piece);
        }
        8 => {
            let piece = bytes[at..end].to_vec();
            let to = rng.below(bytes.len());
            bytes.splice(to..(to + piece.len()).min(bytes.len()), piece);
        }
        9 => bytes[at..end].fill(if rng.one_in(3) { 0xff } else { 0 }),
        10 if rng.one_in(2) => bytes.truncate(at),
        // A middle or a tail of zeros, like a hole in a file.
        10 => {
            let end = if rng.one_in(2) { bytes.len() } else { at + rng.below(bytes.len() - at) };
            bytes[at..end].fill(0);
        }
        11 if !other.is_empty() => {
            let from = rng.below(other.len());
            let piece = &other[from..(from + 1 + rng.below(PIECE)).min(other.len())];
            let until = if rng.one_in(2) { at } else { (at + piece.len()).min(bytes.len()) };
            bytes.splice(at..until, piece.iter().copied());
        }
        _ if !words.is_empty() => {
            let word = words[rng.below(words.len())];
            let until = if rng.one_in(2) { at } else { (at + word.len()).min(bytes.len()) };
            bytes.splice(at..until, word.iter().copied());
        }
        _ => bytes[at] = rng.next_u64() as u8,
    }
}

/// Writes a boundary value of one to eight bytes in either byte order, or changes the present number by a small step.
fn number(bytes: &mut [u8], at: usize, rng: &mut SplitMix64) {
    let width = (1 << rng.below(4)).min(bytes.len() - at);
    let field = &mut bytes[at..at + width];
    if rng.one_in(3) {
        let last = field.len() - 1;
        field[last] = field[last].wrapping_add(rng.below(9) as u8).wrapping_sub(4);
        return;
    }
    let value = NUMBERS[rng.below(NUMBERS.len())].to_le_bytes();
    field.copy_from_slice(&value[..width]);
    if rng.one_in(2) {
        field.reverse();
    }
}

/// Replaces the next decimal number.
fn decimal(bytes: &mut Vec<u8>, at: usize, rng: &mut SplitMix64) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|from| at + from) else { return };
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = if rng.one_in(2) { NUMBERS[rng.below(NUMBERS.len())] } else { rng.below(64) as u64 };
    let sign = if rng.one_in(8) { "-" } else { "" };
    bytes.splice(start..start + length, format!("{sign}{number}").into_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_changes_and_nearly_all_differ_from_the_input() {
        let input: Vec<u8> = (0..=255).collect();
        let of = |seed| mutated(&input, b"12 and others", &[b"word"], &mut SplitMix64::new(seed));
        assert!((0..500).all(|seed| of(seed) == of(seed)));
        assert!((0..500).filter(|&seed| of(seed) != input).count() > 400);
    }
}
