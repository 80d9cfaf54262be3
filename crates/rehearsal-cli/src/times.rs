//! Times as people write and read them.

use std::time::Duration;

use rehearsal_core::Timestamp;

/// A text that is no length of time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadTime {
    #[error("`{0}` is no time; write `90s`, `5m`, `500ms` or a number of seconds")]
    NoTime(String),
    #[error("`{0}` leaves no time at all")]
    Nothing(String),
    #[error("`{0}` is no age; write `30d`, `12h` or `2w`")]
    NoAge(String),
}

/// Reads how long something may take, such as `90s`, `5m` or `500ms`.
pub(crate) fn duration(text: &str) -> Result<Duration, BadTime> {
    let help = || BadTime::NoTime(text.to_owned());
    let (number, unit) = number_and_unit(text).ok_or_else(help)?;
    let found = match unit {
        "ms" => Some(Duration::from_millis(number)),
        "" => seconds(number, 1),
        _ => in_words(number, unit),
    };
    let found = found.ok_or_else(help)?;
    if found.is_zero() { Err(BadTime::Nothing(text.to_owned())) } else { Ok(found) }
}

/// Reads how old something is, such as `30d`, `12h` or `2w`.
pub(crate) fn age(text: &str) -> Result<Duration, BadTime> {
    let help = || BadTime::NoAge(text.to_owned());
    let (number, unit) = number_and_unit(text).ok_or_else(help)?;
    let found = match unit {
        "d" => seconds(number, 24 * 3600),
        "w" => seconds(number, 7 * 24 * 3600),
        _ => in_words(number, unit),
    };
    found.ok_or_else(help)
}

fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

fn in_words(number: u64, unit: &str) -> Option<Duration> {
    match unit {
        "s" => seconds(number, 1),
        "m" => seconds(number, 60),
        "h" => seconds(number, 3600),
        _ => None,
    }
}

fn seconds(number: u64, each: u64) -> Option<Duration> {
    number.checked_mul(each).map(Duration::from_secs)
}

/// A moment in milliseconds since 1970, as people read it.
pub(crate) fn moment(millis: i64) -> String {
    match Timestamp::from_millisecond(millis) {
        Ok(at) => at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        Err(_) => format!("{millis} ms"),
    }
}

/// A moment in milliseconds since 1970, as programs read it.
pub(crate) fn stamp(millis: i64) -> String {
    Timestamp::from_millisecond(millis).map_or_else(|_| millis.to_string(), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(duration("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("90").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("5m").unwrap(), Duration::from_mins(5));
        for bad in ["", "s", "5x", "-1s", "1.5s", "0s", "1d", "99999999999999999999s", "99999999999999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ages_are_read() {
        assert_eq!(age("30d").unwrap(), Duration::from_hours(30 * 24));
        assert_eq!(age("2w").unwrap(), Duration::from_hours(14 * 24));
        assert_eq!(age("0s").unwrap(), Duration::ZERO);
        for bad in ["", "d", "30", "5ms", "1y", "99999999999999999d"] {
            assert!(age(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn moments_are_shown() {
        assert_eq!(moment(0), "1970-01-01 00:00:00Z");
        assert_eq!(stamp(1500), "1970-01-01T00:00:01.5Z");
    }
}
