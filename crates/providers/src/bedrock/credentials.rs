//! Keys of AWS: one that is a token already, or one that signs each request
//! (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html>).

use std::time::{Duration, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use domain::{
    Secret, Timestamp,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use http::{HeaderValue, header};
use serde::Deserialize;
use url::Url;

use crate::wire::{WireRequest, secret_header};

/// The service's name in signatures, which is not the one in its address.
const SERVICE: &str = "bedrock";
const REGION: &str = "region";
/// What stands before the region in the names of the service's hosts.
const HOST: &str = "bedrock-runtime";

/// What a target's key is.
pub(super) enum Credential<'a> {
    /// A Bedrock API key.
    Token(&'a Secret),
    /// An access key, for one region.
    AccessKey(AccessKey, String),
}

/// An access key as our users write it, or as AWS's own tools do.
#[derive(Deserialize)]
pub(super) struct AccessKey {
    #[serde(rename = "access_key_id", alias = "AccessKeyId")]
    id: String,
    #[serde(rename = "secret_access_key", alias = "SecretAccessKey")]
    secret: Secret,
    #[serde(default, alias = "SessionToken")]
    session_token: Option<Secret>,
}

impl<'a> Credential<'a> {
    /// Reads a target's key.
    pub(super) fn of(target: &'a Target) -> Result<Self, ProviderError> {
        let key = target.key.as_ref();
        let key = key.filter(|key| !key.expose().trim().is_empty());
        let key = key.ok_or_else(|| {
            misconfigured(format!(
                "the provider `{}` needs a key: a Bedrock API key, or the JSON text {FORM}",
                target.provider
            ))
        })?;
        if !key.expose().trim_start().starts_with('{') {
            return Ok(Self::Token(key));
        }
        let access_key: AccessKey = serde_json::from_str(key.expose()).map_err(|_| {
            misconfigured(format!(
                "the key of the provider `{}` is not the JSON text {FORM}",
                target.provider
            ))
        })?;
        let region = region(target).ok_or_else(|| {
            misconfigured(format!(
                "requests to the provider `{}` are signed for a region: set `region`",
                target.provider
            ))
        })?;
        Ok(Self::AccessKey(access_key, region))
    }

    /// Adds the headers that let a request in.
    pub(super) fn authorize(
        &self,
        wire: &mut WireRequest,
        target: &Target,
        now: Timestamp,
    ) -> Result<(), ProviderError> {
        match self {
            Self::Token(token) => {
                let bearer = format!("Bearer {}", token.expose().trim());
                wire.headers
                    .insert(header::AUTHORIZATION, secret_header(bearer)?);
                Ok(())
            }
            Self::AccessKey(key, region) => key.sign(wire, (target, region), now),
        }
    }
}

const FORM: &str =
    r#"{"access_key_id":"…","secret_access_key":"…"}, with "session_token" for a temporary one"#;

impl AccessKey {
    fn sign(
        &self,
        wire: &mut WireRequest,
        (target, region): (&Target, &str),
        now: Timestamp,
    ) -> Result<(), ProviderError> {
        let api_base = Url::parse(target.api_base.as_deref().unwrap_or_default());
        let api_base = api_base
            .map_err(|_| misconfigured("the model's `api_base` is not a URL".to_owned()))?;
        let address = wire.address(api_base);
        let credentials = Credentials::new(
            self.id.trim(),
            self.secret.expose().trim(),
            self.session_token
                .as_ref()
                .map(|token| token.expose().trim().to_owned()),
            None,
            "key",
        );
        let identity = credentials.into();
        let since_epoch = Duration::from_micros(now.micros().unsigned_abs());
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name(SERVICE)
            .time(UNIX_EPOCH + since_epoch)
            .settings(SigningSettings::default())
            .build()
            .map_err(|_| unsignable())?
            .into();
        // Host and port are those of the address; what a client adds to the headers is not signed.
        let headers = [(header::CONTENT_TYPE.as_str(), "application/json")];
        let request = SignableRequest::new(
            "POST",
            address.as_str(),
            headers.into_iter(),
            SignableBody::Bytes(&wire.body),
        );
        let signed = request.and_then(|request| sign(request, &params));
        let (instructions, _) = signed.map_err(|_| unsignable())?.into_parts();
        for signed in instructions.into_parts().0 {
            let mut value = HeaderValue::from_str(signed.value()).map_err(|_| unsignable())?;
            value.set_sensitive(signed.sensitive() || signed.name() == "authorization");
            wire.headers.insert(signed.name(), value);
        }
        Ok(())
    }
}

/// The region that is signed for: at AWS the one in the host's name, since no other signature holds there, else the one
/// that is set.
fn region(target: &Target) -> Option<String> {
    let set = target.settings.get(REGION).map(|region| region.trim());
    let set = set.filter(|region| !region.is_empty());
    let url = Url::parse(target.api_base.as_deref().unwrap_or_default()).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let mut labels = host.split('.');
    labels.find(|label| label.starts_with(HOST));
    let named = labels.next().filter(|label| label.contains('-'));
    let is_at_aws = labels.any(|label| matches!(label, "amazonaws" | "aws"));
    let region = if is_at_aws {
        named.or(set)
    } else {
        set.or(named)
    };
    region.map(str::to_owned)
}

fn unsignable() -> ProviderError {
    misconfigured("the key or the address holds characters that cannot be signed".to_owned())
}

pub(super) fn misconfigured(reason: String) -> ProviderError {
    ProviderError::new(Kind::Misconfigured, reason)
}
