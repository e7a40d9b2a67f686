//! A short pass of every target with a fixed seed: no input may end a process, hang, or exceed the memory limit.

use heaplake_fuzz::driver::{Driver, Tally};
use heaplake_fuzz::targets;
use std::path::PathBuf;
use std::time::Duration;

/// Inputs per target; `make fuzz` runs many more.
const INPUTS: u64 = 60;

/// Time limit per target.
const LONGEST: Duration = Duration::from_secs(20);

#[test]
fn every_target_survives_a_short_pass() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let program = PathBuf::from(env!("CARGO_BIN_EXE_heaplake-fuzz"));
    let driver = Driver { program, findings: folder.path().to_owned() };
    let mut found = Vec::new();
    for target in targets::ALL {
        let mut tally = Tally::default();
        let findings = driver.run(target, 7, LONGEST, INPUTS, &mut tally);
        assert!(tally.inputs > 0 || !findings.is_empty(), "{} did nothing", target.name);
        found.extend(findings.into_iter().map(|finding| format!("{}: {finding:?}", target.name)));
    }
    if !found.is_empty() {
        panic!("inputs are in {}:\n{}", folder.keep().display(), found.join("\n"));
    }
}
