//! Shannon entropy of a text.

/// Returns the entropy of the bytes of a text, bits per byte; 0 of an empty one.
pub(crate) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    text.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let length = text.len() as f64;
    let bits = |&count: &u32| {
        let share = f64::from(count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|&&count| count > 0).map(bits).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_counts_bits_per_byte() {
        assert!(entropy(b"") == 0.0 && entropy(b"aaaa").abs() < 1e-9);
        assert!((entropy(b"abab") - 1.0).abs() < 1e-9 && (entropy(b"abcdefgh") - 3.0).abs() < 1e-9);
    }
}
