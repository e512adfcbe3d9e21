//! The doors: HTTP in; JSON and the API reference out.
//!
//! Handlers parse, call one method of the engine, and shape the answer. No rule of the service lives here, and
//! nothing here knows SQL or a provider's format.

mod admission;
mod dashboard;
mod doors;
mod extract;
mod options;
mod patience;
mod problem;
mod router;
mod routes;
mod schemas;
mod serve;
mod sse;

pub use doors::{House, RenderMetrics};
pub use options::{LimitsOptions, MetricsOptions, ServerOptions};
pub use serve::{Server, StorageLost};

/// The API document, as text.
pub fn document() -> &'static str {
    &router::DOCUMENT
}
