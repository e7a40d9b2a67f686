//! Finds the last runs of each release or label value.

use crate::entry::Entry;
use std::collections::BTreeMap;

/// Number of runs to keep per group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Number of runs.
    pub last: usize,
    /// Grouping key.
    pub per: Per,
}

/// Grouping key of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// Release.
    #[default]
    Release,
    /// Value of a label.
    Label(String),
}

impl Per {
    /// Group of a run; `None` if it lacks the label.
    pub fn group(&self, run: &Entry) -> Option<String> {
        match self {
            Self::Release => Some(run.release.to_string()),
            Self::Label(name) => run.labels.get(name).map(str::to_owned),
        }
    }
}

/// Whether each run, given by group and capture time, is among the `last` ones of its group. Of runs with equal time,
/// later ones in the list are newer.
pub fn are_last(runs: &[(String, i64)], last: usize) -> Vec<bool> {
    let mut groups: BTreeMap<&str, Vec<(i64, usize)>> = BTreeMap::new();
    for (at, (group, captured)) in runs.iter().enumerate() {
        groups.entry(group).or_default().push((*captured, at));
    }
    let mut kept = vec![false; runs.len()];
    for group in groups.values_mut() {
        group.sort_unstable();
        group.iter().rev().take(last).for_each(|(_, at)| kept[*at] = true);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_of_each_group_are_kept() {
        let runs = [("a", 3), ("b", 1), ("a", 1), ("a", 3), ("a", 2)].map(|(group, at)| (group.to_owned(), at));
        assert_eq!(are_last(&runs, 0), [false; 5]);
        assert_eq!(are_last(&runs, 1), [false, true, false, true, false]);
        assert_eq!(are_last(&runs, 2), [true, true, false, true, false]);
        assert_eq!(are_last(&runs, 9), [true; 5]);
    }

    proptest! {
        #[test]
        fn nothing_newer_goes_than_what_is_kept(runs in prop::collection::vec((0..3_u8, 0..20_i64), 0..30), last in 0..5_usize) {
            let runs: Vec<(String, i64)> = runs.into_iter().map(|(group, at)| (group.to_string(), at)).collect();
            let kept = are_last(&runs, last);
            for group in ["0", "1", "2"] {
                let of = |keep: bool| -> Vec<i64> {
                    let all = runs.iter().zip(&kept).filter(|((name, _), kept)| name == group && **kept == keep);
                    all.map(|((_, at), _)| *at).collect()
                };
                let (stay, go) = (of(true), of(false));
                prop_assert_eq!(stay.len(), last.min(stay.len() + go.len()));
                if let (Some(oldest), Some(newest)) = (stay.iter().min(), go.iter().max()) {
                    prop_assert!(newest <= oldest);
                }
            }
        }
    }
}
