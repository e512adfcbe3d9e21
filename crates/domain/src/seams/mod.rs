//! The seams: traits that part the house from the world. Backends and hosts stand behind them.

mod clock;
mod provider;
mod store;

pub use clock::{Clock, CountingIds, FixedClock, Ids, RandomIds, SystemClock};
pub use provider::{
    EgressPolicy, Host, Provider, ProviderError, ProviderErrorKind, Registry, Target,
};
pub use store::{FunctionStore, ModelStore, SpanStore, Store, StoreError, TokenStore};
