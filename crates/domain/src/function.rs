//! Functions: stored tasks, and the revisions they go through.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    DatasetId, FunctionId, Invalid, Json, ModelSpec, ProjectId, RevisionId, Settings, Timestamp,
};

/// A function's name, unique in its project.
///
/// Segments of ASCII letters, digits, dots, underscores and hyphens, none ending in a dot, joined by single slashes;
/// at most 255 characters (`interface.md` 2.1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct FunctionName(String);

impl FunctionName {
    /// Reads a name.
    ///
    /// # Errors
    /// `string_too_long` above 255 characters, `string_pattern_mismatch` for anything else that is no name.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text.chars().count() > 255 {
            return Err(Invalid::new(
                "string_too_long",
                "a function's name has at most 255 characters",
            ));
        }
        if !text.split('/').all(is_segment) {
            return Err(Invalid::new(
                "string_pattern_mismatch",
                "a function's name is segments of letters, digits, `.`, `_` and `-`, none empty or ending in `.`, \
                 joined by single slashes",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name's characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_segment(segment: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !segment.is_empty() && !segment.ends_with('.') && segment.bytes().all(allowed)
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for FunctionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

/// A stored task: its name, and which of its revisions is the latest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its id.
    pub id: FunctionId,
    /// The project that owns it.
    pub project: ProjectId,
    /// Its name.
    pub name: FunctionName,
    /// What people say about it; not part of a revision.
    pub description: Option<String>,
    /// The dataset that was made with it.
    pub dataset_id: DatasetId,
    /// How often that dataset was changed; read with the function, never written with it.
    pub dataset_version: i64,
    /// Its latest revision.
    pub revision_id: RevisionId,
    /// Counts the changes, so that two writers cannot overwrite each other unseen.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What a revision fixes: everything that the model gets to see, and the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The prompt.
    pub instructions: String,
    /// What inputs must satisfy: a JSON Schema.
    pub input_schema: Option<Json>,
    /// What outputs must satisfy: a JSON Schema.
    pub output_schema: Option<Json>,
    /// Who is asked; the server's default when absent.
    pub model: Option<ModelSpec>,
    /// Overrides of the settings.
    pub configuration: Settings,
}

/// One immutable version of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its id.
    pub id: RevisionId,
    /// The function that it is a version of.
    pub function_id: FunctionId,
    /// What it fixes.
    pub definition: Definition,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Which revision of a function is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevisionRef {
    /// The function.
    pub function: FunctionId,
    /// One revision, or the latest.
    pub revision: Option<RevisionId>,
}

/// A function together with the revision that is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callee {
    /// The function.
    pub function: Function,
    /// The revision; not necessarily the latest.
    pub revision: Revision,
}

/// Which functions a list shows, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionFilter {
    /// A part of the name, case-sensitive.
    pub name: Option<String>,
    /// The order.
    pub sort: FunctionSort,
}

/// The order of a list of functions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FunctionSort {
    /// By name, byte by byte.
    #[default]
    Name,
    /// By name, last first.
    NameDescending,
    /// Oldest first.
    Created,
    /// Newest first.
    CreatedDescending,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_contract() {
        let longest = "a".repeat(255);
        for name in [
            "my-function",
            "a.b",
            "team/task",
            "a/b/c",
            "_x",
            ".hidden",
            "..a",
            "-",
            &longest,
        ] {
            assert!(FunctionName::parse(name).is_ok(), "{name}");
        }
        for name in [
            "", "a.", "a./b", "/a", "a/", "a//b", "a b", "å", "a\n", ".", "a/.", "a\0",
        ] {
            assert_eq!(
                FunctionName::parse(name).unwrap_err().slug,
                "string_pattern_mismatch",
                "{name:?}"
            );
        }
        assert_eq!(
            FunctionName::parse(&"a".repeat(256)).unwrap_err().slug,
            "string_too_long"
        );
    }
}
