//! Logarithms of binomial coefficients.

/// Below this n, ln(n!) is summed; above, Stirling's series has an error below 1e-13.
const SUMMED: usize = 32;

fn ln_factorial(n: usize) -> f64 {
    if n < SUMMED {
        return (2..=n).map(|factor| (factor as f64).ln()).sum();
    }
    let x = n as f64;
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    x * x.ln() - x + 0.5 * (std::f64::consts::TAU * x).ln() + series
}

/// ln of the binomial coefficient n over k, for k up to n.
pub(super) fn ln_choose(n: usize, k: usize) -> f64 {
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

/// P(X <= `at`) for X heads in `tosses` of a fair coin.
pub(super) fn coin(tosses: usize, at: usize) -> f64 {
    let mut term = (ln_choose(tosses, at) - tosses as f64 * std::f64::consts::LN_2).exp();
    let mut sum = term;
    for heads in (1..=at).rev() {
        term *= heads as f64 / (tosses - heads + 1) as f64;
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{coin, ln_choose};

    #[test]
    fn binomial_coefficients_are_known() {
        for (n, k, expected) in [(5, 2, 10.0), (8, 4, 70.0), (40, 20, 137_846_528_820.0), (100, 1, 100.0), (60, 0, 1.0)]
        {
            let found = ln_choose(n, k).exp();
            assert!((found / expected - 1.0f64).abs() < 1e-11, "{n} {k}: {found}");
        }
        assert!((coin(10, 1) - 11.0 / 1024.0).abs() < 1e-14);
        assert!((coin(200, 100) - 0.528_174).abs() < 1e-6);
        assert!((coin(7, 7) - 1.0).abs() < 1e-12);
    }
}
