//! The kernel for any processor.
//!
//! A mask marks the non-digits of a window; from it follow, without branches on lengths, where each number starts and
//! ends. Up to eight digits are then loaded at once and converted with three multiplications.

/// Bytes classified at once.
pub(super) const WINDOW: usize = 64;
/// Bytes loaded at once.
pub(super) const WORD: usize = 8;
/// Bytes that a window needs: words are also loaded from its last bytes.
pub(super) const NEEDED: usize = WINDOW + WORD;

/// [`super::take`], window by window.
pub(super) fn take(text: &[u8], mut at: usize, out: &mut Vec<u64>) -> usize {
    while let Some(window) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let taken = take_window(window, out);
        if taken == 0 {
            break;
        }
        at += taken;
    }
    at
}

/// Appends the numbers of a window that ends behind commas; the first number starts with the window. Returns the start
/// of the first number not taken.
#[inline]
pub(super) fn take_window(window: &[u8; NEEDED], out: &mut Vec<u64>) -> usize {
    let others = no_digits(window);
    // Bits of `ends` mark the byte after a number, bits of `starts` the first digit of the next one.
    let mut ends = others & !(others << 1 | 1);
    let mut starts = !others & (others << 1);
    let mut start = 0;
    while ends != 0 && others & 1 == 0 {
        let end = ends.trailing_zeros() as usize;
        let next = starts.trailing_zeros() as usize;
        // V8's separators: a comma, or at the end of a row a line break and a comma.
        let usual = match window[end] {
            b',' => next == end + 1,
            b'\n' => next == end + 2 && window[end + 1] == b',',
            _ => false,
        };
        if !usual && !separates(&window[end..next]) {
            break;
        }
        let Some(number) = number(window, start, end) else { break };
        out.push(number);
        start = next;
        ends &= ends - 1;
        starts &= starts.wrapping_sub(1);
    }
    start
}

/// Returns a mask of the non-digits of the window.
#[inline]
fn no_digits(window: &[u8; NEEDED]) -> u64 {
    let mut flags = [0; WINDOW];
    flags.iter_mut().zip(window).for_each(|(flag, byte)| *flag = u8::from(byte.wrapping_sub(b'0') > 9));
    // The product moves the lowest bits of eight bytes into its highest byte.
    let bits = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    flags.as_chunks().0.iter().enumerate().fold(0, |mask, (i, word)| mask | bits(word) << (8 * i))
}

/// True if the separator is one comma and otherwise white space.
#[cold]
fn separates(between: &[u8]) -> bool {
    let comma = skip_space(between, 0);
    between.get(comma) == Some(&b',') && skip_space(between, comma + 1) == between.len()
}

/// Returns the number at `start..end`, unless it has more than sixteen digits.
#[inline]
pub(super) fn number(window: &[u8; NEEDED], start: usize, end: usize) -> Option<u64> {
    let length = end - start;
    if length <= WORD {
        Some(weigh(word(window, start) << (64 - 8 * length)))
    } else if length <= 2 * WORD {
        let high = weigh(word(window, start) << (128 - 8 * length));
        Some(high * 100_000_000 + weigh(word(window, end - WORD)))
    } else {
        None
    }
}

#[inline]
fn word(window: &[u8; NEEDED], at: usize) -> u64 {
    // Always in bounds: `at` lies within the first 64 bytes.
    window[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// Returns the value of eight digits 0 to 9, the first in the lowest byte.
#[inline]
fn weigh(digits: u64) -> u64 {
    let pairs = (digits & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8;
    let quads = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(6_553_601) >> 16;
    (quads & 0x0000_ffff_0000_ffff).wrapping_mul(42_949_672_960_001) >> 32
}

/// Returns the end of the JSON white space that starts at `at`.
pub fn skip_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}
