//! The normal distribution: its tail to full relative precision, since q multiplies tiny ones by many rows, and quantiles.

/// P(Z <= z).
pub(super) fn cumulative(z: f64) -> f64 {
    0.5 * complementary_error(-z / std::f64::consts::SQRT_2)
}

/// The z with P(Z <= z) = `part`, 0 < `part` < 1.
pub(super) fn quantile(part: f64) -> f64 {
    // Of the tail below the middle, where the distribution function loses no digits.
    if part > 0.5 {
        return -quantile(1.0 - part);
    }
    let (mut low, mut high) = (-40.0f64, 0.0f64);
    while high - low > 1e-13 {
        let middle = 0.5 * (low + high);
        if cumulative(middle) < part {
            low = middle
        } else {
            high = middle
        }
        if middle == low && middle == high {
            break;
        }
    }
    0.5 * (low + high)
}

/// erfc: the series of erf (Abramowitz and Stegun 7.1.6) near 0, the continued fraction (7.1.14) by Lentz's method in the
/// tail.
fn complementary_error(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - complementary_error(-x);
    }
    let scale = (-x * x).exp() / std::f64::consts::PI.sqrt();
    if x < 2.0 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        return 1.0 - 2.0 * scale * sum;
    }
    let (mut value, mut c, mut d) = (x, x, 0.0);
    for n in 1..200 {
        let numerator = f64::from(n) / 2.0;
        d = 1.0 / (x + numerator * d);
        c = x + numerator / c;
        value *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    scale / value
}

#[cfg(test)]
mod tests {
    use super::{cumulative, quantile};

    /// `scipy.stats.norm.cdf(z)` of SciPy 1.14.
    #[test]
    fn values_are_those_of_scipy() {
        for (z, expected) in [
            (0.0, 0.5),
            (-0.5, 0.308_537_538_725_986_9),
            (1.0, 0.841_344_746_068_542_9),
            (-1.96, 0.024_997_895_148_220_435),
            (-3.0, 0.001_349_898_031_630_094_6),
            (-4.2, 1.334_574_901_590_633_8e-5),
            (-12.0, 1.776_482_112_077_678_8e-33),
        ] {
            let found = cumulative(z);
            assert!((found / expected - 1.0).abs() < 1e-12, "{z}: {found} {expected}");
        }
    }

    #[test]
    fn the_quantile_undoes_the_distribution() {
        for part in [1e-12, 2.5e-5, 0.025, 0.2, 0.5, 0.8, 0.975] {
            assert!((cumulative(quantile(part)) / part - 1.0).abs() < 1e-9, "{part}");
        }
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-10);
    }
}
