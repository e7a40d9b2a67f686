//! Definition of a target.

/// A function to fuzz.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name, also of its files.
    pub name: &'static str,
    /// Runs an input and describes the outcome in a few words, which tells new outcomes from old ones. Panics where a
    /// property is violated.
    pub run: fn(&[u8]) -> String,
    /// Inputs to start mutation with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words with a meaning in the format.
    pub words: &'static [&'static [u8]],
}
