//! What a call means: functions, models, calls and spans, over the seams of `domain`.
//!
//! Knows nothing of HTTP, SQL or any provider's name. The doors touch it through [`Gateway`] alone.

mod auth;
mod calls;
mod error;
mod functions;
mod gateway;
mod models;
mod options;
mod price;
mod route;
mod schema;
mod spans;
pub mod token;
mod vault;

pub use auth::{Auth, unauthorized};
pub use calls::Calls;
pub use error::{CallDetail, Code, Detail, Error, Fault, Step, TriedModel};
pub use functions::{FunctionChange, Functions, NewFunction};
pub use gateway::{Gateway, GatewayError, Ground};
pub use models::{ModelChange, Models, NewModel};
pub use options::{CallsOptions, ModelsOptions, Options, PricesOptions};
pub use spans::Spans;
pub use vault::{MasterKey, Vault, VaultError};
