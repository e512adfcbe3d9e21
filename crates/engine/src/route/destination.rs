//! Where the key of a custom model goes, by what its registration says (`reliability.md` 7).
//!
//! Whether the model can be used, and whether its address may be dialled, is not asked here.

use domain::{CustomModel, Json, Secret, seams::Registry};
use indexmap::IndexMap;
use serde_json::Value;

use super::{DEFAULT_PROTOCOL, TOKEN_URL, extra::Extra, filled, places, settings};

/// Every place that a custom model's own key is sent to, and in what manner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Destination {
    /// Whose address it is, where the registration has none.
    provider: Option<String>,
    /// Scheme, host and port; `None` for a host without a network.
    origin: Option<String>,
    /// Where the key is given for a token, if that is not the provider's own place for it.
    token_url: Option<String>,
    protocol: String,
}

impl Destination {
    /// Where the model's own key goes; `None` if what leads there is missing or cannot be read.
    pub(crate) fn of(registry: &dyn Registry, model: &CustomModel) -> Option<Self> {
        let extra = leading(&model.extra)?;
        let provider = model.provider.to_lowercase();
        let host = registry
            .host(&provider)
            .map(|host| places::of_owner(&extra, host));
        let host = host.as_deref();
        let settings = settings(&extra, host, true);
        let address = match (&extra.api_base, host) {
            (Some(api_base), _) => Some(api_base),
            (None, Some(host)) => host.api_base.as_ref(),
            (None, None) => return None,
        };
        let origin = match address {
            Some(address) => {
                let address = filled(address, &provider, &settings).ok()?;
                Some(registry.origin(&address)?)
            }
            None => None,
        };
        let implied = || host.map(|host| host.protocol.clone());
        let protocol = extra.protocol.or_else(implied);
        Some(Self {
            provider: extra.api_base.is_none().then_some(provider),
            origin,
            token_url: settings.get(TOKEN_URL).cloned(),
            protocol: protocol.unwrap_or_else(|| DEFAULT_PROTOCOL.to_owned()),
        })
    }

    /// The same for a key of one part: every dialect sends that to the address as it is. Of credentials, one dialect
    /// sends a signature or a token where another would send all of them.
    #[must_use]
    pub(crate) fn of_plain_key(self) -> Self {
        Self {
            protocol: String::new(),
            ..self
        }
    }
}

/// Whether a key is credentials of several members, as JSON.
pub(crate) fn is_credentials(key: &Secret) -> bool {
    key.expose().trim_start().starts_with('{')
}

/// The members of `extra` that lead somewhere. What is wrong with the others changes nothing about that.
fn leading(extra: &Json) -> Option<Extra> {
    let mut members: IndexMap<String, Value> = serde_json::from_str(extra.text()).ok()?;
    let mut text = |name: &str| match members.shift_remove(name) {
        None | Some(Value::Null) => Some(None),
        Some(Value::String(text)) => Some(Some(text)),
        Some(_) => None,
    };
    Some(Extra {
        api_base: text("api_base")?,
        protocol: text("protocol")?,
        settings: members,
        ..Extra::default()
    })
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, HashMap},
        sync::Arc,
    };

    use domain::{
        ModelId, ModelKind, ModelName, ProjectId, Timestamp,
        seams::{Home, Host, Provider},
    };

    use super::*;

    const ID: &str = "00000000-0000-7000-8000-000000000001";

    struct Hosts(HashMap<&'static str, Host>);

    impl Registry for Hosts {
        fn host(&self, provider: &str) -> Option<&Host> {
            self.0.get(provider)
        }

        fn configured(&self) -> Vec<&Host> {
            Vec::new()
        }

        fn origin(&self, api_base: &str) -> Option<String> {
            let (scheme, rest) = api_base.split_once("://")?;
            let host = rest.split('/').next()?;
            Some(format!("{scheme}://{}", host.to_lowercase()))
        }

        fn home(&self, _provider: &str, _api_base: &str) -> Option<BTreeMap<String, String>> {
            None
        }

        fn protocol(&self, _name: &str) -> Option<Arc<dyn Provider>> {
            None
        }
    }

    fn hosts() -> Hosts {
        let host = |name: &'static str, protocol: &str, api_base: Option<&str>| {
            let host = Host {
                provider: name.to_owned(),
                protocol: protocol.to_owned(),
                api_base: api_base.map(str::to_owned),
                home: None,
                keys: Arc::from([]),
                configured: true,
                default_model: None,
                default_embedding_model: None,
                rerank_models: &[],
                ocr: domain::seams::OcrModels::default(),
                settings: BTreeMap::new(),
            };
            (name, host)
        };
        let proxy = |name, api_base| {
            let (name, host) = host(name, "azure", Some("https://proxy.internal/azure"));
            let home = Some(Home {
                api_base,
                protocol: "azure",
            });
            (name, Host { home, ..host })
        };
        Hosts(HashMap::from([
            proxy("proxied", "https://{resource}.openai.azure.com"),
            host("openai", "openai", Some("https://api.openai.com/v1")),
            host("twin", "openai", Some("https://api.openai.com/v1")),
            host(
                "azure",
                "azure",
                Some("https://{resource}.openai.azure.com"),
            ),
            host(
                "bedrock",
                "bedrock",
                Some("https://bedrock.{region}.amazonaws.com"),
            ),
            host(
                "flare",
                "openai",
                Some("https://flare.example/{account_id}/v1"),
            ),
            host("offline", "offline", None),
        ]))
    }

    fn destination(provider: &str, extra: &str) -> Option<Destination> {
        let model = CustomModel {
            id: ModelId::parse(ID).unwrap(),
            project: ProjectId::parse(ID).unwrap(),
            name: "m".to_owned(),
            identifier: ModelName::parse("a/b").unwrap(),
            provider: provider.to_owned(),
            kind: ModelKind::Llm,
            extra: Json::parse(extra).unwrap(),
            sealed_key: None,
            version: 1,
            created_at: Timestamp::from_micros(0),
        };
        Destination::of(&hosts(), &model)
    }

    #[test]
    fn whatever_leads_a_key_elsewhere_makes_another_destination() {
        let mine = r#"{"api_base":"https://mine.example/v1"}"#;
        let templated = |host: &str| {
            format!(r#"{{"api_base":"https://{{where}}.example/v1","where":"{host}"}}"#)
        };
        let (here, there) = (templated("here"), templated("there"));
        for (before, after) in [
            (
                ("openai", mine),
                ("openai", r#"{"api_base":"https://evil.example/v1"}"#),
            ),
            (
                ("openai", mine),
                ("openai", r#"{"api_base":"http://mine.example/v1"}"#),
            ),
            (("openai", mine), ("openai", "{}")),
            (
                ("openai", "{}"),
                ("openai", r#"{"api_base":"https://api.openai.com/v1"}"#),
            ),
            (("openai", "{}"), ("twin", "{}")),
            (("openai", "{}"), ("offline", "{}")),
            (
                ("azure", r#"{"resource":"mine"}"#),
                ("azure", r#"{"resource":"evil"}"#),
            ),
            (
                ("azure", r#"{"resource":"mine"}"#),
                ("openai", r#"{"resource":"mine"}"#),
            ),
            (("proxied", "{}"), ("proxied", r#"{"resource":"mine"}"#)),
            (
                ("proxied", r#"{"resource":"mine"}"#),
                ("proxied", r#"{"resource":"evil"}"#),
            ),
            (
                ("bedrock", r#"{"region":"a"}"#),
                ("bedrock", r#"{"region":"b"}"#),
            ),
            (("openai", &here), ("openai", &there)),
            (
                ("azure", mine),
                (
                    "azure",
                    r#"{"api_base":"https://mine.example/v1","token_url":"https://evil.example/t"}"#,
                ),
            ),
            (
                (
                    "azure",
                    r#"{"api_base":"https://mine.example/v1","token_url":"https://mine.example/t"}"#,
                ),
                ("azure", mine),
            ),
            (
                ("azure", mine),
                (
                    "azure",
                    r#"{"api_base":"https://mine.example/v1","protocol":"openai"}"#,
                ),
            ),
            (("azure", mine), ("openai", mine)),
        ] {
            let of = |(provider, extra): (&str, &str)| destination(provider, extra).unwrap();
            assert_ne!(of(before), of(after), "{before:?} {after:?}");
        }
    }

    #[test]
    fn what_leads_nowhere_else_leaves_the_destination() {
        let mine = r#"{"api_base":"https://mine.example/v1"}"#;
        for (before, after) in [
            (
                ("openai", mine),
                (
                    "openai",
                    r#"{"api_base":"https://MINE.example/v2","deployment":"d"}"#,
                ),
            ),
            (
                ("openai", mine),
                (
                    "OpenAI",
                    r#"{"api_base":"https://mine.example","timeout_seconds":"wrong"}"#,
                ),
            ),
            (("openai", mine), ("twin", mine)),
            (
                ("openai", "{}"),
                (
                    "OPENAI",
                    r#"{"region":"b","token_url":"https://evil.example"}"#,
                ),
            ),
            (
                ("azure", r#"{"resource":"mine"}"#),
                (
                    "azure",
                    r#"{"resource":"mine","api_version":"2024-10-21","deployment":"d"}"#,
                ),
            ),
            (
                ("flare", r#"{"account_id":"1"}"#),
                ("flare", r#"{"account_id":2}"#),
            ),
        ] {
            let of = |(provider, extra): (&str, &str)| destination(provider, extra).unwrap();
            assert_eq!(of(before), of(after), "{before:?} {after:?}");
        }
        let of_dialect = |name: &str| {
            let extra = format!(r#"{{"api_base":"https://mine.example","protocol":"{name}"}}"#);
            destination("mine", &extra).unwrap()
        };
        assert_ne!(of_dialect("a"), of_dialect("b"));
        assert_eq!(
            of_dialect("a").of_plain_key(),
            of_dialect("b").of_plain_key()
        );
    }

    #[test]
    fn what_cannot_be_read_leads_nowhere_that_is_known() {
        for (provider, extra) in [
            ("nobody", "{}"),
            ("azure", "{}"),
            ("azure", r#"{"resource":"evil.example/"}"#),
            ("azure", r#"{"resource":["mine"]}"#),
            ("openai", r#"{"api_base":5}"#),
            ("openai", r#"{"api_base":"mine.example"}"#),
            ("openai", r#"{"api_base":"https://{where}.example"}"#),
            ("openai", r#"{"protocol":true}"#),
        ] {
            assert_eq!(destination(provider, extra), None, "{provider} {extra}");
        }
    }
}
