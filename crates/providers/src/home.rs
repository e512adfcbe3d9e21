//! Which addresses are a provider's own. What a model costs is known there alone: whoever answers elsewhere under the
//! provider's name asks what he likes.

use std::collections::BTreeMap;

use url::{Origin, Url};

/// Addresses that providers have besides the one of our table. Addresses with other prices are not among them.
static ELSEWHERE: [(&str, &str); 4] = [
    ("azure", "https://{resource}.cognitiveservices.azure.com"),
    ("azure", "https://{resource}.services.ai.azure.com"),
    ("vertex", "https://aiplatform.googleapis.com"),
    ("vertex", "https://{region}-aiplatform.googleapis.com"),
];

/// If the address is the provider's own: what stands in the gaps of that, such as its `{region}`.
pub(crate) fn places(provider: &str, own: &str, address: &str) -> Option<BTreeMap<String, String>> {
    if own == address {
        return Some(BTreeMap::new());
    }
    let address = Url::parse(address).ok()?;
    let further = ELSEWHERE.iter().filter(|(name, _)| *name == provider);
    let mut own = [own].into_iter().chain(further.map(|(_, own)| *own));
    own.find_map(|own| filled(own, &address))
}

/// Compares scheme, host and port: what of a host is asked is the dialect's affair.
fn filled(own: &str, address: &Url) -> Option<BTreeMap<String, String>> {
    let (scheme, rest) = own.split_once("://")?;
    let template = rest.split('/').next().unwrap_or(rest);
    let Some((before, gap)) = template.split_once('{') else {
        let is_same = Url::parse(own).is_ok_and(|own| own.origin() == address.origin());
        return is_same.then(BTreeMap::new);
    };
    let (name, after) = gap.split_once('}')?;
    let Origin::Tuple(of_address, url::Host::Domain(host), port) = address.origin() else {
        return None;
    };
    let value = host.strip_prefix(before)?.strip_suffix(after)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let fits =
        of_address == scheme && port == 443 && !value.is_empty() && value.bytes().all(is_plain);
    fits.then(|| BTreeMap::from([(name.to_owned(), value.to_owned())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_providers_own_or_somebody_elses() {
        let bedrock = "https://bedrock-runtime.{region}.amazonaws.com";
        let azure = "https://{resource}.openai.azure.com";
        let openai = "https://api.openai.com/v1";
        for (provider, own, address, expected) in [
            ("openai", openai, openai, Some("")),
            ("openai", openai, "https://API.openai.com:443/v2/", Some("")),
            ("openai", openai, "http://api.openai.com/v1", None),
            ("openai", openai, "https://api.openai.com:8443/v1", None),
            ("openai", openai, "https://eu.api.openai.com/v1", None),
            (
                "openai",
                openai,
                "https://api.openai.com.evil.example/v1",
                None,
            ),
            (
                "openai",
                openai,
                "https://u@evil.example/api.openai.com",
                None,
            ),
            ("openai", openai, "nonsense", None),
            ("bedrock", bedrock, bedrock, Some("")),
            (
                "bedrock",
                bedrock,
                "https://bedrock-runtime.eu-north-1.amazonaws.com/x",
                Some("region=eu-north-1"),
            ),
            (
                "bedrock",
                bedrock,
                "https://bedrock-runtime.a.evil.example/.amazonaws.com",
                None,
            ),
            (
                "bedrock",
                bedrock,
                "https://bedrock-runtime.a.b.amazonaws.com",
                None,
            ),
            (
                "bedrock",
                bedrock,
                "https://bedrock-runtime..amazonaws.com",
                None,
            ),
            (
                "bedrock",
                bedrock,
                "http://bedrock-runtime.eu-north-1.amazonaws.com",
                None,
            ),
            (
                "azure",
                azure,
                "https://mine.openai.azure.com",
                Some("resource=mine"),
            ),
            (
                "azure",
                azure,
                "https://mine.services.ai.azure.com/openai/v1",
                Some("resource=mine"),
            ),
            ("azure", azure, "https://services.ai.azure.com", None),
            (
                "vertex",
                "https://x.example",
                "https://aiplatform.googleapis.com/v1",
                Some(""),
            ),
            (
                "vertex",
                "https://x.example",
                "https://europe-west4-aiplatform.googleapis.com",
                Some("region=europe-west4"),
            ),
            ("openai", openai, "https://mine.openai.azure.com", None),
        ] {
            let places = places(provider, own, address).map(|places| {
                let places = places.iter().map(|(name, value)| format!("{name}={value}"));
                places.collect::<String>()
            });
            assert_eq!(places.as_deref(), expected, "{address}");
        }
    }
}
