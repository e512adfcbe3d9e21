//! Where requests go, and how they bear their key.
//!
//! Without the setting `api_version`, or with one that is no date (`preview`), that is `/openai/v1/…`; with a dated one,
//! `/openai/deployments/NAME/…?api-version=…`. An address that ends in `/openai/v1` or names a deployment decides it.

use std::borrow::Cow;

use domain::{
    Secret,
    seams::{ProviderError, Target},
};
use http::{HeaderName, header};

use crate::wire::{WireRequest, secret_header};

const API_VERSION: &str = "api_version";
const DEPLOYMENT: &str = "deployment";
const API_KEY: HeaderName = HeaderName::from_static("api-key");

/// The target with its deployment as the model.
pub(super) fn deployed(target: &Target) -> Cow<'_, Target> {
    match target.settings.get(DEPLOYMENT) {
        Some(deployment) => Cow::Owned(Target {
            model: deployment.clone(),
            ..target.clone()
        }),
        None => Cow::Borrowed(target),
    }
}

/// The request at its place at Azure, with the key as Azure wants it.
pub(super) fn placed(target: &Target, mut wire: WireRequest) -> Result<WireRequest, ProviderError> {
    let api_base = target.api_base.as_deref().unwrap_or_default();
    let path = api_base.trim_end_matches('/');
    let is_v1 = path.ends_with("/openai/v1");
    // Dated versions are those of the older paths.
    let version = version(target).filter(|version| !is_v1 || !is_date(version));
    let mut before: Vec<Cow<'static, str>> = Vec::new();
    if !is_v1 && !is_deployments(api_base) {
        if !path.ends_with("/openai") {
            before.push("openai".into());
        }
        if !version.is_some_and(is_date) {
            before.push("v1".into());
        } else if wire.segments != ["responses"] {
            let deployment = target.settings.get(DEPLOYMENT);
            let deployment = deployment.unwrap_or(&target.model).clone();
            before.extend(["deployments".into(), deployment.into()]);
        }
    }
    wire.segments.splice(0..0, before);
    if let Some(version) = version {
        wire.query.push(("api-version", version.to_owned()));
    }
    if let Some(key) = &target.key
        && !is_token(key)
    {
        wire.headers.remove(header::AUTHORIZATION);
        let key = secret_header(key.expose().to_owned())?;
        wire.headers.insert(API_KEY, key);
    }
    Ok(wire)
}

fn is_date(version: &str) -> bool {
    version.starts_with(|first: char| first.is_ascii_digit())
}

/// The version of the API that was set.
pub(super) fn version(target: &Target) -> Option<&str> {
    let version = target.settings.get(API_VERSION)?.trim();
    (!version.is_empty()).then_some(version)
}

/// Whether an address is that of one deployment.
pub(crate) fn is_deployments(api_base: &str) -> bool {
    api_base.contains("/openai/deployments/")
}

/// Whether a key is a token of Entra ID: then it bears itself.
fn is_token(key: &Secret) -> bool {
    let key = key.expose();
    key.starts_with("eyJ") && key.split('.').count() == 3
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use domain::{ChatRequest, Message, Role};
    use url::Url;

    use super::*;
    use crate::{
        adapter::{Adapter, Manner},
        azure::Azure,
        openai::OpenAi,
        responses::Responses,
        wire::tests::target,
    };

    /// Settings, in pairs.
    type Settings<'a> = &'a [(&'a str, &'a str)];

    fn with(api_base: &str, settings: Settings<'_>) -> Target {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let settings: BTreeMap<String, String> = settings.iter().map(owned).collect();
        Target {
            settings,
            key: Some(Secret::new("0123456789abcdef0123456789abcdef")),
            ..target(api_base)
        }
    }

    fn address(adapter: &impl Adapter, target: &Target) -> String {
        let request = ChatRequest {
            messages: vec![Message::text(Role::User, "x")],
            ..ChatRequest::default()
        };
        let (wire, _) = adapter.chat(target, &request, Manner::Whole).unwrap();
        let api_base = Url::parse(target.api_base.as_deref().unwrap()).unwrap();
        wire.address(api_base).to_string()
    }

    #[test]
    fn every_form_of_address_leads_to_the_same_place() {
        let dated = [("api_version", "2024-10-21"), ("deployment", "my gpt")];
        let v1 = "https://r.openai.azure.com/openai/v1/chat/completions";
        let old = "https://r.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21";
        let cases: [(&str, Settings<'_>, &str); 8] = [
            ("https://r.openai.azure.com", &[], v1),
            ("https://r.openai.azure.com/openai/", &[], v1),
            ("https://r.openai.azure.com/openai/v1/", &[], v1),
            (
                "https://r.openai.azure.com",
                &[("api_version", "preview")],
                &format!("{v1}?api-version=preview"),
            ),
            ("https://r.openai.azure.com/", &dated, old),
            ("https://r.openai.azure.com/openai", &dated, old),
            (
                "https://r.openai.azure.com/openai/deployments/my%20gpt",
                &dated,
                old,
            ),
            ("https://r.openai.azure.com/openai/v1", &dated, v1),
        ];

        for (api_base, settings, place) in cases {
            assert_eq!(address(&Azure(OpenAi), &with(api_base, settings)), place);
        }
    }

    #[test]
    fn the_responses_api_is_no_deployments() {
        let settings = [("api_version", "2025-04-01-preview")];
        let target = with("https://r.openai.azure.com", &settings);

        assert_eq!(
            address(&Azure(Responses), &target),
            "https://r.openai.azure.com/openai/responses?api-version=2025-04-01-preview"
        );
    }
}
