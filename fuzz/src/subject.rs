//! What a target is.

/// What is fuzzed.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, also that of its files.
    pub name: &'static str,
    /// Runs it; what came of it in a few words, for telling new outcomes from old ones. Panics where a property does not
    /// hold.
    pub run: fn(&[u8]) -> String,
    /// What mutation begins with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words that mean something there.
    pub words: &'static [&'static [u8]],
}
