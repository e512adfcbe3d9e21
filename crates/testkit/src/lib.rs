//! What tests need around a running Gatewright: an upstream that follows a script, and a client without opinions.
//!
//! For tests and measurements only; nothing that is shipped depends on it.

pub mod arguments;
pub mod client;
mod script;
mod upstream;

pub use script::{Answer, Script};
pub use upstream::{Received, Upstream};
