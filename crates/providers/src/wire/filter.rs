//! Makes a provider's words fit to be told: no secret in them, and no more than 1 KiB.

use std::sync::LazyLock;

use domain::seams::Target;
use regex::Regex;

const MAX_BYTES: usize = 1024;
/// Below this a header's value is a word, not a secret.
const MIN_SECRET_BYTES: usize = 8;
const SECRET: &str = "[secret]";

/// What keys look like, cut or masked ones too.
static KEY_LIKE: LazyLock<Regex> = LazyLock::new(|| {
    let patterns = [
        r"(?i:bearer)\s+[^\s\x22',;]+",
        r"(?-u:\b)(?:sk|pk|rk|gsk|csk|xai|pplx|nvapi|fw|gw|hf|r8|tgp|key|AKIA|ghp|glpat)[-_][A-Za-z0-9_.*\-]{6,}",
        r"(?-u:\b)AIza[A-Za-z0-9_*\-]{10,}",
        r"(?-u:\b)eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_.\-]+",
    ];
    Regex::new(&patterns.join("|")).expect("the pattern is a constant")
});

/// The words without the call's own secrets and what looks like a key, cut to 1 KiB.
pub(super) fn filtered(words: &str, target: &Target) -> String {
    let mut words = words.to_owned();
    let keys = target.keys.iter().map(|key| &key.secret);
    let key = target.key.iter().chain(keys).map(domain::Secret::expose);
    let headers = target.extra_headers.iter().map(|(_, value)| value);
    let headers = headers.filter(|value| value.len() >= MIN_SECRET_BYTES);
    for secret in key.filter(|key| !key.is_empty()).chain(headers) {
        words = words.replace(secret, SECRET);
    }
    let words = KEY_LIKE.replace_all(&words, SECRET);
    let words = words.trim();
    words[..words.floor_char_boundary(MAX_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use domain::Secret;

    use super::*;
    use crate::wire::tests::target;

    #[test]
    fn secrets_do_not_get_through() {
        let mut target = target("http://localhost");
        target.key = Some(Secret::new("hunter2"));
        target.extra_headers =
            serde_json::from_str(r#"{"x-custom-auth":"correct horse","x-plan":"pro"}"#).unwrap();
        let cases = [
            ("your key hunter2 is bad", "your key [secret] is bad"),
            (
                "header correct horse, plan pro",
                "header [secret], plan pro",
            ),
            ("got sk-abc***********xyz", "got [secret]"),
            ("got 'sk-proj-A1b2C3d4E5'.", "got '[secret]'."),
            (
                "sent authorization: Bearer abc.def",
                "sent authorization: [secret]",
            ),
            ("gw_0123456789abcdef_0123456789 no", "[secret] no"),
            ("AIzaSyA1234567890abcdefg", "[secret]"),
            ("a risk-free sk-etch", "a risk-free sk-etch"),
        ];

        for (words, told) in cases {
            assert_eq!(filtered(words, &target), told);
        }
    }

    #[test]
    fn words_are_cut_after_their_secrets_are_gone() {
        let target = target("http://localhost");
        let words = format!("{}sk-0123456789abcdef{}", "å".repeat(510), "b".repeat(500));

        let told = filtered(&words, &target);

        assert_eq!(told, format!("{}[sec", "å".repeat(510)));
        assert_eq!(filtered(&"å".repeat(600), &target), "å".repeat(512));
        assert_eq!(
            filtered(&format!("a{}", "å".repeat(600)), &target).len(),
            1023
        );
    }
}
