//! A secret that is never printed or logged.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};

/// A key or token in clear. It has no `Display` and no `Serialize`, debugs as `[secret]`, and is zeroed on drop.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes the secret over.
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// The secret in clear, for the one place that sends or seals it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_debug() {
        assert_eq!(
            format!("{:?}", Some(Secret::new("sk-123"))),
            "Some([secret])"
        );
    }
}
