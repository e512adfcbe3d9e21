//! Short-lived tokens that some hosts want instead of a key: asked for once, kept until shortly before they end.

use std::{future, time::Duration};

use aws_lc_rs::{
    digest,
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use domain::{
    Secret, Timestamp,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use moka::{future::Cache, ops::compute::Op};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use url::form_urlencoded;

use super::{Client, Head, client};

/// A token is asked for anew this long before it ends; one that ends soon, at half of its time.
const EARLY: Duration = Duration::from_mins(5);
/// How long a token holds of which that is not said.
const USUAL: Duration = Duration::from_hours(1);
const LONGEST: Duration = Duration::from_hours(24);
const MOST_TOKENS: u64 = 10_000;
/// How long an assertion holds; the longest that Google takes.
const ASSERTION_SECONDS: i64 = 3600;
/// Where tests have another host for tokens; the operator may have one too.
const TOKEN_URL: &str = "token_url";

/// What a token is given for.
#[derive(Debug, Clone)]
pub(crate) enum Grant {
    /// A signed assertion (RFC 7523).
    ServiceAccount(ServiceAccount),
    /// A client's secret (RFC 6749, 4.4).
    ClientSecret {
        /// Where to ask.
        url: String,
        /// The client.
        id: String,
        /// Its secret.
        secret: Secret,
        /// For what.
        scope: &'static str,
    },
}

/// A Google service account, out of the JSON file that it comes as
/// (<https://developers.google.com/identity/protocols/oauth2/service-account>).
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ServiceAccount {
    /// Its name.
    pub(crate) client_email: String,
    /// Its key: PKCS #8 as PEM.
    private_key: Secret,
    /// The project that it belongs to.
    pub(crate) project_id: Option<String>,
}

/// A token, and until when it is given out.
#[derive(Debug, Clone)]
struct Token {
    text: Secret,
    until: Instant,
}

/// The tokens that still hold.
pub(super) struct Tokens(Cache<[u8; 32], Token>);

impl Tokens {
    pub(super) fn new() -> Self {
        Self(
            Cache::builder()
                .max_capacity(MOST_TOKENS)
                .time_to_live(LONGEST)
                .build(),
        )
    }

    /// Forgets a token that is about to end.
    async fn forget_ended(&self, identity: [u8; 32]) {
        let entry = self.0.entry(identity);
        let forgetting = entry.and_compute_with(|kept| {
            let has_ended = kept.is_some_and(|kept| kept.value().until <= Instant::now());
            future::ready(if has_ended { Op::Remove } else { Op::Nop })
        });
        forgetting.await;
    }
}

impl Client {
    /// The token for a grant: one that still holds, else a new one. Of several that need it at once, one asks, and
    /// its error is everybody's; whoever comes later asks again.
    pub(crate) async fn token(
        &self,
        target: &Target,
        grant: &Grant,
    ) -> Result<Secret, ProviderError> {
        let identity = grant.identity(target);
        let tokens = &self.tokens;
        // Each is held to its own time, whoever asks for all.
        let token = client::within(target, async {
            tokens.forget_ended(identity).await;
            let asking = self.ask_for_token(target, grant);
            let token = tokens.0.try_get_with(identity, asking).await;
            token.map_err(|error| ProviderError::clone(&error))
        });
        token.await.map(|token| token.text)
    }

    async fn ask_for_token(&self, target: &Target, grant: &Grant) -> Result<Token, ProviderError> {
        let (url, form) = grant.request(target, self.clock.now())?;
        let passage = self.egress.admit(target.egress, &url)?;
        let answer = client::receive(passage.post_form(form), client::MAX_BODY_BYTES).await?;
        if !answer.head.is_success() {
            return Err(refusal(answer.head));
        }
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let text = body["access_token"].as_str();
        let text = text.filter(|text| !text.is_empty()).ok_or_else(|| {
            let reason = "the answer of the host for tokens has none";
            ProviderError::new(Kind::Protocol, reason)
        })?;
        Ok(Token {
            text: Secret::new(text),
            until: Instant::now() + given_out_for(&body["expires_in"]),
        })
    }
}

/// How long a token is given out that holds for so many seconds.
fn given_out_for(seconds: &Value) -> Duration {
    // Some hosts write the number as a text.
    let text = seconds.as_str().and_then(|text| text.parse().ok());
    let holds = seconds.as_u64().or(text).map(Duration::from_secs);
    let holds = holds.unwrap_or(USUAL).min(LONGEST);
    holds.saturating_sub(EARLY.min(holds / 2))
}

/// That no token is given. What the host says of it may hold the credential.
fn refusal(head: Head) -> ProviderError {
    let (kind, reason) = match head.status {
        429 => (Kind::RateLimited, "the host for tokens gives none now"),
        408 | 500.. => (Kind::Overloaded, "the host for tokens gives none now"),
        400..=499 => (Kind::Auth, client::PROVIDER_AUTH),
        _ => (
            Kind::Protocol,
            "the answer of the host for tokens makes no sense",
        ),
    };
    ProviderError {
        status: Some(head.status),
        retry_after: head.retry_after,
        ..ProviderError::new(kind, reason)
    }
}

impl Grant {
    /// Equal for equal credentials at one place, and different for all others.
    fn identity(&self, target: &Target) -> [u8; 32] {
        let mut context = digest::Context::new(&digest::SHA256);
        let place = target.settings.get(TOKEN_URL).map_or("", String::as_str);
        let parts = match self {
            Self::ServiceAccount(account) => {
                [&account.client_email, account.private_key.expose(), "", ""]
            }
            Self::ClientSecret {
                url,
                id,
                secret,
                scope,
            } => [url, id, secret.expose(), scope],
        };
        for part in [place].into_iter().chain(parts) {
            context.update(&part.len().to_le_bytes());
            context.update(part.as_bytes());
        }
        context
            .finish()
            .as_ref()
            .try_into()
            .expect("SHA-256 has 32 bytes")
    }

    /// Where to ask, and in what words.
    fn request(&self, target: &Target, now: Timestamp) -> Result<(String, String), ProviderError> {
        let elsewhere = target.settings.get(TOKEN_URL).cloned();
        let mut form = form_urlencoded::Serializer::new(String::new());
        let url = match self {
            Self::ServiceAccount(account) => {
                let url = "https://oauth2.googleapis.com/token";
                form.append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
                form.append_pair("assertion", &account.assertion(url, now)?);
                url.to_owned()
            }
            Self::ClientSecret {
                url,
                id,
                secret,
                scope,
            } => {
                form.append_pair("grant_type", "client_credentials");
                form.append_pair("client_id", id);
                form.append_pair("client_secret", secret.expose());
                form.append_pair("scope", scope);
                url.clone()
            }
        };
        Ok((elsewhere.unwrap_or(url), form.finish()))
    }
}

impl ServiceAccount {
    /// Reads the JSON file's text.
    pub(crate) fn read(text: &str) -> Result<Self, ProviderError> {
        serde_json::from_str(text).map_err(|_| {
            let reason = "the key is not the JSON file of a service account: `client_email` or `private_key` is missing";
            ProviderError::new(Kind::Misconfigured, reason)
        })
    }

    /// A signed word that the account wants a token (RFC 7515, RS256).
    fn assertion(&self, audience: &str, now: Timestamp) -> Result<String, ProviderError> {
        let seconds = now.micros() / 1_000_000;
        let claims = json!({
            "iss": self.client_email,
            "scope": "https://www.googleapis.com/auth/cloud-platform",
            "aud": audience,
            "iat": seconds,
            "exp": seconds + ASSERTION_SECONDS,
        });
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let said = format!(
            "{}.{}",
            encoded(&json!({ "alg": "RS256", "typ": "JWT" })),
            encoded(&claims)
        );
        let key = self.key()?;
        let mut signature = vec![0; key.public_modulus_len()];
        let signed = key.sign(
            &RSA_PKCS1_SHA256,
            &SystemRandom::new(),
            said.as_bytes(),
            &mut signature,
        );
        signed.map_err(|_| unusable())?;
        Ok(format!("{said}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn key(&self) -> Result<RsaKeyPair, ProviderError> {
        let lines = self.private_key.expose().lines().map(str::trim);
        let encoded: String = lines.filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD.decode(encoded).map_err(|_| unusable())?;
        RsaKeyPair::from_pkcs8(&der).map_err(|_| unusable())
    }
}

fn unusable() -> ProviderError {
    let reason = "the `private_key` of the service account is no RSA key in PKCS #8";
    ProviderError::new(Kind::Misconfigured, reason)
}

#[cfg(test)]
mod tests;
