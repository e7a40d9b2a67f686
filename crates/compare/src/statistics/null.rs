//! Null distribution of Mann-Whitney's U without ties.

use super::normal;

/// Maximum additions for the exact distribution, which take microseconds; reached by 27 runs a side.
const EXACT_COST: usize = 20_000;

/// Maximum number of splits into two sides for which all counts fit 64 bits.
const EXACT_SPLITS: f64 = 4e18;

/// Null distribution of U: the number of pairs, one run of each side, in which the first is larger.
pub(super) struct Null {
    /// n m / 2.
    pub(super) mean: f64,
    deviation: f64,
    /// P(U <= u) for u up to the mean, if cheap.
    exact: Option<Vec<f64>>,
}

impl Null {
    /// Distribution for sides of `n` and `m` runs, neither 0.
    pub(super) fn of(n: usize, m: usize) -> Self {
        let pairs = n as f64 * m as f64;
        let deviation = (pairs * (n as f64 + m as f64 + 1.0) / 12.0).sqrt();
        let cheap = n.saturating_mul(m).saturating_mul(n.min(m)) <= EXACT_COST && splits(n, m) < EXACT_SPLITS;
        Self { mean: pairs / 2.0, deviation, exact: cheap.then(|| exact(n, m)) }
    }

    /// P(U <= `u`) for `u` up to the mean: exact, or normal with continuity correction.
    pub(super) fn tail(&self, u: usize) -> f64 {
        match &self.exact {
            Some(cumulative) => cumulative[u.min(cumulative.len() - 1)],
            None => normal::cumulative((u as f64 + 0.5 - self.mean) / self.deviation),
        }
    }
}

/// Number of ways to choose `n` of n + m runs.
pub(super) fn splits(n: usize, m: usize) -> f64 {
    (1..=n.min(m)).fold(1.0, |splits, i| splits * (n.max(m) + i) as f64 / i as f64)
}

/// P(U <= u) for u = 0 ..= n m / 2.
///
/// The number of splits with U = u is the coefficient of q^u in the Gaussian binomial coefficient, the product of (1 -
/// q^(m+i)) / (1 - q^i) over i = 1 ..= n. After each i the product is itself such a coefficient, so all numbers stay
/// whole and below the number of splits.
fn exact(n: usize, m: usize) -> Vec<f64> {
    let (few, many) = (n.min(m), n.max(m));
    let mut counts = vec![0i64; n * m / 2 + 1];
    counts[0] = 1;
    for i in 1..=few {
        for u in (many + i..counts.len()).rev() {
            counts[u] -= counts[u - many - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    let all = splits(n, m);
    let mut sum = 0i64;
    counts
        .iter()
        .map(|count| {
            sum += count;
            sum as f64 / all
        })
        .collect()
}

/// The largest count outside a confidence interval, chosen so that coverage is nearest to `confidence`; `None` if the
/// whole line is nearer. `tail(u)` is P(U <= u), for a distribution with `mean`, rounded up.
pub(super) fn refused(tail: impl Fn(usize) -> f64, mean: usize, confidence: f64) -> Option<usize> {
    let beyond = 1.0 - confidence;
    // The first count with both tails too large.
    let (mut low, mut high) = (0, mean);
    while low < high {
        let middle = usize::midpoint(low, high);
        if 2.0 * tail(middle) <= beyond { low = middle + 1 } else { high = middle }
    }
    let too_much = 2.0 * tail(high) - beyond;
    match high.checked_sub(1) {
        None => (too_much <= beyond + 1e-12).then_some(0),
        Some(less) => Some(if too_much < beyond - 2.0 * tail(less) { high } else { less }),
    }
}

#[cfg(test)]
mod tests {
    use super::Null;

    /// As in published tables: 1, 2, 4, 7, ... of the 252 splits of ten runs have U of at most 0, 1, 2, 3, ...
    #[test]
    fn tails_are_those_of_the_tables() {
        for (n, m, u, expected) in
            [(5, 5, 2, 4.0 / 252.0), (5, 5, 3, 7.0 / 252.0), (3, 4, 0, 1.0 / 35.0), (10, 10, 0, 1.0 / 184_756.0)]
        {
            assert!((Null::of(n, m).tail(u) - expected).abs() < 1e-15, "{n} {m} {u}");
            assert!((Null::of(m, n).tail(u) - expected).abs() < 1e-15, "{m} {n} {u}");
        }
    }

    #[test]
    fn the_normal_distribution_is_near_the_exact_one_where_they_meet() {
        let exact = Null::of(27, 27);
        assert!(exact.exact.is_some());
        assert!(Null::of(28, 28).exact.is_none());
        let normal = Null { mean: exact.mean, deviation: exact.deviation, exact: None };
        for u in 150..=364 {
            let (exact, normal) = (exact.tail(u), normal.tail(u));
            // Far out the normal approximation overestimates, never underestimates.
            assert!(exact < normal * 1.01 && (exact > normal * 0.94 || exact < 0.01), "{u}: {exact} {normal}");
        }
    }
}
