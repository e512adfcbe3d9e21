//! What the registration of a model may not say that is asked with the operator's key.

use domain::seams::Host;

use super::{destination::is_credentials, extra::Extra};

/// Settings, by their dialects, that have another model asked, or one in another place, than the identifier names: past
/// the project's list of models and past the price (`[projects.NAME] models`).
static STEERING: [(&str, &str); 4] = [
    ("azure", "deployment"),
    ("vertex", "project"),
    // The operator says whether what is dialled for him fetches what a tenant names.
    ("docling", "pass_url"),
    ("mistral", "pass_url"),
];

/// Refuses what would turn the operator's key to another use.
pub(super) fn check(extra: &Extra, host: Option<&Host>, protocol: &str) -> Result<(), String> {
    let Some(host) = host else {
        return Ok(());
    };
    let of_dialect = STEERING.iter().filter(|(dialect, _)| *dialect == protocol);
    for (_, name) in of_dialect {
        let given = extra.settings.get(*name).filter(|given| !given.is_null());
        let held = host.settings.get(*name).map(String::as_str);
        if given.is_some_and(|given| held.is_none_or(|held| given != held)) {
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

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use domain::{Secret, seams::Key};

    use super::*;

    fn host(protocol: &str, key: &str) -> Host {
        let secret = Secret::new(key);
        Host {
            provider: "p".to_owned(),
            protocol: protocol.to_owned(),
            api_base: Some("https://p.example".to_owned()),
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
