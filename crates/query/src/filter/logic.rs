//! Three-valued logic over many rows, some of whose tests are not known yet.
//!
//! Each row has a lower and an upper bound of its verdict. Unknown tests span from false to true; minimum, maximum and
//! negation carry the bounds to the root of the tree. So a row is accepted or rejected as soon as the tests read so far
//! decide, whatever the shape of the filter.

use super::check::{FALSE, TRUE, Verdict};

/// A filter over numbered tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Not(Box<Tree>),
    Test(usize),
}

/// What is known of a test.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// Nothing yet.
    Nothing,
    /// The same verdict for all rows.
    Same(Verdict),
    /// A verdict for each row.
    Each(Vec<Verdict>),
}

/// Lower and upper bound of a verdict.
type Bounds = [Verdict; 2];

/// Bounds of the verdicts of rows.
pub(crate) enum Verdicts {
    /// The same for all rows.
    Same(Bounds),
    /// One for each row.
    Each(Vec<Bounds>),
}

impl Verdicts {
    /// Bounds of a row.
    pub(crate) fn of(&self, row: usize) -> Bounds {
        match self {
            Self::Same(bounds) => *bounds,
            Self::Each(all) => all[row],
        }
    }

    fn with(self, other: Self, pick: impl Fn(Verdict, Verdict) -> Verdict) -> Self {
        let both = |a: Bounds, b: Bounds| [pick(a[0], b[0]), pick(a[1], b[1])];
        match (self, other) {
            (Self::Same(a), Self::Same(b)) => Self::Same(both(a, b)),
            (Self::Each(mut all), Self::Same(one)) | (Self::Same(one), Self::Each(mut all)) => {
                all.iter_mut().for_each(|bounds| *bounds = both(*bounds, one));
                Self::Each(all)
            }
            (Self::Each(mut all), Self::Each(others)) => {
                all.iter_mut().zip(others).for_each(|(bounds, other)| *bounds = both(*bounds, other));
                Self::Each(all)
            }
        }
    }
}

impl Tree {
    /// Bounds of the verdicts of rows.
    pub(crate) fn verdicts(&self, known: &[Known]) -> Verdicts {
        let not = |[low, high]: Bounds| [TRUE - high, TRUE - low];
        match self {
            Self::Test(at) => match &known[*at] {
                Known::Nothing => Verdicts::Same([FALSE, TRUE]),
                Known::Same(verdict) => Verdicts::Same([*verdict; 2]),
                Known::Each(all) => Verdicts::Each(all.iter().map(|&verdict| [verdict; 2]).collect()),
            },
            Self::Not(inner) => match inner.verdicts(known) {
                Verdicts::Same(bounds) => Verdicts::Same(not(bounds)),
                Verdicts::Each(mut all) => {
                    all.iter_mut().for_each(|bounds| *bounds = not(*bounds));
                    Verdicts::Each(all)
                }
            },
            Self::All(all) => {
                let all = all.iter().map(|one| one.verdicts(known));
                all.fold(Verdicts::Same([TRUE; 2]), |all, one| all.with(one, Verdict::min))
            }
            Self::Any(all) => {
                let all = all.iter().map(|one| one.verdicts(known));
                all.fold(Verdicts::Same([FALSE; 2]), |all, one| all.with(one, Verdict::max))
            }
        }
    }
}
