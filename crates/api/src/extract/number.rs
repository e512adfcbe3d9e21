//! Numbers with a rule of their own.

use std::fmt;

use domain::Invalid;
use serde::{
    Deserialize, Deserializer,
    de::{self, Unexpected, Visitor},
};

/// The end of the whole numbers that a 64-bit integer holds, as a float. What is just below the least of them reads as it.
const END: f64 = 9_223_372_036_854_775_808.0;

/// A whole number: `3` and `3.0`, and neither `3.5` nor `"3"` (`interface.md` 1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Integer(pub(crate) i64);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;

        impl Visitor<'_> for Whole {
            type Value = Integer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_i64<E>(self, number: i64) -> Result<Integer, E> {
                Ok(Integer(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Integer, E> {
                let out_of_range = |_| E::invalid_value(Unexpected::Unsigned(number), &self);
                i64::try_from(number).map(Integer).map_err(out_of_range)
            }

            #[expect(
                clippy::cast_possible_truncation,
                reason = "the number is whole and within the range"
            )]
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Integer, E> {
                if number.fract() == 0.0 && number.abs() < END {
                    Ok(Integer(number as i64))
                } else {
                    Err(E::invalid_value(Unexpected::Float(number), &self))
                }
            }
        }

        deserializer.deserialize_any(Whole)
    }
}

/// Reads a whole number from 1 on, or nothing.
pub(crate) fn at_least_one<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Integer>, D::Error> {
    let given = Option::<Integer>::deserialize(deserializer)?;
    if given.is_some_and(|number| number.0 < 1) {
        let fault = Invalid::new("greater_than_equal", "must be at least 1");
        return Err(de::Error::custom(fault));
    }
    Ok(given)
}

/// Reads a number from 0 to 1.
pub(crate) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    let fault = if number < 0.0 {
        Invalid::new("greater_than_equal", "must be at least 0")
    } else if number > 1.0 {
        Invalid::new("less_than_equal", "must be at most 1")
    } else {
        return Ok(number);
    };
    Err(de::Error::custom(fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_integer_holds_is_refused() {
        let read = |text: &str| serde_json::from_str::<Integer>(text).map(|number| number.0);

        assert_eq!(read("-9223372036854775808").unwrap(), i64::MIN);
        assert_eq!(read("9223372036854775807").unwrap(), i64::MAX);
        for text in [
            "-9223372036854775809",
            "9223372036854775808",
            "-1e19",
            "1e19",
            "0.5",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
