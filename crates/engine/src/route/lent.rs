//! What the registration of a model may not say that is asked with the operator's key.

use domain::seams::Host;

use super::{REGION, destination::is_credentials, extra::Extra, places};

/// Settings, by their dialects, that have another model asked, or one in another place, than the identifier names: past
/// the project's list of models and past the price (`[projects.NAME] models`).
static STEERING: [(&str, &str); 5] = [
    ("azure", "deployment"),
    // It says what the operator pays there.
    ("azure", REGION),
    (VERTEX, "project"),
    // The operator says whether what is dialled for him fetches what a tenant names.
    ("docling", "pass_url"),
    ("mistral", "pass_url"),
];

const VERTEX: &str = "vertex";

/// Refuses what would turn the operator's key to another use.
pub(super) fn check(extra: &Extra, host: Option<&Host>, protocol: &str) -> Result<(), String> {
    let Some(host) = host else {
        return Ok(());
    };
    for (name, given) in &extra.settings {
        let held = host.settings.get(name).map(String::as_str);
        let is_other = !given.is_null() && held.is_none_or(|held| given != held);
        if is_other && (STEERING.contains(&(protocol, name)) || leads_elsewhere(host, name)) {
            return Err(format!(
                "`extra.{name}` needs an `api_key` of the model's own: with the operator's key, the identifier alone \
                 says what is asked"
            ));
        }
    }
    // Another dialect would send all of them where their own sends a signature or a token.
    let are_credentials = host.keys.iter().any(|key| is_credentials(&key.secret));
    if are_credentials && host.protocol != protocol {
        return Err(format!(
            "`extra.protocol` needs an `api_key` of the model's own: the operator's key is one for `{}` alone",
            host.protocol
        ));
    }
    Ok(())
}

/// Whether a setting stands in the provider's address, or would if the operator's were the provider's own. The region
/// alone may be another one: at Vertex it is in the path as well.
fn leads_elsewhere(host: &Host, name: &str) -> bool {
    let is_here = host
        .api_base
        .as_deref()
        .is_some_and(|it| places::is_in(it, name));
    let is_at_home = host.home.is_some_and(|home| {
        let is_in_path = name == REGION && home.protocol == VERTEX;
        places::is_in(home.api_base, name) && !is_in_path
    });
    (is_here && name != REGION) || (is_at_home && !is_here)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use domain::{
        Secret,
        seams::{Home, Key},
    };

    use super::*;

    fn host(protocol: &str, key: &str) -> Host {
        let secret = Secret::new(key);
        Host {
            provider: "p".to_owned(),
            protocol: protocol.to_owned(),
            api_base: Some("https://p.example".to_owned()),
            home: None,
            keys: Arc::from([Key { secret, weight: 1 }]),
            configured: true,
            default_model: None,
            default_embedding_model: None,
            rerank_models: &[],
            ocr: domain::seams::OcrModels::default(),
            settings: BTreeMap::from([("project".to_owned(), "the-operators".to_owned())]),
        }
    }

    #[test]
    fn a_lent_key_leads_nowhere_else() {
        let bedrock = "https://bedrock-runtime.{region}.amazonaws.com";
        let azure = "https://{resource}.openai.azure.com";
        let vertex = "https://{region}-aiplatform.googleapis.com/v1";
        let proxy = "https://p.example";
        let cases = [
            ("azure", azure, azure, "resource", false),
            ("azure", azure, proxy, "resource", false),
            ("bedrock", bedrock, bedrock, "region", true),
            ("bedrock", bedrock, proxy, "region", false),
            (VERTEX, vertex, vertex, "region", true),
            (VERTEX, vertex, proxy, "region", true),
            ("openai", proxy, proxy, "resource", true),
        ];

        for (protocol, at_home, api_base, setting, may) in cases {
            let host = Host {
                api_base: Some(api_base.to_owned()),
                home: Some(Home {
                    api_base: at_home,
                    protocol,
                }),
                settings: BTreeMap::from([(setting.to_owned(), "mine".to_owned())]),
                ..host(protocol, "k")
            };
            let checked = |value: &str| {
                let given = format!(r#"{{"{setting}":"{value}"}}"#);
                check(
                    &serde_json::from_str(&given).unwrap(),
                    Some(&host),
                    protocol,
                )
            };
            assert_eq!(checked("other").is_ok(), may, "{protocol} {api_base}");
            assert_eq!(checked("mine"), Ok(()), "{protocol} {api_base}");
        }
    }

    #[test]
    fn a_lent_key_is_used_for_what_the_identifier_names() {
        let cases = [
            ("azure", "k", r#"{"deployment":"gpt-4o"}"#, "azure", false),
            ("azure", "k", r#"{"deployment":""}"#, "azure", false),
            ("azure", "k", r#"{"deployment":4}"#, "azure", false),
            ("openai", "k", r#"{"deployment":"gpt-4o"}"#, "azure", false),
            ("azure", "k", r#"{"deployment":null}"#, "azure", true),
            (
                "openai",
                "k",
                r#"{"deployment":"x","project":"y"}"#,
                "openai",
                true,
            ),
            ("vertex", "{}", r#"{"project":"another"}"#, "vertex", false),
            (
                "vertex",
                "{}",
                r#"{"project":"the-operators"}"#,
                "vertex",
                true,
            ),
            ("vertex", "{}", r#"{"protocol":"openai"}"#, "openai", false),
            ("vertex", "k", r#"{"protocol":"openai"}"#, "openai", true),
        ];

        for (of_host, key, extra, protocol, may) in cases {
            let given: Extra = serde_json::from_str(extra).unwrap();
            let checked = check(&given, Some(&host(of_host, key)), protocol);
            assert_eq!(checked.is_ok(), may, "{of_host} {extra}: {checked:?}");
        }
    }
}
