//! Checks gates on the folder of a comparison.

use crate::gates::{Gates, Verdicts};
use heaplake_kit::stage::Silent;
use heaplake_kit::{Budget, Context};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Checks gates with a budget of 64 MiB.
pub(super) fn check(gates: &Gates, folder: &Path) -> Verdicts {
    let context =
        Context { budget: Budget::new(64 << 20), threads: 1, progress: &Silent, cancel: &AtomicBool::new(false) };
    gates.check(folder, &context).unwrap()
}

/// Parses gates of the command line.
pub(super) fn gates(written: &[&str]) -> Gates {
    let written: Vec<String> = written.iter().map(|&text| text.to_owned()).collect();
    Gates::parse_expressions(&written).unwrap()
}
