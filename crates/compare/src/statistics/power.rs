//! Power: the smallest growth that the runs would have shown.

use super::counting::ln_choose;
use super::differences::Differences;
use super::null::Null;
use std::borrow::Cow;

/// Significance level of q.
const SIGNIFICANT: f64 = 0.05;

/// Number of combined tests: the combined p is at most this many times the least one.
const TESTS: f64 = 3.0;

/// Normal quantile of the desired power, 80 %.
const POWER: f64 = 0.841_621_233_572_914_2;

/// Allowance for values unseen in few runs: the spread is widened by 6 / n. Found by simulation: growth of twice the
/// stated effect is missed in less than 5 % of draws even of Student's t with 2 degrees of freedom and 10 runs a side.
const UNSEEN: f64 = 6.0;

/// Maximum values per side to consider.
const VALUES: usize = 256;

/// Smallest growth that the runs would have shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effects {
    /// Growth on all runs, see [`smallest_effect`].
    pub on_all: Option<f64>,
    /// Growth on a tenth of the target's runs, rounded up.
    pub on_tenth: Option<f64>,
}

/// Smallest detectable growth on all target runs, and on a tenth of them.
///
/// A tenth above all other runs is significant if it has enough runs (Rosenbaum 1954), among `rows` rows and combined
/// with the other tests. Growth by the whole range of values takes any run there.
pub fn smallest_effects(base_sorted: &[i64], target_sorted: &[i64], rows: usize) -> Effects {
    let on_all = smallest_effect(base_sorted, target_sorted, rows);
    let (n, m) = (base_sorted.len(), target_sorted.len());
    let tenth = m.div_ceil(10);
    let p = || 2.0 * (ln_choose(m, tenth) - ln_choose(n + m, tenth)).exp();
    let is_seen = n > 0 && m > 0 && p() * TESTS < SIGNIFICANT / rows.max(1) as f64;
    let ends =
        || Some((base_sorted.first()?.min(target_sorted.first()?), base_sorted.last()?.max(target_sorted.last()?)));
    let on_tenth = ends().filter(|_| is_seen).map(|(low, high)| high.abs_diff(*low) as f64 + 1.0);
    Effects { on_all, on_tenth }
}

/// Smallest growth of every target run that is significant with a power of 80 %, in a table of `rows` rows in which no
/// other row grew, so that p must be below 0.05 / `rows`. `None` if too few runs allow no such p.
///
/// The spread is that of the runs: growth by d shifts all differences between target and base runs by d, so the
/// fraction of pairs in which the target is larger is known for each d. The required fraction is the one at which U,
/// normal with the variance of Hanley and McNeil (1982), passes the test with a probability of 80 %. If the sides
/// differ, only the spread within each counts, not the shift between them.
pub fn smallest_effect(base_sorted: &[i64], target_sorted: &[i64], rows: usize) -> Option<f64> {
    let (n, m) = (base_sorted.len(), target_sorted.len());
    if n == 0 || m == 0 {
        return None;
    }
    let spared = spared_pairs(&Null::of(n, m), SIGNIFICANT / rows.max(1) as f64)?;
    let part = part_needed(n as f64, m as f64, spared as f64);
    let (base, target) = (thinned(base_sorted), thinned(target_sorted));
    let differences = Differences::new(&base, &target);
    let rank = ((1.0 - part) * differences.len() as f64) as usize;
    let (low, high) = (differences.select(rank).value, differences.select(differences.len() - 1 - rank).value);
    // Half the distance between both tails: from the middle of the differences to a tail.
    let spread = (i128::from(high) - i128::from(low)) as f64 / 2.0;
    // One unit more, since equal values are not larger.
    Some((spread * (1.0 + UNSEEN / n.min(m) as f64)).floor() + 1.0)
}

/// Thins to at most [`VALUES`], evenly spaced. The effect is an estimate, and thinning moves it by less than the noise
/// of the runs.
fn thinned(sorted: &[i64]) -> Cow<'_, [i64]> {
    match sorted.len() {
        0..=VALUES => Cow::Borrowed(sorted),
        all => Cow::Owned((0..VALUES).map(|at| sorted[(2 * at + 1) * all / (2 * VALUES)]).collect()),
    }
}

/// Maximum number of pairs with a larger base at which p is still below `alpha`.
fn spared_pairs(null: &Null, alpha: f64) -> Option<usize> {
    let (mut small, mut large) = (0, null.mean.ceil() as usize);
    while small < large {
        let middle = usize::midpoint(small, large);
        if 2.0 * null.tail(middle) < alpha { small = middle + 1 } else { large = middle }
    }
    small.checked_sub(1)
}

/// Fraction of pairs in which the target must be larger, so that with a probability of 80 % at most `spared` pairs
/// contradict.
fn part_needed(n: f64, m: f64, spared: f64) -> f64 {
    let (mut low, mut high) = (0.5, 1.0);
    for _ in 0..40 {
        let part = 0.5 * (low + high);
        let of_two_targets = part / (2.0 - part) - part * part;
        let of_two_bases = 2.0 * part * part / (1.0 + part) - part * part;
        let variance = n * m * (part * (1.0 - part) + (m - 1.0) * of_two_targets + (n - 1.0) * of_two_bases);
        let contrary = n * m * (1.0 - part) + POWER * variance.max(0.0).sqrt();
        if contrary > spared + 0.5 { low = part } else { high = part }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::{VALUES, smallest_effect, thinned};
    use crate::statistics::simulated::{Random, Values};

    #[test]
    fn fewer_values_say_nearly_the_same() {
        assert_eq!(thinned(&[1; VALUES]).len(), VALUES);
        let mut random = Random(8);
        let mut side = || {
            let mut side = Values::Lognormal.draw(&mut random, 1000);
            side.sort_unstable();
            side
        };
        let (base, target) = (side(), side());
        let every = |side: &[i64]| side.iter().copied().step_by(4).collect::<Vec<_>>();
        assert_eq!(thinned(&base).first(), Some(&base[1]));
        let found = smallest_effect(&base, &target, 1).unwrap();
        // A quarter of the runs doubles the smallest effect.
        let of_quarter = smallest_effect(&every(&base), &every(&target), 1).unwrap();
        assert!((1.6..2.5).contains(&(of_quarter / found)), "{found} {of_quarter}");
    }
}
