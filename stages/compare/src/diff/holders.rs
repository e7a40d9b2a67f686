//! Which holder grew: the growth of a class, divided over the chains that lead to it.
//!
//! The chains of a kind partition the instances of a class, so their differences add up to that of the class: a chain
//! that grew is where the new instances hang, however many old ones hang elsewhere.

use super::class::{OfClass, Through};
use super::status;
use super::table::Compared;
use heaplake_kit::StageError;
use heaplake_schemas::diff::Status;
use rustc_hash::FxHashMap;

/// The chains of all classes.
#[derive(Default)]
pub struct Holders {
    /// By fingerprint of the class: the reference chain that grew most.
    most: FxHashMap<u64, Through>,
    /// By fingerprint of the class: the reference chain that has most more, with what it has more; also where the chains of
    /// the base are not known.
    paths: FxHashMap<u64, (String, i64)>,
    /// By fingerprint of the class and kind: what its chains that grew grew together.
    grown: FxHashMap<(u64, String), i64>,
}

/// Reads which chains grew. `classes` tells of classes by fingerprint.
///
/// # Errors
/// [`StageError::Io`].
pub fn find(chains: &Compared<'_>, classes: &FxHashMap<u64, OfClass>) -> Result<Holders, StageError> {
    let mut holders = Holders::default();
    for &number in &chains.order {
        let row = chains.row(number)?;
        let class = row.head.class;
        let status = status::of_chain(chains, number, &row, classes.get(&class)).status;
        let [base, target] = row.measures[0].sides;
        // Of a side that does not tell it, the mean is 0.
        let delta = target.mean.saturating_sub(base.mean);
        if delta <= 0 || matches!(status, Status::WithinNoise | Status::Same) {
            continue;
        }
        let mut texts = chains.texts.of(number as usize)?;
        let (Some(Some(signature)), Some(Some(text))) = (texts.pop(), texts.pop()) else { continue };
        let kind = texts.swap_remove(0).unwrap_or_default();
        if kind == "reference" {
            let path = holders.paths.entry(class).or_default();
            if path.1 < delta {
                *path = (text.clone(), delta);
            }
        }
        if kind == "reference" && base.is_told() {
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
    /// The chain through which a class grew most.
    #[must_use]
    pub fn through(&self, class: u64) -> Option<&Through> {
        self.most.get(&class)
    }

    /// Where most of what a class has more is held.
    #[must_use]
    pub fn path(&self, class: u64) -> Option<&str> {
        self.paths.get(&class).map(|(path, _)| path.as_str())
    }

    /// A chain's growth as a part of the growth of all chains of its class and kind that grew.
    #[must_use]
    pub fn share(&self, class: u64, kind: &str, delta: Option<i64>) -> Option<f64> {
        let delta = delta.filter(|&delta| delta > 0)?;
        let all = *self.grown.get(&(class, kind.to_owned()))?;
        Some(delta as f64 / all as f64)
    }
}
