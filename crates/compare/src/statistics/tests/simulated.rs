//! Random values for simulations, equal on every machine.

/// Splitmix64 (Steele, Lea and Flood 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Uniform in 0 < x < 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t with 2 degrees of freedom, by inversion: tails so heavy that the variance is infinite.
    pub(crate) fn heavy(&mut self) -> f64 {
        let u = self.uniform();
        (2.0 * u - 1.0) / (2.0 * u * (1.0 - u)).sqrt()
    }

    /// Poisson, by Knuth's product.
    pub(crate) fn poisson(&mut self, mean: f64) -> i64 {
        let (limit, mut product, mut count) = ((-mean).exp(), self.uniform(), 0);
        while product > limit {
            product *= self.uniform();
            count += 1;
        }
        count
    }
}

/// A distribution of values over runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values {
    Normal,
    Lognormal,
    HeavyTails,
    Counts(f64),
    Uniform(i64),
}

impl Values {
    pub(crate) const ALL: [Self; 5] =
        [Self::Normal, Self::Lognormal, Self::HeavyTails, Self::Counts(6.0), Self::Uniform(12)];

    /// Draws `count` values.
    pub(crate) fn draw(self, random: &mut Random, count: usize) -> Vec<i64> {
        let one = |random: &mut Random| match self {
            Self::Normal => (1e9 + 1e7 * random.normal()) as i64,
            Self::Lognormal => (1e6 * (0.5 * random.normal()).exp()) as i64,
            Self::HeavyTails => (1e9 + 1e6 * random.heavy()) as i64,
            Self::Counts(mean) => random.poisson(mean),
            Self::Uniform(below) => (random.uniform() * below as f64) as i64,
        };
        (0..count).map(|_| one(random)).collect()
    }
}
