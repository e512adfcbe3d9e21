//! The routes: body types and thin handlers, one file per noun.

pub(crate) mod calls;
pub(crate) mod functions;
pub(crate) mod health;
pub(crate) mod models;
pub(crate) mod spans;
