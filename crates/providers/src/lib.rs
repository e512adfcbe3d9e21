//! How a host is spoken to: dialects, the table of hosts that speak them, and the one way out to the network.
//!
//! It knows nothing of functions, spans or retries: one request in, one answer or one [`domain::seams::ProviderError`]
//! out. It never reads the environment; keys and addresses come in [`Options`].

mod adapter;
mod compatible;
mod count;
mod offline;
mod openai;
mod options;
mod registry;
mod wire;

pub use options::{EgressOptions, Options, ProviderOptions, UpstreamOptions};
pub use registry::{RegistryError, key_variables, registry};
