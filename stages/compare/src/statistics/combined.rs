//! One p of several tests of the same question.

use std::f64::consts::PI;

/// A p above this counts as this: a test that speaks against the others by chance must not silence them.
const HIGHEST: f64 = 0.9;

/// Liu and Xie (2020), "Cauchy combination test": the mean of tan((1/2 - p) pi) has the tail of a Cauchy distribution
/// where the null holds, however the tests depend on each other. Tests without a p (NaN) do not count; NaN where none
/// has one. With k tests it is never above k times the least p.
#[must_use]
pub fn combined(p: &[f64]) -> f64 {
    let known = || p.iter().copied().filter(|p| !p.is_nan());
    let count = known().count();
    if count < 2 {
        return known().next().unwrap_or(f64::NAN);
    }
    // Of tiny ones tan((1/2 - p) pi) is 1 / (p pi), which keeps their precision.
    let cauchy = |p: f64| if p < 1e-15 { 1.0 / (p.max(f64::MIN_POSITIVE) * PI) } else { ((0.5 - p) * PI).tan() };
    let mean = known().map(|p| cauchy(p.min(HIGHEST))).sum::<f64>() / count as f64;
    let p = if mean > 1e15 { 1.0 / (mean * PI) } else { 0.5 - mean.atan() / PI };
    p.min(known().fold(1.0, f64::min) * count as f64).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::combined;
    use proptest::prelude::*;

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
