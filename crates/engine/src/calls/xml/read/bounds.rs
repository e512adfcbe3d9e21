//! Whether a value keeps the simple bounds of a shape, where that decides between readings.
//!
//! What is not clear counts as kept: the validator has the last word.

use std::rc::Rc;

use serde_json::{Number, Value};

use crate::calls::xml::{pattern::Pattern, shape::Shape};

use super::{Fault, Reader, Rigour};

pub(super) fn fits_number(shape: &Shape<'_>, number: &Number) -> bool {
    let Some(said) = number.as_f64() else {
        return true;
    };
    let bounds = |word| shape.word(word).filter_map(Value::as_f64);
    let is_multiple = |of: &Value| match (number.as_i64(), of.as_i64()) {
        (Some(number), Some(of)) if of != 0 => number.checked_rem(of).unwrap_or(0) == 0,
        _ => true,
    };
    bounds("minimum").all(|bound| said >= bound)
        && bounds("maximum").all(|bound| said <= bound)
        && bounds("exclusiveMinimum").all(|bound| said > bound || !is_exact(said))
        && bounds("exclusiveMaximum").all(|bound| said < bound || !is_exact(said))
        && shape.word("multipleOf").all(is_multiple)
}

/// Whether neighbouring integers are told apart as floating-point numbers.
fn is_exact(number: f64) -> bool {
    const LAST: f64 = 9_007_199_254_740_992.0;
    number.abs() < LAST
}

pub(super) fn fits_count(shape: &Shape<'_>, count: usize) -> bool {
    is_within(shape, count, ["minItems", "maxItems"])
}

fn is_within(shape: &Shape<'_>, count: usize, [least, most]: [&str; 2]) -> bool {
    let count = count as u64;
    let bounds = |word| shape.word(word).filter_map(Value::as_u64);
    bounds(least).all(|bound| count >= bound) && bounds(most).all(|bound| count <= bound)
}

impl<'s> Reader<'_, 's> {
    /// That a text keeps the bounds of a shape.
    pub(super) fn check_text(
        &mut self,
        shape: &Shape<'s>,
        text: &str,
        rigour: Rigour,
    ) -> Result<(), Fault> {
        if rigour == Rigour::Lenient {
            return Ok(());
        }
        if !is_within(shape, text.chars().count(), ["minLength", "maxLength"]) {
            return Err(self.misfit("is too short, or too long"));
        }
        for pattern in shape.word("pattern").filter_map(Value::as_str) {
            let is_in = self.matches(pattern, text)?;
            self.doubts += usize::from(is_in.is_none());
            if is_in == Some(false) || (is_in.is_none() && rigour == Rigour::Sure) {
                return Err(self.misfit("does not fit its pattern"));
            }
        }
        Ok(())
    }

    /// Whether a text fits a pattern, if that can be told.
    pub(super) fn matches(&mut self, pattern: &'s str, text: &str) -> Result<Option<bool>, Fault> {
        let known = self
            .patterns
            .entry(pattern)
            .or_insert_with(|| Pattern::of(pattern).map(Rc::new));
        let Some(known) = known.clone() else {
            return Ok(None);
        };
        let (is_in, work) = known.is_in(text);
        self.spend(work)?;
        Ok(is_in)
    }
}
