//! Applications of Entra ID, which ask for a token with a secret
//! (<https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow>).

use domain::{
    Secret,
    seams::{ProviderError, Target},
};
use serde::Deserialize;
use url::Url;

use super::misconfigured;
use crate::wire::Grant;

/// Where tokens are given, and what for.
struct Cloud {
    /// How the names of its hosts end.
    hosts: &'static str,
    login: &'static str,
    scope: &'static str,
}

/// The clouds of governments, and last all the others.
static CLOUDS: [Cloud; 3] = [
    Cloud {
        hosts: ".azure.us",
        login: "https://login.microsoftonline.us",
        scope: "https://cognitiveservices.azure.us/.default",
    },
    Cloud {
        hosts: ".azure.cn",
        login: "https://login.partner.microsoftonline.cn",
        scope: "https://cognitiveservices.azure.cn/.default",
    },
    Cloud {
        hosts: "",
        login: "https://login.microsoftonline.com",
        scope: "https://cognitiveservices.azure.com/.default",
    },
];

/// An application, out of the JSON text that it is given as.
#[derive(Deserialize)]
pub(super) struct Application {
    #[serde(rename = "tenant_id")]
    tenant: String,
    #[serde(rename = "client_id")]
    id: String,
    #[serde(rename = "client_secret")]
    secret: Secret,
}

impl Application {
    /// Reads the text.
    pub(super) fn read(text: &str) -> Result<Self, ProviderError> {
        serde_json::from_str(text).map_err(|_| {
            misconfigured(
                "its key is no JSON object with `tenant_id`, `client_id` and `client_secret`",
            )
        })
    }

    /// What it asks for where the target is.
    pub(super) fn grant(self, target: &Target) -> Result<Grant, ProviderError> {
        let tenant = self.tenant;
        let is_id = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
        let is_begun = tenant.starts_with(|first: char| first.is_ascii_alphanumeric());
        if !is_begun || !tenant.bytes().all(is_id) {
            return Err(misconfigured(
                "the `tenant_id` in its key has letters, digits, `.` and `-` alone",
            ));
        }
        let url = target.api_base.as_deref();
        let url = url.and_then(|api_base| Url::parse(api_base).ok());
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let mut clouds = CLOUDS.iter();
        let cloud = clouds.find(|cloud| host.ends_with(cloud.hosts));
        let cloud = cloud.expect("the last cloud has every host");
        Ok(Grant::ClientSecret {
            url: format!("{}/{tenant}/oauth2/v2.0/token", cloud.login),
            id: self.id,
            secret: self.secret,
            scope: cloud.scope,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::target;

    #[test]
    fn tokens_are_asked_for_in_the_clouds_own_place() {
        let key = r#"{"tenant_id":"11111111-2222-3333-4444-555555555555","client_id":"c","client_secret":"s"}"#;
        let asked = |api_base: &str| {
            let grant = Application::read(key).unwrap().grant(&target(api_base));
            let Grant::ClientSecret { url, scope, .. } = grant.unwrap() else {
                panic!("another grant");
            };
            (url, scope)
        };
        let path = "11111111-2222-3333-4444-555555555555/oauth2/v2.0/token";

        assert_eq!(
            asked("https://r.openai.azure.com"),
            (
                format!("https://login.microsoftonline.com/{path}"),
                "https://cognitiveservices.azure.com/.default"
            )
        );
        assert_eq!(
            asked("https://r.openai.azure.us"),
            (
                format!("https://login.microsoftonline.us/{path}"),
                "https://cognitiveservices.azure.us/.default"
            )
        );
    }
}
