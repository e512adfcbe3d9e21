//! Keys of the configuration, and where their values come from.

use std::{fmt, path::PathBuf};

use toml::Value;

/// A place in the configuration: `server.listen` in its segments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key(Vec<String>);

impl Key {
    /// The key of these segments.
    pub(crate) fn new<S: Into<String>>(segments: impl IntoIterator<Item = S>) -> Self {
        Self(segments.into_iter().map(Into::into).collect())
    }

    /// The root, which has no segments.
    pub(crate) const fn root() -> Self {
        Self(Vec::new())
    }

    /// The key one level deeper.
    pub(crate) fn join(&self, segment: &str) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment.to_owned());
        Self(segments)
    }

    /// The key of a setting of a provider.
    pub(crate) fn provider(name: &str, setting: &str) -> Self {
        Self::new(["providers", name, setting])
    }

    /// The section and the name in it that the key belongs to, where the operator gives the names.
    pub(crate) fn named(&self) -> Option<(&str, &str)> {
        match self.segments()[..] {
            [section @ ("providers" | "projects"), name, ..] => Some((section, name)),
            _ => None,
        }
    }

    /// All segments, in a form to match on.
    pub(crate) fn segments(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// The innermost segment.
    pub(crate) fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// The environment variable of the same meaning.
    pub(crate) fn variable(&self) -> String {
        let segments: Vec<String> = self.0.iter().map(|segment| shouted(segment)).collect();
        format!("GATEWRIGHT_{}", segments.join("__"))
    }
}

/// A segment as it stands in the name of an environment variable.
pub(crate) fn shouted(segment: &str) -> String {
    segment.to_uppercase().replace(['-', '.'], "_")
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            let dot = if position == 0 { "" } else { "." };
            let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            if !segment.is_empty() && segment.bytes().all(is_bare) {
                write!(f, "{dot}{segment}")?;
            } else {
                write!(f, "{dot}{segment:?}")?;
            }
        }
        Ok(())
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// `config.default.toml`.
    Default,
    /// A line of the file.
    File {
        /// The file as it was named.
        path: PathBuf,
        /// Counted from one.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A flag of the command line.
    Flag(&'static str),
}

impl Origin {
    /// The origin as the end of a sentence about a key.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Default => "in the defaults".to_owned(),
            Self::File { path, line } => format!("in {}:{line}", path.display()),
            Self::Environment(name) => format!("in the environment variable {name}"),
            Self::Flag(name) => format!("in the flag {name}"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "file {}:{line}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A value with the place that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// What was given.
    pub(crate) value: Value,
    /// Where.
    pub(crate) origin: Origin,
}
