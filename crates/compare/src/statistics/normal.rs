//! Normal distribution, with full relative precision in the tail: q multiplies tiny p by many rows.

/// P(Z <= z).
pub(super) fn cumulative(z: f64) -> f64 {
    0.5 * complementary_error(-z / std::f64::consts::SQRT_2)
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
    use super::cumulative;

    /// `scipy.stats.norm.cdf(z)` of SciPy 1.17.
    #[test]
    fn values_are_those_of_scipy() {
        for (z, expected) in [
            (0.0, 0.5),
            (-0.5, 0.308_537_538_725_986_9),
            (1.0, 0.841_344_746_068_542_9),
            (-1.96, 0.024_997_895_148_220_435),
            (-3.0, 0.001_349_898_031_630_093_3),
            (-4.2, 1.334_574_901_590_631e-5),
            (-12.0, 1.776_482_112_077_653e-33),
        ] {
            let found = cumulative(z);
            assert!((found / expected - 1.0).abs() < 1e-12, "{z}: {found} {expected}");
        }
    }
}
