//! Multiple-testing correction over the rows of a table.

/// Benjamini and Hochberg (1995), "Controlling the false discovery rate": converts each p to a q, so that at most 5 %
/// of the rows with q < 0.05 are expected to be chance, if rows are independent or positively dependent (Benjamini and
/// Yekutieli 2001, theorem 1.2). NaN is not counted and stays NaN.
pub fn corrected(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).filter(|&row| !p[row].is_nan()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut q = vec![f64::NAN; p.len()];
    let mut least = 1.0f64;
    for (rank, &row) in order.iter().enumerate().rev() {
        least = least.min(p[row] * order.len() as f64 / (rank + 1) as f64);
        q[row] = least;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::corrected;
    use proptest::prelude::*;

    /// `scipy.stats.false_discovery_control([0.005, 0.009, 0.05, 0.2, 0.9, 0.009])` of SciPy 1.17.
    #[test]
    fn q_is_that_of_scipy() {
        let q = corrected(&[0.005, 0.009, f64::NAN, 0.05, 0.2, 0.9, 0.009]);
        let expected = [0.018, 0.018, f64::NAN, 0.075, 0.24, 0.9, 0.018];
        for (q, expected) in q.iter().zip(expected) {
            assert!((q - expected).abs() < 1e-12 || (q.is_nan() && expected.is_nan()), "{q} {expected}");
        }
        assert!(corrected(&[]).is_empty());
    }

    proptest! {
        /// Definition of q: the minimum of p_j * rows / |{k: p_k <= p_j}| over all p_j at least its own.
        #[test]
        fn q_is_that_of_the_definition(p in prop::collection::vec((0u32..=20).prop_map(|p| if p == 20 { f64::NAN } else { f64::from(p) / 19.0 }), 0..40)) {
            let known: Vec<f64> = p.iter().copied().filter(|p| !p.is_nan()).collect();
            for (p, q) in p.iter().zip(corrected(&p)) {
                if p.is_nan() {
                    prop_assert!(q.is_nan());
                    continue;
                }
                let of = |at: f64| at * known.len() as f64 / known.iter().filter(|&&other| other <= at).count() as f64;
                let expected = known.iter().copied().filter(|other| other >= p).map(of).fold(1.0, f64::min);
                prop_assert!((q - expected).abs() < 1e-12, "{q} {expected}");
            }
        }
    }
}
