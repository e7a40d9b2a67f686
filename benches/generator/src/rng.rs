//! Random numbers by formula.
//!
//! Every pass over the plan needs the same decisions again. A generator with state would have to be replayed from the
//! start; a hash of (seed, position) yields any decision at once.

/// Mixes a position into a key: the finaliser of SplitMix64, which passes the usual statistical tests.
#[inline]
pub fn mix(key: u64, position: u64) -> u64 {
    let mut z = key.wrapping_add(position.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A short-lived sequence of draws, for the parameters of one block.
#[derive(Debug, Clone)]
pub struct Rng {
    key: u64,
    drawn: u64,
}

impl Rng {
    /// Starts the sequence that belongs to `key`.
    pub fn new(key: u64) -> Self {
        Self { key, drawn: 0 }
    }

    pub fn draw(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.key, self.drawn)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.draw() % (high - low + 1)
    }

    /// True once in `n` draws on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.draw().is_multiple_of(n)
    }
}
