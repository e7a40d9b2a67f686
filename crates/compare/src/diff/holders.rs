//! Which holder grew: divides the growth of a class among the chains that lead to it.
//!
//! The chains of a kind partition the instances of a class, so their differences add up to that of the class: the chain
//! that grew holds the new instances, wherever the old ones are.

use super::class::{OfClass, Through};
use super::status;
use super::table::Compared;
use heaplake_kit::StageError;
use heaplake_schemas::diff::Status;
use rustc_hash::FxHashMap;

/// The chains of all classes.
#[derive(Default)]
pub(super) struct Holders {
    /// The reference chain that grew most, by class fingerprint.
    most: FxHashMap<u64, Through>,
    /// The reference chain with the largest difference, by class fingerprint; also if the base's chains are unknown.
    paths: FxHashMap<u64, (String, i64)>,
    /// Total growth of the chains that grew, by class fingerprint and kind.
    grown: FxHashMap<(u64, String), i64>,
}

/// Finds the chains that grew. `classes` maps class fingerprints to their state in the base.
pub(super) fn find(chains: &Compared, classes: &FxHashMap<u64, OfClass>) -> Result<Holders, StageError> {
    let mut holders = Holders::default();
    for &number in &chains.ranked.order {
        let row = chains.ranked.row(number)?;
        let class = row.head.class;
        let status = status::of_chain(chains, number, &row, classes.get(&class)).status;
        let [base, target] = row.values[0].sides;
        // If a side does not report the measure, its mean is 0.
        let delta = target.mean.saturating_sub(base.mean);
        if delta <= 0 || matches!(status, Status::WithinNoise | Status::Same) {
            continue;
        }
        let labels = chains.ranked.labels(number)?;
        let Some(text) = labels.key(2).map(str::to_owned) else { continue };
        let (kind, signature) = (labels.key(0).unwrap_or_default().to_owned(), labels.signature);
        if kind == "reference" {
            let path = holders.paths.entry(class).or_default();
            if path.1 < delta {
                *path = (text.clone(), delta);
            }
        }
        if kind == "reference" && base.is_reported() {
            let through = Through { signature, text, bytes: delta, new: status == Status::NewPath };
            let most = holders.most.entry(class).or_insert_with(|| through.clone());
            if most.bytes < delta {
                *most = through;
            }
        }
        *holders.grown.entry((class, kind)).or_default() += delta;
    }
    Ok(holders)
}

impl Holders {
    /// Returns the chain through which a class grew most.
    pub(super) fn through(&self, class: u64) -> Option<&Through> {
        self.most.get(&class)
    }

    /// Returns the reference chain with most of the growth of a class.
    pub(super) fn path(&self, class: u64) -> Option<&str> {
        self.paths.get(&class).map(|(path, _)| path.as_str())
    }

    /// Returns a chain's share in the growth of all growing chains of its class and kind.
    pub(super) fn share(&self, class: u64, kind: &str, delta: Option<i64>) -> Option<f64> {
        let delta = delta.filter(|&delta| delta > 0)?;
        let all = *self.grown.get(&(class, kind.to_owned()))?;
        Some(delta as f64 / all as f64)
    }
}
