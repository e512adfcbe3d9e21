//! The keyword `uniqueItems` in time that grows with the items alone, whatever they are.
//!
//! The library's own hashes arrays without their length, so that a client can make up items that all fall together and
//! are then compared one with another. Here a keyed hash tells lengths and types apart.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, Hasher, RandomState},
};

use jsonschema::{Keyword, ValidationError, paths::Location};
use serde_json::{Map, Number, Value};

/// Checks that no two items are equal: numbers by their value, objects whatever the order of their members.
struct UniqueItems(RandomState);

/// Makes the keyword: nothing is checked where it is `false`.
#[expect(clippy::unnecessary_wraps, reason = "the library asks for this form")]
pub(super) fn keyword<'a>(
    _parent: &'a Map<String, Value>,
    wanted: &'a Value,
    _path: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    Ok(if wanted == &Value::Bool(true) {
        Box::new(UniqueItems(RandomState::new()))
    } else {
        Box::new(Anything)
    })
}

struct Anything;

impl<'i> Keyword<'i> for Anything {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        true
    }
}

impl<'i> Keyword<'i> for UniqueItems {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(value) {
            Ok(())
        } else {
            Err(ValidationError::custom("value has items that are equal"))
        }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        let Value::Array(items) = value else {
            return true;
        };
        let mut seen: HashMap<u64, Vec<&Value>> = HashMap::with_capacity(items.len());
        items.iter().all(|item| {
            let alike = seen.entry(self.hash(item)).or_default();
            let is_new = !alike.iter().any(|other| equal(item, other));
            alike.push(item);
            is_new
        })
    }
}

impl UniqueItems {
    fn hash(&self, value: &Value) -> u64 {
        let mut hasher = self.0.build_hasher();
        match value {
            Value::Null => 0_u8.hash(&mut hasher),
            Value::Bool(flag) => (1_u8, flag).hash(&mut hasher),
            Value::Number(number) => (2_u8, bits(number)).hash(&mut hasher),
            Value::String(text) => (3_u8, text).hash(&mut hasher),
            Value::Array(items) => {
                (4_u8, items.len()).hash(&mut hasher);
                for item in items {
                    self.hash(item).hash(&mut hasher);
                }
            }
            Value::Object(members) => {
                // The members' hashes are added up, so that their order does not count.
                let sum = members
                    .iter()
                    .map(|(name, member)| self.0.hash_one((name, self.hash(member))));
                (5_u8, members.len(), sum.fold(0, u64::wrapping_add)).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Equal numbers have equal bits, however they are written.
fn bits(number: &Number) -> u64 {
    let value = number.as_f64().unwrap_or(f64::NAN);
    // Zero has two signs.
    if value == 0.0 { 0 } else { value.to_bits() }
}

fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (whole(one), whole(other)) {
            (Some(one), Some(other)) => one == other,
            _ => bits(one) == bits(other),
        },
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, member)| other.get(name).is_some_and(|other| equal(member, other)))
        }
        _ => one == other,
    }
}

fn whole(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn are_unique(items: &Value) -> bool {
        UniqueItems(RandomState::new()).is_valid(items)
    }

    #[test]
    fn equal_items_are_found_however_they_are_written() {
        for items in [
            json!([1, 1.0]),
            json!([0.0, -0.0]),
            json!([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}]),
            json!([[], 1, []]),
            json!([null, null]),
        ] {
            assert!(!are_unique(&items), "{items}");
        }
    }

    #[test]
    fn it_takes_the_place_of_the_library_s_own() {
        let compile = |wanted: Value| {
            crate::schema::Schema::compile(&domain::Json::of(&json!({"uniqueItems": wanted})))
        };

        let mismatches = compile(json!(true)).unwrap().mismatches(&json!([1, 1.0]));

        assert_eq!(mismatches[0].message, "value has items that are equal");
        assert_eq!(
            compile(json!(false)).unwrap().mismatches(&json!([1, 1])),
            []
        );
        assert!(compile(json!("yes")).is_err());
    }

    #[test]
    fn different_items_are_told_apart() {
        for items in [
            json!([1, true, "1", null, [1], {"a": 1}]),
            json!([0, false, "", [], {}]),
            json!([[[], []], [[[]]], [[]]]),
            json!([{"a": 1, "b": 2}, {"a": 2, "b": 1}, {"a": 1}]),
            json!([9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64]),
            json!("no array"),
        ] {
            assert!(are_unique(&items), "{items}");
        }
    }

    #[test]
    fn items_made_up_to_fall_together_do_not() {
        let pairs: Vec<Value> = (0..20_000)
            .map(|number| {
                (0..15).fold(json!([]), |inner, bit| {
                    if number >> bit & 1 == 1 {
                        json!([inner, []])
                    } else {
                        json!([inner])
                    }
                })
            })
            .collect();

        assert!(are_unique(&Value::Array(pairs)));
    }
}
