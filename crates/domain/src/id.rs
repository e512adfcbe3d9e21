//! Identifiers: one type per noun, so that a span's id is never taken for a function's.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use uuid::Uuid;

use crate::Invalid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Reads the 36-character hyphenated form; no other form of a UUID is taken.
            ///
            /// # Errors
            /// `uuid_parsing` for anything else.
            pub fn parse(text: &str) -> Result<Self, Invalid> {
                hyphenated(text).map(Self)
            }

            /// The bare UUID, for storage.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// A project: the owner of names.
    ProjectId,
    /// A stored function.
    FunctionId,
    /// One immutable version of a function.
    RevisionId,
    /// The examples that belong to a function.
    DatasetId,
    /// A registered custom model.
    ModelId,
    /// A name that stands for a list of models.
    AliasId,
    /// One recorded step.
    SpanId,
    /// The tree of spans under one root.
    TraceId,
    /// One example of a dataset.
    EntryId,
    /// A measurement that a client added to a span.
    MetricId,
}

fn hyphenated(text: &str) -> Result<Uuid, Invalid> {
    let refused = || Invalid::new("uuid_parsing", "must be a UUID in its 36-character form");
    if text.len() != 36 {
        return Err(refused());
    }
    Uuid::try_parse(text).map_err(|_| refused())
}

/// The public half of a bearer token: 16 base62 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct TokenId(String);

impl TokenId {
    /// Takes an id as it stands; whether it exists is the store's to say.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id's characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
