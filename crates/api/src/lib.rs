//! The doors: HTTP in; JSON and the API reference out.
//!
//! Handlers parse, call one method of the engine, and shape the answer. No rule of the service lives here, and
//! nothing here knows SQL or a provider's format.

mod admission;
mod closing;
mod dashboard;
mod doors;
mod extract;
mod framing;
mod options;
mod patience;
mod problem;
mod reserve;
mod router;
mod routes;
mod schemas;
mod serve;
mod sse;

use domain::ModelName;
use engine::Recognized;

pub use doors::{House, RenderMetrics};
pub use options::{LimitsOptions, MetricsOptions, ServerOptions};
pub use serve::{Server, StorageLost};

/// A document that was read, as `POST /ocr` answers.
pub fn ocr_answer(read: Recognized, model: &ModelName) -> String {
    let body = routes::ocr::ReadBody::of(read, model);
    serde_json::to_string(&body).expect("the answer serializes: its map keys are strings")
}

/// The API document, as text.
pub fn document() -> &'static str {
    &router::DOCUMENT
}
