//! Fisher's exact test: does one side have a property in more runs than the other?

use super::counting::ln_choose;

/// Number of runs per side, and of those with the property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Base runs.
    pub base: usize,
    /// Base runs with the property.
    pub base_with: usize,
    /// Target runs.
    pub target: usize,
    /// Target runs with the property.
    pub target_with: usize,
}

/// Two-sided p: twice the smaller tail of the hypergeometric distribution, at most 1. NaN if the margins alone exclude
/// a p below 5 %, such as when all runs have the property; that does not depend on which run is on which side.
///
/// Costs O(smaller tail).
pub fn fisher(counts: Counts) -> f64 {
    let Counts { base, base_with, target, target_with } = counts;
    let with = base_with + target_with;
    let (least, most) = (with.saturating_sub(base), with.min(target));
    let tail = |at: usize, up: bool| tail(base + target, with, target, at, up);
    let smallest = tail(most, true).min(tail(least, false));
    if least == most || 2.0 * smallest >= 0.05 {
        return f64::NAN;
    }
    (2.0 * tail(target_with, true).min(tail(target_with, false))).min(1.0)
}

/// P(X >= `at`) (`up`) or P(X <= `at`), for X hits among `drawn` from `all`, `with` of which are hits.
fn tail(all: usize, with: usize, drawn: usize, at: usize, up: bool) -> f64 {
    let (least, most) = ((with + drawn).saturating_sub(all), with.min(drawn));
    let ln = ln_choose(with, at) + ln_choose(all - with, drawn - at) - ln_choose(all, drawn);
    let (mut term, mut sum, mut x) = (1.0, 1.0, at);
    while if up { x < most } else { x > least } {
        // Ratio of neighbouring probabilities.
        let (low, high) = if up { (x, x + 1) } else { (x - 1, x) };
        let ratio = (with - low) as f64 * (drawn - low) as f64 / (high as f64 * (all + high - with - drawn) as f64);
        term *= if up { ratio } else { 1.0 / ratio };
        sum += term;
        if term < sum * 1e-16 {
            break;
        }
        x = if up { high } else { low };
    }
    (ln.exp() * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{Counts, fisher, tail};
    use proptest::prelude::*;

    #[test]
    fn tails_are_those_of_the_lady_and_her_tea() {
        // 8 cups, 4 with milk first, 4 chosen: all right in 1 of 70, three or more in 17 of 70.
        assert!((tail(8, 4, 4, 4, true) - 1.0 / 70.0).abs() < 1e-12);
        assert!((tail(8, 4, 4, 3, true) - 17.0 / 70.0).abs() < 1e-12);
        assert!((tail(8, 4, 4, 1, false) - 17.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_differ_has_no_p() {
        let of = |base_with, target_with| fisher(Counts { base: 4, base_with, target: 4, target_with });
        assert!(of(4, 4).is_nan() && of(0, 0).is_nan() && of(0, 1).is_nan());
        assert!((of(0, 4) - 2.0 / 70.0).abs() < 1e-12);
        // `scipy.stats.fisher_exact` does not double a tail; half of this p is 3.4e-5 there too.
        let p = fisher(Counts { base: 60, base_with: 3, target: 60, target_with: 21 });
        assert!((2.5e-5..2e-4).contains(&p), "{p}");
    }

    proptest! {
        #[test]
        fn tails_add_up(base in 1usize..40, target in 1usize..40, part in 0.0..1.0f64, at in 0.0..1.0f64) {
            let with = (part * (base + target) as f64) as usize;
            let (least, most) = (with.saturating_sub(base), with.min(target));
            let at = least + (at * (most - least) as f64) as usize;
            let up = tail(base + target, with, target, at, true);
            let below = if at > least { tail(base + target, with, target, at - 1, false) } else { 0.0 };
            prop_assert!((up + below - 1.0).abs() < 1e-9, "{up} {below}");
        }

        #[test]
        fn sides_change_places(base in 1usize..60, target in 1usize..60, a in 0.0..1.0f64, b in 0.0..1.0f64) {
            let (base_with, target_with) = ((a * base as f64) as usize, (b * target as f64) as usize);
            let one = fisher(Counts { base, base_with, target, target_with });
            let other = fisher(Counts { base: target, base_with: target_with, target: base, target_with: base_with });
            prop_assert!((one.is_nan() && other.is_nan()) || (one - other).abs() < 1e-9 * one.max(1e-30), "{one} {other}");
        }
    }
}
