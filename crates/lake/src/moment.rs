//! Parses and formats times: `2026-11-22`, `2026-11-22T07:45`, and ages such as `30d`.

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Description of a valid time.
pub const A_DATE: &str = "a moment is a date of UTC such as 2026-11-22 or 2026-11-22T07:45";

/// A time interval named by a text: a date is a whole day. Microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Begin.
    pub start: i64,
    /// End, exclusive.
    pub end: i64,
}

/// Formats microseconds since 1970 as date and time in UTC.
pub fn text(micros: i64) -> String {
    let seconds = micros.div_euclid(SECOND);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

/// Converts days since 1970 into year, month and day.
fn date(days: i64) -> (i64, i64, i64) {
    // Civil from days (Hinnant): years begin in March, so that leap days are last.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Converts a date into days since 1970; `None` for an invalid date.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let counted = year - i64::from(month <= 2);
    let (era, year_of_era) = (counted.div_euclid(400), counted.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    (date(days) == (year, month, day)).then_some(days)
}

/// Parses a date, a date with time, or an age before `now`.
///
/// # Errors
/// The valid forms.
pub fn parse(text: &str, now: i64) -> Result<Named, String> {
    let ago = || age(text).map(|age| now.saturating_sub(age)).map(|at| Named { start: at, end: at });
    absolute(text).or_else(|| ago().ok()).ok_or_else(|| format!("{A_DATE}, or an age such as 30d"))
}

/// Parses an age, a number with `m`, `h`, `d` or `w`, into microseconds.
///
/// # Errors
/// The valid forms.
pub fn age(text: &str) -> Result<i64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "m" => Some(MINUTE),
        "h" => Some(HOUR),
        "d" => Some(DAY),
        "w" => Some(7 * DAY),
        _ => None,
    };
    let age = unit.and_then(|unit| number.parse::<i64>().ok()?.checked_mul(unit));
    age.ok_or_else(|| "an age is a whole number and m (minutes), h, d or w, such as 30d".to_owned())
}

/// Parses a date, or a date with time.
pub fn absolute(text: &str) -> Option<Named> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let [year, month, day] = numbers(date, '-', &[4, 2, 2])?[..] else { return None };
    let midnight = days(year, month, day)?.checked_mul(DAY)?;
    let Some(time) = time else { return Some(Named { start: midnight, end: midnight + DAY }) };
    let (hour, minute, second, long) = match numbers(time, ':', &[2, 2, 2])?[..] {
        [hour, minute] => (hour, minute, 0, MINUTE),
        [hour, minute, second] => (hour, minute, second, SECOND),
        _ => return None,
    };
    let start = midnight + hour * HOUR + minute * MINUTE + second * SECOND;
    (hour < 24 && minute < 60 && second < 60).then_some(Named { start, end: start + long })
}

/// Parses numbers of a fixed number of digits each.
fn numbers(text: &str, separator: char, digits: &[usize]) -> Option<Vec<i64>> {
    let parts: Vec<&str> = text.split(separator).collect();
    let fits = |(part, &digits): (&&str, &usize)| part.len() == digits && part.bytes().all(|c| c.is_ascii_digit());
    let all = parts.len() <= digits.len() && parts.iter().zip(digits).all(fits);
    all.then(|| parts.iter().filter_map(|part| part.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_are_dates() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_333_510, "2026-11-22T07:45:10Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(text(seconds * SECOND), date);
        }
    }

    #[test]
    fn a_date_is_a_whole_day_and_an_age_is_before_now() {
        let named = |text: &str| parse(text, 100 * DAY).map(|named| (named.start, named.end));
        assert_eq!(named("1970-01-03"), Ok((2 * DAY, 3 * DAY)));
        assert_eq!(named("1970-01-01T01:02"), Ok((62 * MINUTE, 63 * MINUTE)));
        assert_eq!(named("1970-01-01 00:00:07Z"), Ok((7 * SECOND, 8 * SECOND)));
        assert_eq!(named("2w"), Ok((86 * DAY, 86 * DAY)));
        for bad in ["", "d", "30", "30y", "-1d", "2026-02-30", "2026-13-01", "2026-1-1", "2026-01-01T24:00", "today"] {
            assert!(named(bad).is_err(), "{bad}");
        }
        assert!(age("99999999999999d").is_err() && age("1970-01-01").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(seconds in -60_000_000_000_i64..250_000_000_000) {
            let start = seconds * SECOND;
            prop_assert_eq!(parse(&text(start), 0), Ok(Named { start, end: start + SECOND }));
        }
    }
}
