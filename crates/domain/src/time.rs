//! Instants: microseconds since 1970-01-01T00:00:00Z.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Invalid;

/// A point in time, to the microsecond, in UTC.
///
/// It is emitted as RFC 3339 with `Z` and six fraction digits (`interface.md` 1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Reads RFC 3339 with any offset, or without one, which is read as UTC (`interface.md` 1.5).
    ///
    /// # Errors
    /// `datetime_parsing` for anything else.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let refused = |_| {
            let fault = "must be a time by RFC 3339, such as 2025-01-31T12:00:00Z";
            Invalid::new("datetime_parsing", fault)
        };
        let instant: Result<jiff::Timestamp, _> = text.parse();
        let instant = instant.or_else(|error| {
            // A day alone is no instant.
            if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
                return Err(error);
            }
            let plain: jiff::civil::DateTime = text.parse()?;
            plain
                .to_zoned(jiff::tz::TimeZone::UTC)
                .map(|zoned| zoned.timestamp())
        });
        instant
            .map(|instant| Self(instant.as_microsecond()))
            .map_err(refused)
    }

    /// From microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// This instant and `later` after it.
    #[must_use]
    pub fn plus(self, later: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(later.as_micros()).unwrap_or(i64::MAX)),
        )
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = jiff::Timestamp::from_microsecond(self.0).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{instant:.6}")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_any_offset_or_none() {
        let noon = Timestamp::from_micros(1_738_324_800_000_000);

        for text in [
            "2025-01-31T12:00:00Z",
            "2025-01-31T12:00:00",
            "2025-01-31 12:00:00.000000",
            "2025-01-31T13:00:00+01:00",
            "2025-01-31T12:00:00.000000+00:00",
        ] {
            assert_eq!(Timestamp::parse(text), Ok(noon), "{text}");
        }
        for text in [
            "",
            "noon",
            "2025-01-31",
            "2025-13-31T12:00:00Z",
            "1738324800",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn six_fraction_digits_and_z() {
        let instant = Timestamp::from_micros(1_738_324_800_123_456);

        assert_eq!(instant.to_string(), "2025-01-31T12:00:00.123456Z");
        assert_eq!(
            Timestamp::from_micros(0).to_string(),
            "1970-01-01T00:00:00.000000Z"
        );
    }
}
