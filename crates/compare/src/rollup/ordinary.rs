//! The ordinary size of a finding that nearly all runs have.
//!
//! A cache that every healthy host has is no leak, though some hosts have more of it than others. So a finding that
//! nearly all runs of each release have has an ordinary size, as a share of the heap, because larger hosts have larger
//! caches: the median share and [`SPREADS`] times the distance from the 10 % quantile to the median. Both are those of
//! the release with the smallest median, so that a release in which all hosts have far more is not ordinary.

use crate::statistics::{median, quantile};
use heaplake_schemas::rollup::RolledRun;
use std::collections::BTreeMap;

/// Percentage of the runs of a release that are nearly all.
const NEARLY_ALL: usize = 80;
/// Quantile that says how far shares spread below the median, in percent.
const LOW: u8 = 10;
/// Multiple of that distance above the median up to which a share is ordinary.
const SPREADS: i64 = 3;
/// Minimum runs of a release that tell what is ordinary.
const FEWEST: usize = 10;
/// Shares are in millionths of the heap.
const MILLION: i128 = 1_000_000;

/// Ordinary size of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ordinary {
    /// Largest ordinary share of the heap, in millionths.
    share: i64,
}

impl Ordinary {
    /// The ordinary size of a finding in `found`: indices of runs, and bytes. `None` if it is not on nearly all runs of
    /// each release, or no release has enough runs.
    pub(super) fn of(runs: &[&RolledRun], found: &[(usize, i64)]) -> Option<Self> {
        let mut of_release: BTreeMap<&str, (usize, Vec<i64>)> = BTreeMap::new();
        for run in runs {
            of_release.entry(&run.release).or_default().0 += 1;
        }
        for &(run, bytes) in found {
            let run = runs[run];
            of_release.entry(&run.release).or_default().1.push(share(bytes, run.bytes));
        }
        let nearly_all = |(runs, shares): &(usize, Vec<i64>)| shares.len() * 100 >= runs * NEARLY_ALL;
        if !of_release.values().all(nearly_all) {
            return None;
        }
        let enough = of_release.into_values().map(|(_, shares)| shares).filter(|shares| shares.len() >= FEWEST);
        let spread = |mut shares: Vec<i64>| {
            shares.sort_unstable();
            (median(&shares), quantile(&shares, LOW))
        };
        let (middle, low) = enough.map(spread).min()?;
        Some(Self { share: middle + SPREADS * (middle - low) })
    }

    /// Largest ordinary size in a heap, bytes.
    pub(super) fn most(self, heap: i64) -> i64 {
        i64::try_from(i128::from(heap) * i128::from(self.share) / MILLION).unwrap_or(i64::MAX)
    }
}

/// Share of a heap, in millionths, at most 1,000,000.
fn share(bytes: i64, heap: u64) -> i64 {
    let share = i128::from(bytes) * MILLION / i128::from(heap.max(1));
    i64::try_from(share.min(MILLION)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heap of each run, bytes.
    const HEAP: i64 = 1_000_000;

    /// Largest ordinary size in a heap of a million bytes; `shares` are thousandths of the heap by release and run, and
    /// -1 is a run without the finding.
    fn most(shares: &[&[i64]]) -> Option<i64> {
        let of_release = |(release, shares): (usize, &&[i64])| {
            shares.iter().map(|share| (release.to_string(), *share)).collect::<Vec<_>>()
        };
        let all: Vec<(String, i64)> = shares.iter().enumerate().flat_map(of_release).collect();
        let run = |(release, _): &(String, i64)| RolledRun {
            release: release.clone(),
            bytes: HEAP as u64,
            ..RolledRun::default()
        };
        let runs: Vec<RolledRun> = all.iter().map(run).collect();
        let found =
            all.iter().enumerate().filter(|(_, (_, share))| *share >= 0).map(|(at, (_, share))| (at, share * 1000));
        let found: Vec<(usize, i64)> = found.collect();
        Ordinary::of(&runs.iter().collect::<Vec<_>>(), &found).map(|ordinary| ordinary.most(HEAP))
    }

    #[test]
    fn what_nearly_all_runs_have_is_ordinary_up_to_its_spread() {
        let healthy: Vec<i64> = (0..20).map(|at| 290 + at).collect();
        let limit = most(&[&healthy]).unwrap();
        assert!((310_000..340_000).contains(&limit), "{limit}");
        // A few that leak into it do not move the limit much.
        let leaking: Vec<i64> = healthy.iter().copied().chain([700, 800, 900]).collect();
        let limit = most(&[&leaking]).unwrap();
        assert!((310_000..345_000).contains(&limit), "{limit}");
    }

    #[test]
    fn what_many_runs_lack_is_not() {
        assert_eq!(most(&[&[300, 300, 300, -1, -1, -1, 300, 300, 300, 300]]), None);
        // All hosts of the second release leak: the first lacks it.
        assert_eq!(most(&[&[-1; 20], &[600; 20]]), None);
    }

    #[test]
    fn a_release_with_far_more_is_not_ordinary() {
        let (before, after) = ([300; 20], [700; 20]);
        assert_eq!(most(&[&before, &after]), Some(300_000));
        // A release of two runs says nothing about what is usual.
        assert_eq!(most(&[&[100, 100], &before]), Some(300_000));
        assert_eq!(most(&[&[300; 5], &[700; 5]]), None, "too few to tell");
    }
}
