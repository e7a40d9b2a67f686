//! Number of random cases.

/// Cases of a test: `default`, or `HEAPLAKE_CASES` if set (`make test-long`).
pub fn cases(default: u32) -> u32 {
    std::env::var("HEAPLAKE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default)
}
