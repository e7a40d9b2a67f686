//! The kernel for processors with AVX-512 (VBMI2: Intel since Ice Lake, AMD since Zen 4).
//!
//! Masks of 64 bytes mark where numbers start and end, and which are separated as V8 writes them. The masks become
//! lists of byte positions. For eight numbers at once, a permutation brings the digits of each into a lane, a shift
//! adds leading zeros, and three multiplications compute all values. Numbers of more than eight digits, and other
//! separators, go to the portable kernel.

use std::arch::x86_64::*;

use super::portable::{self, NEEDED, WINDOW, WORD};

/// Numbers per register.
const LANES: usize = 8;
/// Maximum numbers per window, each with a digit and a comma.
const MOST: usize = WINDOW / 2;

/// [`super::take`] if the processor supports the instructions.
pub(super) fn take(text: &[u8], at: usize, out: &mut Vec<u64>) -> Option<usize> {
    let able = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("lzcnt");
    // SAFETY: the processor has these instructions.
    able.then(|| unsafe { take_wide(text, at, out) })
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt,bmi1,lzcnt")]
fn take_wide(text: &[u8], mut at: usize, out: &mut Vec<u64>) -> usize {
    while let Some(window) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let taken = match take_window(window, out) {
            0 => portable::take_window(window, out),
            taken => taken,
        };
        if taken == 0 {
            break;
        }
        at += taken;
    }
    at
}

/// As [`portable::take_window`], but stops at separators other than V8's.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt,bmi1,lzcnt")]
fn take_window(window: &[u8; NEEDED], out: &mut Vec<u64>) -> usize {
    // SAFETY: the window has more than 64 bytes.
    let bytes = unsafe { _mm512_loadu_epi8(window.as_ptr().cast()) };
    let digits = _mm512_sub_epi8(bytes, _mm512_set1_epi8(b'0'.cast_signed()));
    let others = _mm512_cmpgt_epu8_mask(digits, _mm512_set1_epi8(9));
    let commas = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b','.cast_signed()));
    let lines = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(b'\n'.cast_signed()));
    let starts = !others & (others << 1 | 1);
    let ends = others & !(others << 1 | 1);
    // V8's separators: a comma, or at the end of a row a line break and a comma; then the next number.
    let usual = ends & (commas & starts >> 1 | lines & commas >> 1 & starts >> 2);
    let unusual = ends & !usual;
    let ends = usual & unusual.wrapping_sub(1) & !unusual;
    if ends == 0 || others & 1 != 0 {
        return 0;
    }
    let count = ends.count_ones() as usize;
    let positions = positions();
    let starts_of = _mm512_maskz_compress_epi8(starts, positions);
    let ends_of = _mm512_maskz_compress_epi8(ends, positions);
    let mut numbers = [0u64; MOST];
    // Mask of numbers with more than eight digits.
    let mut long = 0u32;
    for (group, lanes) in numbers[..count.next_multiple_of(LANES)].as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let (weighed, over) = weigh(digits, starts_of, ends_of, group);
        // SAFETY: the lanes have as many bytes as the register.
        unsafe { _mm512_storeu_epi64(lanes.as_mut_ptr().cast(), weighed) };
        long |= u32::from(over) << (LANES * group);
    }
    // Ignore lanes past the last number.
    long &= u32::MAX >> (MOST - count);
    let last = ends.ilog2() as usize;
    let mut next = last + (starts >> last).trailing_zeros() as usize;
    let mut whole = count;
    while long != 0 {
        let lane = long.trailing_zeros() as usize;
        let start = nth(starts, lane);
        match portable::number(window, start, nth(ends, lane)) {
            Some(number) => numbers[lane] = number,
            None => {
                (whole, next) = (lane, start);
                break;
            }
        }
        long &= long - 1;
    }
    out.extend_from_slice(&numbers[..whole]);
    next
}

/// Returns the values of eight numbers, and a mask of those with more than eight digits, with wrong values.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn weigh(digits: __m512i, starts_of: __m512i, ends_of: __m512i, group: usize) -> (__m512i, u8) {
    // Byte `b` of lane `l` holds digit `b` of number `LANES * group + l`.
    let lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    let in_all_bytes = _mm512_shuffle_epi8(lane, _mm512_set4_epi32(0x0808_0808, 0x0808_0808, 0, 0));
    let which = _mm512_add_epi8(in_all_bytes, _mm512_set1_epi8((LANES * group) as i8));
    let start = _mm512_permutexvar_epi8(which, starts_of);
    let end = _mm512_permutexvar_epi8(which, ends_of);
    let byte = _mm512_set1_epi64(0x0706_0504_0302_0100);
    let first_eight = _mm512_permutexvar_epi8(_mm512_add_epi8(start, byte), digits);
    let length = _mm512_and_si512(_mm512_sub_epi8(end, start), _mm512_set1_epi64(0xff));
    // Shift in leading zeros up to eight digits; digits behind the number drop out.
    let missing = _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64::<3>(length));
    let eight = _mm512_sllv_epi64(first_eight, missing);
    let pairs = _mm512_maddubs_epi16(eight, _mm512_set1_epi16(0x010a));
    let quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064));
    let high = _mm512_mul_epu32(quads, _mm512_set1_epi64(10_000));
    let value = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(quads));
    (value, _mm512_cmpgt_epu64_mask(length, _mm512_set1_epi64(WORD as i64)))
}

/// Bytes 0 to 63.
#[inline]
#[target_feature(enable = "avx512f")]
fn positions() -> __m512i {
    const EIGHT: i64 = 0x0706_0504_0302_0100;
    const STEP: i64 = 0x0808_0808_0808_0808;
    _mm512_set_epi64(
        EIGHT + 7 * STEP,
        EIGHT + 6 * STEP,
        EIGHT + 5 * STEP,
        EIGHT + 4 * STEP,
        EIGHT + 3 * STEP,
        EIGHT + 2 * STEP,
        EIGHT + STEP,
        EIGHT,
    )
}

/// Returns the position of the set bit with this index.
fn nth(mut bits: u64, index: usize) -> usize {
    for _ in 0..index {
        bits &= bits - 1;
    }
    bits.trailing_zeros() as usize
}
