//! Combines the p of several tests of one hypothesis.

use std::f64::consts::PI;

/// Upper limit of each p: one test that contradicts the others by chance must not silence them.
const HIGHEST: f64 = 0.9;

/// Liu and Xie (2020), "Cauchy combination test": under the null hypothesis the weighted mean of tan((1/2 - p) pi) has
/// the tail of a Cauchy distribution, however the tests depend on each other. `tests` are pairs of p and weight; NaN is
/// skipped; the result is NaN if all are. It is at most each p divided by its share of the weights.
pub fn weighted(tests: &[(f64, f64)]) -> f64 {
    let known = || tests.iter().copied().filter(|(p, _)| !p.is_nan());
    if known().count() < 2 {
        return known().next().map_or(f64::NAN, |(p, _)| p);
    }
    let weights: f64 = known().map(|(_, weight)| weight).sum();
    // For tiny p, tan((1/2 - p) pi) is 1 / (p pi), which keeps their precision.
    let cauchy = |p: f64| if p < 1e-15 { 1.0 / (p.max(f64::MIN_POSITIVE) * PI) } else { ((0.5 - p) * PI).tan() };
    let mean = known().map(|(p, weight)| weight * cauchy(p.min(HIGHEST))).sum::<f64>() / weights;
    let p = if mean > 1e15 { 1.0 / (mean * PI) } else { 0.5 - mean.atan() / PI };
    known().map(|(p, weight)| p * weights / weight).fold(p, f64::min).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::weighted;
    use proptest::prelude::*;

    fn combined(p: &[f64]) -> f64 {
        weighted(&p.iter().map(|&p| (p, 1.0)).collect::<Vec<_>>())
    }

    #[test]
    fn tests_that_agree_are_one() {
        assert!((combined(&[0.01, 0.01, 0.01]) - 0.01).abs() < 1e-12);
        assert!((combined(&[0.03, f64::NAN]) - 0.03).abs() < 1e-12);
        assert!(combined(&[f64::NAN]).is_nan());
        let p = combined(&[1e-40, 0.7, 1.0]);
        assert!((p / 3e-40 - 1.0).abs() < 1e-6, "{p}");
    }

    proptest! {
        #[test]
        fn it_is_between_the_least_and_that_times_the_tests(p in prop::collection::vec(1e-12..1.0f64, 1..6)) {
            let least = p.iter().copied().fold(1.0, f64::min);
            let found = combined(&p);
            prop_assert!(found <= least * p.len() as f64 + 1e-12 && found >= least.min(0.9) - 1e-12, "{found} {p:?}");
        }
    }
}
