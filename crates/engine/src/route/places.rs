//! Settings that say where a model is asked: which address they stand in, and whether its host has such a place at all.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use domain::seams::{Home, Host};

use super::{REGION, extra::Extra};

/// The settings that name a place, with the dialects that read them whatever the address is: to sign, in the path, or to
/// know the price.
static PLACES: [(&str, &[&str]); 3] = [
    ("account_id", &[]),
    (REGION, &["azure", "bedrock", "vertex"]),
    ("resource", &[]),
];

/// Whether a setting stands in an address.
pub(super) fn is_in(address: &str, setting: &str) -> bool {
    address.contains(&format!("{{{setting}}}"))
}

/// The provider as a model with a key of its own has it. Where it names a place at the provider, and the operator's address
/// has none of that name or is the provider's own, that is the provider itself, and nothing of the operator's. His address must not learn the key of somebody who
/// names another one.
pub(super) fn of_owner<'h>(extra: &Extra, host: &'h Host) -> Cow<'h, Host> {
    let leads_home = |home: &Home| {
        let mut given = given(extra);
        let is_home = host.api_base.as_deref() == Some(home.api_base);
        given.any(|name| is_in(home.api_base, name) && (is_home || !stands_in(host, name)))
    };
    let home = host.home.filter(|_| extra.api_base.is_none());
    match home.filter(leads_home) {
        Some(home) => Cow::Owned(Host {
            protocol: home.protocol.to_owned(),
            api_base: Some(home.api_base.to_owned()),
            keys: Arc::default(),
            configured: false,
            settings: BTreeMap::new(),
            ..host.clone()
        }),
        None => Cow::Borrowed(host),
    }
}

/// Refuses a place where the model's host has none.
pub(super) fn check(extra: &Extra, host: Option<&Host>, protocol: &str) -> Result<(), String> {
    let Some((host, home)) = host.and_then(|host| Some((host, host.home?))) else {
        return Ok(());
    };
    if extra.api_base.is_some() {
        return Ok(());
    }
    for name in given(extra) {
        let reads = PLACES
            .iter()
            .any(|(known, dialects)| *known == name && dialects.contains(&protocol));
        let is_known = PLACES.iter().any(|(known, _)| *known == name);
        if is_known && !reads && !stands_in(host, name) && !is_in(home.api_base, name) {
            return Err(format!(
                "`extra.{name}` has no effect: the provider `{}` has no such setting",
                host.provider
            ));
        }
    }
    Ok(())
}

fn stands_in(host: &Host, setting: &str) -> bool {
    let address = host.api_base.as_deref();
    address.is_some_and(|address| is_in(address, setting))
}

/// The settings that are given.
fn given(extra: &Extra) -> impl Iterator<Item = &str> {
    let settings = extra.settings.iter().filter(|(_, value)| !value.is_null());
    settings.map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use domain::{Json, Secret, seams::Key};

    use super::*;

    const AZURE: Home = Home {
        api_base: "https://{resource}.openai.azure.com",
        protocol: "azure",
    };
    const OPENAI: Home = Home {
        api_base: "https://api.openai.com/v1",
        protocol: "openai",
    };

    fn host(home: Option<Home>, api_base: &str) -> Host {
        let secret = Secret::new("the-operators");
        let setting = ("api_version".to_owned(), "the-operators".to_owned());
        Host {
            provider: "p".to_owned(),
            protocol: "morse".to_owned(),
            api_base: Some(api_base.to_owned()),
            home,
            keys: Arc::from([Key { secret, weight: 1 }]),
            configured: true,
            default_model: None,
            default_embedding_model: None,
            rerank_models: &[],
            ocr: domain::seams::OcrModels::default(),
            settings: BTreeMap::from([setting]),
        }
    }

    fn extra(text: &str) -> Extra {
        Extra::read(&Json::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn who_names_a_place_of_the_providers_is_led_there_past_the_operators_address() {
        let proxy = "https://proxy.internal/azure";
        let led = |home, api_base: &str, given: &str| {
            let (host, given) = (host(home, api_base), extra(given));
            let led = of_owner(&given, &host);
            let is_the_operators = matches!(led, Cow::Borrowed(_));
            let led = led.into_owned();
            let holds_nothing = led.keys.is_empty() && led.settings.is_empty() && !led.configured;
            assert_ne!(is_the_operators, holds_nothing);
            (led.api_base.unwrap(), led.protocol)
        };
        let at = |home: Home| (home.api_base.to_owned(), home.protocol.to_owned());
        let here = |api_base: &str| (api_base.to_owned(), "morse".to_owned());
        let mine = r#"{"resource":"mine"}"#;

        assert_eq!(led(Some(AZURE), proxy, mine), at(AZURE));
        assert_eq!(
            led(Some(AZURE), proxy, r#"{"deployment":"d"}"#),
            here(proxy)
        );
        assert_eq!(led(Some(AZURE), proxy, r#"{"resource":null}"#), here(proxy));
        let at_mine = r#"{"resource":"mine","api_base":"https://mine.example"}"#;
        assert_eq!(led(Some(AZURE), proxy, at_mine), here(proxy));
        // The operator's address has room for it.
        let other = "https://{resource}.services.ai.azure.com";
        assert_eq!(led(Some(AZURE), other, mine), here(other));
        assert_eq!(led(Some(OPENAI), proxy, mine), here(proxy));
        // Neither is the operator's region that of a resource of somebody else.
        assert_eq!(led(Some(AZURE), AZURE.api_base, mine), at(AZURE));
        assert_eq!(led(None, proxy, mine), here(proxy));
    }

    #[test]
    fn a_place_that_its_host_does_not_have_is_refused() {
        let own = OPENAI.api_base;
        let cases = [
            (Some(OPENAI), own, r#"{"region":"eu"}"#, "openai", false),
            (Some(OPENAI), own, r#"{"resource":"r"}"#, "openai", false),
            (Some(OPENAI), own, r#"{"account_id":7}"#, "openai", false),
            (Some(OPENAI), own, r#"{"region":null}"#, "openai", true),
            (Some(OPENAI), own, r#"{"colour":"red"}"#, "openai", true),
            (Some(OPENAI), own, r#"{"region":"eu"}"#, "bedrock", true),
            (
                Some(OPENAI),
                "https://{region}.proxy",
                r#"{"region":"eu"}"#,
                "openai",
                true,
            ),
            (
                Some(OPENAI),
                own,
                r#"{"region":"eu","api_base":"https://mine.example"}"#,
                "openai",
                true,
            ),
            (
                Some(AZURE),
                AZURE.api_base,
                r#"{"resource":"r","region":"eu"}"#,
                "azure",
                true,
            ),
            // Where his own servers are, the operator knows.
            (None, "http://house", r#"{"region":"eu"}"#, "openai", true),
        ];

        for (home, api_base, given, protocol, may) in cases {
            let host = host(home, api_base);
            let checked = check(&extra(given), Some(&host), protocol);
            assert_eq!(checked.is_ok(), may, "{given} {protocol}: {checked:?}");
        }
    }
}
