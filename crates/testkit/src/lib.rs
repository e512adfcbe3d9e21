//! What tests need around a running Gatewright: an upstream that follows a script, and a client without opinions.
//!
//! For tests and measurements only; nothing that is shipped depends on it.

mod answer;
pub mod arguments;
pub mod campaign;
mod chance;
mod checks;
pub mod client;
pub mod documents;
pub mod events;
pub mod files;
mod flow;
mod launch;
mod neighbour;
mod port;
pub mod recorded;
mod script;
mod upstream;

pub use answer::Answer;
pub use chance::{Chance, mixed};
pub use checks::Checks;
pub use launch::{Launched, Weight};
pub use neighbour::{Neighbour, Served};
pub use port::QuietPort;
pub use script::Script;
pub use upstream::{Ending, EndingKind, Received, Upstream};
