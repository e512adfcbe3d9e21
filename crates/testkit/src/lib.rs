//! What tests need around a running Gatewright: an upstream that follows a script, and a client without opinions.
//!
//! For tests and measurements only; nothing that is shipped depends on it.

mod answer;
pub mod arguments;
pub mod client;
pub mod documents;
pub mod events;
pub mod files;
mod flow;
mod port;
mod script;
mod upstream;

pub use answer::Answer;
pub use port::QuietPort;
pub use script::Script;
pub use upstream::{Ending, EndingKind, Received, Upstream};
