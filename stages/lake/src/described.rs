//! Whether the description of a run is what was written: its seal, and the names of its folders.
//!
//! Runs of older versions have neither seal nor checksums; a run with checksums and without a seal lost it.

use crate::seal::{self, Seal};
use heaplake_schemas::run::Run;
use std::path::Path;

/// What a description should be and is, where these differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub found: String,
    /// What to do.
    pub advice: &'static str,
}

/// What to do with a run that is damaged.
pub const ANEW: &str = "analyse its input again with --force, or drop the run";

/// Compares a description with its seal and with the place where it lies.
#[must_use]
pub fn difference(place: &Path, text: &[u8], run: &Run) -> Option<Difference> {
    of_seal(text, run).or_else(|| of_names(place, run))
}

fn of_seal(text: &[u8], run: &Run) -> Option<Difference> {
    match seal::of(text) {
        Seal::Missing if has_checksums(run) => {
            Some(Difference { expected: "a seal".to_owned(), found: "none".to_owned(), advice: ANEW })
        }
        Seal::Missing | Seal::Whole(_) => None,
        Seal::Broken { .. } => of_broken_seal(text),
    }
}

/// The same of a text that may be no description: whether its seal is that of its content.
#[must_use]
pub fn of_broken_seal(text: &[u8]) -> Option<Difference> {
    match seal::of(text) {
        Seal::Broken { has, should } => {
            let (expected, found) = (format!("content of seal {has}"), format!("that of {should}"));
            Some(Difference { expected, found, advice: ANEW })
        }
        Seal::Missing | Seal::Whole(_) => None,
    }
}

/// Names of the folders `release=…` and `snapshot=…` that differ from what the description says. A run that was copied to a
/// folder of another form is what it says.
fn of_names(place: &Path, run: &Run) -> Option<Difference> {
    let named =
        |path: Option<&Path>, prefix: &str| path?.file_name()?.to_str()?.strip_prefix(prefix).map(str::to_owned);
    let names = [
        ("release", named(place.parent(), "release="), &run.release),
        ("name", named(Some(place), "snapshot="), &run.snapshot),
    ];
    names.into_iter().find_map(|(what, folder, described)| {
        let folder = folder.filter(|folder| folder != described)?;
        let (expected, found) = (format!("the {what} of its folder, {folder:?}"), format!("{described:?}"));
        Some(Difference { expected, found, advice: "give the folder its name back, or drop the run" })
    })
}

/// Whether a run has checksums: those of older versions have none.
#[must_use]
pub fn has_checksums(run: &Run) -> bool {
    run.seal.is_some() || run.tables.iter().any(|table| table.xxh3_64.is_some())
}
