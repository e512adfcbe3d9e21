//! The models that read documents, as their providers list them: what `GET /ocr/models` shows.
//!
//! Others can be asked for as well; this is no list of what is allowed.

use domain::seams::OcrModels;

use crate::{docling, local};

/// Providers and their models.
static TABLE: [(&str, OcrModels); 3] = [
    (
        local::NAME,
        OcrModels {
            names: &[local::MODEL],
            location: Some("local"),
        },
    ),
    // https://docs.mistral.ai/getting-started/models; all of it is hosted in the European Union by default.
    (
        "mistral",
        OcrModels {
            names: &["mistral-ocr-latest", "mistral-ocr-4-0", "mistral-ocr-2512"],
            location: Some("eu"),
        },
    ),
    // It reads with whatever models it was started with.
    (
        docling::NAME,
        OcrModels {
            names: &["docling-latest"],
            location: Some("self-hosted"),
        },
    ),
];

/// What is known of a provider's models.
pub(crate) fn of(provider: &str) -> OcrModels {
    let row = TABLE.iter().find(|(name, _)| *name == provider);
    row.map(|(_, models)| *models).unwrap_or_default()
}
