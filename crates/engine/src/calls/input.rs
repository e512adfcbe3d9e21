//! The input against its schema.

use serde_json::Value;

use crate::{
    error::{Code, Detail, Error},
    schema::Mismatch,
};

use super::open::Call;

/// Refuses an input that misses the input schema. An absent input is checked as `null`.
pub(super) fn check(call: &Call) -> Result<(), Error> {
    let Some(schema) = &call.callee.input_schema else {
        return Ok(());
    };
    let input = call
        .request
        .input
        .as_ref()
        .map_or(Value::Null, domain::Json::to_value);
    let mismatches = schema.mismatches(&input);
    if mismatches.is_empty() {
        return Ok(());
    }
    let faults = mismatches
        .into_iter()
        .map(Mismatch::into_input_fault)
        .collect();
    Err(Error::new(Code::RequestValidation, Detail::Faults(faults)))
}
