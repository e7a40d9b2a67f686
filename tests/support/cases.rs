//! The number of random cases.

/// Cases of a test: `default`, or as many as `HEAPLAKE_CASES` says (`make test-long`).
pub fn cases(default: u32) -> u32 {
    std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default)
}
