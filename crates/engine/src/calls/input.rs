//! The input against its schema.

use domain::Json;

use crate::{
    error::{Code, Detail, Error},
    schema::Mismatch,
};

use super::{checks::Checks, open::Call, task::Task};

/// Refuses an input that misses the input schema. An absent input is checked as `null`. A conversation has no schema.
pub(super) async fn check(checks: &Checks, call: &Call) -> Result<(), Error> {
    let Task::Function(task) = &call.task else {
        return Ok(());
    };
    let Some(schema) = &task.callee.input_schema else {
        return Ok(());
    };
    let input = task.input.clone().unwrap_or_else(Json::null);
    let mismatches = checks
        .mismatches(call.scope.project(), schema, &input)
        .await;
    if mismatches.is_empty() {
        return Ok(());
    }
    let faults = mismatches
        .into_iter()
        .map(Mismatch::into_input_fault)
        .collect();
    Err(Error::new(Code::RequestValidation, Detail::Faults(faults)))
}
