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
        let refused = || {
            let fault = "must be a time by RFC 3339, such as 2025-01-31T12:00:00Z";
            Invalid::new("datetime_parsing", fault)
        };
        let offset_at = offset_at(text).ok_or_else(refused)?;
        let instant = if offset_at == text.len() {
            let plain = text.parse().map(|plain: jiff::civil::DateTime| {
                plain
                    .to_zoned(jiff::tz::TimeZone::UTC)
                    .map(|zoned| zoned.timestamp())
            });
            plain.ok().and_then(Result::ok)
        } else {
            text.parse().ok()
        };
        let instant: jiff::Timestamp = instant.ok_or_else(refused)?;
        // Four digits are all that a year has there, in UTC too.
        let instant = Self(instant.as_microsecond());
        let is_written = |text: String| text.len() == 27 && !text.starts_with("0000");
        is_written(instant.to_string())
            .then_some(instant)
            .ok_or_else(refused)
    }

    /// From microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// This instant and `earlier` before it.
    #[must_use]
    pub fn minus(self, earlier: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(earlier.as_micros()).unwrap_or(i64::MAX)),
        )
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

/// Where the offset stands in a text of the form `2025-01-31T12:00:00.5+01:00`, or would stand; `None` for other forms.
fn offset_at(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let fits = |form: &[u8], text: &[u8]| {
        form.len() == text.len()
            && form.iter().zip(text).all(|(form, byte)| match form {
                b'0' => byte.is_ascii_digit(),
                b'T' => matches!(byte, b'T' | b't' | b' '),
                form => form == byte,
            })
    };
    let (seconds, rest) = bytes.split_at_checked(19)?;
    let fraction = match rest.strip_prefix(b".") {
        Some(rest) => 1 + rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        None => 0,
    };
    let offset = &rest[fraction..];
    let is_signed = fits(b"+00:00", offset) || fits(b"-00:00", offset);
    let is_offset = match offset {
        b"" | b"Z" | b"z" => true,
        [_, hours @ .., b':', tens, _] => is_signed && *hours < b"24"[..] && *tens < b'6',
        _ => false,
    };
    (fits(b"0000-00-00T00:00:00", seconds) && fraction != 1 && is_offset).then_some(19 + fraction)
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
            "0000-01-01T00:00:00Z",
            "0001-01-01T00:00:00+10:00",
            "9999-12-31T23:59:59-10:00",
            "2025-01-31T12:00Z",
            "2025-01-31T12:00:00,5Z",
            "2025-01-31T12:00:00.Z",
            "2025-01-31T12:00:00+0530",
            "2025-01-31T12:00:00+24:00",
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
