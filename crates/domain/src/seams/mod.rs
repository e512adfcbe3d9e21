//! The seams: traits that part the house from the world. Backends and hosts stand behind them.

mod cache;
mod clock;
mod document;
mod provider;
mod store;

pub use cache::{Cache, CacheKey};
pub use clock::{Clock, CountingIds, FixedClock, Ids, RandomIds, SystemClock};
pub use document::{Documents, Fetched, Fetcher, NoDocuments, PagePicture};
pub use provider::{
    BESIDE_TOOLS, EgressPolicy, Home, Host, Key, KeyRefusal, KeyRefusals, OcrModels, Provider,
    ProviderError, ProviderErrorKind, Registry, Taken, Target, Wanted,
};
pub use store::{
    AliasStore, DatasetStore, FunctionStore, ModelStore, SpanStore, Store, StoreError, TokenStore,
};
