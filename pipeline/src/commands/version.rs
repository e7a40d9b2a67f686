//! `heaplake --version`: what this binary was built from, and with which features.

use heaplake_schemas::{HEAPLAKE_VERSION, SCHEMA_VERSION};
use std::sync::LazyLock;

/// Commit that the binary was built from, if the build knew it.
const COMMIT: Option<&str> = option_env!("HEAPLAKE_COMMIT");

/// Version, commit, optional features, platform and version of the tables; `-V` prints the version alone.
pub(crate) fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(text);
    &TEXT
}

fn text() -> String {
    let features: Vec<&str> = [("sql", cfg!(feature = "sql")), ("stores", cfg!(feature = "stores"))]
        .iter()
        .filter_map(|&(name, built_in)| built_in.then_some(name))
        .collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    format!(
        "{HEAPLAKE_VERSION}\ncommit: {}\nfeatures: {features}\nplatform: {}-{}\ntables: version {SCHEMA_VERSION}",
        COMMIT.unwrap_or("unknown"),
        std::env::consts::ARCH,
        std::env::consts::OS,
    )
}
