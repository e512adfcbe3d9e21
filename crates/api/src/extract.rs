//! Extractors: every refusal of a malformed request looks the same.

mod body;
mod caller;
mod number;
mod path;
mod query;
#[cfg(test)]
mod tests;

pub(crate) use body::{Body, Given, NoBody, RequestBody, drain, given, object, reread};
pub(crate) use caller::{Caller, lock};
pub(crate) use number::{Integer, at_least_one, share};
pub(crate) use path::Params;
pub(crate) use query::{List, Query, paged};
