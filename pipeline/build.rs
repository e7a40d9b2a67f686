//! Gives `heaplake --version` the commit of an optimised build. Other builds have none: they would be built again after
//! each commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=HEAPLAKE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let given = std::env::var("HEAPLAKE_COMMIT").ok();
    // Cargo calls each profile that inherits from release so.
    let optimised = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if let Some(commit) = given.or_else(|| optimised.then(of_checkout).flatten()) {
        println!("cargo::rustc-env=HEAPLAKE_COMMIT={commit}");
    }
}

/// The commit that is checked out, with a mark if files differ from it; `None` without git, or in no checkout of
/// heaplake: sources may lie below a checkout of something else.
fn of_checkout() -> Option<String> {
    git(&["rev-parse", "--show-prefix"]).filter(|prefix| prefix == "pipeline/")?;
    let moves = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&moves).exists() {
        println!("cargo::rerun-if-changed={moves}");
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty());
    Some(if changed { format!("{commit}-changed") } else { commit })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
