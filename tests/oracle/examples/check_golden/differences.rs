//! Prints the differences between the oracle and the goldens of files.

use std::path::Path;
use std::process::ExitCode;

/// Printed differences per file; all are counted.
const SHOWN: usize = 10;

/// Checks the files that the arguments name; fails if any differs.
pub(crate) fn print(check: fn(&Path) -> Vec<String>) -> ExitCode {
    let mut files = 0;
    let mut differing = 0;
    for path in std::env::args().skip(1) {
        let differences = check(Path::new(&path));
        files += 1;
        differing += usize::from(!differences.is_empty());
        for difference in differences.iter().take(SHOWN) {
            println!("{path}: {difference}");
        }
        if differences.len() > SHOWN {
            println!("{path}: {} differences in all", differences.len());
        }
    }
    println!("{files} files, {differing} differ");
    if differing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
