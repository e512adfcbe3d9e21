//! Addresses with settings in them, as in `https://host/accounts/{account_id}/v1`.

use std::borrow::Cow;

use domain::seams::{ProviderError, ProviderErrorKind, Target};

/// The target's address, with its settings where names of those stand in braces.
///
/// A setting may be a tenant's, so it cannot be more than a plain word: it never leads anywhere else.
pub(crate) fn address(target: &Target) -> Result<Cow<'_, str>, ProviderError> {
    let refused = |reason: String| ProviderError::new(ProviderErrorKind::Misconfigured, reason);
    let provider = &target.provider;
    let api_base = target.api_base.as_deref();
    let api_base =
        api_base.ok_or_else(|| refused(format!("the provider `{provider}` has no address")))?;
    let mut address = Cow::Borrowed(api_base);
    while let Some((before, name, after)) = braced(&address) {
        let setting = target.settings.get(name).ok_or_else(|| {
            refused(format!(
                "the address of the provider `{provider}` needs the setting `{name}`"
            ))
        })?;
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if setting.is_empty() || !setting.bytes().all(is_word) {
            return Err(refused(format!(
                "the setting `{name}` has letters, digits, `-` and `_` alone"
            )));
        }
        address = Cow::Owned(format!("{before}{setting}{after}"));
    }
    Ok(address)
}

/// What stands before, in and after the first braces.
fn braced(address: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = address.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::target;

    fn filled(api_base: &str, settings: &[(&str, &str)]) -> Result<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let target = Target {
            settings: settings.iter().map(owned).collect(),
            ..target(api_base)
        };
        let filled = address(&target).map(Cow::into_owned);
        filled.map_err(|error| error.reason)
    }

    #[test]
    fn settings_fill_their_places_and_lead_nowhere_else() {
        let place = "https://h/{account_id}/{region}/v1";

        assert_eq!(
            filled(place, &[("account_id", "a-1"), ("region", "eu_2")]).unwrap(),
            "https://h/a-1/eu_2/v1"
        );
        assert_eq!(filled("https://h/v1", &[]).unwrap(), "https://h/v1");
        assert_eq!(
            filled(place, &[("region", "eu")]).unwrap_err(),
            "the address of the provider `p` needs the setting `account_id`"
        );
        for value in ["", "a/b", "..", "a?b", "{region}", "a.example"] {
            assert_eq!(
                filled(place, &[("account_id", value), ("region", "eu")]).unwrap_err(),
                "the setting `account_id` has letters, digits, `-` and `_` alone",
                "{value}"
            );
        }
    }
}
