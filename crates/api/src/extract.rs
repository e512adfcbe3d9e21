//! Extractors: every refusal of a malformed request looks the same.

mod body;
mod caller;
mod path;
mod query;

pub(crate) use body::{Body, Given, RequestBody, drain, given, object};
pub(crate) use caller::{Caller, lock};
pub(crate) use path::Params;
pub(crate) use query::{List, Query, paged};
