//! What growth the runs would have shown, had there been any.

use super::counting::ln_choose;
use super::differences::Differences;
use super::null::Null;
use std::borrow::Cow;

/// Below this a q is significant.
const SIGNIFICANT: f64 = 0.05;

/// Tests that are combined: of so many, a p is at most so many times the least one.
const TESTS: f64 = 3.0;

/// The normal quantile of the power that is asked for, 80 %.
const POWER: f64 = 0.841_621_233_572_914_2;

/// How much wider than few runs the next ones may be: by 6 / n. Found by simulation: with it, growth of twice the stated
/// effect is missed in less than 5 % of draws even of Student's t with 2 degrees of freedom and 10 runs on each side.
const UNSEEN: f64 = 6.0;

/// Values of a side that are looked at.
const VALUES: usize = 256;

/// What growth the runs would have shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effects {
    /// Least growth of all runs, see [`smallest_effect`].
    pub on_all: Option<f64>,
    /// Least growth of a tenth of the runs of the target, rounded up.
    pub on_tenth: Option<f64>,
}

/// The least growth that would have shown on all runs of the target, and on a tenth of them.
///
/// A tenth that lies above all other runs is significant if there are enough of it (Rosenbaum 1954), among `rows` rows and
/// with the other tests beside. Growth by the whole range of the values brings a run there, wherever it was.
#[must_use]
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

/// The least growth of each run of the target that these runs would show as significant with a power of 80 %, in a table of
/// `rows` rows in which it is the only one that grew, so that its p must be below 0.05 / `rows`. None where no p of so few
/// runs can be that small.
///
/// The spread is that of the runs themselves: growth by d moves all differences of a run of the target and one of the base
/// by d, so the part of pairs in which the target has more is known for each d. The part that is needed is the one where
/// U, normal with the variance of Hanley and McNeil (1982) for that part, reaches what the test asks for with a
/// probability of 80 %. Of two sides that differ, the spread within each counts, not the shift between them.
#[must_use]
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
    // Half of the distance between both tails: what separates a difference in the middle from one in a tail.
    let spread = (i128::from(high) - i128::from(low)) as f64 / 2.0;
    // A whole unit more, since an equal value is not a larger one.
    Some((spread * (1.0 + UNSEEN / n.min(m) as f64)).floor() + 1.0)
}

/// At most [`VALUES`] of the values, evenly spaced: what the runs would have shown is an estimate, and this moves it by less than
/// the noise of the runs themselves.
fn thinned(sorted: &[i64]) -> Cow<'_, [i64]> {
    match sorted.len() {
        0..=VALUES => Cow::Borrowed(sorted),
        all => Cow::Owned((0..VALUES).map(|at| sorted[(2 * at + 1) * all / (2 * VALUES)]).collect()),
    }
}

/// The most pairs in which the base may have more while the p is below `alpha`.
fn spared_pairs(null: &Null, alpha: f64) -> Option<usize> {
    let (mut small, mut large) = (0, null.mean.ceil() as usize);
    while small < large {
        let middle = usize::midpoint(small, large);
        if 2.0 * null.tail(middle) < alpha { small = middle + 1 } else { large = middle }
    }
    small.checked_sub(1)
}

/// The part of pairs in which the target must have more, so that with a probability of 80 % at most `spared` pairs say the
/// contrary.
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
        // A quarter of the runs show twice as much growth.
        let of_quarter = smallest_effect(&every(&base), &every(&target), 1).unwrap();
        assert!((1.6..2.5).contains(&(of_quarter / found)), "{found} {of_quarter}");
    }
}
