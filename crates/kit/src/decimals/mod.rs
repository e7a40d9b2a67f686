//! Parses comma-separated decimal numbers, one window of text at a time: the fast path of a tokeniser.
//!
//! Two kernels return equal numbers but may stop at different positions. `portable` parses one number at a time on any
//! processor; `avx512` parses eight at once, if detected at run time.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

pub use portable::skip_space;

/// Appends the numbers of `text` from `at` on to `out`, while each has at most sixteen digits and is followed by one
/// comma, optionally surrounded by white space. Returns the start of the first number not taken. May leave numbers in
/// the last 90 bytes. Cost: 1 to 3 ns per number.
pub fn take(text: &[u8], at: usize, out: &mut Vec<u64>) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(at) = avx512::take(text, at, out) {
        return at;
    }
    portable::take(text, at, out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Kernel = fn(&[u8], usize, &mut Vec<u64>) -> Option<usize>;

    const KERNELS: &[Kernel] = &[
        |text, at, out| Some(portable::take(text, at, out)),
        #[cfg(target_arch = "x86_64")]
        avx512::take,
    ];

    /// Parses each number naively, with its start position including preceding white space.
    fn one_by_one(text: &str, start: usize) -> (Vec<u64>, Vec<usize>) {
        let mut places = vec![start];
        let mut numbers = Vec::new();
        for number in text[start..].split(',') {
            numbers.push(number.trim().parse().unwrap_or(u64::MAX));
            places.push(places[numbers.len() - 1] + number.len() + 1);
        }
        (numbers, places)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Kernels return correct numbers, stop at the start of a number, and take all regular input.
        #[test]
        fn each_kernel_equals_one_by_one(
            values in prop::collection::vec((any::<u64>(), 0u32..64, 0usize..40), 1..100),
            usual in any::<bool>(),
        ) {
            let others = [" , ", ",\r\n\t", ",\n", "\n ,", ",,", "x,", "-,", ".5,"];
            let mut text = "123,".to_owned();
            for (value, shift, separator) in values {
                // Below 10^16 in regular input.
                text += &(value >> if usual { 11 + shift % 53 } else { shift }).to_string();
                let as_v8 = if separator % 4 == 0 { "\n," } else { "," };
                text += others.get(separator).filter(|_| !usual).unwrap_or(&as_v8);
            }
            text += "7";
            for start in [0, 4] {
                let (numbers, places) = one_by_one(&text, start);
                for kernel in KERNELS {
                    // Existing elements stay.
                    let mut found = vec![5];
                    let Some(end) = kernel(text.as_bytes(), start, &mut found) else { continue };
                    let count = found.len() - 1;
                    prop_assert_eq!(found[0], 5);
                    prop_assert_eq!(&found[1..], &numbers[..count]);
                    let between = &text[places[count].min(end)..end];
                    prop_assert!(end >= places[count] && between.trim().is_empty(), "{} {}", end, places[count]);
                    prop_assert!(!usual || text.len() - end < portable::NEEDED + 18);
                }
            }
        }
    }
}
