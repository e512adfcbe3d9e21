//! Who calls: projects, their tokens, and what a proven token allows.

use std::fmt;

use serde::Serialize;

use crate::{Invalid, ProjectId, Timestamp, TokenId};

/// A project's name: 1 to 128 letters, digits, dots, underscores and hyphens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ProjectName(String);

impl ProjectName {
    /// Reads a name.
    ///
    /// # Errors
    /// `string_pattern_mismatch` for other characters or lengths.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if text.is_empty() || text.len() > 128 || !text.bytes().all(allowed) {
            return Err(Invalid::new(
                "string_pattern_mismatch",
                "a project's name is 1 to 128 letters, digits, dots, underscores or hyphens",
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name's characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The owner of functions, models and spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Its name, unique on the server.
    pub name: ProjectName,
    /// When it was made.
    pub created_at: Timestamp,
}

/// The SHA-256 of a token's secret part, or of a whole bootstrap token.
pub type TokenHash = [u8; 32];

/// By what a presented token is looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TokenKey {
    /// A `gw_` token carries its id.
    Id(TokenId),
    /// A bootstrap token is known by the hash of its whole text.
    Hash(TokenHash),
}

/// A token as it is kept: never the token itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The public half, shown by `token list`.
    pub id: TokenId,
    /// What the presented secret must hash to.
    pub hash: TokenHash,
    /// The project that it opens.
    pub project: ProjectId,
    /// What the operator calls it.
    pub label: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops to open anything, if ever.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
    /// How many calls may be made with it a minute; any number, if nothing is said.
    pub calls_per_minute: Option<u32>,
}

/// Who a token proved to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    project: ProjectId,
    token: TokenId,
    calls_per_minute: Option<u32>,
}

impl Principal {
    /// The principal of a token whose secret was verified.
    pub fn of(token: &Token) -> Self {
        Self {
            project: token.project,
            token: token.id.clone(),
            calls_per_minute: token.calls_per_minute,
        }
    }

    /// The only way to a scope.
    pub const fn scope(&self) -> ProjectScope {
        ProjectScope(self.project)
    }

    /// How many calls the token is good for a minute.
    pub const fn calls_per_minute(&self) -> Option<u32> {
        self.calls_per_minute
    }

    /// The token that was presented.
    pub const fn token(&self) -> &TokenId {
        &self.token
    }
}

/// The right to look into one project. Made from a [`Principal`] alone, so no query can forget it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProjectScope(ProjectId);

impl ProjectScope {
    /// The project that may be looked into.
    pub const fn project(self) -> ProjectId {
        self.0
    }
}
