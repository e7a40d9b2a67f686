//! Conditions on the capture times of runs.

use crate::moment;

/// Range of capture times, in microseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Period {
    /// Inclusive.
    since: Option<i64>,
    /// Exclusive.
    until: Option<i64>,
    /// Maximum age relative to the newest selected run.
    pub(crate) last: Option<i64>,
}

impl Period {
    /// True if there is no condition.
    pub(crate) fn is_any(self) -> bool {
        self == Self::default()
    }

    /// True if a run captured then matches; an unknown time matches only if there is no condition.
    pub(crate) fn takes(self, captured: Option<i64>) -> bool {
        let within = |at: i64| self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until);
        self.is_any() || captured.is_some_and(within)
    }

    /// Parses a condition; false if the field is not about time.
    pub(crate) fn read(&mut self, field: &str, text: &str) -> Result<bool, String> {
        let moment = || moment::absolute(text).ok_or_else(|| format!("{field}={text}: {}", moment::A_DATE));
        match field {
            "since" => self.since = Some(moment()?.start),
            "until" => self.until = Some(moment()?.end),
            "last" => self.last = Some(moment::age(text).map_err(|problem| format!("last={text}: {problem}"))?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}
