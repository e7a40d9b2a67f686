//! Share of a type in all bytes, for traces with one event per fixed number of bytes that names the type of the current
//! object: events per type are proportional to its bytes (sampling with probability proportional to size: Hansen and
//! Hurwitz, Annals of Mathematical Statistics 14, 1943). The interval is the exact one of Clopper and Pearson
//! (Biometrika 26, 1934), which also holds for types with one event.

/// Probability of either tail outside the interval.
const TAIL: f64 = 0.025;

/// Steps of the bisection: the bits of a mantissa.
const HALVINGS: usize = 53;

/// Returns a 95 % interval of the proportion behind `hits` of `trials` draws.
pub(crate) fn interval(hits: u64, trials: u64) -> (f64, f64) {
    let (k, n) = (hits.min(trials) as f64, trials as f64);
    // At the lower end, as many hits or more have the probability of a tail; at the upper end, as many or fewer.
    let low = if k == 0.0 { 0.0 } else { solve(|part| beta(k, n - k + 1.0, part) < TAIL) };
    let high = if k == n { 1.0 } else { solve(|part| beta(k + 1.0, n - k, part) < 1.0 - TAIL) };
    (low, high)
}

/// Returns the end of the range from 0 on where a condition holds, by bisection.
fn solve(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The regularised incomplete beta function, as a continued fraction (DiDonato and Morris, ACM TOMS 18, 1992).
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    // The fraction converges fast below the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(b, a, 1.0 - x);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    front * fraction(a, b, x)
}

/// The continued fraction, by the method of Lentz (Applied Optics 15, 1976).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_0 = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away_from_0(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    // The number of steps is of the order of the root of the larger parameter.
    let most = 200 + 10 * a.max(b).sqrt() as u64;
    for step in 1..most {
        let m = step as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for part in [even, odd] {
            d = 1.0 / away_from_0(1.0 + part * d);
            c = away_from_0(1.0 + part / c);
            change = c * d;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function of a positive number, by Stirling's series.
fn ln_gamma(x: f64) -> f64 {
    // The series is exact from 10 on; below, gamma(x) is gamma(x + 1) / x.
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0)))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::{TAIL, interval};

    /// Probability of at least `hits` of `trials`, term by term.
    fn at_least(hits: u64, trials: u64, part: f64) -> f64 {
        let term = |k: u64| {
            let ways: f64 = (0..k).map(|i| (trials - i) as f64 / (k - i) as f64).product();
            ways * part.powf(k as f64) * (1.0 - part).powf((trials - k) as f64)
        };
        (hits..=trials).map(term).sum()
    }

    #[test]
    fn ends_are_those_of_the_tails() {
        for trials in [1, 2, 7, 75, 400] {
            for hits in (0..=trials).step_by(1 + trials as usize / 9) {
                let (low, high) = interval(hits, trials);
                let part = hits as f64 / trials as f64;
                assert!(low <= part && part <= high, "{hits} of {trials}: {low} {high}");
                if hits > 0 {
                    assert!((at_least(hits, trials, low) - TAIL).abs() < 1e-8, "{hits} of {trials}: {low}");
                }
                if hits < trials {
                    assert!(
                        (at_least(hits + 1, trials, high) - (1.0 - TAIL)).abs() < 1e-8,
                        "{hits} of {trials}: {high}"
                    );
                }
            }
        }
    }

    #[test]
    fn many_events_leave_little_room() {
        let (low, high) = interval(250_000, 1_000_000);
        assert!((0.2491..0.2492).contains(&low) && (0.2508..0.2509).contains(&high), "{low} {high}");
        assert_eq!(interval(0, 0), (0.0, 1.0));
    }
}
