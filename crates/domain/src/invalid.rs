//! Why a value from outside was refused.

use thiserror::Error;

/// A refused value: a stable slug for programs and a sentence for people.
///
/// Its text form is `slug: message`, so that it survives a trip through a deserializer's error; [`Invalid::read`]
/// takes it apart again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{slug}: {message}")]
pub struct Invalid {
    /// The short class of the fault, for example `string_pattern_mismatch` (`interface.md` 1.6).
    pub slug: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
    /// Where below the refused value the fault lies, if not at its root.
    pub path: Vec<String>,
}

/// Every slug that a refusal may carry.
const SLUGS: &[&str] = &[
    "array_type",
    "bool_type",
    "datetime_parsing",
    "document_encrypted",
    "document_fetch_failed",
    "document_rejected",
    "document_too_large",
    "enum",
    "float_type",
    "greater_than_equal",
    "header_name",
    "header_value",
    "int_type",
    "invalid_document",
    "invalid_pages",
    "json_invalid",
    "json_schema",
    "less_than_equal",
    "missing",
    "model_type",
    "object_type",
    "schema_mismatch",
    "string_pattern_mismatch",
    "string_too_long",
    "string_too_short",
    "string_type",
    "too_long",
    "too_short",
    "unsupported_document",
    "uuid_parsing",
    "value_error",
];

impl Invalid {
    /// Makes a refusal. `slug` is one of the fixed words.
    pub fn new(slug: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(SLUGS.contains(&slug), "unknown slug `{slug}`");
        Self {
            slug,
            message: message.into(),
            path: Vec::new(),
        }
    }

    /// Says that the fault lies in member `name` of the refused value.
    #[must_use]
    pub fn at(mut self, name: impl Into<String>) -> Self {
        self.path.insert(0, name.into());
        self
    }

    /// Takes apart what [`Display`](std::fmt::Display) wrote, if it was written by this type.
    pub fn read(text: &str) -> Option<Self> {
        let (slug, message) = text.split_once(": ")?;
        let slug = SLUGS.iter().find(|known| **known == slug)?;
        Some(Self::new(slug, message))
    }
}
