//! Verifies the description of a run: its seal, and the names of its folders.
//!
//! Runs of older versions have neither seal nor checksums; a run with checksums but no seal lost it.

use crate::seal::{self, Seal};
use heaplake_schemas::run::Run;
use std::path::Path;

/// A mismatch between the expected and the actual description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Expected content.
    pub expected: String,
    /// Actual content.
    pub found: String,
    /// Advice.
    pub advice: &'static str,
}

/// Advice for a damaged run.
pub const ANEW: &str = "analyse its input again with --force, or drop the run";

/// Compares a description with its seal and its place.
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

/// Checks only the seal, for a text that may be no description.
pub fn of_broken_seal(text: &[u8]) -> Option<Difference> {
    match seal::of(text) {
        Seal::Broken { has, should } => {
            let (expected, found) = (format!("content of seal {has}"), format!("that of {should}"));
            Some(Difference { expected, found, advice: ANEW })
        }
        Seal::Missing | Seal::Whole(_) => None,
    }
}

/// Compares the names of the folders `release=…` and `snapshot=…` with the description. Other folder names are
/// accepted, for copied runs.
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

/// True if a run has checksums; runs of older versions have none.
pub fn has_checksums(run: &Run) -> bool {
    run.seal.is_some() || run.tables.iter().any(|table| table.xxh3_64.is_some())
}
